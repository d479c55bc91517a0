"""Calls of HTTP/2 that are taken back as soon as they are made (rapid reset)."""

import contextlib
import socket

SETTINGS, HEADERS, RESET = 4, 1, 3
END_HEADERS = 4
CANCEL = (8).to_bytes(4, 'big')
AT_ONCE = 100
PATIENCE_SECONDS = 5


def frame(kind, flags, stream, payload=b''):
    return len(payload).to_bytes(3, 'big') + bytes([kind, flags]) + stream.to_bytes(4, 'big') + payload


def headers(path, *more):
    """Of a gRPC call, in HPACK without a table."""
    texts = ((':path', path), (':scheme', 'https'), (':authority', 'localhost'), ('te', 'trailers'),
             ('content-type', 'application/grpc'), *more)
    return b'\x83' + b''.join(b'\x00' + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
                              for name, value in texts)


def take_back(port, call, enough, count, context=None):
    """Makes and takes back calls, from 127.0.0.2, over a new connection whenever one is ended, until `enough` is set.

    `call` is what headers() made; `count(calls, ended)` hears of calls that were sent and of connections that were ended. With a
    `context` over TLS."""
    while not enough.is_set():
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            wire = stack.enter_context(socket.create_connection(('127.0.0.1', port), PATIENCE_SECONDS, ('127.0.0.2', 0)))
            if context is not None:
                wire = stack.enter_context(context.wrap_socket(wire, server_hostname='localhost'))
            wire.sendall(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(SETTINGS, 0, 0))
            for first in range(1, 2**30, 2 * AT_ONCE):
                if enough.is_set():
                    return
                wire.sendall(b''.join(frame(HEADERS, END_HEADERS, stream, call) + frame(RESET, 0, stream, CANCEL)
                                      for stream in range(first, first + 2 * AT_ONCE, 2)))
                count(AT_ONCE, 0)
        count(0, 1)
