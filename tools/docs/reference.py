#!/usr/bin/env python3
"""Pages of reference that are made of their sources: the protocol's messages with their comments, the Python package's
names, the server's flags. They lie in a folder of the pages, whose links to folders become links to pages.

Usage: reference.py PROTO_DIRECTORY AXIOND OUTPUT_DIRECTORY, with an interpreter that has grpcio-tools and the package axion.
"""

import argparse
import pathlib
import re
import subprocess
import tempfile

from google.protobuf import descriptor_pb2

TYPES = {number: name.removeprefix('TYPE_').lower() for name, number in descriptor_pb2.FieldDescriptorProto.Type.items()}


def descriptors(protos):
    """The files of the folder with their comments, by protoc."""
    from grpc_tools import protoc
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / 'descriptors'
        files = sorted(str(path.relative_to(protos)) for path in (protos / 'axion').rglob('*.proto'))
        include = pathlib.Path(protoc.__file__).parent / '_proto'
        if protoc.main(['protoc', f'-I{protos}', f'-I{include}', '--include_source_info', f'--descriptor_set_out={out}', *files]):
            raise SystemExit('reference.py: protoc refused the files')
        return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file


class Comments:
    """What stands before each element of a file, by the element's path in the descriptor."""

    def __init__(self, file):
        self.at = {tuple(place.path): place for place in file.source_code_info.location}

    def of(self, *path):
        place = self.at.get(path)
        text = '' if place is None else (place.leading_comments or place.trailing_comments)
        return ' '.join(line.strip() for line in text.strip().splitlines())


def cell(text):
    return text.replace('|', '\\|').replace('<', '&lt;')


def anchor(type_name):
    return type_name.removeprefix('.axion.v1.').replace('.', '').lower()


def link_of(type_name):
    name = type_name.removeprefix('.axion.v1.')
    return f'[{name}](#{anchor(type_name)})' if name != type_name else name.removeprefix('.')


def type_of(field):
    return link_of(field.type_name) if field.type_name else TYPES[field.type]


def write_enum(lines, enum, comments, path, prefix):
    lines += [f'### {prefix}{enum.name}', '', comments.of(*path), '', '| value | number | |', '| --- | --- | --- |']
    lines += [f'| {value.name} | {value.number} | {cell(comments.of(*path, 2, i))} |' for i, value in enumerate(enum.value)]
    lines.append('')


def write_message(lines, message, comments, path, prefix=''):
    lines += [f'### {prefix}{message.name}', '', comments.of(*path), '']
    maps = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
    if message.field:
        lines += ['| field | type | number | |', '| --- | --- | --- | --- |']
    for i, field in enumerate(message.field):
        entry = maps.get(field.type_name.rsplit('.', 1)[-1])
        kind = f'map of {type_of(entry.field[0])} to {type_of(entry.field[1])}' if entry is not None else type_of(field)
        if field.label == field.LABEL_REPEATED and entry is None:
            kind = f'repeated {kind}'
        elif field.proto3_optional:
            kind = f'optional {kind}'
        lines.append(f'| {field.name} | {kind} | {field.number} | {cell(comments.of(*path, 2, i))} |')
    lines.append('')
    for i, nested in enumerate(message.nested_type):
        if nested.name not in maps:
            write_message(lines, nested, comments, (*path, 3, i), f'{prefix}{message.name}.')
    for i, enum in enumerate(message.enum_type):
        write_enum(lines, enum, comments, (*path, 4, i), f'{prefix}{message.name}.')


def protocol(protos):
    lines = ['# Protocol', '', 'Package `axion.v1`, made of the comments in `proto/axion/v1`.', '']
    for file in descriptors(protos):
        comments = Comments(file)
        lines += [f'## {file.name.removeprefix("axion/v1/")}', '']
        for i, service in enumerate(file.service):
            lines += [f'### {service.name}', '', comments.of(6, i), '', '| method | takes | answers | |', '| --- | --- | --- | --- |']
            for k, method in enumerate(service.method):
                takes, answers = (('stream of ' if streams else '') + link_of(name)
                                  for streams, name in ((method.client_streaming, method.input_type),
                                                        (method.server_streaming, method.output_type)))
                lines.append(f'| {method.name} | {takes} | {answers} | {cell(comments.of(6, i, 2, k))} |')
            lines.append('')
        for i, message in enumerate(file.message_type):
            write_message(lines, message, comments, (4, i))
        for i, enum in enumerate(file.enum_type):
            write_enum(lines, enum, comments, (5, i), '')
    return '\n'.join(lines)


def python():
    """A page whose entries mkdocstrings fills."""
    import axion
    names = [name for name in axion.__all__ if isinstance(getattr(axion, name), type) or callable(getattr(axion, name))]
    lines = ['# Python', '', 'Package `axion`. Arrays are numpy\'s; shapes and units are in each entry.', '']
    for name in names:
        lines += [f'::: axion.{name}', '    options:', '      heading_level: 2', '']
    for module in ('axion.viewing.render', 'axion.viewing.raycast', 'axion.viewing.viewer', 'axion.aio', 'axion.gym',
                   'axion.ray_fleet', 'axion.dm_env_rpc'):
        lines += [f'## {module}', '', f'::: {module}', '    options:', '      heading_level: 3',
                  '      show_root_heading: false', '']
    return '\n'.join(lines)


def flags(axiond):
    text = subprocess.run([axiond, '--help'], capture_output=True, text=True, check=False).stdout
    return '\n'.join(['# Flags of axiond', '',
                      'What `axiond --help` says. [Operations](../docs/operations.md) says when to change which.', '', '```text',
                      text.strip(), '```', ''])


def link_folders(pages):
    """Links to folders, which a repository's viewer opens at their README.md, name that page."""
    def named(page, match):
        target = match.group(1)
        is_page = '://' not in target and (page.parent / target / 'README.md').is_file()
        return f']({target.rstrip("/")}/README.md)' if is_page else match.group(0)
    for page in pages.rglob('*.md'):
        page.write_text(re.sub(r'\]\(([^)#\s]+)\)', lambda match, page=page: named(page, match), page.read_text()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('protos', type=pathlib.Path)
    parser.add_argument('axiond', type=pathlib.Path)
    parser.add_argument('output', type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, text in (('protocol', protocol(arguments.protos)), ('python', python()), ('flags', flags(arguments.axiond))):
        (arguments.output / f'{name}.md').write_text(text)
    link_folders(arguments.output.parent)


if __name__ == '__main__':
    main()
