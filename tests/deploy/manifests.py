"""Objects of Kubernetes as the project deploys them: the chart's templates to text, and the forms that objects must have.

`rendered` knows of Go's templates what the chart has, values, `if`, `range`, pipes of a few functions, and raises ValueError for all
else, so that no template is passed over in silence. `refusals` holds an object against schemas.yaml, which has the fields that the project
uses of each kind: a field that is not there is refused, as the API's server refuses it.
"""

import json
import pathlib
import re

import yaml

_TYPES = {'object': dict, 'array': list, 'string': str, 'boolean': bool, 'integer': int, 'number': (int, float)}
QUANTITY = re.compile(r'\d+(\.\d+)?(m|[kMGTPE]i?)?')


# ---- Templates --------------------------------------------------------------------------------------------------------

def _tokens(text):
    """Texts and actions ('{{ ... }}', by their words) in their order, with the space that '-' takes away taken away."""
    found, at, trims = [], 0, False
    for match in re.finditer(r'\{\{(-?)\s*(.*?)\s*(-?)\}\}', text, re.DOTALL):
        before = text[at:match.start()]
        before = before.lstrip() if trims else before
        found += [('text', before.rstrip() if match[1] else before), ('action', match[2])]
        at, trims = match.end(), bool(match[3])
    found.append(('text', text[at:].lstrip() if trims else text[at:]))
    return found


def _parsed(tokens, ends=()):
    """Nested: texts, values, ('if', condition, then, else), ('range', value, body); stops at one of the words of `ends`."""
    nodes = []
    while tokens:
        kind, words = tokens.pop(0)
        verb = words.split(None, 1)[0] if kind == 'action' and words else ''
        if kind == 'text':
            nodes.append(('text', words))
        elif verb in ends:
            return nodes, verb
        elif verb == 'if':
            then, end = _parsed(tokens, ('else', 'end'))
            other = _parsed(tokens, ('end',))[0] if end == 'else' else []
            nodes.append(('if', words[3:], then, other))
        elif verb == 'range':
            nodes.append(('range', words[6:], _parsed(tokens, ('end',))[0]))
        elif verb in ('end', 'else', 'with', 'define', 'template', 'block'):
            raise ValueError(f'template: {{{{ {words} }}}} is out of place or not known here')
        else:
            nodes.append(('value', words))
    if ends:
        raise ValueError(f'template: no {{{{ {ends[-1]} }}}}')
    return nodes, ''


def _yaml_text(value):
    """As Helm's toYaml: keys in their order, no line at the end."""
    return yaml.safe_dump(value, default_flow_style=False, width=10**6).rstrip('\n')


def _indented(count, text):
    return '\n'.join(' ' * count + line for line in text.split('\n'))


_FUNCTIONS = {
    'toYaml': lambda value: _yaml_text(value),
    'quote': lambda value: json.dumps(str(value), ensure_ascii=False),
    'nindent': lambda count, text: '\n' + _indented(count, text),
    'default': lambda other, value: value if value not in (None, '', 0, False, [], {}) else other,
    'not': lambda value: not value,
}


class _Scope:
    def __init__(self, context, dot):
        self.context, self.dot = context, dot

    def term(self, word):
        if word.isdigit():
            return int(word)
        if word.startswith('"'):
            return json.loads(word)
        if word == '.':
            return self.dot
        if not re.fullmatch(r'(\.\w+)+', word):
            raise ValueError(f'template: {word!r} is not known here')
        value = self.context
        for name in word[1:].split('.'):
            if not isinstance(value, dict) or name not in value:
                raise ValueError(f'template: there is no {word}')
            value = value[name]
        return value

    def value(self, words):
        """Of a pipe: each part's words, and at their end what came of the part before."""
        passed = []
        for part in words.split('|'):
            terms = re.findall(r'"[^"]*"|\S+', part)
            if terms[0] == '.Files.Get':
                passed = [self.context['Files'][self.term(terms[1])]]
            elif terms[0] in _FUNCTIONS:
                passed = [_FUNCTIONS[terms[0]](*map(self.term, terms[1:]), *passed)]
            elif len(terms) == 1 and not passed:
                passed = [self.term(terms[0])]
            else:
                raise ValueError(f'template: {part.strip()!r} is not known here')
        return passed[0]

    def text(self, nodes):
        made = []
        for node in nodes:
            if node[0] == 'text':
                made.append(node[1])
            elif node[0] == 'value':
                value = self.value(node[1])
                made.append(str(value).lower() if isinstance(value, bool) else str(value))
            elif node[0] == 'if':
                made.append(self.text(node[2] if self.value(node[1]) else node[3]))
            else:
                made += [_Scope(self.context, one).text(node[2]) for one in self.value(node[1])]
        return ''.join(made)


def _merged(values, own):
    """As Helm: objects by their keys, all else as a whole."""
    made = dict(values)
    for key, value in own.items():
        made[key] = _merged(made[key], value) if isinstance(value, dict) and isinstance(made.get(key), dict) else value
    return made


def rendered(chart, release='axion', own=None):
    """Texts of the chart's templates, by the file's name; `own` are values besides the chart's. ValueError for values that its schema
    refuses, and for a template of an unknown form."""
    values = _merged(yaml.safe_load((chart / 'values.yaml').read_text()), own or {})
    wrong = value_refusals(json.loads((chart / 'values.schema.json').read_text()), values, 'values')
    if wrong:
        raise ValueError('; '.join(wrong))
    about = yaml.safe_load((chart / 'Chart.yaml').read_text())
    files = {path.name: path.read_text() for path in chart.iterdir() if path.is_file()}
    context = {'Values': values, 'Release': {'Name': release}, 'Files': files,
               'Chart': {name[0].upper() + name[1:]: value for name, value in about.items()}}
    return {path.name: _Scope(context, context).text(_parsed(_tokens(path.read_text()))[0])
            for path in sorted((chart / 'templates').iterdir())}


def objects(text):
    """The objects of a text of YAML; ValueError where it gives a key twice."""
    return [found for found in yaml.load_all(text, _Strict) if found is not None]


class _Strict(yaml.SafeLoader):
    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        if len(keys) != len(set(keys)):
            raise ValueError(f'line {node.start_mark.line + 1}: a key is given twice among {keys}')
        return super().construct_mapping(node, deep)


# ---- Schemas ----------------------------------------------------------------------------------------------------------

def value_refusals(schema, value, path):
    """What a JSON schema of values.schema.json's words has against a value, each beginning with where it is."""
    types = schema.get('type')
    if types is not None:
        known = [types] if isinstance(types, str) else types
        if not any(isinstance(value, _TYPES[name]) and (name == 'boolean' or not isinstance(value, bool)) for name in known):
            return [f'{path}: is {value!r}, which is no {" or ".join(known)}']
    wrong = []
    if 'enum' in schema and value not in schema['enum']:
        wrong.append(f'{path}: is {value!r}, none of {schema["enum"]}')
    if 'minimum' in schema and value < schema['minimum']:
        wrong.append(f'{path}: is {value!r}, below {schema["minimum"]}')
    if isinstance(value, str):
        if len(value) < schema.get('minLength', 0) or not re.search(schema.get('pattern', ''), value):
            wrong.append(f'{path}: {value!r} has not the form {schema.get("pattern", "of a name")}')
    if isinstance(value, list):
        if len(value) < schema.get('minItems', 0):
            wrong.append(f'{path}: has {len(value)} items, fewer than {schema["minItems"]}')
        for index, one in enumerate(value):
            wrong += value_refusals(schema.get('items', {}), one, f'{path}[{index}]')
    if isinstance(value, dict):
        known, others = schema.get('properties', {}), schema.get('additionalProperties', True)
        wrong += [f'{path}.{name}: is missing' for name in schema.get('required', ()) if name not in value]
        for name, one in value.items():
            if name in known:
                wrong += value_refusals(known[name], one, f'{path}.{name}')
            elif others is False:
                wrong.append(f'{path}.{name}: is not known')
            elif isinstance(others, dict):
                wrong += value_refusals(others, one, f'{path}.{name}')
    return wrong


class Forms:
    """The forms of schemas.yaml."""

    def __init__(self, path=pathlib.Path(__file__).with_name('schemas.yaml')):
        self._forms = yaml.safe_load(path.read_text())

    def refusals(self, found):
        """What is wrong with an object, each beginning with where it is."""
        about = f'{found.get("kind")} {found.get("metadata", {}).get("name")}'
        kind = f'{found.get("apiVersion")} {found.get("kind")}'
        if kind not in self._forms:
            return [f'{about}: there is no kind {kind!r}']
        return self._against({'apiVersion': 'text', 'kind': 'text', 'metadata': '=Metadata', **self._forms[kind]}, found, about)

    def _against(self, form, value, path):
        if isinstance(form, list):
            if not isinstance(value, list) or not value:
                return [f'{path}: is {value!r}, which is no list of one thing or more']
            return [wrong for index, one in enumerate(value) for wrong in self._against(form[0], one, f'{path}[{index}]')]
        if isinstance(form, dict):
            if not isinstance(value, dict):
                return [f'{path}: is {value!r}, which has no fields']
            names = {name.rstrip('~'): (name.endswith('~'), inner) for name, inner in form.items()}
            wrong = [f'{path}.{name}: is missing' for name, (is_optional, _) in names.items() if not is_optional and name not in value]
            for name, one in value.items():
                wrong += self._against(names[name][1], one, f'{path}.{name}') if name in names else [f'{path}.{name}: is not known']
            return wrong
        if form.startswith('='):
            return self._against(self._forms[form[1:]], value, path)
        return [] if self._is(form, value) else [f'{path}: is {value!r}, which is not {form}']

    @staticmethod
    def _is(form, value):
        if form == 'anything':
            return True
        if form == 'truth':
            return isinstance(value, bool)
        if form == 'count':
            return isinstance(value, int) and not isinstance(value, bool) and value >= 0
        if form == 'port':
            return Forms._is('count', value) and 0 < value < 1 << 16 or isinstance(value, str) and Forms._is('name', value)
        if form == 'quantity':
            return isinstance(value, (int, str)) and not isinstance(value, bool) and QUANTITY.fullmatch(str(value)) is not None
        if form == 'name':
            return isinstance(value, str) and re.fullmatch(r'[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?', value) is not None
        if form == 'quantities':
            return isinstance(value, dict) and all(isinstance(key, str) and Forms._is('quantity', one) for key, one in value.items())
        if form == 'texts':
            return isinstance(value, dict) and all(isinstance(key, str) and isinstance(one, str) for key, one in value.items())
        if form == 'text':
            return isinstance(value, str)
        if form.startswith('one of '):
            return value in form.removeprefix('one of ').split(', ')
        raise ValueError(f'schemas.yaml: there is no form {form!r}')
