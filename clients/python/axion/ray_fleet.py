"""A Fleet whose servers are held by actors of Ray, which may start them: worlds over the machines of a Ray cluster.

    import ray
    from axion.ray_fleet import RayFleet

    ray.init()
    with RayFleet(servers=2, actor_options={"num_cpus": 1}) as fleet:      # two actors, each with an axiond of its own beside it
        model = fleet.create_model(path="quadruped.xml")
        with fleet.create_batch(model, 256) as batch:
            result = batch.step(steps=10, outputs=["body_pose"])

An actor owns the connection to its server: calls and answers go through Ray, and only the actor's machine has to reach the server. Bits
are as of a Fleet, and of one server. An actor that is lost, with its machine or by itself, is a server that is lost: its
worlds go on elsewhere. Wants the extra `ray` (pip install 'axion-server-client[ray]').
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import grpc
import ray  # type: ignore[import-not-found, unused-ignore]

from axion.assets import VisualFiles
from axion.client import Client
from axion.errors import UnavailableError
from axion.fleet import Fleet
from axion.fleet_members import Members
from axion.local_server import KeptServer, find_program
from axion.retry import Patience
from axion.texts import documented

_CALLS_AT_ONCE = 16  # of an actor


def _program_here(program: str) -> str:
    """The server's program on this machine: that of this name, or, where there is none, of the package axion-server."""
    found = find_program(program)
    if found is None:
        raise FileNotFoundError(f"program: there is no {program!r} on {os.uname().nodename}; install axion-server there, or name its path")
    return found


class _Holder:
    """What an actor is: a connection, and the server where it has started one."""

    def __init__(self) -> None:
        self._server: KeptServer | None = None
        self._client: Client | None = None

    def open(self, target: str | None, program: str, flags: Sequence[str], choices: Mapping[str, Any]) -> str:
        """Connects, to a server that it starts where there is no target; to whom."""
        if target is None:
            self._server = KeptServer(_program_here(program), flags)
            target = self._server.target
        self._client = Client(target, **choices)
        return target

    def answer(self, method: str, request: Any, timeout: float | None) -> Any:
        """What the server answers to a request of the service, or to a list of them."""
        if self._client is None:
            raise RuntimeError("the actor has no connection yet")
        return self._client._answer(method, iter(request) if isinstance(request, list) else request, timeout)

    def stop(self) -> None:
        if self._client is not None:
            self._client.close()
        if self._server is not None:
            self._server.stop()


class _Actor(Client):
    """A Client whose connection an actor holds: requests and answers go through Ray."""

    def __init__(self, options: Mapping[str, Any], target: str | None, patience: float) -> None:
        self._handle: Any = ray.remote(_Holder).options(**{"max_concurrency": _CALLS_AT_ONCE, **options}).remote()
        self.target = target or "a server that it was to start"
        self.patience = Patience(patience, self.target)
        self._visual_files = VisualFiles()

    def open(self, *arguments: Any) -> None:
        self.target = self._remote("open", *arguments)

    def _remote(self, method: str, *arguments: Any) -> Any:
        """The answer to a call of the actor's; what it raised there is raised here."""
        try:
            return ray.get(getattr(self._handle, method).remote(*arguments))
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError) as error:
            raise UnavailableError(grpc.StatusCode.UNAVAILABLE, f"the actor of {self.target} is lost: {error}") from error

    def _answer(self, method: str, request: Any, timeout: float | None) -> Any:
        return self._remote("answer", method, list(request) if method == "UploadAssets" else request, timeout)

    def close(self) -> None:
        try:
            self._remote("stop")
        except UnavailableError:
            pass  # it is gone, and its server with it
        ray.kill(self._handle)


def _count(servers: int) -> int:
    if servers < 0:
        raise ValueError(f"servers: {servers}; it must be 0 or more")
    return servers


@documented
class RayFleet(Fleet):
    """A Fleet of servers that actors of Ray hold.

    Takes the place of a Client where batches are made and used, as Fleet does, and answers the same.

    Parameters
    ----------
    targets : iterable of str, optional
        "host:port" of servers that run already; each gets an actor. A target must be reached from the machine of its actor.
    servers : int, default 0
        How many actors besides start a server of their own, on a free port of the loopback device of their machine.
    program : str, default "axiond"
        What they start: a name on their PATH or a path. Without one of that name, the program of the package axion-server.
    flags : sequence of str, default ()
        What they start it with, for example ("--threads=8",).
    actor_options : mapping, optional
        Options of each actor, for example {"num_cpus": 8, "num_gpus": 1}; Ray chooses its machine by them.
    **client_choices
        Further arguments of each Client, such as `token` and `tls_ca`; files are on the actor's machine.

    Raises
    ------
    ValueError
        There is neither a target nor a server to start, or `servers` is negative.
    FileNotFoundError
        The program is on a machine that is to start it neither by this name nor as the package axion-server.
    RuntimeError
        A server that was started does not serve; its log is in the message.
    """

    def __init__(self, targets: Iterable[str] = (), *, servers: int = 0, program: str = "axiond", flags: Sequence[str] = (),
                 actor_options: Mapping[str, Any] | None = None, patience: float = 5.0, **client_choices: Any) -> None:
        options = dict(actor_options or {})
        if options.get("max_restarts"):
            raise ValueError("actor_options: max_restarts: a new actor has none of the worlds; a Fleet makes them anew elsewhere")
        wanted = list(targets) + [None] * _count(servers)
        if not wanted:
            raise ValueError("targets, servers: a fleet has at least one server")
        choices = {"retry": patience, **client_choices}
        actors = [_Actor(options, target, choices["retry"]) for target in wanted]  # all at once, as each may take a while to be placed
        try:
            for actor, target in zip(actors, wanted):
                actor.open(target, program, list(flags), choices)
        except BaseException:
            for actor in actors:
                actor.close()
            raise
        self._take(Members.of_clients(actors))
