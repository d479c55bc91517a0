#!/usr/bin/env python3
"""A sentence that is planted in any kind of prose is found where it stands, and nothing is found in what is no prose.

Usage: check_prose_test.py
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import check_prose  # noqa: E402  beside this file

PLANTED = {  # by file: its text, and where the words are found
    'engine/a.hpp': ('#pragma once\n// Called by whoever\n// asks.\nint a();  // nobody is asked\n/* one\n * Everybody */\n',
                     [(2, 'whoever'), (4, 'nobody'), (6, 'Everybody')]),
    'engine/wrapped.cpp': ('int a;  // adds the same\n        // of a joint, and those\n        // that follow\n',
                           [(1, 'the same of'), (2, 'those that')]),
    'proto/axion/v1/a.proto': ('message A {\n  // Poses are those of the world.\n  int32 a = 1;\n}\n', [(2, 'those of')]),
    'clients/a.py': ('"""What of it\nis kept: whoever asks."""\n\n\ndef f():\n    """Nobody calls."""\n    return 1  # those that return\n',
                     [(1, 'What of it'), (2, 'whoever'), (6, 'Nobody'), (7, 'those that')]),
    'deploy/a.sh': ('#!/bin/sh\n# For whoever runs it.\necho 1  # nobody\n', [(2, 'whoever'), (3, 'nobody')]),
    'tests/CMakeLists.txt': ('# Nobody links it.\nadd_library(a)\n', [(1, 'Nobody')]),
    'docs/a.md': ('# A\n\n- One of those\n  that are.\n\n| a | whoever |\n', [(3, 'those that'), (6, 'whoever')]),
}
NO_PROSE = {
    'engine/a.cpp': 'const char* whoever = "nobody";  // a name\nint those_that;\n// Those\nint a;\n// that come apart\n',
    'clients/a.py': 'NOBODY = "nobody"\nx = """those that"""  # a text\n',
    'deploy/a.sh': 'echo "${#nobody}" whoever\n',
    'docs/a.md': '# A\n\n```python\nnobody = "those of"\n```\n\nThe name `whoever`.\n\n- So:\n\n  ```sh\n  everybody\n  ```\n',
    'docs/bad_input.md': '| nobody | whoever |\n',
}


class Prose(unittest.TestCase):
    def test_a_planted_sentence_is_found_where_it_stands(self):
        for path, (text, wanted) in PLANTED.items():
            with self.subTest(path):
                self.assertEqual(check_prose.found_in(check_prose.prose_of(path, text)), wanted)

    def test_code_and_literals_are_no_prose(self):
        for path, text in NO_PROSE.items():
            with self.subTest(path):
                self.assertEqual(check_prose.found_in(check_prose.prose_of(path, text)), [])


class Rates(unittest.TestCase):
    def ends_with(self, files):
        """The exit code and the output of the checker over a tree of these files."""
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                (pathlib.Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                (pathlib.Path(folder) / path).write_text(text, encoding='utf-8')
            done = subprocess.run([sys.executable, '-B', str(HERE / 'check_prose.py'), '--root', folder, '--list'], capture_output=True,
                                  text=True, check=False)
        return done.returncode, done.stdout

    def test_a_tree_with_a_few_passes_and_one_with_more_fails(self):
        plain = '// A sentence.\n' * 1000
        self.assertEqual(self.ends_with({'engine/base/a.hpp': plain})[0], 0)
        few = int(check_prose.MOST) - 1
        self.assertEqual(self.ends_with({'engine/base/a.hpp': plain + '// Nobody.\n' * few})[0], 0)
        code, output = self.ends_with({'engine/base/a.hpp': plain + '// Nobody.\n' * (few + 3)})
        self.assertEqual(code, 1, output)
        self.assertIn('engine/base/a.hpp:1001: Nobody', output)

    def test_a_room_with_too_many_fails_in_a_tree_with_few(self):
        lines = check_prose.LEAST_LINES
        many = int(check_prose.MOST_OF_ROOM * lines / 1000) + 2
        files = {'engine/base/a.hpp': '// A sentence.\n' * 2_000, 'server/net/a.hpp': '// A sentence.\n' * lines + '// Whoever.\n' * many}
        code, output = self.ends_with(files)
        self.assertEqual(code, 1, output)
        self.assertRegex(output, r'server/net .*: at most')
        files['server/net/a.hpp'] = '// A sentence.\n' * lines + '// Whoever.\n' * (many - 4)
        self.assertEqual(self.ends_with(files)[0], 0)


if __name__ == '__main__':
    unittest.main(verbosity=2)
