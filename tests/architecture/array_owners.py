"""Whose the arrays of a world are: the structs of arrays with their lists, and who may name what of them.

A struct of arrays is a struct in engine/<room>/ with an overload of for_each_field. engine/world/world_view.hpp says which
of them a room hands on to those right of it (bases of WorldView) and which are a room's own (members, w.tree.node).
"""

import re

from source_text import strip_cpp_comments

VIEW = 'engine/world/world_view.hpp'
LAYOUT = {VIEW, 'engine/backend/world_places.hpp'}  # say where arrays lie, whosever they are

LIST = re.compile(r'for_each_field\(const (?:model::)?ModelView<Real>& m, (\w+)<Real>& w, F&& f\)\s*\{(.*?)\n\}', re.DOTALL)
ENTRY = re.compile(r'\bf\(\s*k\w+,\s*"(\w+)",\s*w\.(\w+),')
MEMBER = re.compile(r'^\s*[\w:<>]+\*\s*(\w+);', re.MULTILINE)
OWN = re.compile(r'^\s*(?:\w+::)?(\w+)<Real> (\w+);', re.MULTILINE)


class Arrays:
    """One struct of arrays: its file, room, members and the entries of its list as (name, member)."""

    def __init__(self, path, text, struct, entries):
        self.path, self.room, self.struct = path, path.split('/')[1], struct
        body = re.search(r'struct ' + struct + r' \{(.*?)\n\};', text, re.DOTALL)
        self.members = MEMBER.findall(body.group(1)) if body else []
        self.entries = ENTRY.findall(entries)
        self.line = text.count('\n', 0, text.index('struct ' + struct)) + 1 if body else 1


def structs_of_arrays(root):
    """Every struct of arrays of the engine, by name."""
    found = {}
    for file in sorted((root / 'engine').glob('*/*.hpp')):
        path = file.relative_to(root).as_posix()
        text = strip_cpp_comments(file.read_text())
        for match in LIST.finditer(text):
            if path != VIEW:
                found[match.group(1)] = Arrays(path, text, match.group(1), match.group(2))
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
    for name in re.findall(r'(\w+)<Real>', view.group(1)):
        for field in structs[name].members if name in structs else ():
            handed_on[field] = structs[name].room
    for name, member in OWN.findall(view.group(2)):
        own[member] = structs[name].room if name in structs else ''
    return handed_on, own


def check_lists(structs):
    """Yields (path, line, rule, text) where a list is not the list of its struct."""
    for arrays in structs.values():
        def finding(text):
            return arrays.path, arrays.line, 'field list', f'{arrays.struct}: {text}'
        for name, member in arrays.entries:
            if name != member:
                yield finding(f'"{name}" is the name of {member}')
        listed = [member for _, member in arrays.entries]
        for member in sorted(set(arrays.members) ^ set(listed)):
            yield finding(f'{member} is {"not in its list" if member in arrays.members else "listed and no member"}')
        for member in sorted({m for m in listed if listed.count(m) > 1}):
            yield finding(f'{member} is listed twice')


def check_file_owners(path, text, allowed, handed_on, own):
    """Yields (line, rule, text) where a file of the engine names an array that is another room's. `allowed`: the rooms
    that its room may include."""
    if path in LAYOUT or path.count('/') < 2:
        return
    room, text = path.split('/')[1], strip_cpp_comments(text)
    for match in re.finditer(r'(?<!\w)w_?\.(\w+)', text):
        name, line = match.group(1), text.count('\n', 0, match.start()) + 1
        if name in own and own[name] != room:
            yield line, 'array owner', f'w.{name} is engine/{own[name]}\'s own; call a function of that room'
        elif name in handed_on and handed_on[name] not in allowed | {room}:
            yield line, 'array owner', f'w.{name} is written by engine/{handed_on[name]}, right of {room}'
