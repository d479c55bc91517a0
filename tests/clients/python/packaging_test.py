"""What the package promises beside its calls: types, a version, and distributions that install elsewhere."""

import ast
import importlib.metadata
import importlib.util
import inspect
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

import axion

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "clients" / "python"

PROGRAM = """
import numpy as np
import axion

with axion.Client("127.0.0.1:1") as client:
    model = client.create_model(mjcf="", shape_overrides={"": {"restitution": 0.5}})
    with client.create_batch(model, 4, options={"tolerance": 1e-4}) as batch:
        result = batch.step(control=np.zeros(3), outputs=["body_pose"], worlds=[0, 1])
        reveal_type(client.stub.Step)
        reveal_type(result["body_pose"])
        reveal_type(result.converged)
        reveal_type(batch.get_state("snapshot"))
        reveal_type(batch.solver_stats().newton_iterations.mean)
        reveal_type(batch.contacts().gap)
        reveal_type(model.proto.bodies[0].mass)
        reveal_type(model.hold_control("stand"))
        reveal_type(axion.__version__)
        with batch.stream() as stream:
            stream.send(control=np.zeros(3))
            reveal_type(stream.receive())
"""
WRONG = """
import axion

client = axion.Client(target=8470)
client.create_batch("models/m", "four").step(stepz=3)
"""

NAME = "axion-server-client"


def run(*command, **arguments):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, **arguments)


class Types(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.TemporaryDirectory()  # what mypy has read for one test it need not read for the next
        cls.addClassCleanup(cls.cache.cleanup)

    def test_every_public_call_has_annotations(self):
        missing = []
        for path in sorted((PACKAGE / "axion").glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if not isinstance(node, ast.FunctionDef):
                    continue
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
                bare = [a.arg for a in arguments if a is not None and a.annotation is None and a.arg not in ("self", "cls")]
                if bare or node.returns is None:
                    missing.append(f"{path.name}:{node.lineno} {node.name} {bare}")
        self.assertEqual(missing, [])

    def mypy(self, *arguments):
        if importlib.util.find_spec("mypy") is None:
            self.skipTest("mypy is not installed")
        with tempfile.TemporaryDirectory() as folder:
            return run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", self.cache.name, *arguments, cwd=folder)

    def test_the_package_passes_mypy_strict(self):
        done = self.mypy("-p", "axion")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_program_sees_types_rather_than_any(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program.py"
            program.write_text(PROGRAM)
            done = self.mypy(str(program))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        revealed = re.findall(r'Revealed type is "(.*)"', done.stdout)
        self.assertEqual(len(revealed), PROGRAM.count("reveal_type"))
        self.assertNotIn("Any", revealed)
        self.assertIn("axion.v1.simulation_pb2.StepResponse", revealed[0])
        for text in ("axion.results.State", "float", "axion.results.StepResult"):
            self.assertIn(text, revealed)

    def test_a_wrong_call_is_found_before_it_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program.py"
            program.write_text(WRONG)
            done = self.mypy(str(program))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn('has incompatible type "int"; expected "str | None"', done.stdout)
        self.assertIn('has incompatible type "str"; expected "int"', done.stdout)
        self.assertIn('Unexpected keyword argument "stepz"', done.stdout)


class Distribution(unittest.TestCase):
    def test_no_text_installs_the_package_by_a_name_that_is_anothers(self):
        # A foreign distribution is called axion; ours are not published, so pages say how to install from the checkout, and errors of
        # the installed package name its own distribution, which pip then finds where it is.
        wrong = []
        texts = [path for folder in ("clients", "docs", "deploy") for path in (ROOT / folder).rglob("*")]
        for path in (ROOT / "README.md", *texts):
            if path.suffix not in (".md", ".py", ".sh", ".cpp", ".toml") or not path.is_file():
                continue
            by_name = r"axion[ '\"\[]" if path.suffix == ".sh" else r"axion(-server|-server-client)?[ '\"`\[]"
            told = rf"pip install [^&`]*(?<![\w./-]){by_name}" if path.suffix in (".md", ".sh") else r"(?<![\w./-])axion\[[a-z0-9{},-]+\]"
            wrong += [f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
                      for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1) if re.search(told, line + "`")]
        self.assertEqual(wrong, [])

    def test_the_version_is_the_distributions_and_the_servers(self):
        self.assertEqual(axion.__version__, importlib.metadata.version(NAME))
        project = re.search(r"project\(axion VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual(axion.__version__, project)

    def test_the_newest_protobuf_and_grpcio_are_allowed(self):
        requirements = "\n".join(importlib.metadata.requires(NAME))
        # grpcio-status and grpcio-tools of today want protobuf 7.
        self.assertRegex(requirements, r"protobuf.*<8")
        self.assertRegex(requirements, r"grpcio.*<2")

    def source_distribution(self, folder):
        if importlib.util.find_spec("build") is None:
            self.skipTest("build is not installed")
        done = run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--skip-dependency-check",
                   "--outdir", folder, str(PACKAGE))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        archives = list(pathlib.Path(folder).glob("axion_server_client-*.tar.gz"))
        self.assertEqual(len(archives), 1)
        return archives[0]

    def test_a_source_distribution_holds_all_that_it_is_built_from(self):
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(self.source_distribution(folder)) as archive:
                names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
        for path in sorted((ROOT / "proto").glob("axion/v1/*.proto")):
            self.assertIn(path.relative_to(ROOT).as_posix(), names)
        for name in ("setup.py", "stubs.py", "pyproject.toml", "axion/py.typed", "axion/client.py"):
            self.assertIn(name, names)

    def test_a_wheel_is_built_from_a_source_distribution_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            archive = self.source_distribution(folder)
            done = run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, str(archive), cwd=folder)
            if done.returncode != 0 and re.search("No matching distribution|connection|Temporary failure", done.stderr):
                self.skipTest("the package index, which the build's tools come from, is out of reach")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            wheel, = pathlib.Path(folder).glob("axion_server_client-*.whl")
            names = set(zipfile.ZipFile(wheel).namelist())
        for name in ("axion/py.typed", "axion/v1/__init__.py", "axion/v1/simulation_pb2.py", "axion/v1/simulation_pb2.pyi",
                     "axion/v1/simulation_pb2_grpc.py", "axion/v1/simulation_pb2_grpc.pyi"):
            self.assertIn(name, names)

    def test_every_public_name_exists_and_is_told_of(self):
        for name in axion.__all__:
            value = getattr(axion, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                self.assertTrue(value.__doc__, name)


if __name__ == "__main__":
    unittest.main()
