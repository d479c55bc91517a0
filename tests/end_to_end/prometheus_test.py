#!/usr/bin/env python3
"""A real Prometheus scrapes a real axiond: every metric of the public contract is there, a run moves it, and the dashboard's queries
and the alerts of deploy/ find what they ask for.

Usage: prometheus_test.py BIN_DIRECTORY MODEL.xml, with an interpreter that has the package axion installed.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import axion

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from axiond_process import PATIENCE_SECONDS, AxiondProcess, eventually  # noqa: E402
from prometheus_process import Prometheus, fetch, until  # noqa: E402

BIN = pathlib.Path(sys.argv[1])
MODEL = pathlib.Path(sys.argv[2])
DEPLOY = pathlib.Path(__file__).resolve().parents[2] / 'deploy'
DASHBOARD, RULES = DEPLOY / 'grafana/dashboards/axion.json', DEPLOY / 'prometheus/axion.rules.yml'
WORLDS, STEPS = 8, 100

# The public contract: name, type, labels.
METRICS = {
    'axion_build_info': ('gauge', {'version', 'revision', 'backends'}),
    'axion_connections': ('gauge', set()),
    'axion_connections_refused_total': ('counter', set()),
    'axion_connections_cut_total': ('counter', set()),
    'axion_log_lines_dropped_total': ('counter', set()),
    'axion_checkpoint_time_seconds': ('gauge', set()),
    'axion_checkpoint_timestamp_seconds': ('gauge', set()),
    'axion_models_limit': ('gauge', set()),
    'axion_trace_spans_total': ('counter', {'result'}),
    'axion_queue_depth_limit': ('gauge', set()),
    'axion_connections_limit': ('gauge', set()),
    'axion_watches_limit': ('gauge', set()),
    'axion_tenant_calls_total': ('counter', {'tenant', 'outcome'}),
    'axion_tenant_world_steps_total': ('counter', {'tenant'}),
    'axion_checkpoint_duration_seconds': ('gauge', set()),
    'axion_restored_batches': ('gauge', set()),
    'axion_restore_failures': ('gauge', set()),
    'axion_checkpoint_failures_total': ('counter', set()),
    'axion_watches': ('gauge', set()),
    'axion_watch_frames_total': ('counter', set()),
    'axion_watch_frames_dropped_total': ('counter', set()),
    'axion_credentials_reloads_total': ('counter', {'what', 'result'}),
    'axion_device_healthy': ('gauge', {'device'}),
    'axion_worlds': ('gauge', {'device'}),
    'axion_worlds_limit': ('gauge', {'device'}),
    'axion_batches': ('gauge', {'device'}),
    'axion_models': ('gauge', set()),
    'axion_world_steps_total': ('counter', {'device'}),
    'axion_step_outcomes_total': ('counter', {'outcome'}),
    'axion_newton_iterations': ('histogram', set()),
    'axion_linear_iterations': ('histogram', set()),
    'axion_line_search_steps': ('histogram', set()),
    'axion_sweep_rounds': ('histogram', set()),
    'axion_contact_sweeps': ('histogram', set()),
    'axion_newton_residual': ('histogram', {'block'}),
    'axion_contacts': ('histogram', set()),
    'axion_contact_overflows_total': ('counter', set()),
    'axion_max_penetration_meters': ('gauge', set()),
    'axion_max_overlap_meters': ('gauge', set()),
    'axion_max_equality_error': ('gauge', set()),
    'axion_launch_worlds': ('histogram', {'device'}),
    'axion_launch_duration_seconds': ('histogram', {'device'}),
    'axion_queue_depth': ('gauge', set()),
    'axion_queue_wait_seconds': ('histogram', set()),
    'axion_rejected_total': ('counter', {'reason'}),
    'axion_rpc_duration_seconds': ('histogram', {'method', 'code'}),
    'axion_memory_bytes': ('gauge', {'kind'}),
    'axion_device_memory_bytes': ('gauge', {'device', 'kind'}),
}
OLD_NAMES = {'axion_checkpoint_time_seconds'}   # of metrics that have another now
# What Prometheus itself adds to a sample.
SCRAPE_LABELS = {'__name__', 'instance', 'job', 'le'}


class ScrapedServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which('prometheus') or not shutil.which('promtool'):
            raise unittest.SkipTest('prometheus is not installed')
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.server = cls.enterClassContext(AxiondProcess(
            BIN / 'axiond', '--max_worlds=64', f'--state_dir={cls.folder.name}/state', '--checkpoint_interval=100ms'))
        cls.page = cls.server.metrics_url
        cls.prometheus = Prometheus(pathlib.Path(cls.folder.name), f'127.0.0.1:{cls.server.metrics_port}', RULES)
        cls.addClassCleanup(cls.prometheus.stop)
        cls.client = axion.Client(cls.server.address)
        cls.addClassCleanup(cls.client.close)
        cls.client.wait_until_ready(PATIENCE_SECONDS)
        cls.model = cls.client.create_model(mjcf=MODEL.read_text())
        cls.batch = cls.client.create_batch(cls.model, world_count=WORLDS, dt=0.005)
        cls.run_load()

    runs = 0   # calls of run_load

    @classmethod
    def run_load(cls):
        cls.runs += 1
        cls.batch.step(steps=STEPS, outputs=['body_pose'])
        try:
            cls.client.create_batch(cls.model, world_count=65)   # over --max_worlds
            raise AssertionError('65 worlds were accepted with --max_worlds=64')
        except axion.AxionError:
            pass

    def test_every_metric_of_the_contract_is_scraped_with_its_labels(self):
        for name, (kind, labels) in METRICS.items():
            with self.subTest(metric=name):
                sample = f'{name}_bucket' if kind == 'histogram' else name
                samples = until(f'{sample} is scraped', lambda s=sample: self.prometheus.query(s))
                for found, _ in samples:
                    self.assertEqual(set(found) - SCRAPE_LABELS, labels)

    def test_no_metric_is_outside_the_contract(self):
        names = {line.split()[2] for line in fetch(self.page).splitlines() if line.startswith('# TYPE axion_')}
        self.assertEqual(names - set(METRICS), set())

    def test_types_are_those_of_the_contract(self):
        types = dict(line.split()[2:4] for line in fetch(self.page).splitlines() if line.startswith('# TYPE '))
        self.assertEqual({name: types.get(name) for name in METRICS}, {name: kind for name, (kind, _) in METRICS.items()})

    def test_page_passes_promtool(self):
        done = subprocess.run(['promtool', 'check', 'metrics'], input=fetch(self.page), capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ''))

    def test_a_run_moves_the_counters_by_what_it_did(self):
        steps = 'axion_world_steps_total'
        counted = [steps, 'axion_newton_iterations_count', 'axion_linear_iterations_count', 'axion_contacts_count',
                   'axion_line_search_steps_count', 'axion_contact_sweeps_count',
                   'axion_newton_residual_count{block="dynamics"}']
        moving = ['axion_launch_worlds_count', 'axion_launch_duration_seconds_count', 'axion_queue_wait_seconds_count',
                  'axion_rpc_duration_seconds_count{method="Step",code="OK"}', 'axion_rejected_total']
        self.until_scraped(counted)
        before = {name: self.prometheus.total(name) for name in moving}
        self.run_load()
        self.until_scraped(counted)
        until('the other counters moved', lambda: all(self.prometheus.total(n) > before[n] for n in moving))

    def until_scraped(self, counters):
        """Waits until Prometheus has exactly the world-steps of all runs so far in each of the counters."""
        expected = {name: self.runs * WORLDS * STEPS for name in counters}
        until(f'{expected} are scraped', lambda: {name: self.prometheus.total(name) for name in counters} == expected)

    def test_every_query_of_the_dashboard_finds_something(self):
        self.until_scraped(['axion_world_steps_total'])
        panels = json.loads(DASHBOARD.read_text())['panels']
        queries = {target['expr'] for panel in panels for target in panel['targets']}
        self.assertGreater(len(queries), 30)
        for query in queries:
            with self.subTest(query=query):
                expression = query.replace('$instance', '.*').replace('$__rate_interval', '1m')
                until(f'{expression} finds something', lambda e=expression: self.prometheus.query(e))
        shown = set(re.findall(r'axion_\w+?(?=_bucket|_count|\b)', ' '.join(queries)))
        self.assertEqual(set(METRICS) - shown - OLD_NAMES, {'axion_build_info'}, 'the dashboard shows every metric')
        self.assertEqual(shown & OLD_NAMES, set())

    def test_every_alert_is_evaluated_and_none_is_raised_by_a_run(self):
        def rules():
            groups = json.loads(fetch(self.prometheus.address + '/api/v1/rules'))['data']['groups']
            return [rule for group in groups for rule in group['rules']]

        def restless():
            # A machine that does other things, too, may make two wait to be raised: a scrape has a tenth of a second.
            delayed = {'AxionSlowQueue', 'AxionDown'}
            return [rule['name'] for rule in rules() if rule['health'] == 'unknown' or not (
                rule['state'] == 'inactive' or (rule['state'] == 'pending' and rule['name'] in delayed))]

        self.until_scraped(['axion_world_steps_total'])
        self.assertGreater(len(rules()), 10)
        # Before the first scrape no server is known. What a run raises stays for the window of its rate.
        self.assertTrue(eventually(lambda: not restless()), restless())
        for rule in rules():
            with self.subTest(alert=rule['name']):
                self.assertEqual((rule['health'], rule.get('lastError', '')), ('ok', ''))
                named = set(re.findall(r'axion_\w+?(?=_bucket|_count|\b)', rule['query']))
                self.assertLessEqual(named, {*METRICS, 'axion_certificate_expiry_timestamp_seconds'})
        done = subprocess.run(['promtool', 'check', 'rules', str(RULES)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_outcomes_are_counted_per_world_step(self):
        self.until_scraped(['axion_world_steps_total'])
        # Of a scrape that came too late for Prometheus there is nothing.
        converged, steps = 'axion_step_outcomes_total{outcome="converged"}', 'axion_world_steps_total'
        until('most have converged', lambda: self.prometheus.total(converged) > 0.9 * self.prometheus.total(steps) > 0)

    def test_gauges_say_what_is_resident(self):
        for name, value in (('axion_batches', 1), ('axion_worlds', WORLDS), ('axion_models', 1), ('axion_build_info', 1)):
            until(f'{name} is {value}', lambda name=name, value=value: self.prometheus.total(name) == value)
        memory = 'axion_device_memory_bytes{{kind="{}"}}'.format
        until('memory is used', lambda: 0 < self.prometheus.total(memory('used')) < self.prometheus.total(memory('capacity')))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
