"""Reads C++ and Python well enough to measure functions: comments, strings and directives out, braces counted."""

import ast
import functools
import re

_TOKEN = re.compile(
    r'//[^\n]*'                                # line comment
    r'|/\*.*?\*/'                              # block comment
    r'|R"(?P<delim>[^()\s\\]{0,16})\(.*?\)(?P=delim)"'  # raw string
    r'|"(?:\\.|[^"\\\n])*"'                    # string
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'",  # character; not a digit separator
    re.DOTALL)


def _blank(match):
    """Replaces a match by spaces of the same shape, so that line numbers stay."""
    return re.sub(r'[^\n]', ' ', match.group(0))


@functools.cache
def strip_cpp(text):
    """The text with comments, literals and preprocessor lines blanked; lengths and line breaks are kept."""
    text = _TOKEN.sub(_blank, text)
    return re.sub(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', _blank, text, flags=re.MULTILINE)


@functools.cache
def strip_cpp_comments(text):
    """The text with comments blanked; strings stay, so that quoted includes can be read."""
    return _TOKEN.sub(lambda m: _blank(m) if m.group(0).startswith('/') else m.group(0), text)


def cpp_comments(text):
    """(first line, text) of each comment."""
    return [(text.count('\n', 0, match.start()) + 1, match.group(0)) for match in _TOKEN.finditer(text) if match.group(0).startswith('/')]


def _without_template_lists(header):
    out, depth, i = [], 0, 0
    for match in re.finditer(r'template\s*<|[<>]|(?:(?!template\s*<)[^<>])+', header):
        token = match.group(0)
        if token.startswith('template'):
            depth += 1
        elif depth and token == '<':
            depth += 1
        elif depth and token == '>':
            depth -= 1
        elif not depth:
            out.append(token)
        i = match.end()
    return ''.join(out) + header[i:]


def _kind(header):
    """What a brace opens at namespace or class scope, from the text since the last statement."""
    header = _without_template_lists(header)
    header = re.sub(r'\b(alignas|__align__|__launch_bounds__|__attribute__|noexcept|requires)\s*\([^()]*\)', '', header)
    header = re.sub(r'\[\[.*?\]\]', '', header)
    if re.search(r'\b(namespace|extern)\b', header) and '(' not in header:
        return 'container'
    if re.search(r'\b(class|struct|union|concept)\b', header) and '(' not in header:
        return 'container'
    return 'function' if '(' in header else 'other'


@functools.cache
def cpp_functions(text):
    """(first line, line count) of each outermost function body with its header. Lines count from 1.

    A constructor's brace initialisers give shorter entries for the same function; the longest is the function.
    """
    text = strip_cpp(text)
    found = []
    start = i = 0          # start of the statement at the present container scope, and what is read next
    while match := re.compile('[;{}:]').search(text, i):
        i = match.start()
        char = text[i]
        if char in ';}' or (char == ':' and re.search(r'\b(public|private|protected)\s*$', text[start:i])):
            start = i + 1
        elif char == '{':
            header = text[start:i]
            kind = _kind(header)
            if kind == 'container':
                start = i + 1
            else:
                end = _matching_brace(text, i)
                if kind == 'function':
                    first = start + len(header) - len(header.lstrip())
                    found.append((text.count('\n', 0, first) + 1, text.count('\n', first, end) + 1))
                i = end
                following = text[end + 1:].lstrip()[:1]
                if following not in (',', '{', ')', ';', '('):
                    start = end + 1
        i += 1
    return found


def _matching_brace(text, start):
    depth = 0
    for match in re.compile('[{}]').finditer(text, start):
        depth += 1 if match.group() == '{' else -1
        if depth == 0:
            return match.start()
    return len(text) - 1


@functools.cache
def python_functions(text):
    """(first line, line count) of each function; text that does not parse has none."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    return [(node.lineno, node.end_lineno - node.lineno + 1) for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
