"""Docstrings of all that is public: numpydoc's sections, every parameter, what is returned and raised, shapes of arrays."""

import ast
import importlib
import importlib.util
import inspect
import pathlib
import re
import textwrap
import unittest

import axion
import axion.aio
import axion.names
from axion.v1 import scene_pb2

HAS_NUMPYDOC = importlib.util.find_spec("numpydoc") is not None
IS_CHECKOUT = pathlib.Path(axion.__file__).parents[1].joinpath("setup.py").exists()
# What numpydoc's validator must find nothing of: no docstring; parameters that are not, are unknown or out of order, without a type or
# words; no section of what is returned or yielded, or one without words; sections in another order or without their line.
CODES = {"GL06", "GL07", "GL08", "PR01", "PR02", "PR03", "PR04", "PR07", "RT01", "RT03", "SS01", "YD01"}
ARRAY = re.compile(r"ArrayLike|NDArray|_Array\b|_Floats\b|\bFloats\b|Image8")
SHAPE = re.compile(r"\[[^\]]*\]|one for all|none|None given", re.IGNORECASE)


def namespaces():
    """Modules whose public names these are, with the names."""
    yield axion, axion.__all__
    yield axion.aio, ("Client", "Batch")
    if importlib.util.find_spec("gymnasium"):
        gym = importlib.import_module("axion.gym")
        yield gym, gym.__all__
        for name, names in (("ppo", ("Choices", "Learner", "Progress")), ("policy", ("Policy",)), ("task", ("TaskChoice",))):
            yield importlib.import_module(f"axion.learning.{name}"), names
    if importlib.util.find_spec("viser"):
        yield axion, tuple(axion._LAZY)
    if importlib.util.find_spec("ray"):
        yield importlib.import_module("axion.ray_fleet"), ("RayFleet",)


def is_ours(value):
    return (getattr(value, "__module__", None) or "").startswith("axion.")


def members(cls):
    """Public calls and properties of a class, also of its parts, which are this package's."""
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        call = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if not name.startswith("_") and inspect.isfunction(call) and is_ours(call):
            yield name, value, call


def documented():
    """Path, object and function (None of a class) of all that is public."""
    for module, names in namespaces():
        for name in names:
            value = getattr(module, name)
            if not (inspect.isclass(value) or inspect.isfunction(value)) or not is_ours(value):
                continue
            yield f"{module.__name__}.{name}", value, None if inspect.isclass(value) else value
            for member, found, call in members(value) if inspect.isclass(value) else ():
                yield f"{module.__name__}.{name}.{member}", found, call


def has_arguments(cls):
    return "__init__" in vars(cls)  # a dataclass too


def section(doc, title):
    """Lines of a section, by the words that its entries begin with."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", doc, re.MULTILINE | re.DOTALL)
    entries = re.split(r"^(?=\S)", found.group(1), flags=re.MULTILINE) if found else []
    return {re.split(r"[ :\n]", entry)[0].lstrip("*"): entry for entry in entries if entry.strip()}


class Docstrings(unittest.TestCase):
    def test_every_class_of_the_package_has_a_repr_of_its_own(self):
        classes = {f"{module.__name__}.{name}": getattr(module, name) for module, names in namespaces() for name in names
                   if inspect.isclass(getattr(module, name))}
        classes |= {f"axion.names.{name}": value for name, value in vars(axion.names).items() if inspect.isclass(value) and is_ours(value)}
        self.assertEqual([name for name, value in classes.items() if value.__repr__ is object.__repr__], [])

    @unittest.skipUnless(HAS_NUMPYDOC, "numpydoc is not installed")
    def test_numpydoc_finds_nothing_wrong(self):
        from numpydoc.validate import validate

        wrong, count = [], 0
        for path, value, call in documented():
            # A class without arguments of its own has those of its base, and a wrapper of what returns nothing returns that.
            spared = {"PR01"} if call is None and not has_arguments(value) else set()
            if call is not None and not isinstance(value, property) and inspect.signature(call).return_annotation == "None":
                spared.add("RT01")
            wrong += [f"{path}: {code} {text}" for code, text in validate(path)["errors"] if code in CODES - spared]
            count += 1
        self.assertGreater(count, 150)
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    @unittest.skipIf(IS_CHECKOUT, "a checkout is completed as it is imported")
    def test_files_that_are_installed_have_the_docstrings_that_help_shows(self):
        wrong, count = [], 0
        for path, value, call in documented():
            source = ast.parse(textwrap.dedent(inspect.getsource(call or value))).body[0]
            if ast.get_docstring(source) != inspect.getdoc(call or value):
                wrong.append(path)
            count += 1
        self.assertGreater(count, 150)
        self.assertEqual(wrong, [])

    def test_a_call_that_takes_fields_of_a_message_lists_them_with_what_the_message_says_of_them(self):
        for call, message, others in ((axion.Scene.hinge_axis, "AxisSpec", {"kind", "limited", "lower", "upper"}),
                                      (axion.Scene.axes, "JointSpec", {"kind"}),
                                      (axion.Scene.shape, "ShapeSpec", {"pose"}),
                                      (axion.Scene.tendon, "TendonSpec", {"limited", "lower", "upper"})):
            listed = " ".join(section(inspect.getdoc(call), "Parameters")["choices"].split())
            for field in scene_pb2.DESCRIPTOR.message_types_by_name[message].fields:
                with self.subTest(message, field=field.name):
                    is_listed = re.search(rf"[:,] {field.name}( \(|,|\.)", listed) is not None
                    self.assertNotEqual(is_listed, field.name in others or field.name in inspect.signature(call).parameters)
            if message == "AxisSpec":
                self.assertIn("armature (kg m^2 or kg, >= 0)", listed)

    def test_arrays_have_shapes(self):
        wrong = []
        for path, value, call in documented():
            if call is None:
                continue
            signature, doc = inspect.signature(call), inspect.getdoc(call) or ""
            parameters = section(doc, "Parameters")
            for name, parameter in signature.parameters.items():
                if ARRAY.search(str(parameter.annotation)) and "Mapping" not in str(parameter.annotation):
                    if not SHAPE.search(parameters.get(name, "").partition("\n")[2]):
                        wrong.append(f"{path}: {name}")
            returned = doc if isinstance(value, property) else "".join(section(doc, "Returns").values())
            if ARRAY.search(str(signature.return_annotation)) and not SHAPE.search(returned):
                wrong.append(f"{path}: what it returns")
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_calls_of_the_server_say_what_they_raise(self):
        calls = [(f"{cls.__name__}.{name}", call) for cls in (axion.Client, axion.Batch, axion.FleetBatch) for name, _, call in members(cls)
                 if (name.startswith("list_") or "timeout" in inspect.signature(call).parameters) and name != "wait_until_ready"]
        self.assertGreater(len(calls), 35)
        for path, call in calls:
            self.assertIn("AxionError", section(inspect.getdoc(call), "Raises"), path)


if __name__ == "__main__":
    unittest.main()
