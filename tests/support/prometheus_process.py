"""A real Prometheus as a child process, for tests and benchmarks that look at what it has scraped of axiond."""

import contextlib
import json
import pathlib
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from axiond_process import PATIENCE_SECONDS, eventually


def fetch(url):
    with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
        return answer.read().decode()


def until(what, condition):
    """What `condition()` returns once it is true; fails after PATIENCE_SECONDS."""
    def tried():
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            return condition()

    value = eventually(tried)
    if not value:
        raise AssertionError(f'{what}: not within {PATIENCE_SECONDS} s')
    return value


def stop(process):
    process.terminate()
    try:
        return process.wait(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


class Prometheus:
    """Debian's prometheus on a free loopback port, with its files in `folder`.

    It scrapes the page of `target`, an address, every `interval` and evaluates the alerts of the file `rules`.
    """

    def __init__(self, folder, target, rules, interval='100ms'):
        (folder / 'prometheus.yml').write_text(
            f'global: {{scrape_interval: {interval}, scrape_timeout: {interval}, evaluation_interval: 200ms}}\n'
            f'rule_files: ["{rules}"]\n'
            f'scrape_configs: [{{job_name: axion, static_configs: [{{targets: ["{target}"]}}]}}]\n')
        self.log = open(folder / 'prometheus.log', 'w+')
        self.process = subprocess.Popen(
            ['prometheus', f'--config.file={folder}/prometheus.yml', f'--storage.tsdb.path={folder}/data',
             '--web.listen-address=127.0.0.1:0'], stdout=self.log, stderr=subprocess.STDOUT)
        listening = until('prometheus listens', lambda: re.search(
            r'msg="Listening on" address=(\S+)', pathlib.Path(self.log.name).read_text()))
        self.address = f'http://{listening[1]}'
        until('prometheus is ready', lambda: fetch(self.address + '/-/ready'))

    def query(self, expression):
        """Samples of an instant query: a list of (labels, value)."""
        url = self.address + '/api/v1/query?' + urllib.parse.urlencode({'query': expression})
        return [(sample['metric'], float(sample['value'][1])) for sample in json.loads(fetch(url))['data']['result']]

    def query_range(self, expression, start, end, step):
        """Series of a query over time, in seconds since 1970: a list of (labels, times, values)."""
        asked = {'query': expression, 'start': start, 'end': end, 'step': step}
        found = json.loads(fetch(self.address + '/api/v1/query_range?' + urllib.parse.urlencode(asked)))['data']['result']
        return [(series['metric'], [float(at) for at, _ in series['values']], [float(value) for _, value in series['values']])
                for series in found]

    def total(self, expression):
        samples = self.query(f'sum({expression})')
        return samples[0][1] if samples else 0.0

    def stop(self):
        stop(self.process)
        self.log.close()
