"""Whose the arrays of a world are: the structs of arrays, and who may name what of them.

A struct of arrays is a struct in engine/<room>/ whose members are declared by their Form (engine/model/array_list.hpp).
engine/world/world_view.hpp says which of them a room hands on to those right of it (bases of WorldView) and which are a room's
own (members, w.tree.node).
"""

import re

from source_text import strip_cpp_comments

VIEW = 'engine/world/world_view.hpp'

STRUCT = re.compile(r'^struct (\w+) \{\n(.*?)^\};', re.DOTALL | re.MULTILINE)
MEMBER = re.compile(r'^  \w+<.*> (\w+)\{\s*"(\w+)",', re.MULTILINE)
BASE = re.compile(r'(\w+)<Real, Form>')
OWN = re.compile(r'^\s*(?:\w+::)?(\w+)<Real, Form> (\w+);', re.MULTILINE)


class Arrays:
    """One struct of arrays: its file, room and members, each with the name that it is declared with."""

    def __init__(self, path, struct, body, line):
        self.path, self.room, self.struct, self.line = path, path.split('/')[1], struct, line
        self.names = MEMBER.findall(body)
        self.members = [member for member, _ in self.names]


def structs_of_arrays(root):
    """Every struct of arrays of the engine, by name."""
    found = {}
    for file in sorted((root / 'engine').glob('*/*.hpp')):
        path = file.relative_to(root).as_posix()
        text = strip_cpp_comments(file.read_text())
        for match in STRUCT.finditer(text):
            if 'typename Form::template Array' in match.group(2):
                line = text.count('\n', 0, match.start()) + 1
                found[match.group(1)] = Arrays(path, match.group(1), match.group(2), line)
    return found


def view_of(root, structs):
    """What WorldView is made of: {field: room that hands it on}, {member of the view: room whose own it is}."""
    handed_on, own = {}, {}
    if not (root / VIEW).exists():
        return handed_on, own
    text = strip_cpp_comments((root / VIEW).read_text())
    view = re.search(r'struct WorldView :(.*?)\{(.*?)\n\};', text, re.DOTALL)
    if view is None:
        return handed_on, own
    for name in BASE.findall(view.group(1)):
        for field in structs[name].members if name in structs else ():
            handed_on[field] = structs[name].room
    for name, member in OWN.findall(view.group(2)):
        own[member] = structs[name].room if name in structs else ''
    return handed_on, own


def check_lists(structs):
    """Yields (path, line, rule, text) where a struct declares an array by another name than its own."""
    for arrays in structs.values():
        for member, name in arrays.names:
            if name != member:
                yield arrays.path, arrays.line, 'array list', f'{arrays.struct}: "{name}" is the name of {member}'


def check_file_owners(path, text, allowed, handed_on, own):
    """Yields (line, rule, text) where a file of the engine names an array that is another room's. `allowed`: the rooms
    that its room may include."""
    if path == VIEW or path.count('/') < 2:
        return
    room, text = path.split('/')[1], strip_cpp_comments(text)
    for match in re.finditer(r'(?<!\w)w_?\.(\w+)', text):
        name, line = match.group(1), text.count('\n', 0, match.start()) + 1
        if name in own and own[name] != room:
            yield line, 'array owner', f'w.{name} is engine/{own[name]}\'s own; call a function of that room'
        elif name in handed_on and handed_on[name] not in allowed | {room}:
            yield line, 'array owner', f'w.{name} is written by engine/{handed_on[name]}, right of {room}'
