#!/usr/bin/env python3
"""Writes the man page of a program and, of the tool, what shells complete its command lines with, from what the program says of
itself.

Usage: make_pages.py PROGRAM SHARE, where PROGRAM is axion or axiond as built, and SHARE gets man/, bash-completion/ and fish/ as
/usr/share has them.
"""

import json
import pathlib
import re
import subprocess
import sys


def said(program, *words):
    """Its output. axiond ends with exit code 1 after --help, as programs with Abseil's flags do."""
    return subprocess.run([program, *words], capture_output=True, text=True, check=False).stdout


def escaped(text):
    """As a line of troff that begins with no request."""
    text = text.replace('\\', '\\e').replace('-', '\\-')
    return '\\&' + text if text.startswith(('.', "'")) else text


def option(name, text):
    return f'.TP\n.B {escaped(name)}\n{escaped(text)}\n'


def page(name, section, version, summary, synopsis, parts):
    head = f'.TH {name.upper()} {section} "" "Axion {version}"\n.SH NAME\n{name} \\- {escaped(summary)}\n.SH SYNOPSIS\n'
    body = ''.join(f'.SH {title}\n{text}' for title, text in parts)
    return head + ''.join(f'.B {escaped(line)}\n.br\n' for line in synopsis) + body


def tool_page(program):
    overview = json.loads(said(program, 'help', '--json'))
    version = json.loads(said(program, '--version', '--json'))['version']
    common = {flag['name'] for flag in overview['flags']}
    commands = ''
    for command in overview['commands']:
        commands += f'.SS {escaped((command["verb"] + " " + command["arguments"]).strip())}\n{escaped(command["summary"])}\n'
        if '--help' in command['summary']:
            continue  # of the Python package, which lists its flags itself
        for flag in json.loads(said(program, 'help', command['verb'], '--json'))['flags']:
            if flag['name'] not in common:
                commands += option(flag['name'] + ('=VALUE' if flag['value'] else ''), flag['help'])
    flags = ''.join(option(flag['name'] + ('=VALUE' if flag['value'] else ''), flag['help']) for flag in overview['flags'])
    codes = ('0: done. 1: the server refused or is not there, or a file of this machine cannot be read or written. 2: the command '
             'line is wrong. 130: interrupted.')
    return page('axion', 1, version, 'client of the simulation server axiond', ['axion COMMAND [ARGUMENTS] [--FLAG=VALUE ...]'],
                [('COMMANDS', commands), ('FLAGS OF EVERY COMMAND', flags), ('EXIT STATUS', escaped(codes) + '\n'),
                 ('SEE ALSO', '.BR axiond (8)\n')])


def server_page(program):
    text = said(program, '--help')
    version = said(program, '--version').split()[1]
    flags = ''
    for name, what, default in re.findall(r'^    --(\w+) \((.*?)\);\s+default: (.*?);$', text, re.MULTILINE | re.DOTALL):
        what, default = ' '.join(what.split()), default.strip('"')
        flags += option(f'--{name}=VALUE', what + (f' [{default}]' if default else ''))
    signals = ('SIGTERM, SIGINT and SIGHUP drain: nothing new is taken, what runs is finished, all is saved. A second SIGTERM or '
               'SIGINT ends the server at once.')
    codes = '0: drained. 75: to be started again (no descriptors, or the device failed). 1: a flag or a file is wrong.'
    return page('axiond', 8, version, 'server that steps many worlds of rigid bodies, over gRPC', ['axiond [--FLAG=VALUE ...]'],
                [('FLAGS', flags), ('SIGNALS', escaped(signals) + '\n'), ('EXIT STATUS', escaped(codes) + '\n'),
                 ('FILES', '.TP\n.B /etc/axion/axiond.env\nAXIOND_FLAGS of the systemd unit\n'), ('SEE ALSO', '.BR axion (1)\n')])


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main():
    program, share = sys.argv[1], pathlib.Path(sys.argv[2])
    if pathlib.Path(program).name.startswith('axiond'):
        write(share / 'man/man8/axiond.8', server_page(program))
        return
    write(share / 'man/man1/axion.1', tool_page(program))
    write(share / 'bash-completion/completions/axion', said(program, 'completion', 'bash'))
    write(share / 'fish/vendor_completions.d/axion.fish', said(program, 'completion', 'fish'))


if __name__ == '__main__':
    main()
