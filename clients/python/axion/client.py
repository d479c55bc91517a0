"""The connection to a server."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, TypeVar

import grpc

from axion.arguments import checked
from axion.assets import Assets, Uploads, VisualFiles
from axion.batch import Batch
from axion.calls import Pages, nothing
from axion.channel import WithMetadata
from axion.client_batches import ClientCalls
from axion.connection import DEFAULT_MAX_MESSAGE_BYTES as DEFAULT_MAX_MESSAGE_BYTES, Connection
from axion.errors import AxionError, UnavailableError, from_rpc_error
from axion.local_server import find_program, local_target
from axion.retry import SILENT_SECONDS, STREAMS, OpenMethod, RetryingMethod, checked_timeout, tell_of_wait
from axion.texts import documented
from axion.v1 import asset_pb2, simulation_pb2, simulation_pb2_grpc

_Result = TypeVar("_Result")
_Item = TypeVar("_Item")


@documented
class Client(Connection, ClientCalls):
    """A client of one server.

    It connects at its first call, may be used by many threads, and closes itself as a context manager. Calls raise
    AxionError. Each of the choices of TLS and the token is taken from its variable of the environment, AXION_TOKEN,
    AXION_TLS_CA and so on, where it is not given; without any of them there is no TLS.

    Raises
    ------
    ValueError
        Credentials cannot be used; the message names which.
    """

    def _open(self, secure: grpc.ChannelCredentials | None, options: list[tuple[str, Any]], metadata: tuple[tuple[str, str], ...]) -> None:
        self._channel = (grpc.insecure_channel(self.target, options) if secure is None else
                         grpc.secure_channel(self.target, secure, options))
        self.stub = simulation_pb2_grpc.SimulationStub(self._channel)
        self._visual_files = VisualFiles(self._download)
        for name, method in list(vars(self.stub).items()):
            method = WithMetadata(method, metadata) if metadata else method
            setattr(self.stub, name, OpenMethod(method, self.patience) if name in STREAMS else
                    RetryingMethod(name, method, self.patience))

    def _ask(self, method: str, request: Any, read: Callable[[Any], _Result], timeout: float | None = None, *,
             refused: Callable[[AxionError], None] = nothing, assets: Assets | None = None) -> _Result:
        uploads = Uploads(assets, timeout)
        while True:
            try:
                answer = self._answer(method, request, uploads.left())
            except AxionError as error:
                pieces = uploads.wanted(error)
                if pieces is None:
                    refused(error)
                    raise
            else:
                return read(answer)
            try:
                self._answer("UploadAssets", pieces, uploads.left())
            except AxionError as error:
                if not uploads.goes_on(error):
                    raise

    def _answer(self, method: str, request: Any, timeout: float | None) -> Any:
        """The answer to a request, or to requests of a stream."""
        try:
            return getattr(self.stub, method)(request, timeout=timeout)
        except grpc.RpcError as error:
            raise from_rpc_error(error) from error

    def _download(self, digest: str) -> bytes:
        """An asset that the server has."""
        try:
            return b"".join(piece.data for piece in self.stub.DownloadAsset(asset_pb2.DownloadAssetRequest(digest=digest)))
        except grpc.RpcError as error:
            raise from_rpc_error(error) from error

    def _ask_all(self, method: str, request: Any, read: Callable[[Any], Iterable[_Item]]) -> list[_Item]:
        pages = Pages(request, read)
        while not pages.is_whole:
            self._ask(method, pages.request, pages.take)
        return pages.items

    def _batch(self, proto: simulation_pb2.Batch) -> Batch:
        return Batch(self, proto)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection.

        Batches stay on the server until they are deleted or their lease ends.
        """
        self.patience.end()
        if self.patience.has_left_a_call:  # gRPC cancels it, and may then wait for its end for ever
            threading.Thread(target=self._channel.close, daemon=True).start()
        else:
            self._channel.close()

    @checked
    def wait_until_ready(self, timeout: float = 10.0) -> None:
        """Waits for the connection.

        Parameters
        ----------
        timeout : float, default 10.0
            Seconds to wait at most.

        Raises
        ------
        UnavailableError
            There is no server after that time; the message says why, where that is known.
        """
        self.patience.check_open()
        ready = grpc.channel_ready_future(self._channel)
        limit = checked_timeout(timeout)
        timeout = threading.TIMEOUT_MAX if limit is None else limit
        silent = min(timeout, SILENT_SECONDS)
        try:
            ready.result(timeout=silent)
        except grpc.FutureTimeoutError:
            if timeout > silent:
                tell_of_wait(self.target, timeout - silent, self._why_unavailable())
            try:
                ready.result(timeout=timeout - silent)
            except grpc.FutureTimeoutError:
                why = f": {reason}" if (reason := self._why_unavailable()) else ""
                raise UnavailableError(grpc.StatusCode.UNAVAILABLE,
                                       f"no server at {self.target} within {timeout:g} s{why}") from None

    def _why_unavailable(self) -> str:
        """What the last attempt to connect ran into, by a call that does not wait."""
        try:
            self.server_info(timeout=1.0)
        except AxionError as error:
            return error.message
        return ""


def local() -> Client:
    """Connects to a server of this process's own, which it starts at the first call.

    That is axiond on a free port of the loopback device. All calls of a process, and children that it forks, share one. It ends with the
    process, however that ends. Its program is that of the environment's AXION_SERVER_PROGRAM, else axiond on the PATH, in the
    package axion-server, or in the build of the checkout that this package lies in. A line on the error output says what was started.

    Returns
    -------
    Client
        A connection of its own, without credentials.

    Raises
    ------
    FileNotFoundError
        There is no such program.
    RuntimeError
        The server does not serve; its log is in the message.
    """
    program = find_program()
    if program is None:
        named = os.environ.get("AXION_SERVER_PROGRAM", "")
        raise FileNotFoundError(f"AXION_SERVER_PROGRAM: there is no program {named!r}" if named else
                                "axiond is neither on the PATH nor in the package axion-server; AXION_SERVER_PROGRAM names its path")
    return Client(local_target(program), tls=False, token="")
