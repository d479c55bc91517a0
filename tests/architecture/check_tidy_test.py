#!/usr/bin/env python3
"""check_tidy.py itself: it sees what clang-tidy finds in a source and in a header, and tells it in their own lines, whether sources
are read together or apart.

Usage: check_tidy_test.py CLANG_TIDY
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
import check_tidy  # noqa: E402

CLANG_TIDY = sys.argv.pop() if len(sys.argv) > 1 else 'clang-tidy-14'
GOOD = '#include "engine/math/own.hpp"\n\nnamespace axion {{\n\nint {0}() {{ return 1; }}\n\n}}  // namespace axion\n'
OWN = 'namespace axion {{\nnamespace {{\n\nint own() {{ return {0}; }}\n\n}}  // namespace\n\nint of_{0}() {{ return own(); }}\n\n}}\n'


class Tidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        shutil.copy(FOLDER.parents[1] / '.clang-tidy', self.root)
        self.commands = []
        self.add('engine/math/own.hpp', '#pragma once\nstruct Own {\n  int value = 0;\n};\n')
        for name in ('first', 'second'):
            self.add_source(f'engine/math/{name}.cpp', GOOD.format(name))

    def add(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def add_source(self, path, text, flags=''):
        self.add(path, text)
        self.commands.append({'directory': str(self.root), 'file': path,
                              'command': f'g++ -O2 -fno-such-option -std=c++20 -I {self.root} {flags} -o x.o -c {path}'})

    def check(self):
        self.add('build/compile_commands.json', json.dumps(self.commands))
        return subprocess.run([sys.executable, '-B', FOLDER / 'check_tidy.py', '--clang_tidy', CLANG_TIDY, '--root', self.root,
                               '--build', self.root / 'build', '--seconds'], capture_output=True, text=True)

    def assert_found(self, place, check):
        done = self.check()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertTrue([line for line in done.stdout.splitlines() if line.startswith(place) and check in line], done.stdout)

    def test_sources_without_findings_pass_and_are_read_together(self):
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn('engine/math (2)', done.stdout)

    def test_wrong_name_in_a_source_that_is_read_with_others_is_found_in_its_line(self):
        self.add_source('engine/math/third.cpp', 'namespace axion {\n\nint WrongName() { return 1; }\n\n}  // namespace axion\n')
        self.assert_found('engine/math/third.cpp:3:5: error: ', 'readability-identifier-naming')

    def test_bug_in_a_header_is_found_in_its_line(self):
        self.add('engine/math/own.hpp', '#pragma once\ninline int of(int x) {\n  if (x == 1);\n  return x;\n}\n')
        self.assert_found('engine/math/own.hpp:3:14: error: ', 'bugprone-suspicious-semicolon')

    def test_source_that_does_not_compile_is_a_finding(self):
        self.add_source('engine/math/third.cpp', 'int f( { return 1; }\n')
        self.assert_found('engine/math/third.cpp:1:', 'clang-diagnostic-error')

    def test_sources_with_a_name_of_their_own_in_common_are_read_apart(self):
        for number in (1, 2):
            self.add_source(f'engine/math/of_{number}.cpp', OWN.format(number))
        found = {f'engine/math/of_{n}.cpp': () for n in (1, 2)} | {'engine/math/first.cpp': ()}
        self.assertEqual([unit.files for unit in check_tidy.units(self.root, found)],
                         [('engine/math/first.cpp', 'engine/math/of_1.cpp'), ('engine/math/of_2.cpp',)])
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn('one by one', done.stdout)

    def test_sources_that_do_not_compile_as_one_are_read_one_by_one(self):
        for number in (1, 2):
            self.add_source(f'engine/model/same_{number}.cpp', 'struct Same {};\n')
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn('engine/model (2), does not compile as one: one by one', done.stdout)

    def test_sources_outside_the_rooms_are_not_read_and_none_at_all_is_an_error(self):
        self.commands = []
        self.add_source('tests/math/third.cpp', 'int WrongName() { return 1; }\n')
        self.assertEqual(self.check().returncode, 2)


if __name__ == '__main__':
    unittest.main()
