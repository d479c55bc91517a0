"""What clients of a server have in common, whatever carries their calls."""

from __future__ import annotations

from typing import Any, NoReturn

import grpc

from axion import credentials as access
from axion.channel import channel_arguments
from axion.retry import Patience

DEFAULT_MAX_MESSAGE_BYTES = 256 << 20


class Connection:
    """Whose server it is, how long it is waited for, and with which credentials.

    Parameters
    ----------
    target : str, optional
        Address of the server, "host:port", or "host" where it listens on port 8470. None: that of the environment's AXION_SERVER; else
        DEFAULT_TARGET if something listens there or credentials are given; else that of `local`, if there is an axiond to start.
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

    _kind = "axion.Client"

    def __init__(self, target: str | None = None, credentials: grpc.ChannelCredentials | None = None,
                 max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES, *, token: str | None = None, tls: bool | None = None,
                 tls_ca: access.PathLike | None = None, tls_cert: access.PathLike | None = None,
                 tls_key: access.PathLike | None = None, tls_server_name: str | None = None,
                 insecure_token: bool = False, retry: float = 30.0) -> None:
        target, found = access.resolve_target(target, token=token, tls=tls, tls_ca=tls_ca, tls_cert=tls_cert, tls_key=tls_key,
                                              tls_server_name=tls_server_name, insecure_token=insecure_token, credentials=credentials)
        self.target = target
        self.patience = Patience(retry, target)
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
