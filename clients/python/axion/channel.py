"""What a client's connection is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from axion import credentials as access

DEFAULT_PORT = 8470
DEFAULT_TARGET = f"127.0.0.1:{DEFAULT_PORT}"


def with_port(target: str) -> str:
    """The address with axiond's own port where it has none.

    Taken alone gRPC means port 443 by "host", "192.0.2.1" or "[::1]". Whatever names a scheme ("dns:", "unix:", …) is left.
    """
    if target.startswith("["):
        return f"{target}:{DEFAULT_PORT}" if target.endswith("]") else target
    if target.count(":") > 1 and all(c in "0123456789abcdefABCDEF:." for c in target):
        return f"[{target}]:{DEFAULT_PORT}"
    return target if ":" in target or not target else f"{target}:{DEFAULT_PORT}"


def channel_arguments(found: access.Credentials, max_message_bytes: int) -> list[tuple[str, Any]]:
    """Of a channel of gRPC with these credentials."""
    arguments: list[tuple[str, Any]] = [
        ("grpc.max_receive_message_length", max_message_bytes), ("grpc.max_send_message_length", max_message_bytes),
        # Answers are megabytes; with the defaults of 64 KiB and 16 KiB both ends wake each other often.
        ("grpc.http2.lookahead_bytes", 16 << 20), ("grpc.http2.max_frame_size", 1 << 20),
        # A server that comes back is seen within a second, not two minutes; to connect may take five.
        ("grpc.initial_reconnect_backoff_ms", 200), ("grpc.max_reconnect_backoff_ms", 1000),
        ("grpc.min_reconnect_backoff_ms", 5000)]
    if found.channel is not None and found.server_name:
        arguments.append(("grpc.ssl_target_name_override", found.server_name))
    return arguments


class WithMetadata:
    """A method of the stub whose calls carry metadata of their own."""

    def __init__(self, method: Any, metadata: tuple[tuple[str, str], ...]) -> None:
        self._method, self._metadata = method, metadata

    def __call__(self, request: Any, **arguments: Any) -> Any:
        return self._method(request, **self._extended(arguments))

    def with_call(self, request: Any, **arguments: Any) -> Any:
        return self._method.with_call(request, **self._extended(arguments))

    def future(self, request: Any, **arguments: Any) -> Any:
        return self._method.future(request, **self._extended(arguments))

    def _extended(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {**arguments, "metadata": (*(arguments.get("metadata") or ()), *self._metadata)}
