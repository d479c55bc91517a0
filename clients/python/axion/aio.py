"""The client for asyncio: the same calls with the same arguments, to be awaited.

    async with axion.aio.Client("127.0.0.1:8470") as client:
        model = await client.create_model(path="quadruped.xml")
        async with await client.create_batch(model, 256) as batch:
            result = await batch.step(control=model.hold_control("stand"), steps=200, outputs=["body_pose"])

Many calls may be under way at once (asyncio.gather), over one connection and in one thread. What a call sends and what it makes
of the answer is the surface's own code (calls.py): here `_ask` returns what is to be awaited, and so does the call.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import grpc
import grpc.aio

from axion import client as blocking
from axion.assets import Assets, Uploads
from axion.batch import Batch as BlockingBatch
from axion.batch_requests import BatchRequests, IndexOfName, Kind, ModelWanted, index_in
from axion.calls import Pages, nothing
from axion.connection import Connection
from axion.errors import AxionError, from_rpc_error
from axion.retry import is_done_already, may_repeat
from axion.tensors import Worlds
from axion.texts import documented, documented_call
from axion.v1 import simulation_pb2, simulation_pb2_grpc
from axion.watch import Frame, watch_request

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Self = TypeVar("_Self")


def _awaited(method: Callable[Concatenate[_Self, _Parameters], _Result],
             ) -> Callable[Concatenate[Any, _Parameters], Coroutine[Any, Any, _Result]]:
    """A call of the surface whose answer is awaited: its last words are `_ask`, whose result it returns."""
    @functools.wraps(method)
    async def call(self: Any, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        return await cast("Coroutine[Any, Any, _Result]", method(self, *args, **kwargs))

    return call


def _of_batch(method: Callable[Concatenate[blocking.Client, _Parameters], _Result],
              ) -> Callable[Concatenate[Any, _Parameters], Coroutine[Any, Any, Batch]]:
    """Likewise of what makes a batch, which is one of this module."""
    return cast("Callable[Concatenate[Any, _Parameters], Coroutine[Any, Any, Batch]]", _awaited(method))


@documented
class Client(Connection):
    """A client of one server, of one event loop.

    Its calls are as axion.Client's, to be awaited. As an asynchronous context manager it closes itself.

    Raises
    ------
    ValueError
        Credentials cannot be used; the message names which.
    """

    _kind = "axion.aio.Client"

    def _open(self, secure: grpc.ChannelCredentials | None, options: list[tuple[str, Any]], metadata: tuple[tuple[str, str], ...]) -> None:
        self._channel = (grpc.aio.insecure_channel(self.target, options) if secure is None else
                         grpc.aio.secure_channel(self.target, secure, options))
        self._stub = simulation_pb2_grpc.SimulationStub(cast(Any, self._channel))
        self._metadata = metadata

    async def _ask(self, method: str, request: Any, read: Callable[[Any], _Result], timeout: float | None = None, *,
                   refused: Callable[[AxionError], None] = nothing, assets: Assets | None = None) -> _Result:
        uploads = Uploads(assets, timeout)
        while True:
            try:
                answer = await self.answer(method, request, uploads.left())
            except AxionError as error:
                pieces = uploads.wanted(error)
                if pieces is None:
                    refused(error)
                    raise
            else:
                return read(answer)
            try:
                await self.answer("UploadAssets", pieces, uploads.left())
            except AxionError as error:
                if not uploads.goes_on(error):
                    raise

    async def _ask_all(self, method: str, request: Any, read: Callable[[Any], Iterable[_Result]]) -> list[_Result]:
        pages = Pages(request, read)
        while not pages.is_whole:
            await self._ask(method, pages.request, pages.take)
        return pages.items

    def _batch(self, proto: simulation_pb2.Batch) -> Batch:
        return Batch(self, proto)

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

    # Parts of calls below, whose last words are `_ask` as well.
    _create_model, _model = blocking.Client._create_model, blocking.Client._model

    server_info = _awaited(blocking.Client.server_info)
    create_model = _awaited(blocking.Client.create_model)
    get_model = _awaited(blocking.Client.get_model)
    get_scene = _awaited(blocking.Client.get_scene)
    list_models = _awaited(blocking.Client.list_models)
    delete_model = _awaited(blocking.Client.delete_model)
    create_batch = _of_batch(blocking.Client.create_batch)
    get_batch = _of_batch(blocking.Client.get_batch)
    restore_snapshot = _of_batch(blocking.Client.restore_snapshot)
    list_snapshots = _awaited(blocking.Client.list_snapshots)
    delete_snapshot = _awaited(blocking.Client.delete_snapshot)

    @documented_call
    async def list_batches(self, page_size: int = 0) -> list[Batch]:
        """Lists the batches on the server.

        Returns
        -------
        list[Batch]
            All of them.
        """
        return await cast("Coroutine[Any, Any, list[Batch]]", blocking.Client.list_batches(cast(Any, self), page_size))


class Batch(BatchRequests):
    """Worlds of one model; calls are as axion.Batch's, to be awaited.

    As an asynchronous context manager it deletes itself at the end.

    Parameters
    ----------
    client : Client
        The connection that it was made by.
    proto : Batch
        What the server said of it.
    """

    def __init__(self, client: Client, proto: simulation_pb2.Batch) -> None:
        super().__init__(proto)
        self.client = client

    def __repr__(self) -> str:
        return f"<axion.aio.Batch {self.name}: {self.world_count} worlds of {self.model}, dt {self.dt:g} s, {self.device}>"

    async def _ask(self, method: str, request: Any, read: Callable[[Any], _Result], timeout: float | None = None, *,
                   refused: Callable[[AxionError], None] = nothing) -> _Result:
        return await self.client._ask(method, request, read, timeout, refused=refused)

    async def _ask_of_names(self, method: str, build: Callable[[IndexOfName], Any], read: Callable[[Any], _Result],
                            timeout: float | None) -> _Result:
        def index(field: str, given: int | str, kind: Kind) -> int:
            return index_in(self._known_model, field, given, kind)
        try:
            request = build(index)
        except ModelWanted:
            self._known_model = await self.client.get_model(self.model)
            request = build(index)
        return await self._ask(method, request, read, timeout)

    def _request_id(self) -> str:
        return self.client._request_id()

    async def __aenter__(self) -> Batch:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            await self.delete()
        except AxionError:
            if kind is None:
                raise

    step = _awaited(BlockingBatch.step)
    step_task = _awaited(BlockingBatch.step_task)
    begin_episodes = _awaited(BlockingBatch.begin_episodes)
    begin_groups = _awaited(BlockingBatch.begin_groups)
    reset = _awaited(BlockingBatch.reset)
    get_state = _awaited(BlockingBatch.get_state)
    set_state = _awaited(BlockingBatch.set_state)
    get_parameters = _awaited(BlockingBatch.get_parameters)
    contacts = _awaited(BlockingBatch.contacts)
    solver_stats = _awaited(BlockingBatch.solver_stats)
    cast_rays = _awaited(BlockingBatch.cast_rays)
    distances = _awaited(BlockingBatch.distances)
    dynamics = _awaited(BlockingBatch.dynamics)
    linearise = _awaited(BlockingBatch.linearise)
    step_gradient = _awaited(BlockingBatch.step_gradient)
    world_stats = _awaited(BlockingBatch.world_stats)
    keep_alive = _awaited(BlockingBatch.keep_alive)
    save_snapshot = _awaited(BlockingBatch.save_snapshot)
    delete = _awaited(BlockingBatch.delete)

    @documented
    async def watch(self, fields: str | Iterable[str] = ("body_pose",), worlds: Worlds = None, rate: float = 30.0,
                    contacts: bool = False, solver_stats: bool = False) -> AsyncIterator[Frame]:
        """Looks on while somebody else steps the worlds: async for frame in batch.watch().

        Parameters
        ----------
        fields : str or Iterable[str], default ('body_pose',)
            Names of fields.

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
