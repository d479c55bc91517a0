#!/usr/bin/env python3
"""What becomes of every MJCF and URDF file of some folders: which load, what refuses the others, and how those that load move.

  tests/bench/models.py DIRECTORY... [--bin build/release/bin] [--seconds 2] [--dt DT] [--json FILE]

Every file below a DIRECTORY whose root is <mujoco> and that is not included by another, and every file *.urdf with a robot in it,
is offered strictly, with the files that it refers to, as the Python client collects them; URDF with a fixed base, no motors and no
ground, as MuJoCo reads it. One that is refused is offered again with allow_unsupported, so that every reason is
known. One that loads steps for --seconds at rest and again under random controls (axion-models says which). MuJoCo's newest package
(peer.py finds it; --alone does without) reads every file, too, and steps what loads at the same step under the same controls, in each
variant of peer.py; a file that it does not read is left out of `of`. Tables: the collections (each DIRECTORY), the reasons by the
number of models, and of rest and random controls the models and a summary of them.
Exit codes: 0; 1 when a program crashed.
"""

import argparse
import collections
import importlib
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import types
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peer  # noqa: E402  beside this file
import stamp  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNS = {'rest': 'At rest', 'random': 'Under random controls'}


def client_files():
    """The module of the Python client that collects files; of the package it needs nothing that is to be installed."""
    package = types.ModuleType('axion')
    package.__path__ = [str(ROOT / 'clients/python/axion')]  # in place of all that the package itself imports
    sys.modules['axion'] = package
    return importlib.import_module('axion.files')


FILES = client_files()


def documents(directory):
    """Files that are models by themselves, sorted."""
    roots, included = [], set()
    for path in sorted(directory.rglob('*.xml')):
        try:
            root = xml.etree.ElementTree.parse(path).getroot()
        except (xml.etree.ElementTree.ParseError, UnicodeDecodeError):
            continue
        for element in root.iter('include'):
            included.add((path.parent / element.get('file', '')).resolve())
        if root.tag == 'mujoco' and any(child.tag == 'worldbody' or child.tag == 'include' for child in root):
            roots.append(path)
    urdf = [path for path in sorted(directory.rglob('*.urdf')) if is_robot(path)]
    return [path for path in roots if path.resolve() not in included] + urdf


def is_robot(path):
    """Whether a file is URDF that xacro need not expand: a <robot> with links."""
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError, UnicodeDecodeError):
        return False
    return root.tag == 'robot' and root.find('link') is not None and not any('xacro' in str(element.tag) for element in root.iter())


def offered(options, directory, path):
    """What axion-models says of the file, which may refer to any file below its DIRECTORY."""
    try:
        _, assets = (FILES.read_urdf if path.suffix == '.urdf' else FILES.read_mjcf)(path, file_folders=[directory])
    except (OSError, ValueError) as error:
        return {'loads': False, 'error': {'field': '', 'message': str(error)}}
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for i, (name, content) in enumerate(assets.items()):
            (pathlib.Path(folder) / str(i)).write_bytes(content)
            lines.append(f'{name}\t{folder}/{i}\n')
        assets_list = pathlib.Path(folder) / 'assets'
        assets_list.write_text(''.join(lines), encoding='utf-8')
        command = [options.bin / 'axion-models', path, '--assets', assets_list, '--seconds', options.seconds,
                   '--precision', options.precision, '--softness', options.softness]
        if options.dt:
            command += ['--dt', options.dt]
        try:
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=options.timeout)
        except subprocess.TimeoutExpired:
            return {'loads': True, 'warnings': [], 'stopped': f'longer than {options.timeout} s'}
    if done.returncode != 0:
        return {'loads': False, 'crashed': True, 'error': {'field': '', 'message': f'exit code {done.returncode}: {done.stderr[-300:]}'}}
    return json.loads(done.stdout)


def reason(message):
    """A refusal without what is particular to its file: the element, the attribute, and why."""
    found = re.match(r'<(\S+?)(?: name=".*?")?> \(line \d+.*?\)(?:: (\w+)(?:="[^"]*")?)?(.*)', message, re.DOTALL)
    if not found:
        return re.sub(r'"[^"]*"', '"..."', message)
    tag, attribute, why = found.groups()
    why = re.sub(r'^ *(is not supported( and was left out)?: )?', '', why)
    why = re.sub(r'; \d+ more like it', '', why).strip(' .')
    return f'`{tag}{"." + attribute if attribute else ""}` {re.sub(chr(34) + "[^" + chr(34) + "]*" + chr(34), "...", why)}'


def reasons(answer):
    messages = list(answer.get('refused', []))
    if 'refused_always' in answer or not messages:
        messages.append(answer.get('refused_always', answer['error'])['message'])
    return sorted({reason(message) for message in messages})


# ---- MuJoCo, in an interpreter that has it
# --------------------------------------------------------------------------------------

def mujoco_worker():
    """Reads requests, one line of JSON each; answers each with a line: what MuJoCo makes of the file."""
    import mujoco  # pylint: disable=import-outside-toplevel
    mujoco.set_mju_user_warning(lambda text: None)
    for line in sys.stdin:
        request = json.loads(line)
        answer = {'reads': False, 'version': mujoco.__version__}
        try:
            model = mujoco_model(mujoco, request['path'])
            answer.update(reads=True, bodies=int(model.nbody), nq=int(model.nq))
            for name in RUNS:
                if name in request:
                    answer[name] = mujoco_runs(model, request, request[name])
        except (ValueError, RuntimeError) as error:
            answer['error'] = str(error)[:300]
        print(json.dumps(answer), flush=True)


def mujoco_model(mujoco, path):
    """Of URDF with the meshes that links collide with, by their names without folders, as MuJoCo looks for them."""
    if not path.endswith('.urdf'):
        return mujoco.MjModel.from_xml_path(path)
    text, assets = FILES.read_urdf(path)
    return mujoco.MjModel.from_xml_string(text, {name.replace('\\', '/').rsplit('/', 1)[-1]: data for name, data in assets.items()})


def mujoco_runs(model, request, run):
    """What each variant does: {variant: greatest overlap, open loops and seconds of the steps}, and where the first has the bodies."""
    import mujoco_bench  # pylint: disable=import-outside-toplevel
    model.opt.timestep = request['dt']
    enabled, integrator = model.opt.enableflags, model.opt.integrator
    variants, bodies = {}, None
    for name, flags in peer.VARIANTS.items():
        model.opt.enableflags, model.opt.integrator = enabled, integrator
        mujoco_bench.choose(model, flags[1], '--speculative' in flags)
        timed = mujoco_bench.Batch(model, 1, nthread=1)
        seconds = sum(stepped(timed, lambda count: timed.step(nstep=count), model, request, run))
        looker = mujoco_bench.Looker(model, 1)
        first = places_of(model, looker.batch)
        for _ in stepped(looker.batch, lambda count: [looker.step() for _ in range(count)], model, request, run):
            pass
        variants[name] = {'overlap': looker.overlap, 'loops': looker.loops, 'seconds': seconds,
                          'gave_up': looker.given_up > 0}
        if bodies is None:
            last = places_of(model, looker.batch)
            bodies = [{'name': model.body(i).name, 'mass': float(model.body_mass[i]), 'first': first[i], 'last': last[i]}
                      for i in range(1, model.nbody)]
    return {'variants': variants, 'bodies': bodies}


def places_of(model, batch):
    """[body]: where its frame is, m."""
    import mujoco  # pylint: disable=import-outside-toplevel
    data = batch.get_data(0)
    mujoco.mj_kinematics(model, data)
    return data.xpos.tolist()


def stepped(batch, step, model, request, run):
    """Takes the steps of a run under its controls; yields the seconds of each hold."""
    import mujoco  # pylint: disable=import-outside-toplevel
    held = max(1, round(0.1 / request['dt']))
    places = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, name) for name in request['actuators']]
    ctrl = batch.bind('ctrl')
    for first in range(0, run['steps'], held):
        for place, value in zip(places, run['controls'][first // held] if run['controls'] else []):
            if place >= 0:
                ctrl[0, place] = value
        begin = time.perf_counter()
        step(min(held, run['steps'] - first))
        yield time.perf_counter() - begin


class Mujoco:
    """A worker under another interpreter; it is started again where a file ends it."""

    def __init__(self, python):
        """python: None where there is none to ask."""
        self.python, self.worker = python, None

    def ask(self, request):
        if self.python is None:
            return None
        for _ in range(2):
            if self.worker is None or self.worker.poll() is not None:
                self.worker = subprocess.Popen([str(self.python), str(pathlib.Path(__file__).resolve()), '--mujoco_worker'],
                                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            try:
                self.worker.stdin.write(json.dumps(request) + '\n')
                self.worker.stdin.flush()
                line = self.worker.stdout.readline()
                if line:
                    return json.loads(line)
            except BrokenPipeError:
                pass
            self.worker = None
        return {'reads': False, 'error': 'the process ended'}


def pairs(names, masses, pose, theirs):
    """Which of MuJoCo's bodies each of ours is, None where it is none: by name, and those that MuJoCo has no name for by mass and by
    where they start, of equal ones in order; how they are counted is of no account."""
    by_name = {body['name']: body for body in theirs if body['name']}
    unnamed = [body for body in theirs if not body['name']]
    paired = []
    for i, name in enumerate(names):
        if name in by_name:
            paired.append(by_name[name])
            continue
        best, nearest = None, 1e-4 * (1 + max(abs(x) for x in pose[7 * i:7 * i + 3]))
        for body in unnamed:
            away = math.dist(pose[7 * i:7 * i + 3], body['first'])
            if abs(body['mass'] - masses[i]) <= 1e-4 * body['mass'] + 1e-12 and away < nearest:
                best, nearest = body, away
        if best is not None:
            unnamed = [body for body in unnamed if body is not best]
        paired.append(best)
    return paired


def distance(answer, theirs, name):
    """The farthest that a body of both is from where MuJoCo has it, m; None where there is nothing to compare."""
    if not theirs or not theirs.get(name) or name not in answer:
        return None
    run, farthest = answer[name], None
    for i, other in enumerate(pairs(answer['bodies'], answer['masses'], run['first_pose'], theirs[name]['bodies'])):
        last = run['pose'][7 * i:7 * i + 3]
        if other is None or None in last or not all(map(math.isfinite, other['last'])):
            continue
        d = math.dist(last, other['last'])
        farthest = d if farthest is None else max(farthest, d)
    return farthest


# ---- Tables
# -----------------------------------------------------------------------------------------------------------------------

def table(columns, rows):
    print('| ' + ' | '.join(columns) + ' |')
    print('|' + ' --- |' * len(columns))
    for row in rows:
        print('| ' + ' | '.join(str(cell) for cell in row) + ' |')
    print()


def counted(entry):
    """Whether the file is a model at all: where MuJoCo was asked, it reads it."""
    return entry['mujoco'] is None or entry['mujoco']['reads']


def collection_table(entries):
    rows = []
    for name in dict.fromkeys(entry['collection'] for entry in entries):
        mine = [entry for entry in entries if entry['collection'] == name and counted(entry)]
        loading = [entry for entry in mine if entry['answer']['loads']]
        lenient = [entry for entry in mine if not entry['answer']['loads'] and 'refused_always' not in entry['answer']]
        rows.append([name, len(mine), len(loading), sum(not e['answer'].get('warnings') for e in loading), len(lenient),
                     len(mine) - len(loading) - len(lenient)])
    rows.append(['all'] + [sum(row[i] for row in rows) for i in range(1, 6)])
    table(['collection', 'of', 'load', 'without a warning', 'only with allow_unsupported', 'not at all'], rows)


def reason_table(entries):
    by_reason, alone = collections.Counter(), collections.Counter()
    for entry in entries:
        if counted(entry) and not entry['answer']['loads']:
            by_reason.update(entry['reasons'])
            if len(entry['reasons']) == 1:
                alone.update(entry['reasons'])
    table(['refused because', 'models', 'for this alone'], [[why, count, alone[why]] for why, count in by_reason.most_common()])


def variants_of(entry, name):
    """{variant: figures} of MuJoCo in a run; empty where it was not asked or did not get through."""
    return ((entry['mujoco'] or {}).get(name) or {}).get('variants', {})


def cells_of(variants, key, factor, digits):
    """A figure of each variant in one cell."""
    return '; '.join('gave up' if v['gave_up'] else f'{factor * v[key]:.{digits}f}' for v in variants.values()) or '-'


def motion(entry, name):
    answer = entry['answer']
    if name not in answer:
        return ['-'] * 9
    run, variants = answer[name], variants_of(entry, name)
    away = distance(answer, entry['mujoco'], name)
    before, after = run['energy']
    times = [f'{run["wall_seconds"] / v["seconds"]:.1f}' for v in variants.values()]
    return [f'{100 * run["converged"]:.1f} %', f'{run["fallback"]}', f'{1000 * run["penetration"]:.2f}',
            cells_of(variants, 'overlap', 1000, 2), f'{1000 * run["joint_error"]:.3f}', cells_of(variants, 'loops', 1000, 3),
            'not finite' if run['non_finite'] or after is None else f'{before:.3g}, {after:.3g}', '-' if away is None else f'{away:.3f}',
            '; '.join(times) or '-']


def model_table(entries, name):
    rows = []
    for entry in entries:
        answer = entry['answer']
        if not counted(entry):
            continue
        path = f'{entry["collection"]}/{entry["name"]}'
        if not answer['loads']:
            rows.append([path, 'no: ' + '; '.join(entry['reasons'])] + ['-'] * 9)
            continue
        note = answer.get('stopped', '')
        rows.append([path, f'{len(answer["warnings"])}' + (f'; {note}' if note else '')] + motion(entry, name))
    print(f'### {RUNS[name]}\n')
    table(['model', 'warnings, or refused because', 'converged', 'fallback', 'overlap, mm', 'of MuJoCo', 'joint error, mm',
           'open loops of MuJoCo', 'energy first, last, J', 'from MuJoCo, m', 'time / MuJoCo\'s'], rows)


def summary_table(entries):
    """Of the models that both step to the end: the median and the greatest of what an engine leaves."""
    rows = []
    for name in RUNS:
        both = [entry for entry in entries if name in entry['answer'] and variants_of(entry, name)]
        if not both:
            continue
        ours = [(e['answer'][name]['penetration'], e['answer'][name]['joint_error'], False, 1.0) for e in both]
        sides = {'axion': ours}
        for variant in peer.VARIANTS:
            found = [(variants_of(e, name)[variant], e['answer'][name]['wall_seconds']) for e in both]
            sides[variant] = [(v['overlap'], v['loops'], v['gave_up'], seconds / v['seconds']) for v, seconds in found]
        for side, figures in sides.items():
            whole = [f for f in figures if not f[2]]
            overlap, opened, times = (sorted(f[i] for f in whole) for i in (0, 1, 3))
            rows.append([RUNS[name].lower(), side, len(both), len(figures) - len(whole), f'{1000 * overlap[len(overlap) // 2]:.2f}',
                         f'{1000 * overlap[9 * len(overlap) // 10]:.2f}', f'{1000 * overlap[-1]:.2f}', f'{1000 * opened[-1]:.2f}',
                         '' if side == 'axion' else f'{times[len(times) // 2]:.2f}'])
    if rows:
        table(['run', 'engine', 'models', 'gave up', 'overlap, mm: median', 'nine of ten below', 'greatest',
               'greatest opening of a joint or loop, mm', 'axion\'s time / its: median'], rows)


def look_at(options, mujoco, directory, path):
    answer = offered(options, directory, path)
    request = {'path': str(path)}
    if answer['loads'] and 'rest' in answer:
        request.update(dt=answer['dt'], actuators=answer['actuators'])
        request.update({name: {key: answer[name][key] for key in ('steps', 'controls')} for name in RUNS if name in answer})
    return {'collection': directory.name, 'name': str(path.relative_to(directory)), 'answer': answer,
            'reasons': [] if answer['loads'] else reasons(answer), 'mujoco': mujoco.ask(request)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('directories', nargs='+', type=pathlib.Path)
    parser.add_argument('--bin', type=pathlib.Path, default=pathlib.Path('build/release/bin'))
    parser.add_argument('--seconds', type=float, default=2, help='simulated, of what loads; 0: nothing is stepped')
    parser.add_argument('--dt', type=float, help='s; the files\' own where none is given')
    parser.add_argument('--precision', choices=['float32', 'float64'], default='float32')
    parser.add_argument('--softness', choices=['rigid', 'mjcf'], default='rigid', help='of contacts, limits and equalities')
    parser.add_argument('--timeout', type=float, default=60, help='s, of the wall clock for a file')
    parser.add_argument('--alone', action='store_true', help='without MuJoCo')
    peer.add_flag(parser)
    parser.add_argument('--json', type=pathlib.Path, help='where all of it is written')
    options = parser.parse_args()
    entries = []
    python, version = (None, 'not asked') if options.alone else peer.find(options)
    mujoco = Mujoco(python)
    for directory in options.directories:
        for path in documents(directory):
            entries.append(look_at(options, mujoco, directory, path))
    print(f'{stamp.stamp(options.bin)}, MuJoCo {version if python else f"left out ({version})"}:\n')
    collection_table(entries)
    reason_table(entries)
    summary_table(entries)
    for name in RUNS if options.seconds > 0 else ():
        model_table(entries, name)
    if options.json:
        options.json.write_text(json.dumps(entries), encoding='utf-8')
    return 1 if any(entry['answer'].get('crashed') for entry in entries) else 0


if __name__ == '__main__':
    if '--mujoco_worker' in sys.argv:
        mujoco_worker()
    else:
        sys.exit(main())
