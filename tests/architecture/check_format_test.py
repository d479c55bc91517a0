#!/usr/bin/env python3
"""check_format.py itself: it sees a file that clang-format would write differently, and --fix writes it.

Usage: check_format_test.py CLANG_FORMAT
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
CLANG_FORMAT = sys.argv.pop() if len(sys.argv) > 1 else 'clang-format'
GOOD = 'int f(int x) { return x + 1; }\n'


class Format(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        shutil.copy(FOLDER.parents[1] / '.clang-format', self.root)
        for path in ('engine/math/good.hpp', 'tools/good.cpp', 'server/bad.cpp', 'engine/backend/bad.cu'):
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(GOOD if 'good' in path else GOOD.replace(' + ', '+'))

    def check(self, *flags):
        return subprocess.run([sys.executable, '-B', FOLDER / 'check_format.py', '--clang_format', CLANG_FORMAT, '--root', self.root,
                               *flags], capture_output=True, text=True)

    def test_file_that_is_not_formatted_is_named_and_fails(self):
        done = self.check()
        self.assertEqual(done.returncode, 1)
        named = {line.split(':')[0] for line in done.stdout.splitlines() if ': not as' in line}
        self.assertEqual(named, {'server/bad.cpp', 'engine/backend/bad.cu'})

    def test_fix_writes_it(self):
        self.assertEqual(self.check('--fix').returncode, 0)
        self.assertEqual((self.root / 'server/bad.cpp').read_text(), GOOD)
        self.assertEqual(self.check().returncode, 0)


if __name__ == '__main__':
    unittest.main()
