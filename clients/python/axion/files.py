"""Files of a scene: an MJCF or URDF document, and what it includes and refers to."""

from __future__ import annotations

import os
import xml.etree.ElementTree
from collections.abc import Iterator, Sequence

_MESHES = (".stl", ".obj", ".msh")


def read_mjcf(path: str | os.PathLike[str]) -> tuple[str, dict[str, bytes]]:
    """Reads an MJCF file and the files that it refers to.

    These are included documents, models that are attached, by the names that the document has, and meshes (STL, OBJ,
    MSH) and height fields, by the mesh directory of the compiler and the name that the asset has. Files of a model
    that is attached are looked for from its own folder on, others from that of `path`, then from that of the included
    document that names them, then beside that document, without the mesh directory. They are named with the model's
    folder before them. One that is not there is left out: the server says so if it is needed.

    Parameters
    ----------
    path : str or path
        Where it is.

    Returns
    -------
    tuple of str and dict of str to bytes
        The text, and the files by name, as Client.create_model takes them.

    Raises
    ------
    OSError
        The file itself cannot be read.
    """
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    assets: dict[str, bytes] = {}
    folder = os.path.dirname(os.path.abspath(path))
    models, done = [("", text)], set[str]()
    while models:
        name, document = models.pop()
        for model in _read_model(document, folder, os.path.dirname(name), assets):
            if model not in done and model in assets:
                models.append((model, assets[model].decode("utf-8", errors="replace")))
            done.add(model)
    return text, assets


def _read_model(text: str, folder: str, prefix: str, assets: dict[str, bytes]) -> list[str]:
    """Adds what a document and those that it includes refer to, which is in the folder `prefix` of `folder`; returns the names of
    the models that it attaches."""
    named: list[tuple[str, str, bool]] = []  # asset, folder of the document that names it, whether that one is included
    models: list[str] = []
    directory = ""
    root = os.path.join(folder, prefix)
    done = set[str]()

    def visit(here: str, document: str, included: bool) -> None:
        """What an include refers to comes in its place, so that the last compiler of all of it has its say."""
        nonlocal directory
        try:
            elements = xml.etree.ElementTree.fromstring(document)
        except xml.etree.ElementTree.ParseError:
            return  # the server says where
        for element in elements.iter():
            if element.tag == "compiler":
                directory = element.get("meshdir", element.get("assetdir", directory))
            name = element.get("file", "")
            if element.tag == "hfield" and name or element.tag == "mesh" and name.lower().endswith(_MESHES):
                named.append((name, here, included))
            if element.tag == "model" and name:
                models.append(name)
            if element.tag != "include" or not name or name in done:
                continue
            done.add(name)
            for start in (root, here):
                found = os.path.join(start, name)
                if os.path.isfile(found):
                    with open(found, "rb") as content:
                        assets[os.path.join(prefix, name)] = inner = content.read()
                    visit(os.path.dirname(found), inner.decode("utf-8", errors="replace"), True)
                    break

    visit(root, text, False)
    wanted = [(model, [os.path.join(root, model)]) for model in models]
    for asset, here, included in named:
        name = os.path.join(directory, asset)
        places = [os.path.join(root, name), os.path.join(here, name)]
        # Beside an included document, as MuJoCo looks; a model's own document has but its mesh directory.
        wanted.append((name, [*places, os.path.join(here, asset)] if included else places))
    for name, places in wanted:
        found = next((place for place in places if os.path.isfile(place)), None)
        if found is not None:
            with open(found, "rb") as content:
                assets[os.path.join(prefix, name)] = content.read()
    return [os.path.join(prefix, model) for model in models]


def is_urdf(path: str | os.PathLike[str]) -> bool:
    """Tells whether a file is URDF.

    Parameters
    ----------
    path : str or path
        Where it is.

    Returns
    -------
    bool
        By its name, else by its root element, which is <robot>.
    """
    if os.fspath(path).lower().endswith(".urdf"):
        return True
    try:
        for _, element in xml.etree.ElementTree.iterparse(path, events=("start",)):
            return bool(element.tag == "robot")
    except xml.etree.ElementTree.ParseError:
        pass  # the server says where
    return False


def read_urdf(path: str | os.PathLike[str],
              packages: Sequence[str | os.PathLike[str]] = ()) -> tuple[str, dict[str, bytes]]:
    """Reads a URDF file and the meshes that its links collide with; meshes for the eye are not read.

    A name may be relative to the file, absolute, file://, or package://PACKAGE/FILE (model:// likewise). Packages are
    looked for in `packages` and in the environment's ROS_PACKAGE_PATH, and in the folders that the file is in. What is
    not beside the file is looked for from the folders on that the file is in, as names relative to a root of assets
    have it; package://FILE beside the file. A mesh that is not there is left out: the server says so.

    Parameters
    ----------
    path : str or path
        Where it is.
    packages : sequence of str | path, optional
        Folders of packages, or of folders of packages.

    Returns
    -------
    tuple of str and dict of str to bytes
        The text, and the meshes by name, as Client.create_model takes them.

    Raises
    ------
    OSError
        The file itself cannot be read.
    """
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    try:
        robot = xml.etree.ElementTree.fromstring(text)
    except xml.etree.ElementTree.ParseError:
        return text, {}  # the server says where
    folder = os.path.dirname(os.path.abspath(path))
    compiler = robot.find("mujoco/compiler")
    directory = compiler.get("meshdir", compiler.get("assetdir", "")) if compiler is not None else ""
    roots = [os.fspath(package) for package in packages]
    roots += [root for root in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if root]
    assets: dict[str, bytes] = {}
    for mesh in robot.iterfind("link/collision/geometry/mesh"):
        name = mesh.get("filename", "")
        if not name.lower().endswith((*_MESHES, ".dae")) or name in assets:
            continue
        for found in _places_of(name, folder, directory, roots):
            if os.path.isfile(found):
                with open(found, "rb") as content:
                    assets[name] = content.read()
                break
    return text, assets


def _places_of(name: str, folder: str, directory: str, roots: list[str]) -> Iterator[str]:
    """Where the mesh of a URDF document may be, the likeliest first."""
    scheme, found, rest = name.partition("://")
    if not found:
        scheme, rest = "", name
    if scheme in ("", "file"):
        yield os.path.join(folder, rest)
    above = [folder]
    while os.path.dirname(above[-1]) != above[-1]:
        above.append(os.path.dirname(above[-1]))
    if scheme in ("package", "model"):
        package, _, inside = rest.partition("/")
        for root in roots:
            yield os.path.join(root, package, inside)
            if os.path.basename(os.path.normpath(root)) == package:
                yield os.path.join(root, inside)
        for root in above:
            yield os.path.join(root, package, inside)
            if os.path.basename(root) == package:
                yield os.path.join(root, inside)
        yield os.path.join(folder, inside)
        if len(above) > 1:
            yield os.path.join(above[1], inside)  # PACKAGE/urdf/robot.urdf in a folder of another name
        yield os.path.join(folder, rest)
    elif not os.path.isabs(rest):
        for root in above[1:]:
            yield os.path.join(root, rest)
    yield os.path.join(folder, directory, os.path.basename(rest))
