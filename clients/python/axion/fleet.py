"""Worlds spread over several servers, as one batch that outlives the loss of a server.

Every server gives a world the same bits, whatever batch it is in, as long as their backends are the same. So a Fleet keeps for each of
its parts what the worlds carried a while ago (a snapshot) and what they were asked since; where a server is lost, another takes the
snapshot, is asked the same again, and the worlds are where they were. No step is counted twice: what the lost server did after
the last answer is lost with it. A lost server that is back gets its worlds again.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from axion import tensors
from axion.arguments import checked
from axion.batch import Batch
from axion.client import Client
from axion.errors import AxionError, NotFoundError, UnavailableError
from axion.fleet_batch import FleetBatch, Part
from axion.fleet_members import Member, Members, at_once, client_choices_of
from axion.fleet_results import world_seeds
from axion.model import Model
from axion.model_request import ModelRequest, model_request
from axion.scene import Scene
from axion.texts import documented

_PER_WORLD_CHOICES = ("body_pose", "mass_scale", "friction_scale", "gain_scale")
_PROBE_WORLDS, _PROBE_STEPS = 16, 20

_Found = TypeVar("_Found")


def _first_error(found: Sequence[_Found | BaseException]) -> list[_Found]:
    """What was found, where all was; else the first error is raised."""
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return [one for one in found if not isinstance(one, BaseException)]


@dataclasses.dataclass
class _FleetModel:
    """What a model was made of, its files included, and its name on each server, by target."""

    wanted: ModelRequest
    timeout: float | None
    names: dict[str, str]


@documented
class Fleet:
    """Servers that share the work.

    It takes the place of a Client where batches are made and used: axion.gym.AxionVectorEnv(client=fleet). As a
    context manager it closes its connections.

    Parameters
    ----------
    targets : str or Iterable[str]
        "host:port" of each server; or one text, "host:port", whose host has the addresses of all servers, as the name of a headless
        service of Kubernetes has the addresses of its pods.
    patience : float, default 5.0
        Seconds that a server which does not answer is waited for before it counts as lost.
    least : int, optional
        How many servers must answer before the fleet is made. None: one of a name; of listed addresses none, since each that is not
        there is found to be lost at the first call.
    wait : float, default 60.0
        Seconds that these are waited for.
    rejoin : float or None, default 5.0
        Seconds between two looks for lost servers and, with a name, for new addresses of it. A server that is back gets the worlds again
        that it had. None: what is lost stays lost.
    **client_choices
        Further arguments of Client, the same for all.

    Raises
    ------
    ValueError
        There is no target, a number makes no sense, or credentials cannot be used.
    UnavailableError
        Fewer servers than `least` answer within `wait`.
    """

    @checked
    def __init__(self, targets: str | Iterable[str], *, patience: float = 5.0, least: int | None = None, wait: float = 60.0,
                 rejoin: float | None = 5.0, **client_choices: Any) -> None:
        listed = targets if isinstance(targets, str) else list(targets)
        if not listed:
            raise ValueError("targets: a fleet has at least one server")
        if least is not None and least < 0:
            raise ValueError(f"least: is {least}; it must be 0 or more")
        if least is not None and not isinstance(listed, str) and least > len(listed):
            raise ValueError(f"least: is {least}, and there are {len(listed)} targets")
        for name, seconds in (("wait", wait), ("rejoin", rejoin)):
            if seconds is not None and not seconds >= 0:
                raise ValueError(f"{name}: {seconds} s is no time to wait")
        choices = client_choices_of(listed, client_choices) if isinstance(listed, str) else client_choices
        self._take(Members(listed, lambda target: Client(target, retry=patience, **choices), None if rejoin is None else max(rejoin, 0.05)))
        try:
            self._servers.wait((1 if isinstance(listed, str) else 0) if least is None else least, wait)
        except BaseException:
            self.close()
            raise

    def _take(self, servers: Members) -> None:
        """Makes the fleet of these servers."""
        self._servers = servers
        self._models: dict[str, _FleetModel] = {}

    @property
    def _members(self) -> list[Member]:
        return self._servers.all

    def __repr__(self) -> str:
        servers = ", ".join(f"{member.client.target}{' (lost)' if member.is_lost else ''}" for member in self._members)
        return f"<axion.{type(self).__name__} of {servers}>"

    def __reduce__(self) -> NoReturn:
        """Neither connections nor tokens go to another process."""
        raise TypeError(f"a fleet is not pickled: the process that is to have one makes its own, by axion.Fleet({self.targets!r})")

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connections."""
        self._servers.close()

    @property
    def targets(self) -> list[str]:
        """list of str : The servers that are not lost."""
        return [member.client.target for member in self._members if not member.is_lost]

    def member_after_loss(self, member: Member, client: Client, error: AxionError) -> Member:
        """Finds the server that takes over from one that has failed.

        Parameters
        ----------
        member : Member
            The one that has failed.
        client : Client
            The connection by which it was asked.
        error : AxionError
            What it answered with.

        Returns
        -------
        Member
            The server to go on with.

        Raises
        ------
        AxionError
            There is none left: the error that was given.
        """
        return self._servers.after_loss(member, client, error)

    @checked
    def create_model(self, *arguments: Any, timeout: float | None = None, **choices: Any) -> Model:
        """Compiles a scene on every server; servers that are UNAVAILABLE are lost.

        Files are read once, and sent to the servers that lack them.

        Parameters
        ----------
        *arguments
            As of Client.create_model.
        timeout : float, optional
            As of Client.create_model, of each server.
        **choices
            As of Client.create_model.

        Returns
        -------
        Model
            The model on the first server, which stands for all.

        Raises
        ------
        AxionError
            A server refuses the scene, or none is left.
        """
        wanted = model_request(*arguments, **choices)

        def create(member: Member) -> Model | None:
            client = member.client
            try:
                return client._create_model(wanted, timeout)
            except UnavailableError as error:
                self.member_after_loss(member, client, error)
                return None
        members = self._servers.alive()
        made = zip(members, _first_error(at_once(create, members)))
        models = {member.client.target: model for member, model in made if model is not None}
        model = next(iter(models.values()))
        self._models[model.name] = _FleetModel(wanted, timeout, {target: found.name for target, found in models.items()})
        return model

    @documented
    @checked
    def get_scene(self, model: Model | str) -> Scene:
        """Fetches the whole scene that a model was compiled from.

        Returns
        -------
        Scene
            The scene.

        Raises
        ------
        ValueError
            This fleet has made no such model.
        AxionError
            No server can be reached.
        """
        client = self._servers.alive()[0].client
        return client.get_scene(self._model_on(client, model if isinstance(model, str) else model.name))

    def _model_on(self, client: Client, name: str) -> str:
        """What a model of create_model is called on a server; made again where that has none, as after a new start."""
        if name not in self._models:
            raise ValueError(f"model: {name!r} is none that this fleet has made")
        known = self._models[name]
        try:
            return client.get_model(known.names.get(client.target, name)).name
        except NotFoundError:
            known.names[client.target] = client._create_model(known.wanted, known.timeout).name
            return known.names[client.target]

    @documented
    @checked
    def measure(self, model: Model | str, dt: float | None = None) -> npt.NDArray[np.float64]:
        """Measures how fast each server steps worlds of a model from their start, all at the same time.

        Returns
        -------
        numpy.ndarray
            World-steps a second of each server that is not lost: float64 [servers].

        Raises
        ------
        AxionError
            A server refuses, or cannot be reached.
        """
        name = model if isinstance(model, str) else model.name

        def rate(member: Member) -> float:
            with member.client.create_batch(self._model_on(member.client, name), _PROBE_WORLDS, dt) as batch:
                batch.step(steps=_PROBE_STEPS)
                start = time.perf_counter()
                batch.step(steps=_PROBE_STEPS)
                return _PROBE_WORLDS * _PROBE_STEPS / (time.perf_counter() - start)
        return np.array(_first_error(at_once(rate, self._servers.alive())))

    @documented
    @checked
    def create_batch(self, model: Model | str, world_count: int, dt: float | None = None, *, shares: Sequence[float] | None = None,
                     checkpoint_every: int = 100, **choices: Any) -> FleetBatch:
        """Makes worlds of a model over all servers.

        Where worlds are changes nothing about them.

        Parameters
        ----------
        shares : sequence of float, optional
            How many worlds each server has, relative to the others: [servers]. None: as many as its measured rate
            says.
        checkpoint_every : int, default 100
            Calls that change the worlds from one snapshot of them to the next.
        **choices
            As of Client.create_batch, arrays [n, ...] for all worlds, and a task, whose worlds' seeds follow from
            `seed` as if one server had them all. Noise of the start is not offered, as it is the batch's: give each
            world its start by FleetBatch.reset.

        Returns
        -------
        FleetBatch
            The worlds.

        Raises
        ------
        ValueError
            A choice makes no sense; the message begins with its name.
        AxionError
            A server refuses, or none is left.
        """
        for name in ("joint_position_noise", "joint_velocity_noise"):
            if choices.get(name):
                raise ValueError(f"{name}: is drawn by a batch, and a fleet has several; set states by reset")
        name = model if isinstance(model, str) else model.name
        members = self._servers.alive()
        if not 1 <= world_count < 1 << 31:
            raise ValueError(f"world_count: is {world_count}; it must be from 1 to 2**31 - 1")
        weights = tensors.as_array(self.measure(name, dt) if shares is None else shares, "shares", np.float64)
        if weights.shape != (len(members),) or not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
            raise ValueError(f"shares: must be {len(members)} numbers from 0 on, one for each server")
        ends = np.round(np.cumsum(weights) / weights.sum() * world_count).astype(int)
        def part(place: tuple[Member, int, int]) -> Part:
            member, first, end = place
            return Part(self, member, first, end - first, self._maker(name, first, end, dt, choices), checkpoint_every)
        found = at_once(part, [(member, int(first), int(end)) for member, first, end in zip(members, [0, *ends[:-1]], ends) if end > first])
        parts = [one for one in found if isinstance(one, Part)]
        try:
            _first_error(found)
            return FleetBatch(parts, world_count)
        except BaseException:
            for made in parts:  # which have no other owner
                made.delete()
            raise

    def _maker(self, model: str, first: int, end: int, dt: float | None, choices: Mapping[str, Any]) -> Callable[[Client], Batch]:
        def cut(key: str, value: Any) -> Any:
            is_of_worlds = key in _PER_WORLD_CHOICES and value is not None and np.ndim(value) == tensors.WORLD_DIMENSIONS[key]
            return np.asarray(value)[first:end] if is_of_worlds else value
        own: dict[str, Any] = {key: cut(key, value) for key, value in choices.items()}
        if own.get("parameters"):
            own["parameters"] = {key: np.asarray(value)[first:end] for key, value in own["parameters"].items()}

        def make(client: Client) -> Batch:
            batch = client.create_batch(self._model_on(client, model), end - first, dt, **own)
            if own.get("task") is not None:
                seeds = world_seeds(int(choices.get("seed", 0)), first, end)
                batch.begin_episodes(seeds=seeds)  # the batch gave its worlds seeds by their places in it
            return batch
        return make
