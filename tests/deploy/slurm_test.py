#!/usr/bin/env python3
"""The job of Slurm in deploy/farm: it asks for what Slurm knows, and trains over its nodes with the bits of one server, though one of them
is lost. Stand-ins for Slurm's programs start a server for each node, an address of the loopback device.

Usage: slurm_test.py [BIN_DIRECTORY]   with an interpreter that has the package axion; without the directory nothing is run.
"""

import contextlib
import importlib.util
import itertools
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = None

# Options of sbatch that a file may have, of Slurm 20.11 on; a value follows where "=" stands.
SBATCH = {'job-name=', 'nodes=', 'ntasks=', 'ntasks-per-node=', 'cpus-per-task=', 'gpus-per-node=', 'mem=', 'mem-per-cpu=', 'partition=',
          'account=', 'qos=', 'constraint=', 'array=', 'time=', 'output=', 'error=', 'signal=', 'exclusive', 'no-kill', 'requeue',
          'no-requeue', 'open-mode=', 'export='}
# Stand-ins for the programs of Slurm: a "node" is an address of the loopback device, and srun starts the command once on each.
SCONTROL = '''#!/usr/bin/env bash
[ "$1 $2" = "show hostnames" ] || { echo "scontrol: $*" >&2; exit 1; }
tr , '\\n' <<<"$3"
'''
SRUN = '''#!/usr/bin/env bash
while [[ "$1" == --* ]]; do shift; done
trap 'kill $(jobs -p) 2>/dev/null; wait; exit 143' TERM
for node in ${SLURM_JOB_NODELIST//,/ }; do
  AXION_FARM_LISTEN=$node "$@" >"$FAKE_FOLDER/node-$node" 2>&1 &
done
wait
'''
LEARNER = '''
import os, signal, sys, time, numpy, axion

folder, targets = os.environ["FAKE_FOLDER"], os.environ["AXION_FARM"].split(",")
with axion.Fleet(targets, least=len(targets), wait=120, patience=0.5, rejoin=0.1) as fleet:
    model = fleet.create_model(path=sys.argv[1])
    with fleet.create_batch(model, 6, 0.005, shares=[1] * len(targets)) as batch:
        for step in range(20):
            if step == 8:
                open(os.path.join(folder, "kill"), "w").close()
                while os.path.exists(os.path.join(folder, "kill")):
                    time.sleep(0.01)
            if step == 14:
                while len(fleet.targets) < len(targets):
                    time.sleep(0.01)
            pose = batch.step(numpy.full(model.control_count, 0.01 * step), steps=2, outputs="body_pose")["body_pose"]
        numpy.savez(os.path.join(folder, "pose.npz"), pose=pose, places=list(batch.placement))
'''


def servers_at(address):
    """The processes of servers that were told to listen at an address that ends so."""
    found = []
    for path in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            words = path.read_bytes().decode(errors='replace').split('\0')
            if len(words) > 1 and words[0].endswith('axiond') and words[1].startswith('--listen=') and words[1].endswith(address):
                found.append(int(path.parent.name))
    return found


class FarmOfSlurm(unittest.TestCase):
    file = ROOT / 'deploy/farm/farm.slurm'

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, text in (('scontrol', SCONTROL), ('srun', SRUN)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)

    def environment(self, **more):
        return {**os.environ, 'PATH': f'{self.folder}:{BIN}:{os.environ["PATH"]}', 'FAKE_FOLDER': str(self.folder), 'SLURM_JOB_ID': '7',
                'AXION_PYTHON': sys.executable, 'AXION_FARM_FLAGS': '--device=cpu --threads=1', **more}

    def test_what_it_asks_of_slurm_is_what_slurm_knows(self):
        text = self.file.read_text()
        head, _, body = text.partition('set -euo pipefail')
        asked = re.findall(r'^#SBATCH --([\w-]+=?)\S*$', head, re.MULTILINE)
        self.assertEqual(len(asked), len(re.findall('#SBATCH', text)))  # behind the first command sbatch reads none
        self.assertLessEqual(set(asked), SBATCH)
        self.assertLessEqual({'nodes=', 'ntasks-per-node=', 'time=', 'no-kill'}, set(asked))
        self.assertRegex(body, r'srun --overlap --no-kill --kill-on-bad-exit=0')

    def test_without_slurm_it_says_what_is_missing(self):
        plain = {name: value for name, value in os.environ.items() if not name.startswith('SLURM')}
        done = subprocess.run(['bash', self.file], capture_output=True, text=True, env=plain, cwd=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, 'SLURM_JOB_ID: is not set: this file is for sbatch')
        nothing = {**plain, 'SLURM_JOB_ID': '7', 'SLURM_JOB_NODELIST': 'a', 'PATH': '/usr/bin:/bin'}
        done = subprocess.run(['bash', self.file], capture_output=True, text=True, env=nothing, cwd=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, 'farm.slurm: axiond is not on the PATH')

    def free_port(self):
        with socket.socket() as one:
            one.bind(('127.0.0.1', 0))
            return str(one.getsockname()[1])

    def test_a_learner_has_the_bits_of_one_server_though_one_of_three_is_lost(self):
        if BIN is None:
            self.skipTest('no programs were named')
        import numpy as np

        import axion
        sys.path.insert(0, str(ROOT / 'tests/support'))
        from axiond_process import AxiondProcess

        (self.folder / 'learner.py').write_text(LEARNER)
        model = ROOT / 'clients/examples/models/quadruped.xml'
        nodes, port = ('127.0.0.1', '127.0.0.2', '127.0.0.3'), self.free_port()
        environment = self.environment(SLURM_JOB_NODELIST=','.join(nodes), AXION_FARM_PORT=port)
        job = subprocess.Popen(['bash', self.file, sys.executable, self.folder / 'learner.py', model], cwd=self.folder, env=environment,
                               stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.stderr.close)
        self.addCleanup(job.terminate)
        while job.poll() is None and not (self.folder / 'kill').exists():
            time.sleep(0.01)
        victim = servers_at(f'127.0.0.2:{port}')
        self.assertEqual(len(victim), 1, job.poll() is not None and job.stderr.read())
        os.kill(victim[0], signal.SIGKILL)
        (self.folder / 'kill').unlink()
        said = job.stderr.read()
        self.assertEqual(job.wait(), 0, said)
        self.assertIn('is begun again', (self.folder / 'node-127.0.0.2').read_text())
        self.assertEqual(servers_at(f':{port}'), [])
        left = sorted(path.name for path in (self.folder / 'axion-farm-7').iterdir())
        self.assertEqual(left, ['openssl.log', 'server.pem'])
        found = np.load(self.folder / 'pose.npz')
        self.assertEqual(len(found['places']), 3)  # the lost one has its worlds again
        with AxiondProcess(BIN / 'axiond') as server, axion.Client(server.address) as client, \
                client.create_batch(client.create_model(path=model), 6, 0.005) as batch:
            for step in range(20):
                pose = batch.step(np.full(12, 0.01 * step), steps=2, outputs='body_pose')['body_pose']
        np.testing.assert_array_equal(pose, found['pose'])

    def test_its_own_learner_trains_and_a_signal_ends_all(self):
        if BIN is None:
            self.skipTest('no programs were named')
        if not importlib.util.find_spec('gymnasium'):
            self.skipTest('gymnasium is not installed')
        port = self.free_port()
        job = subprocess.Popen(['bash', self.file], cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=self.environment(SLURM_JOB_NODELIST='127.0.0.1,127.0.0.2', AXION_FARM_PORT=port))
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.terminate)
        said = list(itertools.takewhile(lambda line: 'steps' not in line, job.stdout))
        self.assertFalse(any('rror' in line for line in said), said)
        job.send_signal(signal.SIGTERM)
        job.stdout.read()
        self.assertEqual(job.wait(), 143)
        self.assertEqual(servers_at(f':{port}'), [])


if __name__ == '__main__':
    if len(sys.argv) > 1 and not sys.argv[1].startswith('-'):
        BIN = pathlib.Path(sys.argv.pop(1))
    unittest.main(verbosity=2)
