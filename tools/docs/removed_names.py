#!/usr/bin/env python3
"""Names that a revision had and HEAD has no more: the Python package's public names with their arguments, messages, fields,
values and calls of the protocol, flags of the programs, metrics and alerts. Each has to stand in docs/changes.md; what does
not ends this with 1.

Usage: removed_names.py REVISION [--python PYTHON], with an interpreter (this one by default) that has the package's dependencies, and pip.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ('clients', 'proto', 'server', 'deploy/prometheus', 'tools')
# What is found in each source of a kind, by a pattern whose group is the name.
IN_SOURCES = (
    ('flag', re.compile(r'ABSL_FLAG\(\s*[\w:<>, ]+?,\s*(\w+),'), 'server/*.cpp'),
    ('flag', re.compile(r'ABSL_FLAG\(\s*[\w:<>, ]+?,\s*(\w+),'), 'clients/cli/*.cpp'),
    ('flag', re.compile(r'add_argument\("--(\w+)"'), 'clients/python/axion/**/*.py'),
    ('metric', re.compile(r'"(axion_[a-z_]+[a-z])"'), 'server/observe/*.cpp'),
    ('alert', re.compile(r'alert: (\w+)'), 'deploy/prometheus/*.yml'))

# Runs in an interpreter that finds the package: what it lists goes by names alone, so that what moves between files is not removed.
PYTHON_NAMES = r'''
import importlib, inspect, json, pathlib, sys
import axion
names = set()
def arguments(name, made):
    try:
        names.update(f"{name}({key})" for key in inspect.signature(made).parameters if key not in ("self", "cls"))
    except (TypeError, ValueError):
        pass
for module_name in ("axion", "axion.aio", "axion.gym", "axion.gym.sb3", "axion.ray_fleet", "axion.scene", "axion.files"):
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        print(f"{module_name} is left out: {error}", file=sys.stderr)
        continue
    exported = list(getattr(module, "__all__", ())) + list(getattr(module, "_LAZY", ()))
    for name in exported or [name for name in vars(module) if not name.startswith("_")]:
        try:
            made = getattr(module, name)
        except ImportError as error:
            print(f"{module_name}.{name} is left out: {error}", file=sys.stderr)
            continue
        if inspect.ismodule(made) or not exported and getattr(made, "__module__", module_name) != module_name:
            continue
        names.add(f"{module_name}.{name}")
        arguments(f"{module_name}.{name}", made)
        if inspect.isclass(made):
            for member, value in inspect.getmembers(made):
                if not member.startswith("_"):
                    names.add(f"{module_name}.{name}.{member}")
                    arguments(f"{module_name}.{name}.{member}", value)
import axion.v1
for file in sorted(pathlib.Path(axion.v1.__path__[0]).glob("*_pb2.py")):
    described = importlib.import_module(f"axion.v1.{file.stem}").DESCRIPTOR
    def message(of):
        names.add(of.full_name)
        names.update(field.full_name for field in of.fields)
        for nested in of.nested_types:
            message(nested)
        for enum in of.enum_types:
            names.update({enum.full_name, *(f"{enum.full_name}.{value.name}" for value in enum.values)})
    for of in described.message_types_by_name.values():
        message(of)
    for enum in described.enum_types_by_name.values():
        names.update({enum.full_name, *(f"{enum.full_name}.{value.name}" for value in enum.values)})
    for service in described.services_by_name.values():
        names.update(method.full_name for method in service.methods)
print(json.dumps(sorted(names)))
'''


def python_names(sources, python, work):
    """The names of the Python package of a tree of sources, its messages among them."""
    target = work / 'installed'
    subprocess.run([python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--target', str(target),
                    str(sources / 'clients' / 'python')], check=True)
    done = subprocess.run([python, '-c', PYTHON_NAMES], env={**os.environ, 'PYTHONPATH': str(target)}, cwd=work, check=True,
                          stdout=subprocess.PIPE, text=True)
    return set(json.loads(done.stdout))


def source_names(sources):
    """The names that stand in sources: `--flag`, `metric`, `Alert`."""
    found = set()
    for kind, pattern, files in IN_SOURCES:
        for path in sources.glob(files):
            found |= {f'--{name}' if kind == 'flag' else name for name in pattern.findall(path.read_text(encoding='utf-8'))}
    return found


def names_of(revision, python):
    """All names of a revision."""
    with tempfile.TemporaryDirectory() as folder:
        sources = pathlib.Path(folder) / 'sources'
        sources.mkdir()
        archive = subprocess.run(['git', 'archive', revision, *SOURCES], cwd=ROOT, check=True, stdout=subprocess.PIPE)
        subprocess.run(['tar', '-x', '-C', str(sources)], input=archive.stdout, check=True)
        return python_names(sources, python, pathlib.Path(folder)) | source_names(sources)


def untold(removed, changes):
    """Removed names whose last word the text of changes does not have."""
    def words(name):
        argument = re.fullmatch(r'(.*)\((\w+)\)', name)
        return argument.group(2) if argument else name.rsplit('.', 1)[-1]
    gone = set(removed)
    # What belongs to a thing that is gone goes with it.
    heads = [name for name in removed if re.sub(r'\(\w+\)$', '', name) in gone - {name} or name.rpartition('.')[0] in gone]
    return [name for name in removed if name not in heads and not re.search(rf'(?<!\w){re.escape(words(name))}(?!\w)', changes)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('revision')
    parser.add_argument('--python', default=sys.executable)
    given = parser.parse_args()
    removed = sorted(names_of(given.revision, given.python) - names_of('HEAD', given.python))
    left = untold(removed, (ROOT / 'docs' / 'changes.md').read_text(encoding='utf-8'))
    for name in removed:
        print(('not told: ' if name in left else '          ') + name)
    print(f'{len(removed)} names are gone, {len(left)} of them are not in docs/changes.md')
    return 1 if left else 0


if __name__ == '__main__':
    sys.exit(main())
