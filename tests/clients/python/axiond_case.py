"""What tests against axiond share: a server for each case. AXION_AXIOND names its program; the tool lies beside it."""

import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import unittest

import axion

ROOT = pathlib.Path(__file__).resolve().parents[3]
AXIOND = os.environ.get("AXION_AXIOND", "")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


@unittest.skipUnless(AXIOND, "AXION_AXIOND does not name the server's program")
class AxiondCase(unittest.TestCase):
    """Has `target`, `metrics` (the address of the page) and a connected `client`."""

    @classmethod
    def setUpClass(cls):
        port, metrics_port = free_ports(2)
        cls.target = f"127.0.0.1:{port}"
        cls.metrics = f"http://127.0.0.1:{metrics_port}/metrics"
        cls.log = cls.enterClassContext(tempfile.TemporaryFile())
        cls.server = subprocess.Popen([AXIOND, f"--listen={cls.target}", f"--metrics_listen=127.0.0.1:{metrics_port}",
                                       "--device=cpu"], stdout=cls.log, stderr=subprocess.STDOUT)
        cls.client = axion.Client(cls.target)
        try:
            cls.client.wait_until_ready(timeout=30)
        except axion.AxionError:
            cls.server.kill()
            cls.log.seek(0)
            raise AssertionError(f"axiond is not ready:\n{cls.log.read().decode()}") from None

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.send_signal(signal.SIGTERM)
        code = cls.server.wait(timeout=60)
        cls.log.seek(0)
        assert code == 0, f"axiond ended with {code}:\n{cls.log.read().decode()}"

    def tool(self, *arguments, code=0):
        done = subprocess.run([pathlib.Path(AXIOND).with_name("axion"), f"--server={self.target}", *arguments],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr
