#!/usr/bin/env python3
"""What the tool has for operators: top, drain, AXION_SERVER, what a mistyped word is near to, and the pages that are installed with it.

Usage: tool_oncall_test.py BIN_DIRECTORY MODEL.xml
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from axiond_process import PATIENCE_SECONDS, AxiondProcess  # noqa: E402

BIN, MODEL = pathlib.Path(sys.argv[1]), sys.argv[2]
SHARE = BIN.parent / 'share'


def axion(*words, **environment):
    done = subprocess.run([BIN / 'axion', *words], capture_output=True, text=True, timeout=PATIENCE_SECONDS,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


class Operators(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(AxiondProcess(BIN / 'axiond', '--threads=1'))

    def tool(self, *words):
        """By AXION_SERVER, which no command line has to repeat."""
        code, out, error = axion(*words, AXION_SERVER=self.server.address)
        self.assertEqual(code, 0, error)
        return out

    def make_batch(self, worlds):
        return re.search(r'batches/\w+', self.tool('create', MODEL, f'--worlds={worlds}'))[0]

    def test_a_server_that_is_named_goes_before_the_environments(self):
        code, _, error = axion('info', '--server=127.0.0.1:1', '--timeout=5s', AXION_SERVER=self.server.address)
        self.assertEqual((code, 'UNAVAILABLE' in error or 'DEADLINE' in error), (1, True), error)

    def test_top_is_a_table_of_all_batches(self):
        idle, other = self.make_batch(2), self.make_batch(3)
        words = self.tool('top', '--count=2', '--interval=10ms')
        head = [line for line in words.splitlines() if line.startswith('axiond ')]
        self.assertEqual(len(head), 2)
        self.assertRegex(head[0], r'worlds 5 of \d+  batches 2  models 1 of \d+')
        for name, worlds in ((idle, 2), (other, 3)):
            self.assertEqual(len(re.findall(rf'^{name} +{worlds} +- .*models/', words, re.MULTILINE)), 2)
        table = json.loads(self.tool('top', '--count=1', '--interval=10ms', '--json'))
        self.assertEqual({row['batch']: row['worlds'] for row in table['batches']}, {idle: 2, other: 3})

    def test_top_shows_the_steps_between_two_looks(self):
        batch = self.make_batch(2)
        process = subprocess.Popen([BIN / 'axion', 'top', '--interval=10ms', '--json'], stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, 'AXION_SERVER': self.server.address})
        try:
            def rows():
                """Of the next table."""
                decoder, text = json.JSONDecoder(), ''
                for line in process.stdout:
                    text += line
                    try:
                        return decoder.decode(text)['batches']
                    except json.JSONDecodeError:
                        continue
                raise AssertionError('top has ended')

            rows()
            self.tool('step', batch, '--steps=25')
            seen = 0
            while seen < 50:  # in one look, or in several on a machine that stops between two launches
                row, = rows()
                self.assertEqual((row['batch'], row['world_steps'] > 0), (batch, row['world_steps_per_second'] > 0))
                seen += row['world_steps']
            self.assertEqual(seen, 50)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def test_drain_ends_a_server_of_this_machine_and_waits_for_it(self):
        out = self.tool('drain')
        self.assertIn(f'process {self.server.process.pid}, has ended', out)
        self.assertEqual(self.server.process.wait(PATIENCE_SECONDS), 0)
        self.assertIn('event=stopped drained=true', self.server.log_text())
        code, _, error = axion('drain', f'--server={self.server.address}')
        self.assertEqual(code, 1)
        self.assertIn('nothing listens at port', error)

    def test_drain_ends_nothing_else(self):
        listener = subprocess.Popen([sys.executable, '-c', 'import socket; s = socket.create_server(("127.0.0.1", 0)); '
                                     'print(s.getsockname()[1], flush=True); input()'],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            code, _, error = axion('drain', f'--server=127.0.0.1:{int(listener.stdout.readline())}')
            self.assertEqual(code, 1)
            self.assertIn('no axiond of this user', error)
            self.assertIsNone(listener.poll())
        finally:
            listener.communicate('\n')
        code, _, error = axion('drain', '--server=simulation.example:8470')
        self.assertEqual(code, 2)
        self.assertIn('elsewhere', error)


class Words(unittest.TestCase):
    def test_a_mistyped_word_is_told_what_it_is_near_to(self):
        for words, near in ((['modles'], "did you mean 'models'?"), (['setp', 'x'], "did you mean 'step'?"),
                            (['info', '--sever=x'], 'did you mean --server?'), (['create', 'x', '--world=2'], 'did you mean --worlds?'),
                            (['help', 'rnu'], "did you mean 'run'?")):
            with self.subTest(words=words):
                code, _, error = axion(*words)
                self.assertEqual(code, 2)
                self.assertIn(f'({near})', error)
                self.assertNotIn('?;', error)
        for words in (['frobnicate'], ['info', '--frobnicate'], ['x' * 100000]):
            code, _, error = axion(*words)
            self.assertEqual(code, 2)
            self.assertNotIn('did you mean', error)

    def test_pages_that_are_installed_have_every_command_and_flag(self):
        overview = json.loads(axion('help', '--json')[1])
        verbs = {command['verb'] for command in overview['commands']}
        tool, completion = (SHARE / 'man/man1/axion.1').read_text(), (SHARE / 'bash-completion/completions/axion').read_text()
        self.assertEqual(set(re.findall(r'^\.SS (\w+)', tool, re.MULTILINE)), verbs)
        self.assertLessEqual(verbs, set(re.search(r'compgen -W "help ([^"]*)"', completion)[1].split()))
        self.assertIn('complete -c axion', (SHARE / 'fish/vendor_completions.d/axion.fish').read_text())
        flags = {flag['name'] for command in verbs - {'view', 'render', 'train', 'play', 'replay'}
                 for flag in json.loads(axion('help', command, '--json')[1])['flags']}
        self.assertEqual(set(re.findall(r'^\.B (\\-\\-\w+)', tool, re.MULTILINE)), {name.replace('-', '\\-') for name in flags})
        server = subprocess.run([BIN / 'axiond', '--help'], capture_output=True, text=True).stdout
        told = set(re.findall(r'^\.B \\-\\-(\w+)=', (SHARE / 'man/man8/axiond.8').read_text(), re.MULTILINE))
        self.assertEqual(told, set(re.findall(r'^    --(\w+) \(', server, re.MULTILINE)))

    def test_man_pages_are_troff(self):
        if not shutil.which('groff'):
            self.skipTest('groff is not installed')
        for page in ('man1/axion.1', 'man8/axiond.8'):
            done = subprocess.run(['groff', '-man', '-Tutf8', '-ww', '-z', SHARE / 'man' / page], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ''))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
