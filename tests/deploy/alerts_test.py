#!/usr/bin/env python3
"""Every alert of deploy/prometheus fires where it should and rests where it should (promtool test rules), has a page that says what
to do, and is in the chart for Kubernetes.

Usage: alerts_test.py [--fix]   --fix writes deploy/chart/axion.rules.yml anew
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / 'deploy'
RULES = DEPLOY / 'prometheus/axion.rules.yml'
CHART_RULES = DEPLOY / 'chart/axion.rules.yml'

HERE = 'instance="a:9470",job="axion"'
# Times of day would make the figures of a summary depend on when the test runs: promtool's clock begins at 0, a sample a minute.
# Each alert: (series that raise it, minute at which it is there, its labels, its summary, series that do not raise it).
# A series is (name with labels, values in promtool's notation).
CASES = {
    'AxionDown': ([(f'up{{{HERE}}}', '1 0x9')], 5, {'severity': 'critical', 'instance': 'a:9470', 'job': 'axion'},
                  'a:9470 does not answer', [(f'up{{{HERE}}}', '1x9')]),
    'AxionAbsent': ([('up{job="prometheus"}', '1x20')], 10, {'severity': 'critical', 'job': 'axion'},
                    'Prometheus knows of no server at all', [(f'up{{{HERE}}}', '1x20')]),
    'AxionVanished': ([(f'up{{{HERE}}}', '1x60'), ('up{instance="b:9470",job="axion"}', '1x20 stale')], 40,
                      {'severity': 'warning', 'job': 'axion'},
                      'there were 2 servers within the last hour, and there are fewer now',
                      [(f'up{{{HERE}}}', '1x60'), ('up{instance="b:9470",job="axion"}', '_x20 1x40')]),
    'AxionRestarts': ([(f'process_start_time_seconds{{{HERE}}}', '0x5 300x5 600x5 900x20')], 25,
                      {'severity': 'critical', 'instance': 'a:9470', 'job': 'axion'},
                      'a:9470 was started 3 times within half an hour',
                      [(f'process_start_time_seconds{{{HERE}}}', '0x5 300x5 600x20')]),
    'AxionDeviceFailed': ([(f'axion_device_healthy{{{HERE},device="cpu"}}', '1 0x5')], 3,
                          {'severity': 'critical', 'instance': 'a:9470', 'job': 'axion', 'device': 'cpu'},
                          'the device of a:9470 has failed; the server ends and is to be started again',
                          [(f'axion_device_healthy{{{HERE},device="cpu"}}', '1x5')]),
    'AxionCheckpointsFail': ([(f'axion_checkpoint_failures_total{{{HERE}}}', '0x5 1x5')], 8,
                             {'severity': 'critical', 'instance': 'a:9470', 'job': 'axion'},
                             'a:9470 cannot save all of its batches',
                             [(f'axion_checkpoint_failures_total{{{HERE}}}', '3x10')]),
    'AxionCheckpointOld': ([(f'axion_checkpoint_timestamp_seconds{{{HERE}}}', '60x40')], 31,
                           {'severity': 'warning', 'instance': 'a:9470', 'job': 'axion'}, 'a:9470 was last saved 30m 0s ago',
                           [(f'axion_checkpoint_timestamp_seconds{{{HERE}}}', '0x40')]),
    'AxionNotRestored': ([(f'axion_restore_failures{{{HERE}}}', '2x5')], 3,
                         {'severity': 'critical', 'instance': 'a:9470', 'job': 'axion'},
                         '2 models and batches of a:9470 did not come back', [(f'axion_restore_failures{{{HERE}}}', '0x5')]),
    'AxionMemoryFull': ([(f'axion_memory_bytes{{{HERE},kind="used"}}', '95x20'),
                         (f'axion_memory_bytes{{{HERE},kind="limit"}}', '100x20')], 10,
                        {'severity': 'warning', 'instance': 'a:9470', 'job': 'axion'},
                        'a:9470 holds nine tenths of the memory that it may',
                        [(f'axion_memory_bytes{{{HERE},kind="used"}}', '85x20'),
                         (f'axion_memory_bytes{{{HERE},kind="limit"}}', '100x20')]),
    'AxionWorldsFull': ([(f'axion_worlds{{{HERE}}}', '95x20'), (f'axion_worlds_limit{{{HERE}}}', '100x20')], 10,
                        {'severity': 'warning', 'instance': 'a:9470', 'job': 'axion'},
                        'nine tenths of the worlds of a:9470 are taken',
                        [(f'axion_worlds{{{HERE}}}', '85x20'), (f'axion_worlds_limit{{{HERE}}}', '100x20')]),
    'AxionRefuses': ([(f'axion_rejected_total{{{HERE},reason="queue_full"}}', '0+60x20')], 15,
                     {'severity': 'warning', 'instance': 'a:9470', 'reason': 'queue_full'}, 'a:9470 refuses calls: queue_full',
                     [(f'axion_rejected_total{{{HERE},reason="token_unknown"}}', '0+60x20')]),
    'AxionDescriptorsFull': ([(f'process_open_fds{{{HERE}}}', '95x20'), (f'process_max_fds{{{HERE}}}', '100x20')], 10,
                             {'severity': 'warning', 'instance': 'a:9470', 'job': 'axion'},
                             'a:9470 has nine tenths of the files open that it may',
                             [(f'process_open_fds{{{HERE}}}', '5x20'), (f'process_max_fds{{{HERE}}}', '100x20')]),
    'AxionConnectionsRefused': ([(f'axion_connections_refused_total{{{HERE}}}', '0+1x20')], 15,
                                {'severity': 'warning', 'instance': 'a:9470', 'job': 'axion'},
                                'a:9470 has as many connections as it takes',
                                [(f'axion_connections_refused_total{{{HERE}}}', '9x20')]),
    'AxionConnectionsCut': ([(f'axion_connections_cut_total{{{HERE}}}', '0x5 1x5')], 8,
                            {'severity': 'warning', 'instance': 'a:9470', 'job': 'axion'},
                            'somebody makes a:9470 hold or do what no request asks for',
                            [(f'axion_connections_cut_total{{{HERE}}}', '9x20')]),
    # Half of the calls wait between one and two seconds.
    'AxionSlowQueue': ([(f'axion_queue_wait_seconds_bucket{{{HERE},le="1"}}', '0+30x40'),
                        (f'axion_queue_wait_seconds_bucket{{{HERE},le="2"}}', '0+60x40'),
                        (f'axion_queue_wait_seconds_bucket{{{HERE},le="+Inf"}}', '0+60x40')], 30,
                       {'severity': 'warning', 'instance': 'a:9470'},
                       'one call in a hundred waits over a second at a:9470',
                       [(f'axion_queue_wait_seconds_bucket{{{HERE},le="1"}}', '0+60x40'),
                        (f'axion_queue_wait_seconds_bucket{{{HERE},le="+Inf"}}', '0+60x40')]),
    'AxionWorldsDiverge': ([(f'axion_step_outcomes_total{{{HERE},outcome="non_finite"}}', '0+1x20')], 15,
                           {'severity': 'warning', 'instance': 'a:9470', 'job': 'axion', 'outcome': 'non_finite'},
                           'worlds of a:9470 leave the finite numbers',
                           [(f'axion_step_outcomes_total{{{HERE},outcome="converged"}}', '0+1x20')]),
    'AxionCertificateExpires': ([(f'axion_certificate_expiry_timestamp_seconds{{{HERE}}}', '86400x5')], 0,
                                {'severity': 'warning', 'instance': 'a:9470', 'job': 'axion'},
                                'the certificate of a:9470 expires in 1d 0h 0m 0s',
                                [(f'axion_certificate_expiry_timestamp_seconds{{{HERE}}}', '864000x5')]),
    'AxionCredentialsRefused': ([(f'axion_credentials_reloads_total{{{HERE},what="tls",result="refused"}}', '0x5 1x5')], 8,
                                {'severity': 'warning', 'instance': 'a:9470', 'job': 'axion', 'what': 'tls',
                                 'result': 'refused'},
                                'a changed file of tls was refused by a:9470; the old one stays in use',
                                [(f'axion_credentials_reloads_total{{{HERE},what="tls",result="loaded"}}', '0x5 1x5')]),
    'AxionLogLost': ([(f'axion_log_lines_dropped_total{{{HERE}}}', '0x5 1x5')], 8,
                     {'severity': 'warning', 'instance': 'a:9470', 'job': 'axion'},
                     'lines of the log of a:9470 are lost', [(f'axion_log_lines_dropped_total{{{HERE}}}', '4x10')]),
}


def alerts():
    """Of the file of rules: name -> runbook."""
    return dict(re.findall(r'- alert: (\w+)$.*?runbook_url: (\S+)$', RULES.read_text(), re.MULTILINE | re.DOTALL))


def promtool_test(alert, series, minute, raised):
    return {'interval': '1m', 'input_series': [{'series': name, 'values': values} for name, values in series],
            'alert_rule_test': [{'eval_time': f'{minute}m', 'alertname': alert, 'exp_alerts': raised}]}


def anchors(page):
    """Of a page's headings, as the sites that show them make them."""
    return {re.sub(r'[^\w -]', '', title.lower()).replace(' ', '-')
            for title in re.findall(r'^#+ (.*)$', page.read_text(), re.MULTILINE)}


class Alerts(unittest.TestCase):
    def test_each_is_raised_where_it_should_be_and_not_where_all_is_well(self):
        self.assertEqual(set(CASES), set(alerts()), 'each alert has a case')
        if not shutil.which('promtool'):
            self.skipTest('promtool is not installed')
        tests = []
        for alert, (bad, minute, labels, summary, good) in CASES.items():
            raised = {'exp_labels': labels, 'exp_annotations': {'summary': summary, 'runbook_url': alerts()[alert]}}
            tests += [promtool_test(alert, bad, minute, [raised]), promtool_test(alert, good, minute, [])]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, 'test.json')   # YAML, too
            file.write_text(json.dumps({'rule_files': [str(RULES)], 'evaluation_interval': '1m', 'tests': tests}))
            done = subprocess.run(['promtool', 'test', 'rules', file], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_has_a_page_that_says_what_to_do(self):
        for alert, runbook in alerts().items():
            with self.subTest(alert=alert):
                page, anchor = runbook.split('#')
                self.assertIn(anchor, anchors(ROOT / page))
                self.assertEqual(anchor, alert.lower())


class Chart(unittest.TestCase):
    def test_the_charts_rules_are_those_of_prometheus(self):
        """A chart reads its own files alone, so it has a copy."""
        self.assertEqual(CHART_RULES.read_text(), RULES.read_text())


if __name__ == '__main__':
    if sys.argv[1:] == ['--fix']:
        CHART_RULES.write_text(RULES.read_text())
    else:
        unittest.main(verbosity=2)
