"""Builds the package: the messages and stubs of proto/axion/v1 are generated while it is built, never kept."""

import pathlib
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
PROTO_ROOT = HERE.parents[1] / "proto"


class BuildWithMessages(build_py):
    """build_py that also writes axion/v1/*_pb2*.py into the build (into the sources for an editable install)."""

    def run(self):
        super().run()
        self.generate(HERE if self.editable_mode else pathlib.Path(self.build_lib))

    def generate(self, output):
        from grpc_tools import protoc
        import grpc_tools

        names = sorted(path.relative_to(PROTO_ROOT).as_posix() for path in PROTO_ROOT.glob("axion/v1/*.proto"))
        if not names:
            sys.exit(f"setup.py: no messages at {PROTO_ROOT}/axion/v1: install from a checkout of the whole repository")
        includes = pathlib.Path(grpc_tools.__file__).parent / "_proto"
        output.mkdir(parents=True, exist_ok=True)
        arguments = ["protoc", f"-I{PROTO_ROOT}", f"-I{includes}", f"--python_out={output}",
                     f"--pyi_out={output}", f"--grpc_python_out={output}", *names]
        if protoc.main(arguments) != 0:
            sys.exit("setup.py: the message compiler failed; its own message is above")
        (output / "axion" / "v1" / "__init__.py").write_text('"""Generated from proto/axion/v1."""\n')


setup(cmdclass={"build_py": BuildWithMessages})
