#!/usr/bin/env python3
"""Pages with figures say which commit they are of, and it is one that somebody else can have.

Usage: pages_test.py
"""

import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import stamp  # noqa: E402  beside this file

DOCS = stamp.ROOT / 'docs'
PAGES = ['benchmarks.md', 'floor.md', 'accuracy.md', 'robots.md', 'env_steps.md', 'robustness.md']  # that a program writes figures for
COMMIT = re.compile(r'\bcommit ([0-9a-f]{7,40})\b')


def dirty_lines(folder):
    """(page, line) that name a commit with changes that nobody has, or one that was not found."""
    return [f'{path.relative_to(folder)}:{number}' for path in sorted(folder.rglob('*.md'))
            for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1)
            if re.search(r'[0-9a-f]{7,40}-dirty|commit unknown', line)]


class Pages(unittest.TestCase):
    def test_no_page_names_a_dirty_commit(self):
        self.assertEqual(dirty_lines(DOCS), [])

    def test_every_page_of_figures_names_a_commit(self):
        self.assertEqual([page for page in PAGES if not COMMIT.search((DOCS / page).read_text(encoding='utf-8'))], [])

    def test_a_dirty_commit_is_seen_wherever_it_stands(self):
        with tempfile.TemporaryDirectory() as folder:
            docs = pathlib.Path(folder)
            (docs / 'deep').mkdir()
            (docs / 'deep/one.md').write_text('# One\n\nA core, commit 0123456-dirty, 2026-11-28:\n', encoding='utf-8')
            (docs / 'two.md').write_text('A core, commit 0123456, 2026-11-28: a dirty word.\n', encoding='utf-8')
            self.assertEqual(dirty_lines(docs), ['deep/one.md:3'])


class Stamp(unittest.TestCase):
    def test_programs_of_another_commit_are_named_beside(self):
        with tempfile.TemporaryDirectory() as folder:
            axiond = pathlib.Path(folder) / 'axiond'
            for revision, named in (('0badc0ffee12', True), (stamp.commit().removesuffix('-dirty') + 'abcde', False)):
                axiond.write_text(f'#!/bin/sh\necho "axiond 0.2.0 revision {revision} backends cpu"\n', encoding='utf-8')
                axiond.chmod(0o755)
                self.assertEqual('programs of 0badc0f' in stamp.commits(pathlib.Path(folder)), named)
            self.assertNotIn('programs', stamp.commits(pathlib.Path('/nowhere')))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
