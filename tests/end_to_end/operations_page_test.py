#!/usr/bin/env python3
"""docs/operations.md has every flag of axiond and every metric that it serves, and none that is not there.

Usage: operations_page_test.py BIN_DIRECTORY MODEL.xml, with an interpreter that has the package axion.
"""

import pathlib
import re
import subprocess
import sys
import unittest

import access_case as case

BIN = pathlib.Path(sys.argv[1])
PAGE = (pathlib.Path(__file__).resolve().parents[2] / 'docs/operations.md').read_text()


def rows(section):
    """The first cells of its table."""
    text = re.search(rf'^## {section}$(.*?)^## ', PAGE, re.MULTILINE | re.DOTALL)[1]
    return ' '.join(line.split('|')[1] for line in text.splitlines() if line.startswith('| `'))


class Page(unittest.TestCase):
    def test_has_every_flag_and_no_other(self):
        shown = subprocess.run([BIN / 'axiond', '--help'], capture_output=True, text=True).stdout
        flags = set(re.findall(r'^    --(\w+) \(', shown, re.MULTILINE))
        self.assertGreater(len(flags), 20)
        self.assertEqual(set(re.findall(r'`--(\w+)`', rows('Flags'))), flags)

    def test_has_every_metric_and_no_other(self):
        with case.scratch() as folder:
            authority = case.Authority(folder, 'authority')
            certificate, key = authority.issue('server')
            with case.Server(BIN, f'--tls_cert={certificate}', f'--tls_key={key}', f'--state_dir={folder / "state"}') as server:
                served = set(re.findall(r'^# TYPE (axion_\w+)', server.metrics(), re.MULTILINE))
        # Of the first call on.
        served |= {'axion_rpc_duration_seconds', 'axion_tenant_calls_total', 'axion_tenant_world_steps_total'}
        self.assertEqual(set(re.findall(r'`(axion_\w+)`', rows('Metrics'))), served)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
