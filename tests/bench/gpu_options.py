"""The command line of gpu.py, and what is refused before anything is measured."""

import argparse
import pathlib

from gpu_build import QUADRUPED, ROOT

PARTS = ['build', 'first', 'table', 'profiler', 'agreement', 'sanitizer', 'shapes', 'warp']
OF_THE_TABLE = {'first', 'table', 'profiler', 'shapes', 'warp'}  # parts that measure the table's model
NEAR_KIB = [0, 4, 8, 12, 16, 24, 32, 48, 72, 100, 216]
OWN_MODELS = sorted((ROOT / 'clients/examples/models').glob('*.xml')) + [ROOT / 'tests/bench/wheeled_robot.xml']


def parse(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add('--parts', nargs='+', choices=PARTS, default=PARTS)
    add('--deadline', type=float, help='seconds after which the call has ended; 0: none; default: 570, of a dry run 0')
    add('--dry_run', action='store_true', help='without a GPU: says every command, and runs it in small where it needs none')
    add('--device', default='cuda:0')
    add('--models', type=pathlib.Path, help='directory of published robots, humanoid.xml among them')
    add('--build', type=pathlib.Path, default=ROOT / 'build/gpu')
    add('--bin', type=pathlib.Path, help='directory of programs that were built before; default: they are built')
    add('--prefix', help='directory of libraries that are not installed (CMAKE_PREFIX_PATH)')
    add('--architecture', help='of the GPU, e.g. 90, or several, e.g. "80;90"; default: of the one that is there')
    add('--registers', type=int, help='of a thread, e.g. 96, 128, 168; default: as the build has it')
    add('--jobs', type=int, help='compilers at once; default: as Ninja chooses')
    add('--first_worlds', type=int, default=8192)
    add('--profiler_seconds', type=int, default=120)
    add('--agreement_models', nargs='+', help='file names; default: all there are')
    add('--agreement_worlds', type=int, default=16)
    add('--agreement_steps', type=int, default=200)
    add('--presets', nargs='+', default=['default', 'velocity', 'axion_seed'])
    add('--sanitizer_models', nargs='+', type=pathlib.Path, default=[QUADRUPED])
    add('--sanitizer_seconds', type=int, default=60, help='for each tool and model')
    add('--table_model', type=pathlib.Path, help='default: humanoid.xml of --models')
    add('--worlds', nargs='+', type=int, default=[1, 64, 512, 2048, 4096, 8192, 16384, 32768, 65536])
    add('--world_steps', type=int, default=4_000_000, help='of a row of the table')
    add('--shape_models', nargs='+', type=pathlib.Path, help="default: the table's and the quadruped")
    add('--shape_worlds', nargs='+', type=int, default=[8192, 1024, 1])
    add('--shape_world_steps', type=int, default=1_000_000, help='of each figure of the shapes')
    add('--near_kib', nargs='+', type=int, default=NEAR_KIB, help='of the shapes')
    add('--warmup_steps', type=int, default=200, help='until robots lie')
    add('--steps_per_launch', type=int, default=50)
    add('--out', type=pathlib.Path)
    options = parser.parse_args()
    if options.deadline is None:
        options.deadline = 0 if options.dry_run else 570
    options.built = options.bin is not None
    options.build = options.build.resolve()
    options.bin = (options.bin or options.build / 'bin').resolve()
    options.emulated = False  # known as soon as the programs are
    choose_models(parser, options)
    return options


def choose_models(parser, options):
    """Ends the call where a model that it asks for is not there, in place of measuring another one or none."""
    if options.models and not options.models.is_dir():
        parser.error(f'--models: there is no directory {options.models}')
    if options.table_model is None and OF_THE_TABLE & set(options.parts):
        if options.models is None:
            parser.error('no model is named: --table_model FILE, or --models with humanoid.xml in it')
        options.table_model = options.models / 'humanoid.xml'
    if options.shape_models is None:
        options.shape_models = list(dict.fromkeys([options.table_model or QUADRUPED, QUADRUPED]))
    for name, paths in (('--table_model', [options.table_model] if options.table_model else []), ('--shape_models', options.shape_models),
                        ('--sanitizer_models', options.sanitizer_models)):
        for path in paths:
            if not path.is_file():
                parser.error(f'{name}: there is no file {path}')
    known = {path.name for path in models_of(options, None)}
    for name in options.agreement_models or []:
        if name not in known:
            parser.error(f'--agreement_models: {name} is none of {", ".join(sorted(known))}')


def models_of(options, names):
    """Own models and published ones, that of the table first, each once; of these names, where there are any."""
    published = sorted(options.models.glob('*.xml')) if options.models else []
    once = {(path.name, path.read_bytes()): path for path in published + OWN_MODELS}
    found = sorted(once.values(), key=lambda path: (options.table_model is None or path.name != options.table_model.name))
    return [path for path in found if not names or path.name in names]
