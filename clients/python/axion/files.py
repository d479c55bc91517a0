"""Files of a scene: an MJCF or URDF document, and what it includes and refers to."""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree
from collections.abc import Iterator, Sequence

from axion.file_access import MESHES, FileAccess, above

_MESHES_OF_MJCF = (".stl", ".obj", ".msh")


def read_mjcf(path: str | os.PathLike[str],
              file_folders: Sequence[str | os.PathLike[str]] = ()) -> tuple[str, dict[str, bytes]]:
    """Reads an MJCF file and the files that it refers to.

    These are included documents, models that are attached, by the names that the document has, and meshes (STL, OBJ,
    MSH) and height fields, by the mesh directory of the compiler and the name that the asset has. Files of a model
    that is attached are looked for from its own folder on, others from that of `path`, then from that of the included
    document that names them, then beside that document, without the mesh directory. They are named with the model's
    folder before them. One that is not there is left out: the server says so if it is needed.

    A document does not choose what is sent: by where they are once links are followed, files must be below its folder
    (and below no folder with a dot before its name), or be meshes or PNG files of the package or checkout that it is
    part of: the outermost folder with a package.xml up to the innermost with .git, or that one; without these the
    folder above one that is named urdf, xacro, mjcf, xml, sdf or robots; never the home folder or one above it.

    Parameters
    ----------
    path : str or path
        Where it is.
    file_folders : sequence of str | path, optional
        Further folders whose files may be sent.

    Returns
    -------
    tuple of str and dict of str to bytes
        The text, and the files by name, as Client.create_model takes them.

    Raises
    ------
    PermissionError
        The document names a file that it may not send; the message says which, and by what.
    OSError
        The file itself cannot be read.
    """
    return _read_mjcf(path, FileAccess(path, file_folders))


def _read_mjcf(path: str | os.PathLike[str], access: FileAccess) -> tuple[str, dict[str, bytes]]:
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    assets: dict[str, bytes] = {}
    folder = os.path.dirname(os.path.abspath(path))
    models, done = [("", text)], set[str]()
    while models:
        name, document = models.pop()
        for model in _read_model(document, folder, os.path.dirname(name), assets, access):
            if model not in done and model in assets:
                models.append((model, assets[model].decode("utf-8", errors="replace")))
            done.add(model)
    return text, assets


def _read_model(text: str, folder: str, prefix: str, assets: dict[str, bytes], access: FileAccess) -> list[str]:
    """Adds what a document and those that it includes refer to, which is in the folder `prefix` of `folder`; returns the names of
    the models that it attaches."""
    named: list[tuple[str, str, str, bool]] = []  # asset, its tag, folder of the document that names it, whether included
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
            if element.tag == "hfield" and name or element.tag == "mesh" and name.lower().endswith(_MESHES_OF_MJCF):
                named.append((name, element.tag, here, included))
            if element.tag == "model" and name:
                models.append(name)
            if element.tag != "include" or not name or name in done:
                continue
            done.add(name)
            found = access.read(_attribute("include", name), [(os.path.join(start, name), None) for start in (root, here)])
            if found is not None:
                assets[os.path.join(prefix, name)] = found[1]
                visit(os.path.dirname(found[0]), found[1].decode("utf-8", errors="replace"), True)

    visit(root, text, False)
    wanted = [(model, _attribute("model", model), [os.path.join(root, model)]) for model in models]
    for asset, tag, here, included in named:
        name = os.path.join(directory, asset)
        places = [os.path.join(root, name), os.path.join(here, name)]
        # Beside an included document, as MuJoCo looks; a model's own document has but its mesh directory.
        wanted.append((name, _attribute(tag, asset), [*places, os.path.join(here, asset)] if included else places))
    for name, attribute, places in wanted:
        found = access.read(attribute, [(place, None) for place in places])
        if found is not None:
            assets[os.path.join(prefix, name)] = found[1]
    return [os.path.join(prefix, model) for model in models]


def _attribute(tag: str, name: str, attribute: str = "file") -> str:
    """How an error names it."""
    return f'<{tag} {attribute}="{name}">'


def check_texts(**texts: str | None) -> None:
    """Looks whether arguments are texts of documents of their kinds, by the root elements.

    Parameters
    ----------
    **texts
        What was given as `mjcf` and `urdf`, or None.

    Raises
    ------
    ValueError
        It is a path, or a document of the other kind.
    """
    for name, text in texts.items():
        if text is not None:
            _check_text(name, text)


def _check_text(name: str, text: str) -> None:
    if isinstance(text, os.PathLike) or isinstance(text, str) and "<" not in text and text.strip():
        raise ValueError(f"{name}: wants the text of a document, not where it is: give path={os.fspath(text)[:200]!r}")
    if not isinstance(text, str):
        raise TypeError(f"{name}: wants the text of a document, not {text!r}")
    root = re.search(r"<\s*([A-Za-z_][\w.:-]*)", re.sub(r"<!--.*?(-->|$)", "", text[:1 << 16], flags=re.DOTALL))
    kinds = {"mujoco": "mjcf", "robot": "urdf"}
    if root is not None and kinds.get(root[1], name) != name:
        raise ValueError(f"{name}: the root element is <{root[1]}>: give the document as {kinds[root[1]]}=")


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
              packages: Sequence[str | os.PathLike[str]] = (),
              file_folders: Sequence[str | os.PathLike[str]] = ()) -> tuple[str, dict[str, bytes]]:
    """Reads a URDF file, the meshes that its links collide with and those for the eye.

    A name may be relative to the file, absolute, file://, or package://PACKAGE/FILE (model:// likewise). Packages are
    looked for in `packages` and in the environment's ROS_PACKAGE_PATH, and in the folders that the file is in. What is
    not beside the file is looked for from the folders on that the file is in, as names relative to a root of assets
    have it; package://FILE beside the file. A mesh that is not there is left out: the server says so. What may be sent
    is what read_mjcf says, and meshes of these packages; of packages in the folders that the file is in, of those that
    have a package.xml.

    Parameters
    ----------
    path : str or path
        Where it is.
    packages : sequence of str | path, optional
        Folders of packages, or of folders of packages.
    file_folders : sequence of str | path, optional
        Further folders whose files may be sent.

    Returns
    -------
    tuple of str and dict of str to bytes
        The text, and the meshes by name, as Client.create_model takes them.

    Raises
    ------
    PermissionError
        The document names a file that it may not send; the message says which, and by what.
    OSError
        The file itself cannot be read.
    """
    roots = [*(os.fspath(package) for package in packages), *_ros_packages()]
    return _read_urdf(path, roots, FileAccess(path, file_folders, roots))


def _ros_packages() -> list[str]:
    return [root for root in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if root]


def _read_urdf(path: str | os.PathLike[str], roots: list[str], access: FileAccess) -> tuple[str, dict[str, bytes]]:
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    try:
        robot = xml.etree.ElementTree.fromstring(text)
    except xml.etree.ElementTree.ParseError:
        return text, {}  # the server says where
    folder = os.path.dirname(os.path.abspath(path))
    compiler = robot.find("mujoco/compiler")
    directory = compiler.get("meshdir", compiler.get("assetdir", "")) if compiler is not None else ""
    assets: dict[str, bytes] = {}
    for part in ("collision", "visual"):
        for mesh in robot.iterfind(f"link/{part}/geometry/mesh"):
            name = mesh.get("filename", "")
            if not name.lower().endswith(MESHES) or name in assets:
                continue
            attribute = _attribute("mesh", name, "filename")
            was_missing = attribute in access.missing
            try:
                found = access.read(attribute, _places_of(name, folder, directory, roots))
            except PermissionError:
                if part == "collision":
                    raise
                continue  # it is drawn as it collides
            if found is not None:
                assets[name] = found[1]
            elif part == "visual" and not was_missing:
                del access.missing[attribute]
    return text, assets


def read_scene(path: str | os.PathLike[str], file_folders: Sequence[str | os.PathLike[str]] = (),
               ) -> tuple[str, str, dict[str, bytes], dict[str, list[str]]]:
    """Reads an MJCF or URDF file as read_mjcf and read_urdf do.

    Parameters
    ----------
    path : str or path
        Where it is.
    file_folders : sequence of str | path, optional
        Further folders whose files may be sent.

    Returns
    -------
    tuple of str, str, dict of str to bytes, and dict of str to list of str
        "mjcf" or "urdf"; the text; the files by name; and of files that are not there, by the attribute that names them, where they were
        looked for.

    Raises
    ------
    PermissionError
        The document names a file that it may not send; the message says which, and by what.
    OSError
        The file itself cannot be read.
    """
    roots = _ros_packages()
    if is_urdf(path):
        access = FileAccess(path, file_folders, roots)
        return ("urdf", *_read_urdf(path, roots, access), access.missing)
    access = FileAccess(path, file_folders)
    return ("mjcf", *_read_mjcf(path, access), access.missing)


def _places_of(name: str, folder: str, directory: str, roots: list[str]) -> Iterator[tuple[str, str | None]]:
    """Where the mesh of a URDF document may be, the likeliest first, and which package it is looked for in."""
    scheme, found, rest = name.partition("://")
    if not found:
        scheme, rest = "", name
    if scheme in ("", "file"):
        yield os.path.join(folder, rest), None
    if scheme in ("package", "model"):
        package, _, inside = rest.partition("/")
        for root in (*roots, *above(folder)):
            yield os.path.join(root, package, inside), os.path.join(root, package)
            if os.path.basename(os.path.normpath(root)) == package:
                yield os.path.join(root, inside), root
        yield os.path.join(folder, inside), None
        yield os.path.join(os.path.dirname(folder), inside), None  # PACKAGE/urdf/robot.urdf in a folder of another name
        yield os.path.join(folder, rest), None
    elif not os.path.isabs(rest):
        for root in above(folder)[1:]:
            yield os.path.join(root, rest), None
    yield os.path.join(folder, directory, os.path.basename(rest)), None
