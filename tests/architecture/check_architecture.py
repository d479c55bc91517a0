#!/usr/bin/env python3
"""Checks the house against ARCHITECTURE.md: who includes whom, how long files, functions and lines are, and that each
room says what it is. Exit code 1 and one line a finding ("file:line: rule: text") when something is wrong.

Usage: check_architecture.py [--root DIRECTORY]
"""

import argparse
import os
import pathlib
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from array_owners import check_file_owners, check_lists, structs_of_arrays, view_of  # noqa: E402
from array_writers import check_table  # noqa: E402
from source_text import cpp_functions, python_functions, strip_cpp_comments  # noqa: E402

MAX_FILE_LINES = 450
WARN_FILE_LINES = 400
MAX_FUNCTION_LINES = 80
MAX_INCLUDE_DEPTH = 26  # headers of the engine on top of each other, from one of the solver's rooms down
MAX_COLUMNS = 120
MAX_PYTHON_COLUMNS = 140

CPP_SUFFIXES = {'.hpp', '.cpp', '.h', '.cu', '.cuh'}
CODE_SUFFIXES = CPP_SUFFIXES | {'.py', '.proto', '.sh', '.cmake'}
SOURCE_ROOMS = ('engine', 'server', 'clients', 'tests', 'tools', 'deploy', 'proto')

# What a room of the engine may include besides itself: everything left of it in the dependency rule.
_TO_MODEL = {'base', 'lanes', 'math', 'team', 'model'}
_TO_PROBLEM = _TO_MODEL | {'constraints', 'laws', 'problem'}
_TO_TREE = _TO_PROBLEM | {'tree'}
_TO_NEWTON = _TO_TREE | {'contact_solver', 'reference', 'newton'}
_TO_STEP = _TO_NEWTON | {'velocity_sync', 'collide', 'readout', 'step'}
ENGINE_ROOMS = {
    'base': set(),
    'lanes': {'base'},
    'math': {'base', 'lanes'},
    'team': {'base', 'lanes', 'math'},
    'model': {'base', 'lanes', 'math', 'team'},
    'import': _TO_MODEL | {'collide'},
    'collide': _TO_MODEL,
    'constraints': _TO_MODEL,
    'laws': _TO_MODEL | {'constraints'},
    'problem': _TO_MODEL | {'constraints', 'laws'},
    'tree': _TO_PROBLEM,
    'contact_solver': _TO_TREE,
    'reference': _TO_TREE,
    'newton': _TO_TREE | {'contact_solver', 'reference'},
    'velocity_sync': _TO_NEWTON,
    'readout': _TO_PROBLEM | {'collide'},
    'step': _TO_STEP,
    'world': _TO_STEP,
    'gradient': _TO_STEP | {'world'},
    'backend': _TO_STEP | {'world', 'gradient'},
}
SOLVER_ROOMS = {'problem', 'tree', 'contact_solver', 'reference', 'newton'}
# engine.hpp is the face that the backend implements: it declares, so it includes only what its declarations need.
ENGINE_HPP_ROOMS = {'base', 'model'}
ENGINE_HPP_USERS = {'backend', 'model'}

# What a room of the server may include of the server; files of the folder itself (main, config) wire everything.
SERVER_ROOMS = {
    'net': set(),
    'task': set(),
    'schedule': {'task'},
    'store': set(),
    'access': {'schedule', 'task'},
    'observe': {'net', 'schedule', 'task'},
    'rpc': {'access', 'schedule', 'observe', 'store', 'task'},
}

# What a part of a tool may include of ours besides itself. Tests may include tools, nothing else may.
TOOL_PARTS = {
    'tools/ptx/interpreter': (),
    'tools/ptx/runtime': ('tools/ptx/interpreter/',),
    'tools/ptx/profile': ('tools/ptx/interpreter/', 'tools/ptx/runtime/', 'engine/', 'tests/bench/'),
}

# Where the engine may tell one platform from another. Elsewhere it says what it wants, and these rooms say how.
PLATFORM_ROOMS = {'engine/base', 'engine/team', 'engine/backend'}
# Files that still do so. The list may only become shorter: one that no longer offends is a finding.
PLATFORM_EXCEPTIONS = set()
# Macros of the build that name no platform: a library that may be missing.
LIBRARY_MACROS = {'AXION_PNG', 'AXION_QHULL'}
CONDITION = re.compile(r'^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|elifdef|elifndef)\b((?:[^\n]*\\\n)*[^\n]*)', re.MULTILINE)
PLATFORM_MACRO = re.compile(r'\b(__(?:CUDA|NVCC|HIP|AVX|SSE|ARM|x86|aarch64|GNUC|clang)\w*|_WIN32|_MSC_VER)\b')

# Rooms whose numbers stand in parameter structs, each with what it does and why: engine/<room>/parameters.hpp alone
# declares constants and has numbers with a fraction or an exponent. Lengths of arrays count the model's parts.
PARAMETER_ROOMS = {'engine/newton', 'engine/contact_solver'}
CONSTANT = re.compile(r'\bconstexpr\s+(?:static\s+|inline\s+)*(?!Length\b)[\w:<>]+\s+k[A-Z]\w*\s*(?:=|\{)[^;]*\d[^;]*;')
TUNED_NUMBER = re.compile(r"(?<![\w.'])(?:\d+\.\d*|\.\d+|\d+(?=[eE][-+]?\d))(?:[eE][-+]?\d+)?")

# Rooms whose tuned numbers stand there, too, while sizes and marks are declared beside what they size or mark. A half is
# arithmetic. In the files that still have such numbers, the list may only become shorter.
NUMBER_ROOMS = {'engine/collide', 'engine/constraints', 'engine/problem', 'engine/step', 'engine/tree'}
NUMBER_EXCEPTIONS = {'engine/constraints/contact_function.hpp', 'engine/constraints/friction.hpp'}

# Functions of these rooms are given views of the arrays that they read and write; some make views of the whole problem.
# What is given the problem can write anything, so that it is counted, and its number is only to become less.
VIEW_ROOMS = {'engine/problem', 'engine/contact_solver', 'engine/newton'}
MAX_WHOLE_PROBLEMS = 60
WHOLE_PROBLEM = re.compile(r'const (?:solver::)?Problem<Real>& ')

GRPC = re.compile(r'^(grpc|grpcpp|grpc\+\+|google/protobuf|google/rpc)/|\.pb\.h$')
ABSEIL = re.compile(r'^absl/')
CUDA = re.compile(r'^(cuda|cub/|thrust/|cooperative_groups|cu[a-z]+\.h|device_launch|device_functions|nv[A-Z]|nvml|nvrtc'
                  r'|vector_types\.h|mma\.h)')
THREADS = re.compile(r'^(thread|mutex|shared_mutex|atomic|condition_variable|future|semaphore|barrier|latch|stop_token'
                     r'|pthread\.h|stdatomic\.h|threads\.h|omp\.h|tbb/.*)$')
STANDARD = re.compile(r'^[a-z_0-9]+$')
# Libraries that a room of the engine may use besides the standard one.
ENGINE_LIBRARIES = {
    'import': re.compile(r'^(tinyxml2|png)\.h$'),
    'model': re.compile(r'^libqhull_r/qhull_ra\.h$'),
    'backend': re.compile(r'^(unistd\.h|sched\.h|cpuid\.h|immintrin\.h|sys/[a-z]+\.h)$'),
}
GRPC_ROOMS = {'server/rpc', 'server/observe', 'server'}
THREAD_ROOMS = {'engine/backend', 'server', 'server/access', 'server/net', 'server/schedule', 'server/observe'}
LIBRARY_PREFIXES = ('absl/', 'grpcpp/', 'grpc/', 'google/', 'spdlog/', 'prometheus/', 'opentelemetry/', 'axion/v1/')

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
PROMISES = re.compile(r'\b(' + '|'.join(('TO' 'DO', 'FIX' 'ME', 'XX' 'X')) + r')\b')


def room_of(path):
    """The room of a file: 'engine/newton', 'server' for its own files, 'clients/cpp', 'tests/...' and so on."""
    return str(pathlib.PurePosixPath(path).parent if path.count('/') < 2 else '/'.join(path.split('/')[:2]))


def source_files(root):
    """Paths below the source rooms, relative to the root, without what builds leave behind."""
    for top in SOURCE_ROOMS:
        for folder, folders, files in os.walk(root / top):
            folders[:] = sorted(f for f in folders if not f.startswith(('.', 'build')) and f != '__pycache__'
                                and not f.endswith('.egg-info'))
            for name in sorted(files):
                if not name.endswith(('_pb2.py', '_pb2_grpc.py')):
                    yield (pathlib.Path(folder) / name).relative_to(root).as_posix()


def includes(text):
    """Yields (line, quoted, target) of each #include that is not in a comment."""
    text = strip_cpp_comments(text)
    for match in INCLUDE.finditer(text):
        yield text.count('\n', 0, match.start(2)) + 1, match.group(1) == '"', match.group(2)


def check_platform(text):
    """Yields (line, text) of each place where a file of the engine asks which platform it is compiled for."""
    text = strip_cpp_comments(text)
    lines = set()
    for match in CONDITION.finditer(text):
        names = set(re.findall(r'\b[A-Za-z_]\w*', match.group(1))) - {'defined'}
        if not names or not names <= LIBRARY_MACROS:
            lines.add(text.count('\n', 0, match.start(1)) + 1)
    for match in PLATFORM_MACRO.finditer(text):
        lines.add(text.count('\n', 0, match.start()) + 1)
    for line in sorted(lines):
        yield line, 'a choice of the platform belongs to ' + ', '.join(sorted(PLATFORM_ROOMS))


def check_constants(text):
    """Yields (line, text) of each number that belongs into a parameter struct."""
    text = strip_cpp_comments(text)
    lines = {text.count('\n', 0, match.start()) + 1 for pattern in (CONSTANT, TUNED_NUMBER) for match in pattern.finditer(text)}
    for line in sorted(lines):
        yield line, 'a constant belongs into a struct of parameters.hpp, with what it does'


def check_numbers(text):
    """Yields (line, text) of each tuned number, of a room that declares its sizes where it uses them."""
    text = strip_cpp_comments(text)
    for line in sorted({text.count('\n', 0, m.start()) + 1 for m in TUNED_NUMBER.finditer(text) if m.group() != '0.5'}):
        yield line, 'a number that was tuned belongs into a struct of parameters.hpp, with its unit and what it does'


def include_depths(root):
    """Of each header of the engine how many of its headers stand on top of each other, itself the first."""
    depths = {}

    def depth(path):
        if path not in depths:
            depths[path] = 0  # a circle ends here
            inner = [target for _, quoted, target in includes((root / path).read_text()) if quoted and target.startswith('engine/')]
            depths[path] = 1 + max((depth(target) for target in inner if (root / target).is_file()), default=0)
        return depths[path]

    for path in source_files(root):
        if path.startswith('engine/') and path.endswith(('.hpp', '.cuh')):
            depth(path)
    return depths


def engine_face(root):
    """Headers that a user of the engine may include: engine.hpp and what it includes itself."""
    face = {'engine/engine.hpp'}
    header = root / 'engine/engine.hpp'
    if header.exists():
        face |= {target for _, quoted, target in includes(header.read_text()) if quoted}
    return face


def check_engine_include(room, path, quoted, target):
    name = room.partition('/')[2]
    if GRPC.search(target) or ABSEIL.search(target):
        return 'engine/ has no gRPC, protobuf or Abseil'
    if target.startswith('engine/'):
        if target == 'engine/engine.hpp':
            return None if name in ENGINE_HPP_USERS else 'engine.hpp is included by its implementation alone'
        other = target.split('/')[1]
        allowed = ENGINE_HPP_ROOMS if path == 'engine/engine.hpp' else ENGINE_ROOMS.get(name, set()) | {name}
        return None if other in allowed else f'{room} may include {sorted(allowed)}, not engine/{other}'
    if target.startswith(('server/', 'clients/', 'tests/', 'tools/', 'proto/', 'axion/')):
        return 'the engine knows no server, client, test, tool or message'
    library = ENGINE_LIBRARIES.get(name)
    if STANDARD.match(target) or CUDA.search(target) or (library and library.match(target)):
        return None
    return f'{room} may not use this library'


def check_server_include(room, face, target):
    name = room.partition('/')[2]
    if GRPC.search(target) and room not in GRPC_ROOMS:
        return 'gRPC and protobuf are seen in server/rpc, server/observe and main only'
    if target.startswith('engine/'):
        if target in face:
            return None
        if target.startswith('engine/import/') and name in ('rpc', ''):
            return None
        if target.startswith('engine/math/') and name == 'task':
            return None
        if target == 'engine/base/utf8.hpp' and name in ('rpc', 'task'):
            return None
        return 'the server includes engine/engine.hpp (in rpc engine/import/, in task engine/math/, in both utf8.hpp) only'
    if target.startswith(('clients/', 'tests/', 'tools/')):
        return 'the server knows no client, no test and no tool'
    if target.startswith('server/') and name in SERVER_ROOMS:
        other = target.split('/')[1] if target.count('/') > 1 else ''
        allowed = SERVER_ROOMS[name] | {name}
        if other and other not in allowed:
            return f'{room} may include {sorted(allowed)}, not server/{other}'
        if not other and name == 'schedule':
            return 'server/schedule sees only engine.hpp'
    return None


def check_include(root, face, path, quoted, target):
    """The reason why `path` may not include `target`, or None."""
    room = room_of(path)
    if quoted and (target.startswith('.') or not (
            (root / target).exists() or target.startswith(LIBRARY_PREFIXES) or target.endswith('.pb.h'))):
        return 'includes of ours are full paths from the root of the repository'
    if CUDA.search(target) and room != 'engine/backend' and not path.endswith('.cuh'):
        return 'CUDA headers are for engine/backend and *.cuh'
    if THREADS.search(target) and not room.startswith(('clients', 'tests', 'tools')) and room not in THREAD_ROOMS:
        return f'threads live in {", ".join(sorted(THREAD_ROOMS))}'
    if path.startswith('engine/'):
        return check_engine_include(room, path, quoted, target)
    if path.startswith('server/'):
        return check_server_include(room, face, target)
    if path.startswith('clients/') and target.startswith(('engine/', 'server/', 'tools/')):
        return 'a client knows the messages alone'
    if path.startswith('tools/') and target.startswith(tuple(f'{top}/' for top in SOURCE_ROOMS)):
        part = path.rpartition('/')[0]
        allowed = (part + '/', *TOOL_PARTS.get(part, ()))
        return None if target.startswith(allowed) else f'{part} may include {sorted(allowed)}'
    return None


def check_file(root, face, path):
    """Yields (line, rule, text) of each finding in one file; the rule 'warning' does not fail."""
    suffix = pathlib.PurePosixPath(path).suffix
    if suffix not in CODE_SUFFIXES and not path.endswith('CMakeLists.txt'):
        return
    text = (root / path).read_text(errors='replace')
    lines = text.splitlines()
    if len(lines) > MAX_FILE_LINES:
        yield 1, 'file length', f'{len(lines)} lines, the limit is {MAX_FILE_LINES}; split where there are two ideas'
    elif len(lines) > WARN_FILE_LINES:
        yield 1, 'warning', f'{len(lines)} lines, aim for {WARN_FILE_LINES}'
    for number, line in enumerate(lines, 1):
        if PROMISES.search(line):
            yield number, 'promise', f'keep it or say why not: {line.strip()}'
        if len(line) > (MAX_PYTHON_COLUMNS if suffix == '.py' else MAX_COLUMNS):
            yield number, 'line length', f'{len(line)} columns'
    if path.startswith('engine/') and path.endswith('CMakeLists.txt') and re.search(r'gRPC|[Pp]rotobuf|absl', text):
        if path != 'engine/CMakeLists.txt':
            yield 1, 'include rule', 'engine/ links no gRPC, protobuf or Abseil'
    functions = python_functions if suffix == '.py' else cpp_functions if suffix in CPP_SUFFIXES else None
    for first, count in functions(text) if functions else ():
        if count > MAX_FUNCTION_LINES:
            yield first, 'function length', f'{count} lines, the limit is {MAX_FUNCTION_LINES}'
    if suffix in CPP_SUFFIXES:
        if suffix in ('.hpp', '.cuh') and '#pragma once' not in text:
            yield 1, 'header', 'has no #pragma once'
        for number, quoted, target in includes(text):
            reason = check_include(root, face, path, quoted, target)
            if reason:
                yield number, 'include rule', f'{path} includes {target}: {reason}'
        if path.startswith('engine/') and room_of(path) not in PLATFORM_ROOMS and path not in PLATFORM_EXCEPTIONS:
            for number, reason in check_platform(text):
                yield number, 'platform rule', reason
        if room_of(path) in PARAMETER_ROOMS and not path.endswith('/parameters.hpp'):
            for number, reason in check_constants(text):
                yield number, 'constant', reason
        if room_of(path) in NUMBER_ROOMS and not path.endswith('/parameters.hpp'):
            numbers = list(check_numbers(text))
            if path not in NUMBER_EXCEPTIONS:
                for number, reason in numbers:
                    yield number, 'number', reason
            elif not numbers:
                yield 1, 'number', 'has no tuned number any more: take it out of NUMBER_EXCEPTIONS'


def rooms(root):
    """Folders that must say what they are: each top room, and those directly in engine, server, clients and tools."""
    for top in SOURCE_ROOMS:
        if (root / top).is_dir():
            yield top
        if top in ('engine', 'server', 'clients', 'tools'):
            for path in source_files(root):
                if path.startswith(top + '/') and path.count('/') >= 2:
                    yield '/'.join(path.split('/')[:2])


def count_whole_problems(root):
    """How many functions of VIEW_ROOMS are given the whole problem."""
    return sum(len(WHOLE_PROBLEM.findall(strip_cpp_comments((root / path).read_text(errors='replace')))) for path in source_files(root)
               if room_of(path) in VIEW_ROOMS and pathlib.PurePosixPath(path).suffix in CPP_SUFFIXES)


def check_views(root):
    """A finding where they are more than MAX_WHOLE_PROBLEMS."""
    count = count_whole_problems(root)
    if count > MAX_WHOLE_PROBLEMS:
        yield ('engine/problem/problem.hpp', 1, 'whole problem',
               f'{count} functions are given a Problem, the limit is {MAX_WHOLE_PROBLEMS}; give them views of what they use')


def check_arrays(root):
    """Findings about the arrays of a world: their lists, and rooms that name another room's (array_owners.py)."""
    structs = structs_of_arrays(root)
    handed_on, own = view_of(root, structs)
    yield from check_lists(structs)
    for path in source_files(root):
        if path.startswith('engine/') and pathlib.PurePosixPath(path).suffix in CPP_SUFFIXES and path.count('/') > 1:
            allowed = ENGINE_ROOMS.get(path.split('/')[1], set())
            text = (root / path).read_text(errors='replace')
            for finding in check_file_owners(path, text, allowed, handed_on, own):
                yield path, *finding


def check_tree(root):
    """All findings of the tree: a list of (path, line, rule, text)."""
    root = pathlib.Path(root)
    face = engine_face(root)
    findings = [(path, *finding) for path in source_files(root) for finding in check_file(root, face, path)]
    findings += check_arrays(root)
    findings += check_views(root)
    findings += check_table(root)
    for room in sorted(set(rooms(root))):
        if not (root / room / 'README.md').is_file():
            findings.append((room, 1, 'room', 'has no README.md that says what it does and who may call it'))
    for path, depth in sorted(include_depths(root).items()):
        if depth > MAX_INCLUDE_DEPTH and path.split('/')[1] in SOLVER_ROOMS:
            findings.append((path, 1, 'include depth', f'{depth} headers on top of each other, the limit is {MAX_INCLUDE_DEPTH}'))
    for path in sorted(PLATFORM_EXCEPTIONS):
        if not (root / path).is_file() or not list(check_platform((root / path).read_text())):
            findings.append((path, 1, 'platform rule', 'asks for no platform any more: take it out of PLATFORM_EXCEPTIONS'))
    return findings


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--root', type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    root = parser.parse_args().root
    findings = check_tree(root)
    for path, line, rule, text in findings:
        print(f'{path}:{line}: {rule}: {text}')
    failures = [finding for finding in findings if finding[2] != 'warning']
    print(f'{len(list(source_files(root)))} files, {len(failures)} findings')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
