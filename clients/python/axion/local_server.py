"""A server of this process's own: axiond on a free port of the loopback device, for as long as the process lives."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence

from axion.channel import DEFAULT_TARGET, with_port

_START_SECONDS = 60.0   # in which a server must say that it serves
_CONNECT_SECONDS = 1.0  # in which one at the loopback device takes a connection; where none listens that is refused at once
# Keeps a server for as long as its input is open, which ends with this process however that ends. The server, which has
# finished what it has in hand by then or is killed, does not outlive its keeper either (PR_SET_PDEATHSIG is 1).
_KEEPER = """
import ctypes, os, signal, subprocess, sys, threading, time
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL,
                          preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGTERM) if sys.platform == "linux" else None)
def end():
    while os.read(0, 4096):
        pass
    server.terminate()
    time.sleep(float(sys.argv[1]))
    server.kill()
threading.Thread(target=end, daemon=True).start()
sys.exit(server.wait())
"""


def _programs(name: str) -> Iterator[str | None]:
    """Where the server's program may be, the likeliest first."""
    yield shutil.which(name)
    if name != "axiond":
        return
    try:
        import axion_server  # type: ignore[import-not-found, unused-ignore]

        yield os.fspath(axion_server.program())
    except ImportError:
        pass
    # A build of the checkout that this package, or its virtual environment, lies in.
    for start in (pathlib.Path(__file__), pathlib.Path(sys.prefix)):
        for folder in start.resolve().parents:
            if (folder / "proto" / "axion" / "v1").is_dir():
                yield shutil.which(os.fspath(folder / "build" / "release" / "bin" / "axiond"))


def find_program(name: str = "") -> str | None:
    """The path of the server's program on this machine, of a path or a name on the PATH; None if there is none.

    By default it is that of AXION_SERVER_PROGRAM, else axiond. Without an axiond on the PATH it is that of the package axion-server, else
    that of the build of the checkout that this package lies in.
    """
    wanted = name or os.environ.get("AXION_SERVER_PROGRAM", "") or "axiond"
    return next((found for found in _programs(wanted) if found), None)


class KeptServer:
    """An axiond that this process has started on a free port of the loopback device, and that ends with it.

    `flags` are besides its addresses. When it is stopped it has `drain_seconds` to finish what is in hand; then it is killed. RuntimeError,
    with its log in the message, where it does not serve.
    """

    def __init__(self, program: str, flags: Sequence[str] = (), drain_seconds: float = 30.0) -> None:
        self._log = tempfile.TemporaryFile()
        command = [program, "--listen=127.0.0.1:0", "--metrics_listen=", *flags]
        # A session of its own: Ctrl-C at a terminal is for this process, which may have more to ask of the server.
        self._keeper = subprocess.Popen([sys.executable, "-I", "-S", "-c", _KEEPER, str(drain_seconds), *command],
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._log, start_new_session=True)
        self.target = self._target_of_log()

    def _target_of_log(self) -> str:
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end and self._keeper.poll() is None:
            found = re.search(r"event=serving listen=(\S+) ", self._said())
            if found:
                return found[1]
            time.sleep(0.01)
        self.stop()
        raise RuntimeError(f"program: axiond did not serve: {self._said().strip() or 'it says nothing'}")

    def _said(self) -> str:
        return os.pread(self._log.fileno(), 1 << 20, 0).decode(errors="replace")

    def let_go(self) -> None:
        """In a process that was forked: does not keep the server."""
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._keeper.returncode = 0  # it is no child of this process, which has nothing to wait for

    def stop(self) -> None:
        """Ends it as SIGTERM does: what it has in hand is finished."""
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._keeper.wait()


def answers(target: str) -> bool:
    """Whether something listens at an address, "host:port", of the loopback device."""
    host, _, port = target.rpartition(":")
    try:
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


# Held while a process forks, too: a child that came in the middle of a start would keep the server, and not know of it.
_lock = threading.RLock()
_server: KeptServer | None = None


def _after_fork_in_child() -> None:
    if _server is not None:
        _server.let_go()
    _lock.release()


os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork_in_child)


def local_target(program: str) -> str:
    """The address, "host:port", of the one server of this process, which is started where there is none.

    Children that are forked later share it, for as long as this process lives. A line on the error output says what was started.
    RuntimeError, with its log in the message, where it does not serve.
    """
    global _server
    with _lock:
        if _server is None or not answers(_server.target):
            _server = KeptServer(program, drain_seconds=1.0)
            print(f"axion: started {program} at {_server.target} for as long as this process lives (an address, or AXION_SERVER, names "
                  "another server)", file=sys.stderr, flush=True)
        return _server.target


def default_target(is_secured: bool) -> tuple[str, bool]:
    """The address, "host:port", of the server that a client is for which names none, and whether it is this process's own.

    That is AXION_SERVER; else DEFAULT_TARGET, if a server answers there or the client has credentials, which are of a server that runs
    already; else this process's own, or DEFAULT_TARGET without a program to start. RuntimeError where what is started does not serve; its
    log is in the message.
    """
    if named := os.environ.get("AXION_SERVER", "").strip():
        return with_port(named), False
    if is_secured or answers(DEFAULT_TARGET):
        return DEFAULT_TARGET, False
    program = find_program()
    return (DEFAULT_TARGET, False) if program is None else (local_target(program), True)
