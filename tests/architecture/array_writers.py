"""Which rooms write the arrays that rooms hand on within a step (array_owners.py).

A room writes an array where it assigns to an element: of the world's view (w.lambda[i] = ...), of a view that it may write
(rows.row_rhs[i] = ..., ArrayView and OutArray in a structure), or by a call that is given the array as an OutArray or an element
by a reference. ARCHITECTURE.md has the table of that, which this file prints when it is run.
"""

import pathlib
import re

from array_owners import structs_of_arrays, view_of
from source_text import strip_cpp_comments

_INDEX = r'\[(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*\]'
_ELEMENT = rf'{_INDEX}(?:\.\w+|{_INDEX})*'
_SET = r'\s*(?:[-+*/|]?=(?!=)|\+\+|--)'
DIRECT = re.compile(rf'\bw_?\.(\w+){_ELEMENT}{_SET}|\*(?:p\.)?w\.(\w+){_SET}|(?:\+\+|--)(?:p\.)?w\.(\w+)')
REFERENCE = re.compile(r'(?:^|[;{(]) *(?:auto|[\w:]+(?:<Real>)?)(?:&|\*) ?\w+ = (?:p\.)?w\.(\w+)(?:\[| \+|;)', re.MULTILINE)
STRUCT = re.compile(r'^struct (\w+)(?: : [^{]*)? \{\n(.*?)^\};', re.DOTALL | re.MULTILINE)
MEMBERS = re.compile(r'^  (?!using|return|static|friend)(?:const )?([\w:]+(?:<[\w:<>, ]+>)?)[&*]? ([\w, ]+)(?: = [^;]*)?;', re.MULTILINE)
MAKER = re.compile(r'(\w+)<Real> \w+\([^{};]*\) \{(?:[^{}]|\{[^{}]*\})*?return \{([^{};]*)\};\s*\}|\b(\w+)<Real> \w+\{([^{};]*)\};')
LAMBDA = re.compile(r'auto (\w+) = \[[^\]]*\]\(([^()]*)\)')
TABLE = 'ARCHITECTURE.md'
ROW = re.compile(r'^\| ((?:`\w+`(?:, )?)+) \| ((?:`\w+`(?:, )?)+) \|$', re.MULTILINE)
HEADING = '| rooms that write | arrays |'
FUNCTION = re.compile(r'^AXION_HD\w*\b[^;{}=]*?\b(\w+)\(((?:[^(){};]|\([^(){};]*\))*)\) \{', re.MULTILINE)


def split(arguments):
    """The arguments of a call, at its own commas."""
    parts, depth, part = [], 0, ''
    for character in arguments:
        depth += (character in '([{<') - (character in ')]}>')
        if character == ',' and depth == 0:
            parts.append(part.strip())
            part = ''
        else:
            part += character
    return [*parts, part.strip()]


def arguments_of(text, start):
    """The arguments of the call whose parenthesis opens at `start`."""
    depth = 0
    for end in range(start, len(text)):
        depth += (text[end] == '(') - (text[end] == ')')
        if depth == 0:
            return split(text[start + 1:end])
    return []


def array_in(expression):
    match = re.fullmatch(rf'(?:p\.)?w\.(\w+)(?:{_INDEX})?', expression)
    return match.group(1) if match else None


def written_places(functions):
    """{function: places of its parameters that are OutArrays, or that it is given by reference to write}."""
    found = {}
    for name, parameters in functions:
        places = {i for i, parameter in enumerate(split(parameters))
                  if parameter.startswith('OutArray<') or re.match(r'[\w:]+(?:<Real>)?& \w+$', parameter)}
        if places:
            found.setdefault(name, set()).update(places)
    return found


class Sources:
    """The sources of the engine's rooms, and what is written through its views and functions."""

    def __init__(self, root):
        self.texts = {path.relative_to(root).as_posix(): strip_cpp_comments(path.read_text())
                      for path in sorted((root / 'engine').glob('*/*.hpp'))}
        whole = '\n'.join(self.texts.values())
        self.members = {}  # of a view: [(name, whether it may be written)]
        for name, body in STRUCT.findall(whole):
            self.members[name] = [(member.strip(), kind.startswith(('ArrayView<', 'OutArray<'))) for kind, members in MEMBERS.findall(body)
                                  for member in members.split(',')]
        self.arrays = {}  # of a view's member that may be written: the world's arrays
        for view, values in (made[:2] if made[0] else made[2:] for made in MAKER.findall(whole)):
            for (member, written), value in zip(self.members.get(view, ()), split(values)):
                if written and array_in(value):
                    self.arrays.setdefault((view, member), set()).add(array_in(value))
        self.written_arguments = written_places(FUNCTION.findall(whole))

    def written_by(self, text):
        """The world's arrays that a file writes."""
        found = {name for match in DIRECT.finditer(text) for name in match.groups() if name}
        found |= set(REFERENCE.findall(text))
        for view, name in set(re.findall(r'(?<!const )\b(\w+)<Real>&? (\w+)[,);=]', text)):
            for member, written in self.members.get(view, ()):
                if written and re.search(rf'\b{name}\.{member}(?:{_ELEMENT}{_SET}| \+)', text):
                    found |= self.arrays.get((view, member), set())
        for view, body in STRUCT.findall(text):  # by its own functions
            for member, written in self.members[view]:
                if written and re.search(rf'(?<![\w.]){member}(?:{_ELEMENT}{_SET}| \+)', body):
                    found |= self.arrays.get((view, member), set())
        lambdas = written_places(LAMBDA.findall(text))
        for match in re.finditer(r'\b(\w+)(?:<Real>)?\(', text):
            places = lambdas.get(match.group(1)) or self.written_arguments.get(match.group(1))
            if places:
                arguments = arguments_of(text, match.end() - 1)
                found |= {array_in(arguments[i]) for i in places if i < len(arguments) and array_in(arguments[i])}
        return found


def writers(root):
    """{array that is handed on within a step: rooms that write it}."""
    structs = structs_of_arrays(root)
    handed_on, _ = view_of(root, structs)
    state = set(structs['WorldState'].members)
    rooms = {name: set() for name in handed_on if name not in state}
    sources = Sources(root)
    for path, text in sources.texts.items():
        room = path.split('/')[1]
        for name in sources.written_by(text) & set(rooms):
            if room not in ('gradient', 'backend'):  # which put states of their own into worlds
                rooms[name].add(room)
    return rooms


def table(rooms):
    """The lines of the table: arrays by the rooms that write them."""
    by_rooms = {}
    for name, writing in rooms.items():
        by_rooms.setdefault(tuple(sorted(writing)), []).append(name)
    yield HEADING
    yield '| --- | --- |'
    for writing, names in sorted(by_rooms.items(), key=lambda item: (len(item[0]), item[0])):
        yield f'| {", ".join(f"`{room}`" for room in writing)} | {", ".join(f"`{name}`" for name in names)} |'


def check_table(root):
    """Yields (path, line, rule, text) for each array of which the table does not say who writes it."""
    text = (root / TABLE).read_text() if (root / TABLE).exists() else ''
    if HEADING not in text:
        return
    start = text.index(HEADING)
    line = text.count('\n', 0, start) + 1
    said = {name: set(re.findall(r'\w+', rooms)) for rooms, names in ROW.findall(text[start:text.index('\n\n', start)])
            for name in re.findall(r'\w+', names)}
    written = writers(root)
    for name in sorted(said.keys() | written.keys()):
        if said.get(name) != written.get(name):
            yield TABLE, line, 'array writers', (f'{name} is written by {sorted(written.get(name, ()))}, and the table says '
                                                 f'{sorted(said.get(name, ()))}')


if __name__ == '__main__':
    print('\n'.join(table(writers(pathlib.Path(__file__).resolve().parents[2]))))
