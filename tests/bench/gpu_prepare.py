#!/usr/bin/env python3
"""Fills .gpu, which git ignores, with all that gpu.py needs on a machine with a GPU and no compiler: programs and models.

The folder goes along with a copy of this tree; gpu_recipe.md says what is called there. It is filled anew, and only where all is well:
  .gpu/bin     axion-bench and axion-agreement, built for compute capability 9.0 with the source lines of their kernels. They need the C
               library and libm alone, of glibc 2.36 or newer (Debian 12), and start here.
  .gpu/models  humanoid.xml, three_humanoids.xml and ant.xml of --models, and the project's quadruped.xml. Each steps here.
  .gpu/commit  of the tree that the programs were built from; gpu.py reports it.
Tree and folder together are at most 62 MiB. Needs what gpu.py's build needs, git, and readelf and strip of binutils.

Usage: gpu_prepare.py [--models DIRECTORY_OF_humanoid.xml] [--architecture 90] [--bin PROGRAMS_BUILT_BEFORE]
Environment: AXION_MODELS_DIR, for --models.
Exit code: 0; 1 where something is missing, does not build, does not start, needs more, or is too large.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from gpu_build import QUADRUPED, ROOT, build  # noqa: E402  beside this file
from gpu_device import revision  # noqa: E402
from gpu_run import PROGRAMS, Report, Runner, last_line  # noqa: E402

PUBLISHED = ['humanoid.xml', 'three_humanoids.xml', 'ant.xml']
LIBRARIES = {'libc.so.6', 'libm.so.6', 'ld-linux-x86-64.so.2'}
GLIBC = (2, 36)
MIB = 1 << 20


class UnfitError(Exception):
    """What is carried would not do on another machine."""


def output_of(*command):
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    except OSError as error:
        raise UnfitError(f'{command[0]}: {error.strerror}') from None
    if done.returncode != 0:
        raise UnfitError(f'{command[0]}: {last_line(done)}')
    return done.stdout


def needs_of(program):
    """(libraries, newest version of glibc) that the loader asks for."""
    libraries = set(re.findall(r'\(NEEDED\).*\[(.*)\]', output_of('readelf', '--wide', '--dynamic', program)))
    versions = re.findall(r'\bGLIBC_(\d+)\.(\d+)', output_of('readelf', '--wide', '--version-info', program))
    return libraries, max(((int(major), int(minor)) for major, minor in versions), default=(0, 0))


def add_programs(source, folder):
    folder.mkdir()
    for name in PROGRAMS:
        if not (source / name).is_file():
            raise UnfitError(f'there is no {source / name}')
        shutil.copy(source / name, folder / name)
        libraries, version = needs_of(folder / name)
        if libraries - LIBRARIES:
            raise UnfitError(f'{name} needs {", ".join(sorted(libraries - LIBRARIES))}, which another machine may not have')
        if version > GLIBC:
            raise UnfitError(f'{name} needs glibc {version[0]}.{version[1]}, which is newer than {GLIBC[0]}.{GLIBC[1]}')
        output_of('strip', folder / name)
        output_of(folder / name, '--help')


def add_models(published, folder, programs):
    folder.mkdir()
    for path in [*(published / name for name in PUBLISHED), QUADRUPED]:
        if not path.is_file():
            raise UnfitError(f'there is no {path} (--models)')
        shutil.copy(path, folder / path.name)
    for path in sorted(folder.glob('*.xml')):
        try:
            output_of(programs / 'axion-bench', '--model', path, '--device', 'cpu', '--worlds', 1, '--steps', 1)
        except UnfitError as error:
            raise UnfitError(f'{path.name}: {error}') from None


def size_of(paths):
    return sum(path.stat().st_size for path in paths if path.is_file() and not path.is_symlink())


def fill(options, source):
    """Programs and models in options.to, in place of what was there; what lacks raises UnfitError and leaves that as it was."""
    options.build.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.build) as made:
        made = pathlib.Path(made)
        add_programs(source, made / 'bin')
        add_models(options.models, made / 'models', made / 'bin')
        (made / 'commit').write_text(revision(ROOT) + '\n', encoding='utf-8')
        carried = sorted(path for path in made.rglob('*') if path.is_file())
        tree = output_of('git', '-C', ROOT, 'ls-files', '-z', '--cached', '--others', '--exclude-standard').split('\0')
        size = size_of(carried) + size_of(ROOT / name for name in tree if name)
        if size > options.limit_mib * MIB:
            raise UnfitError(f'tree and folder have {size / MIB:.1f} MiB, more than {options.limit_mib:g}')
        lines = [f'{path.stat().st_size / MIB:9.3f} MiB  {path.relative_to(made)}' for path in carried]
        shutil.rmtree(options.to, ignore_errors=True)
        options.to.mkdir(parents=True)
        for path in made.iterdir():
            shutil.move(path, options.to)
    return [*lines, f'{size / MIB:9.3f} MiB  with the tree, of {options.limit_mib:g}']


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add('--models', type=pathlib.Path, default=os.environ.get('AXION_MODELS_DIR', ROOT.parent / 'shared/models'))
    add('--to', type=pathlib.Path, default=ROOT / '.gpu')
    add('--bin', type=pathlib.Path, help='directory of programs that were built before; default: they are built')
    add('--build', type=pathlib.Path, default=ROOT / 'build/gpu')
    add('--architecture', default='90', help='of the GPU (%(default)s)')
    add('--registers', type=int, help='of a thread; default: as the build has it')
    add('--prefix', help='directory of libraries that are not installed (CMAKE_PREFIX_PATH)')
    add('--jobs', type=int, help='compilers at once; default: as Ninja chooses')
    add('--limit_mib', type=float, default=62, help='of tree and folder together (%(default)s)')
    options = parser.parse_args()
    options.models = pathlib.Path(options.models)
    options.to, options.build = options.to.resolve(), options.build.resolve()
    # What build() of gpu.py asks for besides.
    options.built = options.dry_run = options.emulated = False
    options.device = 'none'
    return options


def main():
    options = parse()
    source = options.bin
    if source is None:
        if not build(options, Report(None), Runner(0)):
            return 1
        source = options.bin
    try:
        lines = fill(options, source.resolve())
    except UnfitError as error:
        print(f'gpu_prepare.py: {error}; {options.to} is as it was', file=sys.stderr)
        return 1
    print('\n'.join([f'{options.to}:', *lines]))
    return 0


if __name__ == '__main__':
    sys.exit(main())
