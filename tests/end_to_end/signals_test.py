#!/usr/bin/env python3
"""Signals at any moment of a real axiond: none is taken by a thread that does not know what to do with it.

Usage: signals_test.py BIN_DIRECTORY
"""

import contextlib
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from axiond_process import PATIENCE_SECONDS, AxiondProcess, eventually  # noqa: E402

AXIOND = pathlib.Path(sys.argv[1]) / 'axiond'
ASKING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Signals(unittest.TestCase):
    def serve(self):
        return self.enterContext(AxiondProcess(AXIOND, '--threads=2'))

    def test_every_thread_blocks_the_signals_that_one_waits_for(self):
        server = self.serve()

        def threads_open_to(number):
            masks = []
            for status in pathlib.Path(f'/proc/{server.process.pid}/task').glob('*/status'):
                with contextlib.suppress(OSError):  # a thread that has just ended
                    masks.append(re.search(r'SigBlk:\s*(\w+)', status.read_text()))
            self.assertGreater(len(masks), 5)
            return sum(not int(mask.group(1), 16) >> (number - 1) & 1 for mask in masks)

        # A thread in sigwait is open to them for as long.
        for number in ASKING:
            self.assertTrue(eventually(lambda number=number: threads_open_to(number) == 1), number)

    def test_the_first_signal_after_the_line_that_it_serves_drains(self):
        for number in ASKING:
            with self.subTest(number.name), AxiondProcess(AXIOND, '--threads=1') as server:
                server.process.send_signal(number)
                self.assertEqual(server.process.wait(PATIENCE_SECONDS), 0, server.log_text())
                self.assertIn(f'event=drain signal={number} ', server.log_text())

    def test_a_signal_before_that_line_ends_it(self):
        # Its first line comes before it serves; whether it does by the time that the signal is there is chance.
        for number in ASKING:
            with self.subTest(number.name):
                process = subprocess.Popen([AXIOND, '--device=cpu', '--listen=127.0.0.1:0', '--metrics_listen='],
                                           stderr=subprocess.PIPE, text=True)
                self.addCleanup(process.stderr.close)
                self.addCleanup(process.kill)
                self.assertIn('event=', process.stderr.readline())
                process.send_signal(number)
                code = process.wait(PATIENCE_SECONDS)
                log = process.stderr.read()
                self.assertEqual(code, 0 if 'event=drain' in log else -number, log)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
