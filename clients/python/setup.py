"""Builds the package: the messages, the service and their types are generated from proto/axion/v1, never kept;
the robot that learns to walk is the examples'; docstrings are completed with the texts that stand once (axion/texts.py)."""

import importlib.util
import pathlib
import re
import shutil
import sys
import tempfile

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
# Beside this file in a source distribution; in a checkout it is the repository's.
PROTO_ROOT = next((root for root in (HERE / "proto", HERE.parents[1] / "proto") if (root / "axion" / "v1").is_dir()),
                  HERE / "proto")
# The robot of axion.learning, likewise.
ROBOT = next((path for path in (HERE / "models" / "quadruped.xml", HERE.parent / "examples" / "models" / "quadruped.xml")
              if path.is_file()), HERE / "models" / "quadruped.xml")


def message_files():
    files = sorted(PROTO_ROOT.glob("axion/v1/*.proto"))
    if not files:
        sys.exit(f"setup.py: no messages at {PROTO_ROOT}/axion/v1: install from a checkout of the whole repository or "
                 "from a source distribution")
    return files


def field_texts(files):
    """What the comments of a scene's messages say of each field, by message and field."""
    texts = {}
    for file in files:
        if file.name not in ("axion/v1/scene.proto", "axion/v1/equality.proto"):
            continue
        comments = {tuple(at.path): " ".join((at.leading_comments or at.trailing_comments).split())
                    for at in file.source_code_info.location}
        for m, message in enumerate(file.message_type):
            texts[message.name] = {field.name: comments.get((4, m, 2, f), "").rstrip(".") for f, field in enumerate(message.field)}
    return texts


def complete_docstrings(package, fields):
    """Writes whole docstrings into the files of a built package, which editors read."""
    spec = importlib.util.spec_from_file_location("axion_texts", HERE / "axion" / "texts.py")
    texts = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(texts)
    sources = {path: path.read_text() for path in package.rglob("*.py") if "v1" not in path.parts}
    made = texts.makers(sources.values())
    for path, source in sources.items():
        path.write_text(texts.completed_source(source, made, fields))


class BuildWithMessages(build_py):
    """build_py that also writes axion/v1 and the robot into the build (into the sources for an editable install)."""

    def run(self):
        self.force = True  # files of an earlier build have its texts
        super().run()
        output = HERE if self.editable_mode else pathlib.Path(self.build_lib)
        fields = self.generate(output)
        if not self.editable_mode:
            complete_docstrings(output / "axion", fields)
        shutil.copyfile(ROBOT, output / "axion" / "learning" / "quadruped.xml")

    def generate(self, output):
        from grpc_tools import protoc
        import grpc_tools

        includes = pathlib.Path(grpc_tools.__file__).parent / "_proto"
        output.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            descriptors = pathlib.Path(folder) / "descriptors"
            arguments = ["protoc", f"-I{PROTO_ROOT}", f"-I{includes}", f"--python_out={output}", f"--pyi_out={output}",
                         f"--grpc_python_out={output}", f"--descriptor_set_out={descriptors}", "--include_imports", "--include_source_info",
                         *(path.relative_to(PROTO_ROOT).as_posix() for path in message_files())]
            if protoc.main(arguments) != 0:
                sys.exit("setup.py: the message compiler failed; its own message is above")
            from google.protobuf import descriptor_pb2

            files = descriptor_pb2.FileDescriptorSet.FromString(descriptors.read_bytes()).file
        self.write_service_types(files, output)
        for types in (output / "axion" / "v1").glob("*_pb2.pyi"):  # protoc leaves the arguments of mappings out
            text = re.sub(r"(?<! as )\b_Mapping\b(?!\[)", "_Mapping[str, _Any]", types.read_text())
            types.write_text("from typing import Any as _Any\n" + text)
        (output / "axion" / "v1" / "__init__.py").write_text('"""Generated from proto/axion/v1."""\n')
        fields = field_texts(files)
        (output / "axion" / "v1" / "field_texts.py").write_text(
            f'"""Generated from the comments of proto/axion/v1."""\n\nFIELDS: dict[str, dict[str, str]] = {fields!r}\n')
        return fields

    def write_service_types(self, files, output):
        sys.path.insert(0, str(HERE))
        from stubs import service_stub

        module_of = {f".{file.package}.{message.name}": file.name.removesuffix(".proto").replace("/", ".") + "_pb2"
                     for file in files for message in file.message_type}
        for file in files:
            stub = output / (file.name.removesuffix(".proto") + "_pb2_grpc")
            if file.service:
                stub.with_suffix(".pyi").write_text(service_stub(file, module_of))


class SourcesWithMessages(sdist):
    """sdist that takes the messages and the robot along, which lie outside of this folder in a checkout."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        target = pathlib.Path(base_dir) / "proto" / "axion" / "v1"
        target.mkdir(parents=True, exist_ok=True)
        for path in message_files():
            shutil.copyfile(path, target / path.name)
        (pathlib.Path(base_dir) / "models").mkdir(exist_ok=True)
        shutil.copyfile(ROBOT, pathlib.Path(base_dir) / "models" / ROBOT.name)


setup(cmdclass={"build_py": BuildWithMessages, "sdist": SourcesWithMessages})
