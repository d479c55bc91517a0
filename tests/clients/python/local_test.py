"""A server that a client starts for its own process; AXION_AXIOND names the program."""

import contextlib
import os
import pathlib
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import axion
from axion import local_server
from axiond_case import AXIOND
from axiond_process import PATIENCE_SECONDS, AxiondProcess, eventually

# Says where its server is, then waits for its end. Without an address that somebody else's server may have on this machine.
PROGRAM = """
import sys
from axion import channel, local_server
local_server.DEFAULT_TARGET = channel.DEFAULT_TARGET = sys.argv[1]
import axion
{}
print(client.target, flush=True)
sys.stdin.read()
"""


def free_address():
    """Of the loopback device; nothing listens there, and nothing else binds it while the socket is open."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    return taken, f"127.0.0.1:{taken.getsockname()[1]}"


@unittest.skipUnless(AXIOND, "AXION_AXIOND does not name the server's program")
class Local(unittest.TestCase):
    def setUp(self):
        taken, self.nobody = free_address()
        self.enterContext(contextlib.closing(taken))
        self.environment = {name: value for name, value in os.environ.items() if name not in ("AXION_SERVER", "AXION_TOKEN")}
        self.environment["AXION_SERVER_PROGRAM"] = AXIOND

    def start(self, code, **environment):
        process = subprocess.Popen([sys.executable, "-c", PROGRAM.format(code), self.nobody], text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**self.environment, **environment})
        self.enterContext(process)
        self.addCleanup(process.kill)
        return process, process.stdout.readline().strip()

    def run_to_end(self, code, **environment):
        process, said = self.start(code, **environment)
        _, log = process.communicate(timeout=PATIENCE_SECONDS)
        return said, log

    def test_a_client_without_an_address_starts_a_server_and_says_so_in_one_line(self):
        said, log = self.run_to_end("client = axion.Client(); client.server_info()")
        self.assertEqual(log, f"axion: started {AXIOND} at {said} for as long as this process lives (an address, or AXION_SERVER, "
                              "names another server)\n")

    def test_environments_without_an_address_share_it_with_threads_and_clients(self):
        code = """import axion.gym, threading
envs = axion.gym.make_vec("InvertedPendulum-v5", 2)
envs.reset(seed=1); envs.step(envs.action_space.sample())
found = []
threads = [threading.Thread(target=lambda: found.append(axion.local().target)) for _ in range(8)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
client = axion.Client()
assert set(found) == {client.target}, found"""
        said, log = self.run_to_end(code, AXION_TOKEN="another.server", AXION_TLS="1")
        self.assertTrue(said.startswith("127.0.0.1:"), log)
        self.assertEqual(log.count("axion: started"), 1, log)

    def test_it_ends_with_its_process_however_that_ends(self):
        for end in (lambda process: process.stdin.close(), lambda process: process.send_signal(signal.SIGKILL)):
            process, said = self.start("client = axion.local()")
            self.assertTrue(local_server.answers(said))
            end(process)
            process.wait(PATIENCE_SECONDS)
            self.assertTrue(eventually(lambda: not local_server.answers(said)))

    def test_forked_children_share_it_and_do_not_keep_it(self):
        code = """import os, time
parent = axion.local()
child = os.fork()
if child == 0:
    client = axion.local()
    assert client.target == parent.target and client.server_info().version
    sys.stdout.close()
    time.sleep(1000)  # long after its parent's end
client = parent
print(child)"""
        process, child = self.start(code)
        said = process.stdout.readline().strip()
        try:
            process.kill()
            process.wait(PATIENCE_SECONDS)
            self.assertTrue(eventually(lambda: not local_server.answers(said)))
            os.kill(int(child), 0)
        finally:
            os.kill(int(child), signal.SIGKILL)

    def test_a_server_that_is_named_or_runs_already_is_used(self):
        with AxiondProcess(AXIOND, metrics=False) as server:
            said, log = self.run_to_end("client = axion.Client(); client.server_info()", AXION_SERVER=server.address)
            self.assertEqual((said, log), (server.address, ""))
            self.nobody = server.address
            said, log = self.run_to_end("client = axion.Client(); client.server_info()")
            self.assertEqual((said, log), (server.address, ""))


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def program(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def test_it_is_that_of_the_environment_of_the_path_or_of_the_build(self):
        named, on_path = self.program("named", ""), self.program("bin/axiond", "")
        built = self.program("checkout/build/release/bin/axiond", "")
        (self.folder / "checkout" / "proto" / "axion" / "v1").mkdir(parents=True)
        with mock.patch.dict(os.environ, PATH=str(self.folder / "bin"), AXION_SERVER_PROGRAM=named):
            self.assertEqual(local_server.find_program(), named)
            os.environ["AXION_SERVER_PROGRAM"] = ""
            self.assertEqual(local_server.find_program(), on_path)
            os.environ["PATH"] = str(self.folder / "nothing")
            with mock.patch.object(sys, "prefix", str(self.folder / "checkout" / "build" / "venv")), \
                    mock.patch.dict(sys.modules, axion_server=None), \
                    mock.patch.object(local_server, "__file__", "/nowhere/axion/local_server.py"):
                self.assertEqual(local_server.find_program(), built)
                (self.folder / "checkout" / "proto" / "axion" / "v1").rmdir()
                self.assertIsNone(local_server.find_program())
                with self.assertRaisesRegex(FileNotFoundError, "AXION_SERVER_PROGRAM names its path"):
                    axion.local()
                os.environ["AXION_SERVER_PROGRAM"] = "no-such-axiond"
                with self.assertRaisesRegex(FileNotFoundError, "AXION_SERVER_PROGRAM: there is no program 'no-such-axiond'"):
                    axion.local()

    def test_one_that_does_not_serve_is_an_error_with_what_it_said(self):
        with mock.patch.dict(os.environ, AXION_SERVER_PROGRAM=self.program("axiond", "echo no device >&2; exit 1")):
            with self.assertRaisesRegex(RuntimeError, "axiond did not serve: no device"):
                axion.local()

    def test_without_a_program_a_client_is_one_of_the_default_address(self):
        taken, nobody = free_address()
        with contextlib.closing(taken), mock.patch.object(local_server, "DEFAULT_TARGET", nobody), \
                mock.patch.dict(os.environ, AXION_SERVER_PROGRAM="no-such-axiond", AXION_SERVER=""):
            with axion.Client() as client:
                self.assertEqual(client.target, nobody)
            with axion.Client(token="a.token") as client:  # never of a server that has no tokens
                self.assertEqual(client.target, nobody)


if __name__ == "__main__":
    unittest.main()
