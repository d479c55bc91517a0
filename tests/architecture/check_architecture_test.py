#!/usr/bin/env python3
"""The checker itself: each rule is broken once in a temporary copy of the house, and the checker must see it."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_architecture  # noqa: E402
import source_text  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


class BrokenHouse(unittest.TestCase):
    """Breaks one rule in a copy of the house without its tests, compares the findings, and mends it again."""

    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for room in ('engine', 'server', 'clients', 'tools'):
            if (REPOSITORY / room).is_dir():
                shutil.copytree(REPOSITORY / room, cls.root / room, ignore=shutil.ignore_patterns('build', '.venv'))
        cls.face = check_architecture.engine_face(cls.root)

    def add(self, path, text):
        target = self.root / path
        missing = [folder for folder in target.parents if not folder.exists()]
        self.addCleanup(self.restore, target, target.read_text() if target.exists() else None, missing)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    @staticmethod
    def restore(target, text, missing):
        if text is not None:
            target.write_text(text)
            return
        target.unlink(missing_ok=True)
        for folder in missing:
            folder.rmdir()

    def added_findings(self, path, text):
        self.add(path, text)
        return list(check_architecture.check_file(self.root, self.face, path))

    def assert_refused(self, path, include, header='#pragma once\n'):
        findings = self.added_findings(path, f'{header}#include {include}\n')
        self.assertEqual([f[1] for f in findings], ['include rule'], f'{path} with {include}: {findings}')

    def assert_accepted(self, path, include):
        self.assertEqual(self.added_findings(path, f'#pragma once\n#include {include}\n'), [])

    def array_findings(self, path, text):
        self.add(path, text)
        return [(p, rule, text) for p, _, rule, text in check_architecture.check_arrays(self.root)]

    def replace(self, path, old, new):
        text = (self.root / path).read_text()
        self.assertIn(old, text)
        return text.replace(old, new)

    def test_arrays_are_named_by_their_owners_as_the_house_stands(self):
        structs = check_architecture.structs_of_arrays(self.root)
        handed_on, own = check_architecture.view_of(self.root, structs)
        self.assertEqual({handed_on['x'], handed_on['row'], handed_on['dlambda']}, {'model', 'constraints', 'problem'})
        self.assertEqual((own['tree'], own['sweeps'], own['collide']), ('tree', 'contact_solver', 'collide'))
        self.assertEqual(len(structs), 14)
        self.assertGreater(sum(len(arrays.members) for arrays in structs.values()), 150)
        self.assertEqual(list(check_architecture.check_arrays(self.root)), [])

    def test_room_that_names_another_rooms_own_array_is_refused(self):
        for room, text in (('contact_solver', 'p.w.tree.node[0]'), ('tree', 'p.w.sweeps.delassus'), ('newton', 'w.reference.dense'),
                           ('step', 'auto& s = w.collide;'), ('backend', 'w_.tree.node'), ('readout', 'w.velocity_sync.tree_body'),
                           ('step', 'w.readout.start_x'), ('velocity_sync', 'p.w.step.anchor_error')):
            path = f'engine/{room}/extra.hpp'
            self.assertEqual([f[:2] for f in self.array_findings(path, f'#pragma once\n{text}\n')], [(path, 'array owner')])
            (self.root / path).unlink()

    def test_room_that_names_what_is_written_right_of_it_is_refused(self):
        for room, text in (('collide', 'w.row[0]'), ('constraints', 'w.residual[0]'), ('constraints', 'w.dlambda')):
            path = f'engine/{room}/extra.hpp'
            self.assertEqual([f[:2] for f in self.array_findings(path, f'#pragma once\n{text}\n')], [(path, 'array owner')])
            (self.root / path).unlink()

    def test_room_that_names_its_own_arrays_and_what_is_handed_on_to_it_is_accepted(self):
        text = '#pragma once\np.w.tree.node[0] + p.w.row[0] + p.w.residual[0] + p.w.x[0]  // w.sweeps.delassus\n'
        self.assertEqual(self.array_findings('engine/tree/extra.hpp', text), [])

    def test_array_that_is_declared_by_another_name_is_refused(self):
        path = 'engine/newton/newton_scratch.hpp'
        broken = self.replace(path, 'kept_v{"kept_v"', 'kept_v{"kept_omega"')
        self.assertEqual(self.array_findings(path, broken), [(path, 'array list', 'NewtonScratch: "kept_omega" is the name of kept_v')])

    def test_room_that_writes_what_the_table_does_not_say_is_refused(self):
        self.add('ARCHITECTURE.md', (REPOSITORY / 'ARCHITECTURE.md').read_text())
        self.assertEqual(list(check_architecture.check_table(self.root)), [])
        for text, array in (('w.axis_bias[0] += 1;', 'axis_bias'), ('Real& owed = p.w.body_force_step[b];', 'body_force_step'),
                            ('void f(RowResiduals<Real>& rows) { rows.residual[0] = 0; }', 'residual'),
                            ('place_iterate(team, m, s, u, w.x, w.q, w.blend, w.q_plus);', 'blend')):
            self.add('engine/newton/extra.hpp', f'#pragma once\n{text}\n')
            findings = [(finding[2], finding[3].split(' ')[0]) for finding in check_architecture.check_table(self.root)]
            self.assertIn(('array writers', array), findings)
            (self.root / 'engine/newton/extra.hpp').unlink()

    def test_engine_that_includes_grpc_is_refused(self):
        self.assert_refused('engine/newton/extra.hpp', '<grpcpp/grpcpp.h>')

    def test_engine_that_includes_a_message_is_refused(self):
        self.assert_refused('engine/backend/extra.hpp', '"axion/v1/simulation.pb.h"')

    def test_engine_that_includes_abseil_is_refused(self):
        self.assert_refused('engine/base/extra.hpp', '"absl/strings/string_view.h"')

    def test_room_that_includes_to_its_right_is_refused(self):
        self.add('engine/backend/some.hpp', '#pragma once\n')
        self.assert_refused('engine/math/extra.hpp', '"engine/backend/some.hpp"')
        for room, right in (('velocity_sync', 'step/step_world'), ('readout', 'velocity_sync/synchronise'), ('step', 'world/world_view')):
            self.assert_refused(f'engine/{room}/extra.hpp', f'"engine/{right}.hpp"')

    def test_room_that_includes_to_its_left_is_accepted(self):
        self.assert_accepted('engine/newton/extra.hpp', '"engine/base/result.hpp"')

    def test_cuda_header_outside_the_backend_is_refused(self):
        self.assert_refused('engine/step/extra.hpp', '<cuda_runtime.h>')

    def test_cuda_header_in_a_device_file_is_accepted(self):
        self.assert_accepted('engine/team/extra.cuh', '<cuda_runtime.h>')

    def test_thread_header_in_newton_is_refused(self):
        self.assert_refused('engine/newton/extra.hpp', '<atomic>')

    def test_thread_header_in_the_backend_is_accepted(self):
        self.assert_accepted('engine/backend/extra.hpp', '<atomic>')

    def test_relative_include_is_refused(self):
        self.assert_refused('engine/newton/extra.hpp', '"../base/result.hpp"')

    def test_include_beside_the_file_without_its_path_is_refused(self):
        self.assert_refused('engine/base/extra.hpp', '"result.hpp"')

    def test_schedule_that_includes_grpc_is_refused(self):
        self.assert_refused('server/schedule/extra.hpp', '<grpcpp/server.h>')

    def test_schedule_that_includes_rpc_is_refused(self):
        (self.root / 'server/rpc').mkdir(parents=True, exist_ok=True)
        self.add('server/rpc/some.hpp', '#pragma once\n')
        self.assert_refused('server/schedule/extra.hpp', '"server/rpc/some.hpp"')

    def test_server_that_reaches_behind_engine_hpp_is_refused(self):
        self.assert_refused('server/schedule/extra.hpp', '"engine/math/vec3.hpp"')

    def test_client_that_includes_the_engine_is_refused(self):
        self.assert_refused('clients/cpp/extra.hpp', '"engine/engine.hpp"')

    def test_include_in_a_comment_is_no_include(self):
        self.assertEqual(self.added_findings('engine/base/extra.hpp', '#pragma once\n// #include <thread>\n'), [])

    def test_tool_in_the_engine_the_server_or_a_client_is_refused(self):
        for path in ('engine/backend/extra.hpp', 'server/rpc/extra.hpp', 'clients/cpp/extra.hpp'):
            self.assert_refused(path, '"tools/ptx/interpreter/machine.hpp"')

    def test_part_of_a_tool_that_includes_to_its_right_is_refused(self):
        self.assert_refused('tools/ptx/interpreter/extra.hpp', '"tools/ptx/profile/profile.hpp"')
        self.assert_refused('tools/ptx/runtime/extra.hpp', '"engine/engine.hpp"')
        self.assert_accepted('tools/ptx/profile/extra.hpp', '"tools/ptx/runtime/runtime.hpp"')

    def platform_findings(self, path, text):
        return [f[:2] for f in self.added_findings(path, '#pragma once\n' + text)]

    def test_choice_of_the_platform_in_step_code_is_refused(self):
        for text in ('#if defined(__CUDACC__)\n#endif\n', '#ifdef __CUDA_ARCH__\n#endif\n', '#ifndef __AVX512F__\n#endif\n',
                     '# if SOME_NAME_OF_OURS\n#endif\n', '#if 1\n#endif\n', 'inline int f() { return __CUDA_ARCH__; }\n',
                     '#if \\\n  defined(__CUDACC__)\n#endif\n'):
            found = self.platform_findings('engine/newton/extra.hpp', text)
            self.assertEqual(found[:1], [(2, 'platform rule')], text)
        self.assertEqual(self.platform_findings('engine/newton/extra.hpp', '#ifdef AXION_QHULL\n#elif defined(__CUDACC__)\n#endif\n'),
                         [(3, 'platform rule')])

    def test_choice_of_the_platform_is_accepted_where_it_belongs_and_libraries_everywhere(self):
        for room in ('base', 'team', 'backend'):
            self.assertEqual(self.platform_findings(f'engine/{room}/extra.hpp', '#if defined(__CUDACC__)\n#endif\n'), [])
        self.assertEqual(self.platform_findings('engine/model/extra.hpp', '#ifdef AXION_QHULL\n#endif\n'), [])
        self.assertEqual(self.platform_findings('engine/newton/extra.hpp', '// #if defined(__CUDACC__)\n'), [])

    def test_constant_outside_the_parameters_of_its_room_is_refused(self):
        for room in ('newton', 'contact_solver'):
            for text in ('inline constexpr double kShare = 3e-5;', 'inline constexpr int kRounds = 10;',
                         'struct S {\n static constexpr int kRounds = 8, kMost = 9;\n};', 'const auto x = Real(0.25) * y;',
                         'if (x > Real(1e-3)) return;', 'constexpr Real kLeast{4};'):
                findings = self.added_findings(f'engine/{room}/extra.hpp', f'#pragma once\n{text}\n')
                self.assertEqual([f[1] for f in findings], ['constant'], text)
            for text in ('enum Kind : int { kOpen, kSlides = 3 };', 'constexpr int lanes = 4 * width;', '// at 0.5 of its share',
                         'static constexpr int kWidth = SweepSizes::kGroupContacts;', 'x = Real(2) * y + a1e5;'):
                self.assertEqual(self.added_findings(f'engine/{room}/extra.hpp', f'#pragma once\n{text}\n'), [], text)
        text = '#pragma once\nstruct S {\n  static constexpr double kShare = 3e-5;\n};\n'
        self.assertEqual(self.added_findings('engine/newton/parameters.hpp', text), [])
        self.assertEqual(self.added_findings('engine/readout/extra.hpp', text), [])

    def test_number_outside_the_parameters_of_a_room_with_sizes_of_its_own_is_refused(self):
        for room in ('collide', 'constraints', 'problem', 'step', 'tree'):
            for text in ('inline constexpr double kShare = 3e-5;', 'if (x > Real(0.1) * y) return;', 'x = Real(1.0);'):
                findings = self.added_findings(f'engine/{room}/extra.hpp', f'#pragma once\n{text}\n')
                self.assertEqual([f[1] for f in findings], ['number'], text)
                self.assertEqual(self.added_findings(f'engine/{room}/parameters.hpp', f'#pragma once\n{text}\n'), [], text)
            for text in ('inline constexpr int kRounds = 10;', 'x = Real(0.5) * y;', '// at 0.1 of its share', 'x = Real(2) * y;'):
                self.assertEqual(self.added_findings(f'engine/{room}/extra.hpp', f'#pragma once\n{text}\n'), [], text)

    def test_exceptions_to_the_rule_of_numbers_only_become_fewer(self):
        self.assertLessEqual(check_architecture.NUMBER_EXCEPTIONS, {
            'engine/constraints/contact_function.hpp', 'engine/constraints/friction.hpp'})
        with unittest.mock.patch.object(check_architecture, 'NUMBER_EXCEPTIONS', {'engine/tree/extra.hpp'}):
            self.assertEqual(self.added_findings('engine/tree/extra.hpp', '#pragma once\ndouble x = 0.1;\n'), [])
            self.assertIn('NUMBER_EXCEPTIONS', self.added_findings('engine/tree/extra.hpp', '#pragma once\n')[0][2])

    def test_exceptions_to_the_platform_rule_only_become_fewer(self):
        self.assertLessEqual(check_architecture.PLATFORM_EXCEPTIONS, {
            'engine/lanes/pack.hpp', 'engine/problem/residual.hpp', 'engine/step/run_steps.hpp', 'engine/readout/write_field.hpp'})
        listed = {'engine/newton/extra.hpp', 'engine/newton/gone.hpp'}
        self.add('engine/newton/extra.hpp', '#pragma once\n')
        with unittest.mock.patch.object(check_architecture, 'PLATFORM_EXCEPTIONS', listed):
            stale = {f[0] for f in check_architecture.check_tree(self.root) if 'PLATFORM_EXCEPTIONS' in f[3]}
            self.assertEqual(stale, listed)
            self.add('engine/newton/extra.hpp', '#pragma once\n#ifdef __CUDACC__\n#endif\n')
            self.assertNotIn('engine/newton/extra.hpp', {f[0] for f in check_architecture.check_tree(self.root)})

    def test_tower_of_includes_is_refused(self):
        floors = check_architecture.MAX_INCLUDE_DEPTH
        for k in range(1, floors + 2):
            below = f'#include "engine/newton/floor{k + 1}.hpp"\n' if k <= floors else ''
            self.add(f'engine/newton/floor{k}.hpp', '#pragma once\n' + below)
        found = [f[0] for f in check_architecture.check_tree(self.root) if f[2] == 'include depth']
        self.assertEqual(found, ['engine/newton/floor1.hpp'])

    def test_one_more_function_that_is_given_the_whole_problem_is_refused(self):
        def refused():
            return [f[0] for f in check_architecture.check_views(self.root)]
        text = '#pragma once\ninline void f(const Problem<Real>& p);\n'
        with unittest.mock.patch.object(check_architecture, 'MAX_WHOLE_PROBLEMS', check_architecture.count_whole_problems(self.root)):
            self.add('engine/tree/extra.hpp', text)
            self.assertEqual(refused(), [])
            self.add('engine/newton/extra.hpp', text)
            self.assertEqual(refused(), ['engine/problem/problem.hpp'])

    def test_long_file_is_refused(self):
        findings = self.added_findings('engine/base/extra.hpp', '#pragma once\n' + '\n' * 460)
        self.assertEqual([f[1] for f in findings], ['file length'])

    def test_long_function_is_refused(self):
        body = '  x += 1;\n' * 90
        findings = self.added_findings('engine/base/extra.hpp', f'#pragma once\ninline void f(int x) {{\n{body}}}\n')
        self.assertEqual([f[1] for f in findings], ['function length'])

    def test_long_line_is_refused(self):
        for path, columns in (('engine/math/extra.cpp', 120), ('deploy/extra.sh', 120), ('tests/extra.py', 140)):
            self.assertEqual(self.added_findings(path, '#' * columns + '\n'), [], path)
            self.assertEqual([f[1] for f in self.added_findings(path, '#' * columns + '#\n')], ['line length'], path)

    def test_promise_is_refused(self):
        findings = self.added_findings('engine/base/extra.hpp', '#pragma once\n// TO' + 'DO later\n')
        self.assertEqual([f[1] for f in findings], ['promise'])

    def test_room_without_a_readme_is_refused(self):
        self.add('engine/attic/x.hpp', '#pragma once\n')
        self.assertIn('engine/attic', [f[0] for f in check_architecture.check_tree(self.root) if f[2] == 'room'])

    def test_program_fails_and_names_the_file_when_a_forbidden_include_is_added(self):
        def run():
            return subprocess.run([sys.executable, '-B', check_architecture.__file__, '--root', str(self.root)],
                                  capture_output=True, text=True)

        line = 'engine/newton/extra.hpp:2: include rule'
        self.assertNotIn(line, run().stdout)
        self.add('engine/newton/extra.hpp', '#pragma once\n#include <grpcpp/grpcpp.h>\n')
        broken = run()
        self.assertIn(line, broken.stdout)
        self.assertEqual(broken.returncode, 1)


class FunctionLengths(unittest.TestCase):
    def lengths(self, text):
        return [count for _, count in source_text.cpp_functions(textwrap.dedent(text))]

    def test_functions_in_namespaces_and_classes_are_measured(self):
        self.assertEqual(self.lengths('''\
            namespace a::b {
            template <typename T, int N = 3>
            class C final : public D<T> {
             public:
              int f() const {
                return 1;
              }
              explicit C(int x) : x_{x}, y_(2) {
                g();
                h();
              }
            };
            }  // namespace
            '''), [3, 1, 4])

    def test_braces_in_strings_and_comments_do_not_count(self):
        self.assertEqual(self.lengths('''\
            void f() {
              g("}", '{', R"x(}}}")x");  // }
              /* { */ int n = 1'000'000;
            }
            void g() {}
            '''), [4, 1])

    def test_lambdas_belong_to_their_function(self):
        self.assertEqual(self.lengths('''\
            void f() {
              auto g = [&](int i) {
                return i;
              };
            }
            '''), [5])

    def test_tables_and_enums_are_not_functions(self):
        self.assertEqual(self.lengths('''\
            enum class E : int { kA, kB };
            constexpr std::array<int, 3> kTable{1,
              2,
              3};
            #define M(x) { \\
              x
            '''), [])


if __name__ == '__main__':
    unittest.main()
