"""What clients of a server have in common, whatever carries their calls."""

from __future__ import annotations

from typing import Any, NoReturn

import grpc

from axion import credentials as access
from axion.arguments import checked
from axion.assets import VisualFiles
from axion.channel import channel_arguments
from axion.retry import Patience
from axion.texts import documented

DEFAULT_MAX_MESSAGE_BYTES = 256 << 20


@documented
class Connection:
    """Whose server it is, how long it is waited for, and with which credentials.

    Raises
    ------
    ValueError
        Credentials cannot be used; the message names which.
    """

    _kind = "axion.Client"

    @checked
    def __init__(self, target: str | None = None, credentials: grpc.ChannelCredentials | None = None,
                 max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES, *, token: str | None = None, tls: bool | None = None,
                 tls_ca: access.PathLike | None = None, tls_cert: access.PathLike | None = None,
                 tls_key: access.PathLike | None = None, tls_server_name: str | None = None,
                 insecure_token: bool = False, retry: float = 30.0) -> None:
        target, found = access.resolve_target(target, token=token, tls=tls, tls_ca=tls_ca, tls_cert=tls_cert, tls_key=tls_key,
                                              tls_server_name=tls_server_name, insecure_token=insecure_token, credentials=credentials)
        self.target = target
        self.patience = Patience(retry, target)
        self._visual_files = VisualFiles()
        metadata = () if found.token is None else (("authorization", f"Bearer {found.token}"),)
        self._open(found.channel, channel_arguments(found, max_message_bytes), metadata)

    def _open(self, secure: grpc.ChannelCredentials | None, options: list[tuple[str, Any]], metadata: tuple[tuple[str, str], ...]) -> None:
        """Makes the channel, which connects at its first call."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self._kind} of {self.target}>"

    def __reduce__(self) -> NoReturn:
        """Neither a connection nor a token goes to another process."""
        raise TypeError(f"a client is not pickled: the process that is to have one makes its own, by {self._kind}({self.target!r})")

    def _request_id(self) -> str:
        return self.patience.request_id()
