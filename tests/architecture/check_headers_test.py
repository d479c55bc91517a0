#!/usr/bin/env python3
"""check_headers.py itself: it names a header that lacks an include, and no other.

Usage: check_headers_test.py COMPILER
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
COMPILER = sys.argv.pop() if len(sys.argv) > 1 else 'c++'
HEADERS = {
    'engine/math/square.hpp': '#pragma once\ninline int square(int x) { return x * x; }\n',
    'engine/model/whole.hpp': '#pragma once\n#include "engine/math/square.hpp"\ninline int fourth(int x) { return square(square(x)); }\n',
    'engine/model/part.hpp': '#pragma once\ntemplate <typename T>\nT eighth(T x) { return square(fourth(x)) + square(2); }\n',
}


class Headers(unittest.TestCase):
    def test_header_that_lacks_an_include_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in HEADERS.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            done = subprocess.run([sys.executable, '-B', FOLDER / 'check_headers.py', '--compiler', COMPILER, '--root', root],
                                  capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        *findings, count = done.stdout.splitlines()
        self.assertEqual([finding.split(':')[0] for finding in findings], ['engine/model/part.hpp'])
        self.assertIn('square', findings[0])
        self.assertEqual(count, '3 headers, 1 findings')


if __name__ == '__main__':
    unittest.main()
