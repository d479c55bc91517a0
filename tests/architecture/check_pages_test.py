#!/usr/bin/env python3
"""Each kind of page that names what is not there is found, and pages that name what is there are not.

Usage: check_pages_test.py
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import check_pages  # noqa: E402  beside this file

HOUSE = {
    'README.md': '# House\n\nSee [the room](engine/base/README.md#what-it-does), [below](#house) and [it](https://example.org/a.md).\n',
    'engine/base/README.md': '# base\n\n| file | holds |\n| --- | --- |\n| `a` | all; `engine/base/a.hpp` is one |\n\n## What it *does*\n',
    'engine/base/a.hpp': '#pragma once\n',
    'engine/base/a.cpp': '\n',
    'docs/experiments/0001-old.md': '# Old\n\nThat was in engine/base/gone.hpp.\n',
}
BROKEN = {  # what is written in the place of a page, and what is said of it
    'a link to no file': ('README.md', '# House\n\n[gone](engine/base/gone.hpp)\n', 'README.md:3: links to engine/base/gone.hpp'),
    'a link to no heading': ('README.md', '# House\n\n[it](engine/base/README.md#what-it-did)\n',
                             'README.md:3: links to engine/base/README.md#what-it-did'),
    'a file by its path': ('README.md', '# House\n\n```sh\nengine/base/run.sh --all\n```\n', 'README.md:4: names engine/base/run.sh'),
    'a table without a file': ('engine/base/README.md', '# base\n\n| file | holds |\n| --- | --- |\n| `b` | all |\n\n## What it does\n',
                               'engine/base/README.md:1: lists the files of its room, and not a.cpp'),
    'a link of an experiment': ('docs/experiments/0001-old.md', '# Old\n\n[page](../gone.md)\n',
                                'docs/experiments/0001-old.md:3: links to ../gone.md'),
}


class Pages(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        for path, text in HOUSE.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text, encoding='utf-8')

    def test_a_house_whose_pages_name_what_is_there_passes(self):
        self.assertEqual(list(check_pages.check(self.root)), [])

    def test_each_page_that_names_what_is_not_there_is_found(self):
        for what, (path, text, wanted) in BROKEN.items():
            (self.root / path).write_text(text, encoding='utf-8')
            with self.subTest(what):
                found = [f'{page}:{line}: {said}' for page, line, said in check_pages.check(self.root)]
                self.assertTrue(found and all(said.startswith(wanted) for said in found[:1]), found)
            (self.root / path).write_text(HOUSE[path], encoding='utf-8')

    def test_the_program_fails_and_says_where(self):
        (self.root / 'README.md').write_text('# House\n\n[gone](gone.md)\n', encoding='utf-8')
        command = [sys.executable, '-B', str(HERE / 'check_pages.py'), '--root', str(self.root)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (1, 'README.md:3: links to gone.md, which is not there'))


if __name__ == '__main__':
    unittest.main(verbosity=2)
