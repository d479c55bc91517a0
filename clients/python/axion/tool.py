"""The verbs of the tool `axion` that are this package's, python -m axion.tool view|render|replay|train|play, and what they have in common.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from axion.client import Client
from axion.errors import AxionError

# The module of each verb, which has parser(verb) and run(given), and the extra that it wants.
_VERBS = {"view": ("axion.viewing.verbs", "view"), "render": ("axion.viewing.verbs", "view"),
          "replay": ("axion.replay", "replay,view"), "train": ("axion.learning.train", "gym,examples,view"),
          "play": ("axion.learning.play", "gym,examples,view")}


def add_server_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags of the server and its credentials, which all verbs have."""
    parser.add_argument("--server", help="host:port; without a port 8470 [AXION_SERVER, 127.0.0.1:8470, or one that is started for this]")
    parser.add_argument("--token", help="of the tenant; better by AXION_TOKEN")
    parser.add_argument("--tls", action="store_true", default=None, help="TLS with the system's authorities")
    parser.add_argument("--tls_ca", help="TLS with these authorities: a file of PEM")
    parser.add_argument("--tls_cert", help="this client's own certificate, a file of PEM")
    parser.add_argument("--tls_key", help="and its key")
    parser.add_argument("--tls_server_name", help="what the server's certificate is for, where that is not the address")
    parser.add_argument("--insecure_token", action="store_true", help="send the token to another machine without TLS")


def connect(given: argparse.Namespace) -> Client:
    """The connection that the flags of add_server_arguments describe, which the caller closes. ValueError for credentials that cannot be
    used."""
    return Client(given.server, **credentials_of(given))


def credentials_of(given: argparse.Namespace) -> dict[str, Any]:
    """What the flags of add_server_arguments say besides the address: arguments of Client, by name."""
    return {name: getattr(given, name) for name in ("token", "tls", "tls_ca", "tls_cert", "tls_key", "tls_server_name", "insecure_token")}


def tell_progress(what: str, done: float, whole: float, unit: str = "") -> None:
    """Shows on a terminal's error output how much is done of a long work; the line ends when all is. Nothing where that is no terminal."""
    if sys.stderr.isatty():
        end = "\n" if done >= whole else ""
        print(f"\r{what}: {round(min(done, whole), 2):,.9g} of {round(whole, 2):,.9g} {unit}\033[K", end=end, file=sys.stderr, flush=True)


def over_progress() -> str:
    """What a line begins with that takes the place of tell_progress's: codes of a terminal, or nothing where the error output is none."""
    return "\r\033[K" if sys.stderr.isatty() else ""


def in_words(verb: str, run: Callable[[], int]) -> int:
    """Runs a verb and says its errors on the error output, in words that begin with its name.

    The exit code is that of `run`; 1 where the server refuses or a file cannot be used; 2 where the command line is wrong; 130 where it was
    interrupted.
    """
    try:
        return run()
    except AxionError as error:
        print(f"axion {verb}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        about = f"cannot use the file {error.filename!r}: {error.strerror}" if error.filename is not None else str(error)
        print(f"axion {verb}: {about}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"axion {verb}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"axion {verb}: interrupted", file=sys.stderr)
        return 130


def _module(verb: str) -> ModuleType:
    """The module of a verb. Ctrl-C ends the program at once while it is imported: packages that try what they might import drop the
    exception that Ctrl-C otherwise is, and the program would go on. ImportError where packages of its extra are not installed."""
    ends = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) in (
        signal.default_int_handler, signal.SIG_DFL)
    if ends:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return importlib.import_module(_VERBS[verb][0])
    finally:
        if ends:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def parser(verb: str) -> argparse.ArgumentParser:
    """The parser of a verb's command line, which is the one definition of its flags. ImportError where packages of its extra are not
    installed."""
    made: argparse.ArgumentParser = _module(verb).parser(verb)
    return made


def flags(verb: str) -> list[dict[str, str | bool]]:
    """The flags of a verb, for shells that complete command lines: of each `name`, with its dashes; `value`, whether a value follows;
    `help`, which is one line."""
    of_verb = parser(verb)
    formatter = of_verb.formatter_class(prog=of_verb.prog)
    return [{"name": name, "value": action.nargs != 0, "help": formatter._expand_help(action) if action.help else ""}
            for action in of_verb._actions for name in action.option_strings if name.startswith("--")]


def _document(verb: str) -> dict[str, Any]:
    """What `axion help VERB --json` prints, in the form of the verbs that are not this package's."""
    of_verb = parser(verb)
    words = [f"[{action.metavar}]" if action.nargs == "?" else str(action.metavar) for action in of_verb._actions
             if not action.option_strings]
    return {"verb": verb, "arguments": " ".join(words), "summary": (of_verb.description or "").partition("\n")[0], "flags": flags(verb)}


def check_writable(path: str | os.PathLike[str]) -> None:
    """Looks whether a file can be written, before work is done for it; leaves nothing behind. OSError where it cannot."""
    existed = os.path.exists(path)
    with open(path, "ab"):
        pass
    if not existed:
        os.remove(path)


def main(words: Sequence[str] | None = None) -> int:
    """Runs a verb: its name and its flags (sys.argv by default); or, after the word `flags`, says which flags it has. The exit code is as
    in_words says."""
    told = list(sys.argv[1:] if words is None else words)
    is_asked = told[:1] == ["flags"]
    verb, rest = (told[1], told[2:]) if is_asked and len(told) > 1 else (told[0] if told else "", told[1:])
    if verb not in _VERBS:
        print(f"axion: {verb!r} is none of {', '.join(_VERBS)}", file=sys.stderr)
        return 2
    try:
        if "--json" in rest and (is_asked or not {"--help", "-h"}.isdisjoint(rest)):
            print(json.dumps(_document(verb)))
            return 0
        if is_asked:
            print("\n".join(f"{flag['name']}{'=' if flag['value'] else ''}\t{flag['help']}" for flag in flags(verb)))
            return 0
        run: Callable[[argparse.Namespace], int] = _module(verb).run
    except ImportError as error:
        extra = _VERBS[verb][1]
        print(f"axion {verb}: wants the extra '{extra}' of the Python package, pip install 'axion-server-client[{extra}]', "
              f"in {sys.executable} (AXION_PYTHON names another interpreter): {error}", file=sys.stderr)
        return 1
    given = parser(verb).parse_args(rest)
    return in_words(verb, lambda: run(given))


if __name__ == "__main__":
    sys.exit(main())
