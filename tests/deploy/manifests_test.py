#!/usr/bin/env python3
"""What deploy/ has for Kubernetes: objects have the forms that their APIs take, find each other, and run commands that there are.

Usage: manifests_test.py [BIN_DIRECTORY]   with an interpreter that has the package axion; without the directory flags are not looked at.

With kubernetes-validate (of PyPI) installed Kubernetes' whole schemas are asked as well, and with AXION_CRDS, a folder of the files of
definitions that JobSet, Kueue and the Prometheus operator publish, these.
"""

import collections
import copy
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import yaml

import manifests

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART, FARM = ROOT / 'deploy/chart', ROOT / 'deploy/farm'
BIN = None
CHOICES = {
    'plain': {},
    'gpu': yaml.safe_load((CHART / 'values-gpu.yaml').read_text()),
    'all': {'credentials': {'secret': 'keys'}, 'monitoring': {'enabled': True}, 'autoscaling': {'enabled': True}, 'replicas': 3,
            'nodeSelector': {'pool': 'sim'}, 'flags': ['--max_worlds=100000', '--log_format=json'], 'storage': {'className': 'fast'}},
    'bare': {'networkPolicy': False}}


def chart_objects(choice, release='axion'):
    return [found for name, text in manifests.rendered(CHART, release, CHOICES[choice]).items() if name.endswith('.yaml')
            for found in manifests.objects(text)]


def farm_objects():
    return [found for name in ('jobset.yaml', 'kueue.yaml') for found in manifests.objects((FARM / name).read_text())]


def kinds(found, kind):
    return {one['metadata']['name']: one for one in found if one['kind'] == kind}


def pods(found):
    """(labels, spec, the replicas) of every pod of these objects."""
    for one in kinds(found, 'StatefulSet').values():
        yield one['spec']['template']['metadata']['labels'], one['spec']['template']['spec'], one['spec'].get('replicas', 1)
    for name, one in kinds(found, 'JobSet').items():
        for job in one['spec']['replicatedJobs']:
            template = job['template']['spec']['template']
            labels = {'jobset.sigs.k8s.io/jobset-name': name, 'jobset.sigs.k8s.io/replicatedjob-name': job['name']}
            yield {**template['metadata']['labels'], **labels}, template['spec'], job.get('replicas', 1)


def matching(found, labels):
    return [spec for own, spec, _ in pods(found) if labels.items() <= own.items()]


def amount(quantity):
    """A quantity of Kubernetes as a number."""
    number, unit = re.fullmatch(r'([\d.]+)(\D*)', str(quantity)).groups()
    powers = {'': 1, 'm': 1e-3, 'k': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12, 'Ki': 2**10, 'Mi': 2**20, 'Gi': 2**30, 'Ti': 2**40}
    return float(number) * powers[unit]


class Forms(unittest.TestCase):
    forms = manifests.Forms()

    def everything(self):
        yield 'farm', farm_objects()
        for choice in CHOICES:
            yield choice, chart_objects(choice)

    def test_every_object_has_the_form_of_its_kind(self):
        for where, found in self.everything():
            self.assertGreater(len(found), 4)
            for one in found:
                self.assertEqual(self.forms.refusals(one), [], where)

    def test_what_the_api_would_refuse_is_refused_by_its_place(self):
        jobset = kinds(farm_objects(), 'JobSet')['farm']
        queue = kinds(farm_objects(), 'ClusterQueue')['farm']
        pods_set = kinds(chart_objects('plain'), 'StatefulSet')['axion']
        probe = ('template', 'spec', 'containers', 0, 'startupProbe')
        for one, place, value, text in (
                (jobset, ('spec', 'failurePolicy', 'rules', 0, 'action'), 'Restart', r'rules\[0\].action: is .Restart., which is not one'),
                (jobset, ('spec', 'replicatedJobs', 1, 'dependsOn', 0, 'status'), 'Running', r'dependsOn\[0\].status'),
                (jobset, ('spec', 'replicatedJobs', 0, 'replicas'), '4', 'replicas: is .4., which is not count'),
                (jobset, ('spec', 'replicatedJobs', 0, 'name'), 'Simulators', 'which is not name'),
                (jobset, ('spec', 'startPolicy'), {}, 'spec.startPolicy: is not known'),
                (jobset, ('apiVersion',), 'jobset.x-k8s.io/v1', 'there is no kind'),
                (queue, ('spec', 'resourceGroups', 0, 'flavors', 0, 'resources', 1, 'nominalQuota'), '128 GB', 'which is not quantity'),
                (queue, ('spec', 'resourceGroups', 0, 'coveredResources'), [], 'no list of one thing or more'),
                (pods_set, ('spec', *probe, 'grpc'), {'port': 'grpc'}, 'startupProbe.grpc.port'),
                (pods_set, ('spec', 'template', 'spec', 'containers', 0, 'readOnlyRootFilesystem'), True, 'is not known'),
                (pods_set, ('spec', 'serviceName'), None, 'serviceName')):
            with self.subTest(place=place):
                wrong = copy.deepcopy(one)
                inner = wrong
                for step in place[:-1]:
                    inner = inner[step]
                inner[place[-1]] = value
                self.assertRegex('; '.join(self.forms.refusals(wrong)), text)
        del pods_set['spec']['selector']
        self.assertEqual(self.forms.refusals(pods_set), ['StatefulSet axion.spec.selector: is missing'])

    @unittest.skipUnless(importlib.util.find_spec('kubernetes_validate'), 'kubernetes-validate is not installed')
    def test_kubernetes_whole_schemas_take_them(self):
        import kubernetes_validate

        for where, found in self.everything():
            for one in found:
                if '.x-k8s.io' in one['apiVersion'] or 'coreos' in one['apiVersion']:
                    continue
                with self.subTest(where=where, kind=one['kind']):
                    kubernetes_validate.validate(one, '1.28', strict=True)
        for one in (job['template']['spec'] for job in kinds(farm_objects(), 'JobSet')['farm']['spec']['replicatedJobs']):
            job = {'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': {'name': 'x'}, 'spec': one}
            kubernetes_validate.validate(job, '1.28', strict=True)

    @unittest.skipUnless(os.environ.get('AXION_CRDS') and importlib.util.find_spec('jsonschema'),
                         'AXION_CRDS names no folder of published definitions, or jsonschema is not installed')
    def test_published_definitions_take_them(self):
        import jsonschema

        def closed(schema):
            """As the API's server, which refuses a field that is not there."""
            if isinstance(schema, dict):
                if 'properties' in schema and not schema.get('x-kubernetes-preserve-unknown-fields'):
                    schema.setdefault('additionalProperties', False)
                for inner in schema.values():
                    closed(inner)
            elif isinstance(schema, list):
                for inner in schema:
                    closed(inner)
        known = {}
        for path in pathlib.Path(os.environ['AXION_CRDS']).glob('*.yaml'):
            definition = yaml.safe_load(path.read_text())['spec']
            for version in definition['versions']:
                schema = version['schema']['openAPIV3Schema']
                schema['properties']['metadata'] = {'type': 'object', 'additionalProperties': True}
                for part in schema['properties'].values():
                    closed(part)
                known[f'{definition["group"]}/{version["name"]}', definition['names']['kind']] = schema
        asked = 0
        for _, found in self.everything():
            for one in found:
                if schema := known.get((one['apiVersion'], one['kind'])):
                    jsonschema.validate(one, schema)
                    asked += 1
        self.assertGreaterEqual(asked, 4)


class Chart(unittest.TestCase):
    def test_what_a_release_is_called_is_what_its_objects_are_called(self):
        for one in chart_objects('all', 'left'):
            self.assertTrue(one['metadata']['name'] in ('left', 'left-pods'), one)
            self.assertEqual(one['metadata']['labels']['app.kubernetes.io/instance'], 'left')

    def test_choices_do_what_they_say(self):
        plain, everything = kinds(chart_objects('plain'), 'StatefulSet')['axion'], kinds(chart_objects('all'), 'StatefulSet')['axion']
        args = plain['spec']['template']['spec']['containers'][0]['args']
        self.assertIn('--insecure', args)
        self.assertEqual(plain['spec']['template']['spec']['containers'][0]['image'], 'axion:0.2.0')
        container = everything['spec']['template']['spec']['containers'][0]
        self.assertNotIn('--insecure', container['args'])
        self.assertEqual(container['args'][-2:], ['--max_worlds=100000', '--log_format=json'])
        self.assertEqual(everything['spec']['template']['spec']['nodeSelector'], {'pool': 'sim'})
        self.assertEqual(everything['spec']['volumeClaimTemplates'][0]['spec']['storageClassName'], 'fast')
        self.assertNotIn('grpc', container['readinessProbe'])  # which speaks no TLS
        self.assertNotIn('replicas', everything['spec'])       # which the autoscaler says
        self.assertEqual(kinds(chart_objects('all'), 'HorizontalPodAutoscaler')['axion']['spec']['minReplicas'], 3)
        gpu = kinds(chart_objects('gpu'), 'StatefulSet')['axion']['spec']['template']['spec']
        self.assertEqual(gpu['containers'][0]['resources']['limits']['nvidia.com/gpu'], '1')
        self.assertEqual(gpu['tolerations'][0]['key'], 'nvidia.com/gpu')
        self.assertEqual(kinds(chart_objects('bare'), 'NetworkPolicy'), {})

    def test_the_operators_rules_are_those_of_prometheus(self):
        rules = kinds(chart_objects('all'), 'PrometheusRule')['axion']['spec']
        self.assertEqual(rules, yaml.safe_load((ROOT / 'deploy/prometheus/axion.rules.yml').read_text()))

    def test_a_value_that_makes_no_sense_is_named(self):
        for own, text in (({'replica': 2}, 'values.replica: is not known'), ({'replicas': 0}, 'values.replicas: is 0, below 1'),
                          ({'replicas': '2'}, "values.replicas: is '2', which is no integer"),
                          ({'replicas': True}, 'values.replicas: is True, which is no integer'),
                          ({'image': {'pullPolicy': 'never'}}, "values.image.pullPolicy: is 'never', none of"),
                          ({'flags': ['max_worlds=3']}, r'values.flags\[0\]: .* has not the form'),
                          ({'storage': {'size': '20 GB'}}, 'values.storage.size: .* has not the form'),
                          ({'storage': {'accessModes': []}}, 'values.storage.accessModes: has 0 items'),
                          ({'monitoring': {'namespace': ''}}, 'values.monitoring.namespace: .* has not the form'),
                          ({'image': 'axion:3'}, 'values.image: .* is no object')):
            with self.assertRaisesRegex(ValueError, text):
                manifests.rendered(CHART, 'axion', own)

    def test_the_schema_knows_every_value(self):
        schema, values = json.loads((CHART / 'values.schema.json').read_text()), yaml.safe_load((CHART / 'values.yaml').read_text())
        self.assertEqual(set(values), set(schema['properties']) - {'global'})
        for name, value in values.items():
            if isinstance(value, dict) and name not in ('resources', 'nodeSelector'):
                self.assertEqual(set(value), set(schema['properties'][name]['properties']), name)

    def test_a_template_of_another_form_is_no_template(self):
        for text in ('{{ include "x" . }}', '{{ with .Values }}{{ end }}', '{{ if .Values }}', '{{ end }}', '{{ .Values.absent }}'):
            scope = manifests._Scope({'Values': {}}, {})
            with self.assertRaises(ValueError):
                scope.text(manifests._parsed(manifests._tokens(text))[0])

    def test_the_versions_are_the_projects(self):
        chart = yaml.safe_load((CHART / 'Chart.yaml').read_text())
        version = re.search(r'__version__ = "(.+)"', (ROOT / 'clients/python/axion/_version.py').read_text())[1]
        self.assertEqual((chart['version'], chart['appVersion']), (version, version))


class Places(unittest.TestCase):
    """Objects find each other."""

    def everything(self):
        yield farm_objects()
        for choice in CHOICES:
            yield chart_objects(choice)

    def test_selectors_find_pods_and_ports_have_names_of_theirs(self):
        for found in self.everything():
            for service in kinds(found, 'Service').values():
                chosen = matching(found, service['spec']['selector'])
                self.assertEqual(len(chosen), 1, service['metadata'])
                names = {port['name'] for container in chosen[0]['containers'] for port in container.get('ports', ())}
                self.assertLessEqual({port['targetPort'] for port in service['spec']['ports']}, names)
            for kind in ('NetworkPolicy', 'PodDisruptionBudget'):
                for one in kinds(found, kind).values():
                    labels = one['spec']['podSelector' if kind == 'NetworkPolicy' else 'selector']['matchLabels']
                    self.assertTrue(labels and matching(found, labels), one['metadata'])

    def test_who_may_call_without_credentials_is_said_by_a_network_policy(self):
        for found in (farm_objects(), chart_objects('plain')):
            callable_ = [(labels, spec) for labels, spec, _ in pods(found) if '--insecure' in spec['containers'][0].get('args', ())]
            self.assertTrue(callable_)
            for labels, _ in callable_:
                policies = [one for one in kinds(found, 'NetworkPolicy').values()
                            if one['spec']['podSelector']['matchLabels'].items() <= labels.items()]
                self.assertEqual([rule['from'][0].keys() for one in policies for rule in one['spec']['ingress']], [{'podSelector'}])

    def test_the_job_that_the_alerts_ask_for_is_the_one_that_is_scraped(self):
        """Without jobLabel the operator calls a job by its service, and up{job="axion"} finds nothing."""
        found = chart_objects('all', 'other')
        monitor = kinds(found, 'ServiceMonitor')['other']['spec']
        labels, port = monitor['selector']['matchLabels'].items(), monitor['endpoints'][0]['port']
        scraped = [one for one in kinds(found, 'Service').values() if labels <= one['metadata']['labels'].items()
                   and port in {each['name'] for each in one['spec']['ports']}]
        self.assertEqual([one['metadata']['name'] for one in scraped], ['other-pods'])
        asked = set(re.findall(r'job="(\w+)"', (ROOT / 'deploy/prometheus/axion.rules.yml').read_text()))
        self.assertEqual(asked, {scraped[0]['metadata']['labels'][monitor['jobLabel']]})
        self.assertEqual(asked, set(re.findall(r'job_name: (\w+)', (ROOT / 'deploy/prometheus/prometheus.yml').read_text())))

    def test_volumes_and_accounts_are_there(self):
        for found in self.everything():
            claims = {claim['metadata']['name'] for one in kinds(found, 'StatefulSet').values()
                      for claim in one['spec']['volumeClaimTemplates']}
            for _, spec, _ in pods(found):
                mounted = {mount['name'] for container in spec['containers'] for mount in container.get('volumeMounts', ())}
                self.assertEqual(mounted - claims, {volume['name'] for volume in spec.get('volumes', ())})
                for volume in spec.get('volumes', ()):
                    if 'persistentVolumeClaim' in volume:
                        self.assertIn(volume['persistentVolumeClaim']['claimName'], kinds(found, 'PersistentVolumeClaim'))
                if 'serviceAccountName' in spec:
                    self.assertIn(spec['serviceAccountName'], kinds(found, 'ServiceAccount'))

    def test_pods_need_no_privilege(self):
        for found in self.everything():
            for _, spec, _ in pods(found):
                self.assertTrue(spec['securityContext']['runAsNonRoot'])
                self.assertFalse(spec['automountServiceAccountToken'])
                for container in spec['containers']:
                    self.assertEqual(container['securityContext'], {'allowPrivilegeEscalation': False, 'readOnlyRootFilesystem': True,
                                                                    'capabilities': {'drop': ['ALL']}})


class FarmOfJobSet(unittest.TestCase):
    def setUp(self):
        self.found = farm_objects()
        self.spec = kinds(self.found, 'JobSet')['farm']['spec']
        self.jobs = {job['name']: job for job in self.spec['replicatedJobs']}

    def test_the_learner_begins_once_all_simulators_answer_and_finds_them_by_name(self):
        names = list(self.jobs)
        for job in self.jobs.values():
            for needed in job.get('dependsOn', ()):
                self.assertLess(names.index(needed['name']), names.index(job['name']))
        self.assertEqual(self.jobs['learner']['dependsOn'], [{'name': 'simulators', 'status': 'Ready'}])
        simulator = self.jobs['simulators']['template']['spec']['template']['spec']['containers'][0]
        self.assertIn('readinessProbe', simulator)  # without it a pod is ready before it serves
        args = self.jobs['learner']['template']['spec']['template']['spec']['containers'][0]['args']
        host, port = next(word for word in args if word.startswith('--servers=')).removeprefix('--servers=').split(':')
        service = kinds(self.found, 'Service')[host]['spec']
        self.assertEqual(service['clusterIP'], 'None')
        self.assertFalse(service.get('publishNotReadyAddresses', False))
        self.assertEqual(matching(self.found, service['selector']), [self.jobs['simulators']['template']['spec']['template']['spec']])
        self.assertIn(int(port), [one['port'] for one in service['ports']])
        self.assertIn(f'--least_servers={self.jobs["simulators"]["replicas"]}', args)

    def test_a_lost_simulator_is_begun_again_alone_and_the_end_of_the_learner_is_the_end(self):
        first_rule = {}
        for rule in self.spec['failurePolicy']['rules']:
            for name in rule['targetReplicatedJobs']:
                self.assertIn(name, self.jobs)
                first_rule.setdefault(name, rule['action'])
        self.assertEqual(first_rule, {'simulators': 'RestartJobAndIgnoreMaxRestarts', 'learner': 'RestartJob'})
        self.assertEqual(self.spec['successPolicy'], {'operator': 'All', 'targetReplicatedJobs': ['learner']})
        for job in self.jobs.values():  # one pod a job, whose end is the job's: the policy above sees it at once
            spec = job['template']['spec']
            self.assertEqual((spec['parallelism'], spec['completions'], spec['backoffLimit']), (1, 1, 0))
            self.assertEqual(spec['template']['spec']['restartPolicy'], 'Never')

    def test_the_queue_admits_the_whole_farm_at_once(self):
        jobset = kinds(self.found, 'JobSet')['farm']
        self.assertTrue(jobset['spec']['suspend'])
        local = kinds(self.found, 'LocalQueue')[jobset['metadata']['labels']['kueue.x-k8s.io/queue-name']]
        queue = kinds(self.found, 'ClusterQueue')[local['spec']['clusterQueue']]['spec']
        asked = collections.Counter()
        for _, spec, replicas in pods(self.found):
            for container in spec['containers']:
                self.assertEqual(container['resources']['requests'], container['resources']['limits'])
                for name, quantity in container['resources']['requests'].items():
                    asked[name] += replicas * amount(quantity)
        group, = queue['resourceGroups']
        quota = {one['name']: amount(one['nominalQuota']) for one in group['flavors'][0]['resources']}
        self.assertEqual(set(group['coveredResources']), set(quota))
        self.assertIn(group['flavors'][0]['name'], kinds(self.found, 'ResourceFlavor'))
        for name, sum_of_all in asked.items():
            self.assertLessEqual(sum_of_all, quota.get(name, 0), name)


class Commands(unittest.TestCase):
    """What containers run is there."""

    def test_flags_of_servers_are_flags(self):
        if BIN is None:
            self.skipTest('no programs were named')
        told = subprocess.run([BIN / 'axiond', '--help'], capture_output=True, text=True).stdout
        known = set(re.findall(r'^ +--(\w+) ', told, re.MULTILINE))
        self.assertIn('insecure', known)
        for found in [farm_objects(), *map(chart_objects, CHOICES)]:
            for _, spec, _ in pods(found):
                container = spec['containers'][0]
                if container['name'] == 'axiond':
                    self.assertLessEqual({re.match(r'--(\w+)', word)[1] for word in container['args']}, known)

    def test_the_learners_command_line_is_one(self):
        from axion.tool import parser

        learner, = (spec['containers'][0] for _, spec, _ in pods(farm_objects()) if spec['containers'][0]['name'] == 'learner')
        self.assertEqual(learner['args'][0], 'train')
        given = parser('train').parse_args(learner['args'][1:])
        self.assertEqual((given.servers, given.least_servers), ('farm-simulators:8470', 4))
        docker = (FARM / 'Dockerfile').read_text()
        self.assertIn('ENTRYPOINT ["python", "-m", "axion.tool"]', docker)


if __name__ == '__main__':
    if len(sys.argv) > 1 and not sys.argv[1].startswith('-'):
        BIN = pathlib.Path(sys.argv.pop(1))
    unittest.main(verbosity=2)
