"""Tasks of a server as environments of the dm_env_rpc protocol, for agents that speak it: an endpoint of its own.

    python -m axion.dm_env_rpc --listen 127.0.0.1:8480 --target 127.0.0.1:8470

An agent creates a world with the setting `task`, the name of one of axion.gym's tasks, and may give `seed` and
`max_episode_steps`; it joins the world and steps it. The action is "action", float32 [nu] within the actuators' ranges, zero where a
step has none; observations are "observation", float64 [k], "reward" and "discount", float64 scalars. An episode that the task ends is
TERMINATED, one that is cut is INTERRUPTED; the step that follows begins another. Several agents may be connected, each in a world of
its own; a world is free again when its agent leaves it or goes.

It listens on the loopback device without protection, where every user of the machine may use it, and elsewhere with --tls_cert,
--tls_key and --token_file, the file of hashes that axiond has too: agents send `authorization: Bearer TOKEN`. What they do at
the server is done with this program's own token (AXION_TOKEN).
Source: https://github.com/google-deepmind/dm_env_rpc, docs/v1. It needs the extra `dm-env-rpc` of this package.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import itertools
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import grpc
import gymnasium
import numpy as np
import numpy.typing as npt
from dm_env_rpc.v1 import dm_env_rpc_pb2 as rpc  # type: ignore[import-untyped]
from dm_env_rpc.v1 import dm_env_rpc_pb2_grpc, tensor_spec_utils, tensor_utils
from google.rpc import code_pb2, status_pb2  # type: ignore[import-untyped]

from axion.client import Client
from axion.dm_env_agents import Agents, check_listen, hashes_of_tokens, requests_of
from axion.errors import AxionError
from axion.gym import AxionVectorEnv
from axion.stop_requests import StopRequests

_ACTION, _OBSERVATION, _REWARD, _DISCOUNT = 1, 1, 2, 3
_CONNECTIONS = 256
_SETTINGS = ("task", "seed", "max_episode_steps")


class _Refused(Exception):
    """A request that cannot be met, as a code of google.rpc and a text that names the field."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status_pb2.Status(code=code, message=message)


def _scalar(name: str, tensor: Any) -> Any:
    """The value of a setting. Its shape is looked at first: unpacked, one number fills whatever shape it is said to have."""
    if any(size != 1 for size in tensor.shape) or len(tensor.shape) > 1:
        raise _Refused(code_pb2.INVALID_ARGUMENT, f"settings.{name}: must be one value")
    try:
        return np.asarray(tensor_utils.unpack_tensor(tensor)).reshape(()).item()
    except ValueError as error:
        raise _Refused(code_pb2.INVALID_ARGUMENT, f"settings.{name}: {error}") from error


class _World:
    """One world of the server with its task."""

    def __init__(self, client: Client, settings: Mapping[str, Any]) -> None:
        for name in settings:
            if name not in _SETTINGS:
                raise _Refused(code_pb2.INVALID_ARGUMENT, f"settings: {name!r} is none of {', '.join(_SETTINGS)}")
        values = {name: _scalar(name, tensor) for name, tensor in settings.items()}
        if not isinstance(values.get("task"), str):
            raise _Refused(code_pb2.INVALID_ARGUMENT, "settings.task: is required, the name of a task")
        for name in ("seed", "max_episode_steps"):
            if not isinstance(values.get(name, 0), (int, np.integer)) or values.get(name, 0) < 0:
                raise _Refused(code_pb2.INVALID_ARGUMENT, f"settings.{name}: must be an integer from 0 on")
        try:
            self.env = AxionVectorEnv(values["task"], 1, client=client, autoreset_mode="Disabled",
                                      max_episode_steps=values.get("max_episode_steps"))
        except ValueError as error:
            raise _Refused(code_pb2.INVALID_ARGUMENT, f"settings.{error}") from error
        space = self.env.single_action_space
        assert isinstance(space, gymnasium.spaces.Box)
        self._low, self._high = space.low, space.high
        self.lock = threading.Lock()
        self.is_joined = False
        self._seed: int | None = int(values["seed"]) if "seed" in values else None
        self._is_running = False
        self.specs = self._make_specs()

    def _make_specs(self) -> Any:
        action = rpc.TensorSpec(name="action", shape=self._low.shape, dtype=rpc.DataType.FLOAT)
        finite = np.finfo(np.float32)
        tensor_spec_utils.set_bounds(action, np.maximum(self._low, finite.min), np.minimum(self._high, finite.max))
        observation = rpc.TensorSpec(name="observation", shape=self.env.single_observation_space.shape, dtype=rpc.DataType.DOUBLE)
        return rpc.ActionObservationSpecs(actions={_ACTION: action}, observations={
            _OBSERVATION: observation, _REWARD: rpc.TensorSpec(name="reward", dtype=rpc.DataType.DOUBLE),
            _DISCOUNT: rpc.TensorSpec(name="discount", dtype=rpc.DataType.DOUBLE)})

    def reset(self) -> None:
        """The next step begins an episode."""
        self._is_running = False

    def step(self, request: Any) -> Any:
        """The StepResponse of a StepRequest."""
        for uid in request.requested_observations:
            if uid not in self.specs.observations:
                raise _Refused(code_pb2.INVALID_ARGUMENT, f"requested_observations: there is no observation {uid}")
        reward, discount, state = 0.0, 1.0, rpc.EnvironmentStateType.RUNNING
        if not self._is_running:
            observations, _ = self.env.reset(seed=[self._seed])
            self._seed, self._is_running = None, True
        else:
            observations, rewards, terminated, truncated, _ = self.env.step(self._action(request.actions)[None])
            reward, discount = float(rewards[0]), 0.0 if terminated[0] else 1.0
            if terminated[0] or truncated[0]:
                state = rpc.EnvironmentStateType.TERMINATED if terminated[0] else rpc.EnvironmentStateType.INTERRUPTED
                self._is_running = False
        found = {_OBSERVATION: observations[0].astype(np.float64), _REWARD: np.float64(reward), _DISCOUNT: np.float64(discount)}
        return rpc.StepResponse(state=state, observations={uid: tensor_utils.pack_tensor(found[uid])
                                                           for uid in request.requested_observations})

    def _action(self, actions: Mapping[int, Any]) -> npt.NDArray[np.float32]:
        if any(uid != _ACTION for uid in actions):
            raise _Refused(code_pb2.INVALID_ARGUMENT, f"actions: there is no action {next(uid for uid in actions if uid != _ACTION)}")
        if _ACTION not in actions:
            return np.zeros(self._low.shape, dtype=np.float32)
        tensor = actions[_ACTION]
        if tensor.WhichOneof("payload") != "floats":
            raise _Refused(code_pb2.INVALID_ARGUMENT, "actions.action: must be float32")
        # The shape before the value: unpacked, one number fills whatever shape it is said to have.
        shape, count = tuple(tensor.shape[:8]), len(tensor.floats.array)
        if not (shape == self._low.shape and count in (1, self._low.size) or shape == (-1,) and count == self._low.size):
            raise _Refused(code_pb2.INVALID_ARGUMENT, f"actions.action: has shape {list(shape)} and {count} numbers; it must be "
                           f"{list(self._low.shape)}")
        value = np.asarray(tensor_utils.unpack_tensor(tensor))
        if not ((value >= self._low) & (value <= self._high)).all():
            raise _Refused(code_pb2.INVALID_ARGUMENT, f"actions.action: must be from {self._low.tolist()} to {self._high.tolist()}")
        return value


class EnvironmentService(dm_env_rpc_pb2_grpc.EnvironmentServicer):  # type: ignore[misc]
    """The protocol's service over the worlds of a server, for those agents, 256 without. Add it to a grpc.Server by
    dm_env_rpc_pb2_grpc.add_EnvironmentServicer_to_server."""

    def __init__(self, client: Client, agents: Agents | None = None) -> None:
        self._client, self._agents = client, agents or Agents(_CONNECTIONS)
        self._lock = threading.Lock()
        self._worlds: dict[str, _World] = {}
        self._numbers = itertools.count(1)

    def close(self) -> None:
        """Ends all worlds."""
        with self._lock:
            worlds, self._worlds = list(self._worlds.values()), {}
        for world in worlds:
            world.env.close()

    def Process(self, request_iterator: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        """Answers the requests of one connection in their order."""
        with self._agents.enter(context) as agent:
            yield from self._answers(requests_of(agent, request_iterator))

    def _answers(self, requests: Iterator[Any]) -> Iterator[Any]:
        joined: str | None = None
        try:
            for request in requests:
                kind = request.WhichOneof("payload")
                try:
                    with_world = getattr(self, f"_{kind}", None)
                    if with_world is None:
                        raise _Refused(code_pb2.UNIMPLEMENTED, f"{kind}: is not offered")
                    answer, joined = with_world(getattr(request, kind), joined)
                    yield rpc.EnvironmentResponse(**{kind: answer})
                except _Refused as refusal:
                    yield rpc.EnvironmentResponse(error=refusal.status)
                except AxionError as error:
                    yield rpc.EnvironmentResponse(error=status_pb2.Status(code=error.code.value[0], message=error.message))
        finally:
            if joined is not None:
                self._leave(joined)

    def _world(self, name: str) -> _World:
        with self._lock:
            if name not in self._worlds:
                raise _Refused(code_pb2.NOT_FOUND, f"world_name: there is no world {name[:64]!r}")
            return self._worlds[name]

    def _joined_world(self, joined: str | None) -> _World:
        if joined is None:
            raise _Refused(code_pb2.FAILED_PRECONDITION, "no world is joined")
        return self._world(joined)

    def _create_world(self, request: Any, joined: str | None) -> tuple[Any, str | None]:
        world = _World(self._client, request.settings)
        with self._lock:
            name = f"world_{next(self._numbers)}"
            self._worlds[name] = world
        return rpc.CreateWorldResponse(world_name=name), joined

    def _join_world(self, request: Any, joined: str | None) -> tuple[Any, str | None]:
        if joined is not None:
            raise _Refused(code_pb2.FAILED_PRECONDITION, f"this connection has joined {joined} already")
        for name in request.settings:
            raise _Refused(code_pb2.INVALID_ARGUMENT, f"settings: there is no setting {name[:64]!r} for joining")
        world = self._world(request.world_name)
        with self._lock:
            if world.is_joined:
                raise _Refused(code_pb2.FAILED_PRECONDITION, f"world_name: another connection has joined {request.world_name}")
            world.is_joined = True
        world.reset()
        return rpc.JoinWorldResponse(specs=world.specs), request.world_name

    def _leave(self, name: str) -> None:
        with self._lock:
            if name in self._worlds:
                self._worlds[name].is_joined = False

    def _leave_world(self, request: Any, joined: str | None) -> tuple[Any, str | None]:
        if joined is not None:
            self._leave(joined)
        return rpc.LeaveWorldResponse(), None

    def _step(self, request: Any, joined: str | None) -> tuple[Any, str | None]:
        world = self._joined_world(joined)
        with world.lock:
            return world.step(request), joined

    def _reset(self, request: Any, joined: str | None) -> tuple[Any, str | None]:
        world = self._joined_world(joined)
        with world.lock:
            world.reset()
        return rpc.ResetResponse(specs=world.specs), joined

    def _reset_world(self, request: Any, joined: str | None) -> tuple[Any, str | None]:
        world = self._world(request.world_name)
        with world.lock:
            world.reset()
        return rpc.ResetWorldResponse(), joined

    def _destroy_world(self, request: Any, joined: str | None) -> tuple[Any, str | None]:
        world = self._world(request.world_name)
        with self._lock:
            if world.is_joined:
                raise _Refused(code_pb2.FAILED_PRECONDITION, f"world_name: {request.world_name} is joined; leave it first")
            self._worlds.pop(request.world_name, None)
        world.env.close()
        return rpc.DestroyWorldResponse(), joined


def serve(client: Client, listen: str, connections: int = _CONNECTIONS, *, credentials: grpc.ServerCredentials | None = None,
          tokens: frozenset[str] | None = None, insecure: bool = False) -> tuple[grpc.Server, int, EnvironmentService]:
    """Starts the endpoint.

    Parameters
    ----------
    client : Client
        Of the server of the worlds.
    listen : str
        "host:port"; port 0 takes a free one.
    connections : int, default 256
        Agents at a time. Who has asked for nothing yet makes room for others; beyond that they are refused.
    credentials : grpc.ServerCredentials, optional
        Of TLS.
    tokens : frozenset of str, optional
        Hashes of the tokens of which an agent sends one (hashes_of_tokens); None: anybody may.
    insecure : bool, default False
        Listen where other machines reach it without TLS and tokens.

    Returns
    -------
    tuple of grpc.Server, int and EnvironmentService
        The endpoint, its port, and the service, to be closed after it.

    Raises
    ------
    ValueError
        Other machines would reach it without TLS and tokens.
    OSError
        It cannot listen there.
    """
    check_listen(listen, credentials is not None, tokens is not None, insecure)
    # More threads than places: those who are refused, or send another one away, have one each for that.
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(connections + 16))
    service = EnvironmentService(client, Agents(connections, tokens))
    dm_env_rpc_pb2_grpc.add_EnvironmentServicer_to_server(service, server)
    try:
        port = server.add_insecure_port(listen) if credentials is None else server.add_secure_port(listen, credentials)
    except RuntimeError as error:
        raise OSError(f"cannot listen at {listen}") from error
    server.start()
    return server, port, service


def _tls(cert: str | None, key: str | None) -> grpc.ServerCredentials | None:
    if (cert is None) != (key is None):
        raise ValueError("tls_cert and tls_key: give both, or none")
    if cert is None or key is None:
        return None
    with open(cert, "rb") as file, open(key, "rb") as secret:
        return grpc.ssl_server_credentials([(secret.read(), file.read())])


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until it is stopped.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line; sys.argv by default.

    Returns
    -------
    int
        The exit code.
    """
    parser = argparse.ArgumentParser(prog="python -m axion.dm_env_rpc", description="Axion's tasks over dm_env_rpc.")
    parser.add_argument("--listen", default="127.0.0.1:8480", help="host:port, port 0 for a free one (%(default)s)")
    parser.add_argument("--target", help="the server's host:port [AXION_SERVER, 127.0.0.1:8470, or one that is started for this]")
    parser.add_argument("--tls_cert", help="TLS for agents: the certificate, a file of PEM")
    parser.add_argument("--tls_key", help="and its key")
    parser.add_argument("--token_file", help="of the tokens of which an agent sends one: lines of `axion token new`")
    parser.add_argument("--insecure", action="store_true", help="let other machines in without TLS and tokens")
    options = parser.parse_args(arguments)
    with Client(options.target) as client:
        try:
            tokens = hashes_of_tokens(options.token_file) if options.token_file else None
            credentials = _tls(options.tls_cert, options.tls_key)
            check_listen(options.listen, credentials is not None, tokens is not None, options.insecure)
            client.wait_until_ready()
            server, port, service = serve(client, options.listen, credentials=credentials, tokens=tokens, insecure=options.insecure)
        except (AxionError, OSError, ValueError) as error:
            print(error, file=sys.stderr)
            return 1
        with StopRequests(signal.SIGINT, signal.SIGTERM) as stop:
            print(f"listening on {options.listen.rpartition(':')[0]}:{port}", flush=True)
            stop.wait(lambda seconds: not server.wait_for_termination(seconds))
        server.stop(grace=1).wait()
        service.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
