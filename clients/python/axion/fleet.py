"""Worlds spread over several servers, as one batch that outlives the loss of a server.

Every server gives a world the same bits, whatever batch it is in, as long as their backends are the same. So a Fleet keeps for each of
its parts what the worlds carried a while ago (a snapshot) and what they were asked since; where a server is lost, another takes the
snapshot, is asked the same again, and the worlds are where they were. No step is counted twice: what the lost server did after
the last answer is lost with it.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from axion import tensors
from axion.batch import Batch
from axion.client import Client
from axion.errors import AbortedError, AxionError, NotFoundError, UnavailableError
from axion.fleet_results import FleetResult, FleetTaskResult, joined, joined_fields, world_seeds
from axion.model import Model
from axion.results import Contacts
from axion.scene import Scene
from axion.task import TaskResult
from axion.tensors import Worlds
from axion.v1 import task_pb2

_Indices = npt.NDArray[np.int64]
_Answer = TypeVar("_Answer")
_PER_WORLD_CHOICES = ("body_pose", "mass_scale", "friction_scale", "gain_scale")
_PROBE_WORLDS, _PROBE_STEPS = 16, 20


@dataclasses.dataclass
class _Member:
    """A server of the fleet."""

    client: Client
    is_lost: bool = False


@dataclasses.dataclass
class _FleetModel:
    """What a model was made of, and its name on each server, by target."""

    arguments: tuple[Any, ...]
    choices: dict[str, Any]
    names: dict[str, str]


class _Part:
    """Worlds first to first + count - 1 of a fleet's batch, on one server at a time, and how they came to where they are."""

    def __init__(self, fleet: Fleet, member: _Member, first: int, count: int, make: Callable[[Client], Batch],
                 checkpoint_every: int) -> None:
        self._fleet, self.member, self.first, self.count = fleet, member, first, count
        self._make = make
        self._checkpoint_every = checkpoint_every
        self._snapshot: list[bytes] | None = None
        self._asked: list[Callable[[Batch], object]] = []
        self.batch: Batch | None = None
        self._protected(lambda: None)

    def change(self, ask: Callable[[Batch], _Answer]) -> _Answer:
        """The answer to what changes the worlds. The last change is always among those that would be asked again: contacts are of it."""
        if len(self._asked) >= self._checkpoint_every:
            self._snapshot = self._protected(lambda: list(self._here().get_state("snapshot")["snapshot"]))
            self._asked.clear()
        answer = self._protected(lambda: ask(self._here()))
        self._asked.append(ask)
        return answer

    def read(self, ask: Callable[[Batch], _Answer]) -> _Answer:
        """The answer to what changes nothing."""
        return self._protected(lambda: ask(self._here()))

    def _here(self) -> Batch:
        assert self.batch is not None
        return self.batch

    def _protected(self, ask: Callable[[], _Answer]) -> _Answer:
        """Asks, and where the server or its batch is lost, again on another. A server that was started again has lost its batches."""
        is_restored = False
        while True:
            try:
                if self.batch is None:
                    self.batch = self._restored()
                    is_restored = True
                return ask()
            except (UnavailableError, NotFoundError, AbortedError) as error:
                if is_restored and not isinstance(error, UnavailableError):
                    raise  # worlds that were just made are refused
                self.batch = None
                self.member = self._fleet.member_after_loss(self.member, error)

    def _restored(self) -> Batch:
        batch = self._make(self.member.client)
        if self._snapshot is not None:
            batch.set_state(snapshot=self._snapshot)
        for ask in self._asked:
            ask(batch)
        return batch

    def delete(self) -> None:
        """Frees the worlds, where their server is still there."""
        try:
            if self.batch is not None:
                self.batch.delete()
        except AxionError:
            pass  # the lease ends it


class Fleet:
    """Servers that share the work. Takes the place of a Client where batches are made and used: axion.gym.AxionVectorEnv(client=fleet).

    targets: "host:port" of each server. patience: s for which a server may be UNAVAILABLE before it counts as lost.
    client_choices: further arguments of Client, the same for all.
    As a context manager it closes its connections.
    """

    def __init__(self, targets: Iterable[str], *, patience: float = 5.0, **client_choices: Any) -> None:
        self._take([Client(target, retry=patience, **client_choices) for target in targets])

    def _take(self, clients: Sequence[Client]) -> None:
        """Makes the fleet of the servers of these."""
        if not clients:
            raise ValueError("targets: a fleet has at least one server")
        self._members = [_Member(client) for client in clients]
        self._models: dict[str, _FleetModel] = {}
        self._turns = itertools.count()
        self._lock = threading.Lock()

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connections."""
        for member in self._members:
            member.client.close()

    @property
    def targets(self) -> list[str]:
        """The servers that are not lost."""
        return [member.client.target for member in self._members if not member.is_lost]

    def _alive(self) -> list[_Member]:
        return [member for member in self._members if not member.is_lost]

    def member_after_loss(self, member: _Member, error: AxionError) -> _Member:
        """The server that takes over from one that answered with `error`; raises it where there is none."""
        with self._lock:
            if isinstance(error, UnavailableError):
                member.is_lost = True
            alive = self._alive()
            if not alive:
                raise error
            return alive[next(self._turns) % len(alive)] if member.is_lost else member

    def create_model(self, *arguments: Any, **choices: Any) -> Model:
        """Client.create_model on every server: the Model on the first, which stands for all. Servers that are UNAVAILABLE are lost."""
        models = {}
        for member in self._alive():
            try:
                models[member.client.target] = member.client.create_model(*arguments, **choices)
            except UnavailableError as error:
                self.member_after_loss(member, error)
        model = next(iter(models.values()))
        self._models[model.name] = _FleetModel(arguments, choices, {target: found.name for target, found in models.items()})
        return model

    def get_scene(self, model: Model | str) -> Scene:
        """Client.get_scene of one of the servers."""
        client = self._alive()[0].client
        return client.get_scene(self._model_on(client, model if isinstance(model, str) else model.name))

    def _model_on(self, client: Client, name: str) -> str:
        """What a model of create_model is called on a server; made again where that has none, as after a new start."""
        if name not in self._models:
            raise ValueError(f"model: {name!r} is none that this fleet has made")
        known = self._models[name]
        try:
            return client.get_model(known.names.get(client.target, name)).name
        except NotFoundError:
            known.names[client.target] = client.create_model(*known.arguments, **known.choices).name
            return known.names[client.target]

    def measure(self, model: Model | str, dt: float | None = None) -> npt.NDArray[np.float64]:
        """World-steps a second of each server that is not lost, of worlds of this model from their start."""
        rates, name = [], model if isinstance(model, str) else model.name
        for member in self._alive():
            with member.client.create_batch(self._model_on(member.client, name), _PROBE_WORLDS, dt) as batch:
                batch.step(steps=_PROBE_STEPS)
                start = time.perf_counter()
                batch.step(steps=_PROBE_STEPS)
                rates.append(_PROBE_WORLDS * _PROBE_STEPS / (time.perf_counter() - start))
        return np.array(rates)

    def create_batch(self, model: Model | str, world_count: int, dt: float | None = None, *, shares: Sequence[float] | None = None,
                     checkpoint_every: int = 100, **choices: Any) -> FleetBatch:
        """Worlds of a model over all servers: a FleetBatch.

        shares: how many worlds each server has, relative to the others; None: as many as its measured rate says. Where worlds are
        changes nothing about them. checkpoint_every: calls that change the worlds from one snapshot of them to the next.
        choices: as of Client.create_batch, arrays [n, ...] for all worlds, and a task, whose worlds' seeds follow from `seed` as if one
        server had them all. Noise of the start is not offered, as it is the batch's: give each world its start by FleetBatch.reset.
        """
        for name in ("joint_position_noise", "joint_velocity_noise"):
            if choices.get(name):
                raise ValueError(f"{name}: is drawn by a batch, and a fleet has several; set states by reset")
        name = model if isinstance(model, str) else model.name
        members = self._alive()
        weights = np.asarray(self.measure(name, dt) if shares is None else shares, dtype=np.float64)
        if weights.shape != (len(members),) or not (weights >= 0).all() or not weights.sum() > 0:
            raise ValueError(f"shares: must be {len(members)} numbers from 0 on, one for each server")
        if world_count < 1:
            raise ValueError(f"world_count: is {world_count}; it must be at least 1")
        ends = np.round(np.cumsum(weights) / weights.sum() * world_count).astype(int)
        parts = []
        for member, first, end in zip(members, [0, *ends[:-1]], ends):
            if end > first:
                parts.append(_Part(self, member, int(first), int(end - first), self._maker(name, int(first), int(end), dt, choices),
                                   checkpoint_every))
        return FleetBatch(parts, world_count)

    def _maker(self, model: str, first: int, end: int, dt: float | None, choices: Mapping[str, Any]) -> Callable[[Client], Batch]:
        own: dict[str, Any] = {key: np.asarray(value)[first:end] if key in _PER_WORLD_CHOICES and value is not None else value
                               for key, value in choices.items()}
        if own.get("parameters"):
            own["parameters"] = {key: np.asarray(value)[first:end] for key, value in own["parameters"].items()}
        seeds = world_seeds(int(choices.get("seed", 0)), first, end)

        def make(client: Client) -> Batch:
            batch = client.create_batch(self._model_on(client, model), end - first, dt, **own)
            if own.get("task") is not None:
                batch.begin_episodes(seeds=seeds)  # the batch gave its worlds seeds by their places in it
            return batch
        return make


class FleetBatch:
    """Worlds over the servers of a Fleet. Made by Fleet.create_batch; arguments and answers are those of Batch.

    world_count. dt: s. model: resource name on the first server. task: an axion.v1.TaskInfo, empty without a task.
    Raises UnavailableError when no server is left.
    """

    def __init__(self, parts: list[_Part], world_count: int) -> None:
        self._parts = parts
        self.world_count = world_count
        first = parts[0].read(lambda batch: batch)
        self.dt, self.model = first.dt, first.model
        self.task: task_pb2.TaskInfo = first.task
        self._threads = concurrent.futures.ThreadPoolExecutor(len(parts), "axion-fleet")

    def __repr__(self) -> str:
        places = ", ".join(f"{count} on {target}" for target, count in self.placement.items())
        return f"<axion.FleetBatch of {self.model}: {self.world_count} worlds, {places}, dt {self.dt:g} s>"

    def __len__(self) -> int:
        """Its worlds."""
        return self.world_count

    def __enter__(self) -> FleetBatch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.delete()

    @property
    def placement(self) -> dict[str, int]:
        """Worlds on each server now, by its target."""
        counts: dict[str, int] = {}
        for part in self._parts:
            counts[part.member.client.target] = counts.get(part.member.client.target, 0) + part.count
        return counts

    def _each(self, worlds: Worlds, ask: Callable[[_Part, _Indices | None, _Indices], _Answer]) -> tuple[list[_Answer], list[_Indices]]:
        """Asks each part that has some of the worlds, all at once: part, which of its worlds (None: all), and which rows of the caller's
        these are. Returns the answers and the rows of each."""
        asked = np.array(tensors.world_indices(worlds, self.world_count) or range(self.world_count), dtype=np.int64)
        if len(asked) and (asked.min() < 0 or asked.max() >= self.world_count):
            raise ValueError(f"worlds: must be from 0 to {self.world_count - 1}")
        jobs, rows = [], []
        for part in self._parts:
            row = np.flatnonzero((asked >= part.first) & (asked < part.first + part.count))
            if len(row) == 0:
                continue
            own = asked[row] - part.first
            whole = len(own) == part.count and bool((own == np.arange(part.count)).all())
            jobs.append(self._threads.submit(ask, part, None if whole else own, row))
            rows.append(row)
        return [job.result() for job in jobs], rows

    @staticmethod
    def _of_rows(array: npt.ArrayLike | None, row: _Indices) -> Any:
        if array is None:
            return None
        values = np.asarray(array)
        return values if values.ndim <= 1 else values[row].copy()

    def step(self, control: npt.ArrayLike | None = None, steps: int = 1, outputs: str | Iterable[str] = (), record_every: int = 0,
             worlds: Worlds = None, body_wrench: npt.ArrayLike | None = None) -> FleetResult:
        """Batch.step on every server at once."""
        wanted = outputs if isinstance(outputs, str) else tuple(outputs)

        def ask(part: _Part, own: _Indices | None, row: _Indices) -> Any:
            mine, wrench = self._of_rows(control, row), self._of_rows(body_wrench, row)
            return part.change(lambda batch: batch.step(mine, steps, wanted, record_every, own, body_wrench=wrench))
        answers, rows = self._each(worlds, ask)
        return joined_fields(answers, rows, ("time", "step_index", "outcome"))

    def step_task(self, action: npt.ArrayLike, outputs: str | Iterable[str] = (), worlds: Worlds = None,
                  body_wrench: npt.ArrayLike | None = None) -> FleetTaskResult:
        """Batch.step_task on every server at once. action: [n, actions]."""
        wanted = outputs if isinstance(outputs, str) else tuple(outputs)
        count = self.world_count if worlds is None else len(tensors.world_indices(worlds, self.world_count))
        actions = np.asarray(action)
        if actions.ndim != 2 or len(actions) != count:
            raise ValueError(f"action: has shape {list(actions.shape)}; it must be [{count}, {self.task.action_size}]")

        def ask(part: _Part, own: _Indices | None, row: _Indices) -> TaskResult:
            mine, wrench = actions[row].copy(), self._of_rows(body_wrench, row)
            return part.change(lambda batch: batch.step_task(mine, wanted, own, wrench))
        return FleetTaskResult(*self._each(worlds, ask))

    def begin_episodes(self, worlds: Worlds = None, seeds: npt.ArrayLike = (), joint_position: npt.ArrayLike | None = None,
                       joint_velocity: npt.ArrayLike | None = None) -> npt.NDArray[Any]:
        """Batch.begin_episodes on every server at once: what is observed first, [n, k]. seeds: [n] of the worlds."""
        given = np.asarray(seeds, dtype=np.uint64).reshape(-1)
        count = self.world_count if worlds is None else len(tensors.world_indices(worlds, self.world_count))
        if len(given) not in (0, count):
            raise ValueError(f"seeds: has {len(given)} values for {count} worlds")

        def ask(part: _Part, own: _Indices | None, row: _Indices) -> npt.NDArray[Any]:
            mine = given[row] if len(given) else given
            position, velocity = self._of_rows(joint_position, row), self._of_rows(joint_velocity, row)
            return part.change(lambda batch: batch.begin_episodes(own, mine, position, velocity))
        return joined(*self._each(worlds, ask))

    @staticmethod
    def _states_of(states: Mapping[str, Any], row: _Indices) -> dict[str, Any]:
        def of(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {name: of(array) for name, array in value.items()}
            return None if value is None else np.asarray(value)[row].copy()
        return {name: of(value) for name, value in states.items()}

    def reset(self, worlds: Worlds = None, keyframe: str = "", **states: Any) -> None:
        """Batch.reset; states: body_pose, joint_position, parameters and so on."""
        self._each(worlds, lambda part, own, row: part.change(
            lambda batch: batch.reset(own, keyframe, **self._states_of(states, row))))

    def set_state(self, worlds: Worlds = None, **states: Any) -> None:
        """Batch.set_state; states: body_pose, joint_position, parameters and so on."""
        self._each(worlds, lambda part, own, row: part.change(
            lambda batch: batch.set_state(own, **self._states_of(states, row))))

    def get_state(self, fields: str | Iterable[str] = (), worlds: Worlds = None) -> FleetResult:
        """Batch.get_state."""
        wanted = fields if isinstance(fields, str) else tuple(fields)
        answers, rows = self._each(worlds, lambda part, own, row: part.read(lambda batch: batch.get_state(wanted, own)))
        return joined_fields(answers, rows, ("time", "step_index"))

    def contacts(self, worlds: Worlds = None) -> Contacts:
        """Batch.contacts. worlds: rising."""
        asked = tensors.world_indices(worlds, self.world_count)
        if asked != sorted(asked):
            raise ValueError("worlds: must rise")

        def ask(part: _Part, own: _Indices | None, row: _Indices) -> Contacts:
            found = part.read(lambda batch: batch.contacts(own))
            found.world = (found.world + part.first).astype(np.int32)
            return found
        answers, _ = self._each(worlds, ask)
        whole = object.__new__(Contacts)
        for name in vars(answers[0]):
            setattr(whole, name, np.concatenate([getattr(answer, name) for answer in answers]))
        return whole

    def delete(self) -> None:
        """Frees the worlds on all servers."""
        for part in self._parts:
            part.delete()
        self._threads.shutdown()
