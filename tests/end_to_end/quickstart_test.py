#!/usr/bin/env python3
"""What the quick start asks of the build: CUDA where a GPU is found, for it alone, and nowhere else.

The script runs as it is, with a cmake that notes its arguments and ends it, and a driver that is made up.

Usage: quickstart_test.py SOURCE_DIRECTORY
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

QUICKSTART = pathlib.Path(sys.argv[1]) / 'deploy/quickstart.sh'
REAL_GPU = pathlib.Path('/dev/nvidia0').exists()


def configured(driver, **environment):
    """Arguments of the first cmake that the quick start runs; `driver` is the body of nvidia-smi."""
    with tempfile.TemporaryDirectory() as folder:
        bin_folder, notes = pathlib.Path(folder), pathlib.Path(folder) / 'notes'
        programs = {'cmake': f'echo "$@" > {notes}; exit 1', 'nvidia-smi': driver, 'dpkg-query': 'echo installed'}
        for name, body in programs.items():
            program = bin_folder / name
            program.write_text(f'#!/bin/sh\n{body}\n')
            program.chmod(0o755)
        path = f'{folder}:{os.environ["PATH"]}'
        subprocess.run(['bash', str(QUICKSTART)], env={**os.environ, **environment, 'PATH': path}, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return notes.read_text().split()


class Quickstart(unittest.TestCase):
    @unittest.skipIf(REAL_GPU, 'this machine has a GPU')
    def test_builds_no_kernels_where_there_is_no_gpu(self):
        for driver in ('echo "NVIDIA-SMI has failed"; exit 9', 'exit 127', 'echo "No devices found."'):
            self.assertIn('-DAXION_CUDA=OFF', configured(driver))

    def test_builds_kernels_for_the_gpu_that_is_found(self):
        arguments = configured('echo "GPU 0: NVIDIA H200 (UUID: GPU-0)"')
        self.assertIn('-DCMAKE_CUDA_ARCHITECTURES=native', arguments)
        self.assertNotIn('-DAXION_CUDA=OFF', arguments)

    def test_builds_no_kernels_when_the_cpu_is_asked_for(self):
        self.assertIn('-DAXION_CUDA=OFF', configured('echo "GPU 0: NVIDIA H200 (UUID: GPU-0)"', AXION_DEVICE='cpu'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
