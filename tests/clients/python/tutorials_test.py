"""Every piece of Python in docs/tutorials, run page by page against servers of its own; see axiond_case.py."""

import contextlib
import io
import os
import pathlib
import re
import tempfile
import unittest

from axiond_case import AXIOND, ROOT
from axiond_process import AxiondProcess

PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PORTS = ("8470", "8471", "8472")  # that the pages name


def code_of(page):
    """The page's Python: all other lines are empty, so that line numbers in errors are the page's."""
    lines, inside = [], False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            inside = line == "```python"
            lines.append("")
        else:
            lines.append(line if inside else "")
    return "\n".join(lines)


@unittest.skipUnless(AXIOND, "AXION_AXIOND does not name the server's program")
class Tutorials(unittest.TestCase):
    def setUp(self):
        before = os.getcwd()
        os.chdir(ROOT)  # where readers of the pages are
        self.addCleanup(os.chdir, before)

    def run_page(self, page):
        code = code_of(page)
        for port in PORTS:
            if f"127.0.0.1:{port}" in code:
                server = self.enterContext(AxiondProcess(AXIOND))
                code = code.replace(f"127.0.0.1:{port}", server.address)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), {"__name__": "__main__"})
        return printed.getvalue()

    def test_every_page_runs_from_its_first_line_to_its_last(self):
        self.assertGreaterEqual(len(PAGES), 5)
        for page in PAGES:
            with self.subTest(page.name):
                self.assertTrue(self.run_page(page).strip(), "the page shows nothing")

    def test_every_page_ends_with_a_picture_of_what_it_did(self):
        for page in PAGES:
            last = page.read_text().split("```python\n")[-1].split("```")[0]
            self.assertRegex(last, r"axion\.(render|view|Renderer)\(", page.name)

    def test_a_page_that_is_wrong_is_found(self):
        page = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "wrong.md"
        page.write_text('# Wrong\n\n```python\nimport axion\n```\n\ntext\n\n```python\naxion.no_such_name\n```\n')
        try:
            self.run_page(page)
        except AttributeError as error:
            trace = error.__traceback__
            while trace.tb_frame.f_code.co_filename != str(page):
                trace = trace.tb_next
            self.assertEqual(trace.tb_lineno, 10)
        else:
            self.fail("nothing was found")

    def test_pages_link_to_what_is_there(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
                if "://" not in target:
                    self.assertTrue((page.parent / target).exists(), f"{page.name} links to {target}")


if __name__ == "__main__":
    unittest.main()
