"""What `axion train` and `axion play` have in common with the other verbs: the server's flags, and errors in words."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import axion


def add_server_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of the server and its credentials, as of all verbs of the tool."""
    parser.add_argument("--server", default=axion.DEFAULT_TARGET, help="host:port [%(default)s]")
    parser.add_argument("--token", help="of the tenant; better by AXION_TOKEN")
    parser.add_argument("--tls", action="store_true", default=None, help="TLS with the system's authorities")
    for name in ("tls_ca", "tls_cert", "tls_key", "tls_server_name"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--insecure_token", action="store_true", help="send the token to another machine without TLS")


def connect(given: argparse.Namespace) -> axion.Client:
    """A Client by these flags."""
    return axion.Client(given.server, token=given.token, tls=given.tls, tls_ca=given.tls_ca, tls_cert=given.tls_cert,
                        tls_key=given.tls_key, tls_server_name=given.tls_server_name, insecure_token=given.insecure_token)


def in_words(verb: str, run: Callable[[], int]) -> int:
    """The exit code of a verb: 1 and a line where the server refuses or a file cannot be used, 2 where the command line is wrong, 130
    where it was interrupted."""
    try:
        return run()
    except (axion.AxionError, OSError) as error:
        print(f"axion {verb}: {error}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"axion {verb}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"axion {verb}: interrupted", file=sys.stderr)
        return 130
