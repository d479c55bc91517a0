#!/usr/bin/env python3
"""The kernels in the engine's library are machine code and PTX for the architectures that the build names, and the build names what
nvcc knows.

Reads the fat binaries in the library: a header (magic number, version, its own size, the size of all), then entries (kind, version,
size of the entry's header, size of its data, ..., architecture at byte 28). `cuobjdump -all -lelf -lptx` prints the same, where it is
installed.

Usage: fatbin_test.py LIBRARY ARCHITECTURES
"""

import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

MAGIC, PTX, ELF = 0xba55ed50, 1, 2
LIBRARY, ARCHITECTURES, ROOT = pathlib.Path(sys.argv[1]), re.split('[;,]', sys.argv[2]), pathlib.Path(__file__).resolve().parents[2]


def entries(data):
    """(kind, architecture, bytes) of all entries of all fat binaries in some bytes."""
    found, start = [], data.find(struct.pack('<I', MAGIC))
    while start >= 0:
        _, _, header, size = struct.unpack_from('<IHHQ', data, start)
        at, end = start + header, start + header + size
        while at + 32 <= end:
            kind, _, own, length = struct.unpack_from('<HHIQ', data, at)
            if own == 0:
                break
            found.append((kind, struct.unpack_from('<I', data, at + 28)[0], length))
            at += own + length
        start = data.find(struct.pack('<I', MAGIC), max(end, start + 4))
    return found


class Library(unittest.TestCase):
    def test_kernels_are_there_for_every_architecture_that_the_build_names(self):
        # What is larger than all but the kernels: linking adds small stubs.
        large = [(kind, architecture) for kind, architecture, size in entries(LIBRARY.read_bytes()) if size > 50_000]
        for name in ARCHITECTURES:
            number = int(re.match('[0-9]+', name)[0])
            with self.subTest(architecture=name):
                if not name.endswith('-virtual'):
                    self.assertIn((ELF, number), large)
                if not name.endswith('-real'):
                    self.assertIn((PTX, number), large)


class Default(unittest.TestCase):
    def names(self, nvcc):
        """What a build would name with an nvcc that says this."""
        with tempfile.TemporaryDirectory() as folder:
            program, script = pathlib.Path(folder) / 'nvcc', pathlib.Path(folder) / 'ask.cmake'
            program.write_text(f'#!/bin/sh\n{nvcc}\n', encoding='utf-8')
            program.chmod(0o755)
            script.write_text(f'include("{ROOT}/engine/backend/cuda/architectures.cmake")\n'
                              f'axion_cuda_architectures(names "{program}")\nmessage(STATUS "${{names}}")\n', encoding='utf-8')
            done = subprocess.run(['cmake', '-P', str(script)], capture_output=True, text=True, check=True)
        return done.stdout.removeprefix('-- ').strip()

    def test_blackwell_is_built_where_nvcc_knows_it_and_ptx_is_always_there(self):
        self.assertEqual(self.names("printf 'compute_%s\\n' 75 80 86 90 100 103 120 121"), '80-real;90;100-real;120-real')
        self.assertEqual(self.names("printf 'compute_%s\\n' 75 80 86 90 100 101"), '80-real;90;100-real')
        self.assertEqual(self.names("printf 'compute_%s\\n' 52 80 86 89 90"), '80-real;90')
        self.assertEqual(self.names('exit 1'), '80-real;90')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
