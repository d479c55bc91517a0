"""The programs of gpu.py: built for a GPU so that they can be carried to another machine, and looked at where they are to run."""

import ctypes
import pathlib
import shutil
import time

from gpu_device import gpu
from gpu_run import PROGRAMS, last_line, not_imported, shown

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUADRUPED = ROOT / 'clients/examples/models/quadruped.xml'
DRIVER = 'libcuda.so.1'

# No library is looked for; programs that are carried elsewhere find the C++ library and TinyXML-2 within themselves.
BARE = ['-DAXION_WERROR=OFF', '-DAXION_BUNDLED_TINYXML2=ON', '-DAXION_PNG=OFF', '-DAXION_QHULL=OFF',
        '-DAXION_BUILD_SERVER=OFF', '-DAXION_BUILD_CLIENTS=OFF', '-DAXION_BUILD_TESTS=OFF',
        '-DCMAKE_EXE_LINKER_FLAGS=-static-libstdc++ -static-libgcc']


def build_commands(options, architecture):
    """Configures and builds. The kernels' machine code names its source lines, which the profiler counts by; it is the same code.
    The CPU's step, which stands beside the GPU's for its bits alone, is compiled once and not for each level of x86-64: that is as many
    bits, half the time, and a third of a program's bytes less."""
    configure = ['cmake', '-G', 'Ninja', '-S', ROOT, '-B', options.build, '-DCMAKE_BUILD_TYPE=Release', '-DAXION_CUDA=ON',
                 f'-DCMAKE_CUDA_ARCHITECTURES={architecture}', '-DCMAKE_CUDA_FLAGS=-lineinfo',
                 '-DAXION_INSTRUCTION_SETS=BASELINE', *BARE]
    if options.registers:
        configure.append(f'-DAXION_CUDA_REGISTERS={options.registers}')
    if options.dry_run:
        configure.append('-DAXION_EMULATED_GPU=ON')
    if options.prefix:
        configure.append(f'-DCMAKE_PREFIX_PATH={options.prefix}')
    jobs = [f'-j{options.jobs}'] if options.jobs else []
    return configure, ['ninja', '-C', options.build, *jobs, *PROGRAMS,
                       *(f'{name}-emulated' for name in PROGRAMS if options.dry_run)]


def build(options, report, runner):
    """Whether programs are at hand that start: those of --bin, or else new ones."""
    if options.built:
        if starts(options, report, runner):
            return True
        report.say('built anew')
    options.bin = options.build / 'bin'
    architecture = options.architecture or gpu()[1] or ('90' if options.dry_run else None)
    if architecture is None:
        report.say('build: no GPU is seen; name one with --architecture 90')
        return False
    start = time.monotonic()
    for command in build_commands(options, architecture):
        done = runner.run(command)
        if done.returncode != 0:
            report.say(f'build failed: {shown(command)}\n{(done.stdout + done.stderr)[-3000:]}')
            return False
    report.say(f'built in {options.build} for {architecture}, {time.monotonic() - start:.0f} s')
    return starts(options, report, runner)


def starts(options, report, runner):
    """Whether the programs run on this machine, and in a dry run step each model of --models; says which libraries they load."""
    options.emulated = options.dry_run and all((options.bin / f'{name}-emulated').exists() for name in PROGRAMS)
    for name in PROGRAMS:
        done = runner.run([options.bin / name, '--help'], timeout=60)
        if done.returncode != 0:
            report.say(f'{options.bin / name} does not start: {last_line(done)}')
            return False
        loaded = runner.run([options.bin / name], timeout=60, env={'LD_TRACE_LOADED_OBJECTS': '1'})  # ld.so lists, nothing runs
        libraries = [line.split()[0] for line in loaded.stdout.splitlines() if '=>' in line]
        report.say(f'{options.bin / name} starts; it loads {", ".join(sorted(libraries)) or "no library"}')
    commit = options.bin.parent / 'commit'
    if commit.exists():
        report.say(f'they were built from commit {commit.read_text(encoding="utf-8").strip()}')
    report.say(f'device: {options.device}{", emulated" if options.emulated else ""}; on this machine: {present()}')
    if not options.dry_run or not options.models:
        return True
    for model in sorted(options.models.glob('*.xml')):
        done = runner.run([options.bin / 'axion-bench', '--model', model, '--device', 'cpu', '--worlds', 1, '--steps', 1], timeout=60)
        if done.returncode != 0 and not not_imported(done):
            report.say(f'{model}: {last_line(done)}')
            return False
        report.say(f'{model} {"is not imported" if done.returncode else "steps"}')
    return True


def present():
    """Which of the driver and the tools that look at kernels are on this machine."""
    try:
        ctypes.CDLL(DRIVER)
        driver = 'yes'
    except OSError:
        driver = 'no'
    return ', '.join([f'{DRIVER} {driver}', *(f'{tool} {"yes" if shutil.which(tool) else "no"}' for tool in ('ncu', 'compute-sanitizer'))])
