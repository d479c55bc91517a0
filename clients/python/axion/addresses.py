"""Which servers a name stands for: all addresses that the domain name system has for it, as for a headless service of Kubernetes."""

from __future__ import annotations

import ipaddress
import socket

from axion.channel import with_port


def split_target(target: str) -> tuple[str, int] | None:
    """Host and port of "host:port", whose port is axiond's own where it has none; None for what is no such address, as "unix:/run/axion".

    ValueError where the port is no number from 1 to 65535.
    """
    plain = target.removeprefix("dns:").lstrip("/") if target.startswith("dns:") else target
    host, _, port = with_port(plain).rpartition(":")
    if not host or host.partition(":")[0] in ("unix", "unix-abstract", "ipv4", "ipv6", "xds"):
        return None
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        raise ValueError(f"targets: {target!r} is no HOST:PORT with a port from 1 to 65535")
    return host.strip("[]"), int(port)


def addresses_of(target: str) -> list[str]:
    """Every address, "ip:port", that the host of a target has now, in an order that does not change between two calls.

    An address is its own; so is what is not of the form "host:port". A host with addresses of IPv4 and of IPv6 is taken by the former
    alone, since both are of the same servers. OSError where the name is not known, or has no address yet.
    """
    found = split_target(target)
    if found is None:
        return [target]
    host, port = found
    try:
        return [_joined(ipaddress.ip_address(host), port)]
    except ValueError:
        pass
    of_host = {ipaddress.ip_address(str(entry[4][0]).partition("%")[0])
               for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    version = min((address.version for address in of_host), default=4)
    return [_joined(address, port) for address in sorted((one for one in of_host if one.version == version), key=int)]


def _joined(address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int) -> str:
    return f"{address}:{port}" if address.version == 4 else f"[{address}]:{port}"
