"""The client for asyncio: the same calls with the same arguments, to be awaited.

    async with axion.aio.Client("127.0.0.1:8470") as client:
        model = await client.create_model(path="quadruped.xml")
        async with await client.create_batch(model, 256) as batch:
            result = await batch.step(control=model.hold_control("stand"), steps=200, outputs=["body_pose"])

Many calls may be under way at once (asyncio.gather), over one connection and in one thread. What a call sends and what it makes
of the answer is the blocking client's own code: it runs until it wants an answer, and once more with the answer at hand.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from types import TracebackType
from typing import Any, Concatenate, Generic, NoReturn, ParamSpec, TypeVar, cast

import grpc
import grpc.aio

from axion import client as blocking
from axion import credentials as access
from axion.batch import Batch as BlockingBatch
from axion.channel import channel_arguments
from axion.client import DEFAULT_MAX_MESSAGE_BYTES
from axion.errors import AxionError, from_rpc_error
from axion.retry import Patience, is_done_already, may_repeat
from axion.tensors import Worlds
from axion.v1 import simulation_pb2, simulation_pb2_grpc
from axion.watch import Frame, watch_request

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Call = TypeVar("_Call", bound=Callable[..., Any])


class _Ask(BaseException):
    """A call wants the answer to this request."""

    def __init__(self, method: str, request: Any, timeout: float | None) -> None:
        self.method, self.request, self.timeout = method, request, timeout


class _Answers:
    """In the place of a stub: gives the answers that there are, in order, and asks for the next."""

    def __init__(self, answers: list[Any]) -> None:
        self._answers = iter(answers)

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(request: Any, timeout: float | None = None) -> Any:
            for answer in self._answers:
                return answer
            kept = type(request)()
            kept.CopyFrom(request)  # pages are asked for with one request, which changes
            raise _Ask(method, kept, timeout)

        return call


class _Prompter(Generic[_Result]):
    """Runs a blocking call's code, awaiting what it asks for."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def run(self, call: Callable[[blocking.Client], _Result]) -> _Result:
        answers: list[Any] = []
        while True:
            shadow = blocking.Client.__new__(blocking.Client)  # all that calls use of one
            shadow.stub = cast(Any, _Answers(answers))
            shadow.target, shadow.patience = self._client.target, self._client.patience
            try:
                return call(shadow)
            except _Ask as ask:
                answers.append(await self._client.answer(ask.method, ask.request, ask.timeout))


def _named_as(call: _Call, method: Callable[..., Any]) -> _Call:
    """The call, which help shows as the blocking one."""
    call.__name__, call.__doc__ = method.__name__, method.__doc__
    setattr(call, "__signature__", inspect.signature(method))
    return call


def _of_client(method: Callable[Concatenate[blocking.Client, _Parameters], _Result],
               ) -> Callable[Concatenate[Client, _Parameters], Coroutine[Any, Any, _Result]]:
    async def call(self: Client, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        return await _Prompter[_Result](self).run(lambda shadow: method(shadow, *args, **kwargs))

    return _named_as(call, method)


def _batch_of_client(method: Callable[Concatenate[blocking.Client, _Parameters], BlockingBatch],
                     ) -> Callable[Concatenate[Client, _Parameters], Coroutine[Any, Any, Batch]]:
    async def call(self: Client, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> Batch:
        made = await _Prompter[BlockingBatch](self).run(lambda shadow: method(shadow, *args, **kwargs))
        return Batch(self, made.proto)

    return _named_as(call, method)


def _of_batch(method: Callable[Concatenate[BlockingBatch, _Parameters], _Result],
              ) -> Callable[Concatenate[Batch, _Parameters], Coroutine[Any, Any, _Result]]:
    async def call(self: Batch, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        return await _Prompter[_Result](self.client).run(lambda shadow: method(BlockingBatch(shadow, self.proto), *args, **kwargs))

    return _named_as(call, method)


class Client:
    """A client of one server, of one event loop.

    Its calls are those of axion.Client, to be awaited. As an asynchronous context manager it closes itself.

    Parameters
    ----------
    target : str, optional
        Address of the server, "host:port", or "host" where it listens on port 8470. None: that of the environment's AXION_SERVER; else
        DEFAULT_TARGET if something listens there or credentials are given; else that of axion.local, if there is an axiond to start.
    credentials : grpc.ChannelCredentials, optional
        Made by hand, in the place of all choices of TLS.
    max_message_bytes : int, default DEFAULT_MAX_MESSAGE_BYTES
        The greatest message taken or sent, bytes; the server has its own limit (server_info().limits).
    token : str, optional
        Of the tenant, sent with every call.
    tls : bool, optional
        True for TLS with the system's authorities, False for none whatever the environment says.
    tls_ca : path, optional
        File of the authorities, PEM, that may have issued the server's certificate.
    tls_cert : path, optional
        File of this client's own certificate, PEM, for servers that want one.
    tls_key : path, optional
        File of its key, PEM.
    tls_server_name : str, optional
        What the server's certificate is for, where that is not the target's name.
    insecure_token : bool, default False
        Send the token to another machine without TLS.
    retry : float, default 30.0
        Seconds for which a call is made again, with growing waits, while the server is UNAVAILABLE, as when it is
        started again; a call's own timeout holds besides. Not before the server was there once; 0 is never. Steps
        carry a request_id and the batch's incarnation, so that none is made twice: a batch that has lost steps
        (docs/snapshots.md) raises AbortedError.

    Raises
    ------
    ValueError
        Credentials cannot be used; the message names which.
    """

    def __init__(self, target: str | None = None, credentials: grpc.ChannelCredentials | None = None,
                 max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES, *, token: str | None = None, tls: bool | None = None,
                 tls_ca: access.PathLike | None = None, tls_cert: access.PathLike | None = None,
                 tls_key: access.PathLike | None = None, tls_server_name: str | None = None,
                 insecure_token: bool = False, retry: float = 30.0) -> None:
        target, found = access.resolve_target(target, token=token, tls=tls, tls_ca=tls_ca, tls_cert=tls_cert, tls_key=tls_key,
                                              tls_server_name=tls_server_name, insecure_token=insecure_token, credentials=credentials)
        options = channel_arguments(found, max_message_bytes)
        self.target = target
        self.patience = Patience(retry, target)
        self._channel = (grpc.aio.insecure_channel(target, options) if found.channel is None else
                         grpc.aio.secure_channel(target, found.channel, options))
        self._stub = simulation_pb2_grpc.SimulationStub(cast(Any, self._channel))
        self._metadata = () if found.token is None else (("authorization", f"Bearer {found.token}"),)

    def __repr__(self) -> str:
        return f"<axion.aio.Client of {self.target}>"

    def __reduce__(self) -> NoReturn:
        """Neither a connection nor a token goes to another process."""
        raise TypeError(f"a client is not pickled: the process that is to have one makes its own, by axion.aio.Client({self.target!r})")

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the connection.

        Batches stay on the server until they are deleted or their lease ends.
        """
        self.patience.end()
        await self._channel.close()

    async def answer(self, method: str, request: Any, timeout: float | None) -> Any:
        """Sends a request of the service, again as `retry` says.

        Parameters
        ----------
        method : str
            Its name in the service.
        request : Any
            The message.
        timeout : float
            Seconds after which it is given up.

        Returns
        -------
        Any
            The message that answers it.

        Raises
        ------
        AxionError
            The server refuses it, or cannot be reached.
        """
        self.patience.check_open()
        attempts = self.patience.attempts(timeout)
        while True:
            try:
                answer = await getattr(self._stub, method)(request, timeout=attempts.timeout(), metadata=self._metadata)
            except grpc.RpcError as error:
                if is_done_already(method, error, attempts):
                    return None
                wait = attempts.wait_before_another(error) if may_repeat(method, request) else None
                if wait is None:
                    raise from_rpc_error(error) from error
                await asyncio.sleep(wait)
            else:
                self.patience.heard()
                return answer

    def frames(self, request: Any) -> Any:
        """Begins the call of a Watch.

        Parameters
        ----------
        request : Any
            The message.

        Returns
        -------
        grpc.aio.UnaryStreamCall
            The call.
        """
        return self._stub.Watch(request, metadata=self._metadata)

    server_info = _of_client(blocking.Client.server_info)
    create_model = _of_client(blocking.Client.create_model)
    get_model = _of_client(blocking.Client.get_model)
    get_scene = _of_client(blocking.Client.get_scene)
    list_models = _of_client(blocking.Client.list_models)
    delete_model = _of_client(blocking.Client.delete_model)
    create_batch = _batch_of_client(blocking.Client.create_batch)
    get_batch = _batch_of_client(blocking.Client.get_batch)
    restore_snapshot = _batch_of_client(blocking.Client.restore_snapshot)
    list_snapshots = _of_client(blocking.Client.list_snapshots)
    delete_snapshot = _of_client(blocking.Client.delete_snapshot)

    async def list_batches(self, page_size: int = 0) -> list[Batch]:
        """Lists the batches on the server.

        Parameters
        ----------
        page_size : int, default 0
            How many the server is asked for at once; 0 leaves that to the server. All are returned in any case.

        Returns
        -------
        list[Batch]
            All of them.

        Raises
        ------
        AxionError
            The server refuses the call, or cannot be reached.
        """
        found = await _Prompter[list[BlockingBatch]](self).run(lambda shadow: shadow.list_batches(page_size))
        return [Batch(self, batch.proto) for batch in found]


class Batch:
    """Worlds of one model; calls are those of axion.Batch, to be awaited.

    As an asynchronous context manager it deletes itself at the end.

    Parameters
    ----------
    client : Client
        The connection that it was made by.
    proto : Batch
        What the server said of it.
    """

    def __init__(self, client: Client, proto: simulation_pb2.Batch) -> None:
        self.client, self.proto = client, proto
        self.name, self.model, self.world_count, self.dt = proto.name, proto.model, proto.world_count, proto.dt
        self.device, self.memory_bytes = proto.device, proto.memory_bytes

    def __repr__(self) -> str:
        return f"<axion.aio.Batch {self.name}: {self.world_count} worlds of {self.model}, dt {self.dt:g} s, {self.device}>"

    def __len__(self) -> int:
        return self.world_count

    async def __aenter__(self) -> Batch:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            await self.delete()
        except AxionError:
            if kind is None:
                raise

    step = _of_batch(BlockingBatch.step)
    step_task = _of_batch(BlockingBatch.step_task)
    begin_episodes = _of_batch(BlockingBatch.begin_episodes)
    reset = _of_batch(BlockingBatch.reset)
    get_state = _of_batch(BlockingBatch.get_state)
    set_state = _of_batch(BlockingBatch.set_state)
    get_parameters = _of_batch(BlockingBatch.get_parameters)
    contacts = _of_batch(BlockingBatch.contacts)
    solver_stats = _of_batch(BlockingBatch.solver_stats)
    cast_rays = _of_batch(BlockingBatch.cast_rays)
    distances = _of_batch(BlockingBatch.distances)
    dynamics = _of_batch(BlockingBatch.dynamics)
    world_stats = _of_batch(BlockingBatch.world_stats)
    keep_alive = _of_batch(BlockingBatch.keep_alive)
    save_snapshot = _of_batch(BlockingBatch.save_snapshot)
    delete = _of_batch(BlockingBatch.delete)

    async def watch(self, fields: str | Iterable[str] = ("body_pose",), worlds: Worlds = None, rate: float = 30.0,
                    contacts: bool = False, solver_stats: bool = False) -> AsyncIterator[Frame]:
        """Looks on while somebody else steps the worlds: async for frame in batch.watch().

        Parameters
        ----------
        fields : str or Iterable[str], default ('body_pose',)
            Names of fields.
        worlds : int, sequence of int or mask, optional
            Which worlds: one index, n distinct indices, or a boolean mask [world_count]; None is all of them.
        rate : float, default 30.0
            Frames a second at most.
        contacts : bool, default False
            Whether frames have the contacts.
        solver_stats : bool, default False
            Whether frames have what the solver did.

        Yields
        ------
        Frame
            Worlds between two launches.

        Raises
        ------
        AxionError
            The batch is gone, or the server is.
        """
        call = self.client.frames(watch_request(self.name, self.world_count, fields, worlds, rate, contacts, solver_stats))
        try:
            async for frame in call:
                yield Frame(frame)
        except grpc.RpcError as error:
            raise from_rpc_error(error) from error
        finally:
            call.cancel()
