"""What tests against axiond share: a server for each case. AXION_AXIOND names its program; the tool lies beside it."""

import os
import pathlib
import subprocess
import sys
import unittest

import axion

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from axiond_process import PATIENCE_SECONDS, AxiondProcess  # noqa: E402

AXIOND = os.environ.get("AXION_AXIOND", "")


@unittest.skipUnless(AXIOND, "AXION_AXIOND does not name the server's program")
class AxiondCase(unittest.TestCase):
    """Has `target`, `metrics` (the address of the page) and a connected `client`."""

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(AxiondProcess(AXIOND))
        cls.target, cls.metrics = cls.server.address, cls.server.metrics_url
        cls.client = axion.Client(cls.target)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        code = cls.server.stop()
        assert code == 0, f"axiond ended with {code}:\n{cls.server.log_text()}"

    def tool(self, *arguments, code=0):
        done = subprocess.run([pathlib.Path(AXIOND).with_name("axion"), f"--server={self.target}", *arguments],
                              capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr
