"""Learning over axion.Fleet while a server is lost: the policy of one server's run, bit for bit; see axiond_case.py."""

import contextlib
import fcntl
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from axiond_case import AXIOND, ROOT, AxiondProcess
from axiond_process import PATIENCE_SECONDS, eventually

try:
    import axion.gym  # noqa: F401 - what is learnt

    sys.path.insert(0, str(ROOT / "tests" / "bench"))
    import fleet_loss
except ImportError:
    fleet_loss = None


@unittest.skipUnless(AXIOND, "AXION_AXIOND does not name the server's program")
@unittest.skipUnless(fleet_loss, "gymnasium is not installed")
class LearningOverAFleet(unittest.TestCase):
    def test_training_goes_on_with_the_same_bits_when_a_server_is_lost(self):
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            code = fleet_loss.main([AXIOND, "--worlds=48", "--updates=4", "--rollout_steps=16", "--episode_steps=20",
                                    "--checkpoint_every=10", "--patience=0.5", "--json"])
        found = json.loads(told.getvalue())
        self.assertEqual((code, found["servers_left"]), (0, 2), found)
        self.assertTrue(found["same_answers"] and found["same_policy"])
        self.assertGreater(min(found["episodes_before"], found["episodes_after"]), 40)

    def test_the_tool_trains_over_servers_and_keeps_the_policy_of_one_when_one_is_lost(self):
        servers = [self.enterContext(AxiondProcess(AXIOND)) for _ in range(3)]
        environment = {**os.environ, "AXION_PYTHON": sys.executable}
        choices = ["--worlds=24", "--rollout_steps=16", f"--steps={24 * 16 * 6}", "--no-pictures", "--json"]
        with tempfile.TemporaryDirectory() as folder:
            addresses = ",".join(server.address for server in servers)
            tool = [pathlib.Path(AXIOND).with_name("axion"), "train", "example", *choices]
            reading, writing = os.pipe()
            os.write(writing, b"\n" * fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096))  # full: the line of the first update waits
            program = subprocess.Popen([*tool, f"--servers={addresses}", "--patience=0.5", f"--out={folder}/spread"], text=True,
                                       env=environment, stdout=subprocess.PIPE, stderr=writing)
            self.addCleanup(program.communicate)
            self.addCleanup(program.kill)
            os.close(writing)
            # Of two steps it is measured how fast a server is; one that seems very slow gets no worlds.
            count = 'axion_rpc_duration_seconds_count{code="OK",method="Step"}'
            lost, = eventually(lambda: [server for server in servers if server.metric(count, 0) >= 5][:1])
            lost.kill()
            left = [server.address for server in servers if server is not lost]
            with open(reading) as lines:
                error = lines.read()
            told, _ = program.communicate(timeout=PATIENCE_SECONDS)
            self.assertEqual(program.returncode, 0, error)
            self.assertIn("quadruped seed 1", error)
            self.assertIn(f"Lost: {lost.address}; its worlds go on at {', '.join(left)}\n", error)
            spread = json.loads(told)
            alone = subprocess.run([*tool, f"--server={left[0]}", f"--out={folder}/alone"], text=True, env=environment,
                                   capture_output=True, timeout=PATIENCE_SECONDS)
            self.assertEqual(alone.returncode, 0, alone.stderr)
            self.assertEqual(spread["last_rewards"], json.loads(alone.stdout)["last_rewards"])
            for name in ("quadruped-1.npz", "quadruped-curves.npz"):
                with np.load(f"{folder}/spread/{name}") as mine, np.load(f"{folder}/alone/{name}") as theirs:
                    self.assertEqual(mine.files, theirs.files)
                    for part in mine.files:
                        np.testing.assert_array_equal(mine[part], theirs[part])
        wrong = subprocess.run([*tool, "--servers=127.0.0.1:9,127.0.0.1:10", "--patience=0", f"--out={folder}"], text=True,
                               env=environment, capture_output=True, timeout=PATIENCE_SECONDS)
        self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
        self.assertRegex(wrong.stderr, r"^axion train: UNAVAILABLE: .*\n  nothing listens there")


if __name__ == "__main__":
    unittest.main()
