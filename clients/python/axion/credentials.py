"""How a client shows who it is and knows whom it talks to: TLS, certificates, tokens; by argument and by environment."""

from __future__ import annotations

import dataclasses
import ipaddress
import os
from collections.abc import Mapping
from typing import Any

import grpc

from axion.channel import with_port
from axion.local_server import default_target

PathLike = str | os.PathLike[str]


@dataclasses.dataclass(frozen=True)
class Credentials:
    """What a connection uses. `channel` is None without TLS; `token` None without a token."""

    channel: grpc.ChannelCredentials | None
    token: str | None
    server_name: str | None


def is_loopback(target: str) -> bool:
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    target = target.removeprefix("dns:").lstrip("/").removeprefix("ipv4:").removeprefix("ipv6:")
    host = target.rpartition(":")[0] if not target.endswith("]") else target
    host = host.strip("[]") or target
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read(name: str, path: PathLike | None) -> bytes | None:
    if not path:
        return None
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise ValueError(f"{name}: {os.fspath(path)!r} cannot be read: {error.strerror}") from None


def _truth(name: str, text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("", "0", "false", "no", "off"):
        return False
    raise ValueError(f"{name}: {text!r} is neither 1 nor 0")


def resolve(target: str, *, token: str | None, tls: bool | None, tls_ca: PathLike | None, tls_cert: PathLike | None,
            tls_key: PathLike | None, tls_server_name: str | None, insecure_token: bool,
            credentials: grpc.ChannelCredentials | None, environment: Mapping[str, str] = os.environ) -> Credentials:
    """Credentials of the arguments, each of which stands in for its variable AXION_TOKEN, AXION_TLS, AXION_TLS_CA,
    AXION_TLS_CERT, AXION_TLS_KEY or AXION_TLS_SERVER_NAME. ValueError names what is wrong."""
    token = environment.get("AXION_TOKEN", "").strip() or None if token is None else token or None
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise ValueError("token: has characters that no token has; a file may have been read with more than its one line")
    name = tls_server_name or environment.get("AXION_TLS_SERVER_NAME") or None
    if credentials is None:
        ca, cert, key = (given or environment.get(variable) or None for given, variable in (
            (tls_ca, "AXION_TLS_CA"), (tls_cert, "AXION_TLS_CERT"), (tls_key, "AXION_TLS_KEY")))
        if (cert is None) != (key is None):
            raise ValueError("tls_cert and tls_key: give both, or none (AXION_TLS_CERT, AXION_TLS_KEY)")
        if tls is None:
            tls = bool(ca or cert) or _truth("AXION_TLS", environment.get("AXION_TLS", ""))
        if tls:
            credentials = grpc.ssl_channel_credentials(_read("tls_ca", ca), _read("tls_key", key), _read("tls_cert", cert))
    if token and credentials is None and not insecure_token and not is_loopback(target):
        raise ValueError(f"token: would travel to {target} for anybody to read; give tls_ca (or tls=True for the system's "
                         "authorities), or insecure_token=True")
    return Credentials(credentials, token, name)


def resolve_target(target: str | None, **choices: Any) -> tuple[str, Credentials]:
    """The address that a client is for, whose own is `target`, and credentials of the arguments of `resolve`."""
    if target is None:
        is_secured = any(choices[name] for name in ("token", "tls", "tls_ca", "tls_cert", "tls_key", "credentials"))
        target, is_own = default_target(is_secured)
        if is_own:  # the environment's credentials are for another server
            choices.update(tls=False, token="")
    target = with_port(target)
    return target, resolve(target, **choices)


def hint(text: str) -> str:
    """What may be wrong where a connection failed, by gRPC's words; empty if it was something else."""
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return "the server's certificate is not of the authority given (tls_ca, AXION_TLS_CA), or has expired"
    if "Hostname Verification Check failed" in text or "not in peer certificate" in text:
        return "the server's certificate is for another name; connect by that name, or give it as tls_server_name"
    if "WRONG_VERSION_NUMBER" in text:
        return "the server does not speak TLS here"
    if "failed to connect" in text and ("Socket closed" in text or "Connection reset" in text):
        return ("the server closed the connection at once: it may want TLS (tls_ca, AXION_TLS_CA), or a certificate of its "
                "clients' authority (tls_cert, tls_key)")
    if "Connection refused" in text:
        return "nothing listens there: is axiond running, and does it listen at this address (its --listen)? axion.local() starts one"
    if "DNS resolution failed" in text:
        return "this name is not known; an address is HOST:PORT, for example 127.0.0.1:8470"
    return ""
