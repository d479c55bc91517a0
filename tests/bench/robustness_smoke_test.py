#!/usr/bin/env python3
"""robustness.py runs its scenes and writes its page; never how long it took.

Usage: robustness_smoke_test.py BIN_DIRECTORY
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN = sys.argv[1]
SCRIPT = pathlib.Path(__file__).with_name('robustness.py')
SCENES = ['ten_boxes', 'chain_1000_1', 'four_bar', 'robot_skid']  # those that need no robot's file


def run(*arguments):
    return subprocess.run([sys.executable, '-B', str(SCRIPT), '--bin', BIN, '--models', '.', '--jobs', '2', *arguments],
                          capture_output=True, text=True, timeout=800, check=False)


class Robustness(unittest.TestCase):
    def test_page_has_a_row_for_each_scene_time_step_and_preset(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / 'page.md'
            done = run('--scenes', *SCENES, '--dt', '0.005', '0.02', '--steps', '40', '--out', str(page))
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = [line for line in page.read_text().splitlines() if line.startswith('| ') and ' ms |' in line]
            self.assertEqual(len(rows), len(SCENES) * 2 * 3)

    def test_soak_meets_nothing_non_finite(self):
        done = run('--scenes', *SCENES, '--dt', '0.01', '--soak', '400')
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(' 0 non-finite', done.stdout)

    def test_unknown_scene_is_named(self):
        done = run('--scenes', 'no_such_scene', '--dt', '0.01', '--steps', '1')
        self.assertEqual(done.returncode, 1)
        self.assertIn('no_such_scene', done.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
