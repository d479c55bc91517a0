#!/usr/bin/env python3
"""sass.py: how machine instructions are weighed by the lines of PTX that they come from."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'tools/ptx/profile'))
import sass  # noqa: E402  of that folder


def instruction(operation, stall):
    """Two lines, as nvdisasm -hex prints them; the stall field lies in bits 41 to 44 of the upper word."""
    return [f'        /*0010*/                   {operation} ;   /* 0x00000009000c7202 */',
            f'                     /* 0x{0x000fc00000000f00 | stall << 41:016x} */']


CODE = ['.text._Zf:', '        .type           _Zf,@function', *instruction('MOV R1, c[0x0][0x28]', 1),
        '	//## File "/somewhere/of/engine/math/vec3.hpp", line 12', *instruction('@!P0 FADD R1, R2, R3', 4),
        *instruction('R2UR UR4, R2', 2),
        '.L_x_7:', '	//## File "/somewhere/of/engine/math/vec3.hpp", line 13 inlined at "a", line 3', *instruction('@P1 BRA `(.L_x_7)', 5),
        '	//## File "/elsewhere.hpp", line 1', *instruction('EXIT', 5),
        '.text._Zg:', '	//## File "/somewhere/of/engine/math/vec3.hpp", line 12', *instruction('FMUL R1, R2, R3', 3),
        '.text._Zunknown:', *instruction('NOP', 15)]


class Sass(unittest.TestCase):
    def weigh(self, counts):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'counts'
            path.write_text(counts, encoding='utf-8')
            return sass.weigh(sass.instructions(CODE), sass.read_counts(path))

    def test_machine_code_is_read_with_its_lines_and_stall_fields(self):
        at = 'engine/math/vec3.hpp:'
        self.assertEqual(list(sass.instructions(CODE)), [
            ('_Zf', at + '12', 'MOV', 1), ('_Zf', at + '12', 'FADD', 4), ('_Zf', at + '12', 'R2UR', 2), ('_Zf', at + '13', 'BRA', 5),
            ('_Zf', '/elsewhere.hpp:1', 'EXIT', 5), ('_Zg', at + '12', 'FMUL', 3)])

    def test_an_instruction_counts_as_often_as_the_ptx_of_its_line_in_its_function(self):
        at = 'engine/math/vec3.hpp:'
        sums = self.weigh(f'_Zf\t{at}12\t2\t40\n_Zf\t{at}13\t1\t7\n_Zg\t{at}12\t4\t0\n')
        self.assertEqual(sums['instructions'], 3 * 20 + 7)
        self.assertEqual(sums['R2UR'], 20)
        self.assertEqual(sums['stall clocks'], 20 * (1 + 4 + 2) + 7 * 5)
        self.assertEqual(sums['bytes passed'], 4 * 16)  # what was never issued is not passed through
        self.assertEqual(sums['without a line of PTX'], 1)


if __name__ == '__main__':
    unittest.main(verbosity=2)
