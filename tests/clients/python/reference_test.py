"""The page of reference of the Python package, as the site has it: made by tools/docs, rendered by MkDocs without its theme."""

import inspect
import pathlib
import re
import sys
import tempfile
import unittest

import axion
import axion.gym
from axiond_case import ROOT

try:
    import yaml
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
except ImportError:
    build = None

sys.path.insert(0, str(ROOT / "tools" / "docs"))
import reference  # noqa: E402


_LEFT_OUT = ("axion.viewing", "axion.aio", "axion.ray_fleet", "axion.dm_env_rpc")


def public_methods():
    """Of every class that the page names, inherited or not: "Batch.reset"."""
    classes = {f"axion.{name}": getattr(axion, name) for name in axion.__all__}
    classes.update({f"axion.gym.{name}": getattr(axion.gym, name) for name in axion.gym.__all__})
    found = set()
    for path, value in classes.items():
        if not inspect.isclass(value) or not value.__module__.startswith("axion."):
            continue
        for name in dir(value):
            owner = next((base for base in value.__mro__ if name in vars(base)), None)
            if not name.startswith("_") and owner is not None and owner.__module__.startswith("axion.") and (
                    callable(getattr(value, name)) or isinstance(vars(owner)[name], property)):
                found.add(f"{path.removeprefix('axion.')}.{name}")
    return found


@unittest.skipIf(build is None, "mkdocs or mkdocstrings is not installed")
class Search(unittest.TestCase):
    def test_it_works_from_a_folder_and_fetches_nothing_from_elsewhere(self):
        # The theme's plugin makes the index a script, and would load a stand-in for workers from elsewhere unless there is one.
        told = yaml.safe_load((ROOT / "tools" / "docs" / "mkdocs.yml").read_text())
        self.assertIn("offline", told["plugins"])
        stand_in, = told["extra"]["polyfills"]
        self.assertIn("iframe-worker", stand_in)
        self.assertTrue((ROOT / "tools" / "docs" / stand_in).is_file())
        self.assertIn(f"cp tools/docs/{stand_in} ", (ROOT / "tools" / "docs" / "build.sh").read_text())


@unittest.skipIf(build is None, "mkdocs or mkdocstrings is not installed")
class Reference(unittest.TestCase):
    def test_every_public_method_has_an_entry(self):
        told = yaml.safe_load((ROOT / "tools" / "docs" / "mkdocs.yml").read_text())
        plugins = [plugin for plugin in told["plugins"] if plugin not in ("search", "offline")]
        plugins[0]["mkdocstrings"]["handlers"]["python"]["paths"] = [str(pathlib.Path(axion.__file__).parents[1])]
        with tempfile.TemporaryDirectory() as folder:
            pages = pathlib.Path(folder, "pages")
            pages.mkdir()
            # Without the modules that are not looked at, which take as long again.
            sections = reference.python().split("\n## ")
            (pages / "index.md").write_text("\n## ".join(one for one in sections if not one.startswith(_LEFT_OUT)))
            config = pathlib.Path(folder, "mkdocs.yml")
            config.write_text(yaml.safe_dump({"site_name": "x", "docs_dir": "pages", "plugins": plugins, "theme": "mkdocs"}))
            build(load_config(str(config)))
            page = pathlib.Path(folder, "site", "index.html").read_text()
        entries = set(re.findall(r'<h[1-6] id="axion\.([\w.]+)"', page))
        methods = public_methods()
        self.assertGreater(len(methods), 120)  # that they are counted at all
        self.assertEqual(methods - entries, set())


if __name__ == "__main__":
    unittest.main()
