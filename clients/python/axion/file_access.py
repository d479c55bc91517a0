"""Which files of this machine a scene file may name: a document that came from elsewhere must not choose what is sent."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

MESHES = (".stl", ".obj", ".msh", ".dae")
# What alone is sent from the rest of a document's package: shapes, which are no secrets, and never text.
_SHAPES = (*MESHES, ".png")
# Folders in which packages of robots keep their documents, beside the folder of their meshes.
_DOCUMENT_FOLDERS = frozenset({"mjcf", "robots", "sdf", "urdf", "xacro", "xml"})


def above(folder: str) -> list[str]:
    """A folder and its ancestors, the innermost first."""
    found = [folder]
    while os.path.dirname(found[-1]) != found[-1]:
        found.append(os.path.dirname(found[-1]))
    return found


def is_package(folder: str) -> bool:
    """Whether a folder is a package of ROS."""
    return os.path.isfile(os.path.join(folder, "package.xml"))


def _holds(folder: str, path: str) -> bool:
    return os.path.commonpath((folder, path)) == folder


def _package_root(folder: str) -> str | None:
    """The package or checkout that a folder is part of, never the home folder or one above it; None if there is none.

    That is the outermost folder with a package.xml within the innermost checkout (a folder with .git), or the checkout;
    without either the folder above one of _DOCUMENT_FOLDERS.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    root = None
    for place in above(folder):
        if os.path.dirname(place) == place or _holds(place, home):
            break
        is_checkout = os.path.exists(os.path.join(place, ".git"))
        if is_checkout or is_package(place):
            root = place
        if is_checkout:
            break
    parent = os.path.dirname(folder)
    if root is None and os.path.basename(folder) in _DOCUMENT_FOLDERS and not _holds(parent, home):
        root = parent
    return root


class FileAccess:
    """The files that one document may have sent along, by where they are once links and ".." are followed.

    These are files below the folder of the document, but none below a folder whose name begins with a dot; meshes and
    PNG files of the package or checkout that it is part of; and all that is below the folders that the caller allows.

    Parameters
    ----------
    path : str or path
        Where the document is; if that is a link, the folder that it leads to counts too.
    folders : sequence of str | path
        Further folders whose files may be sent.
    packages : sequence of str
        Folders whose meshes may be sent.
    """

    def __init__(self, path: str | os.PathLike[str], folders: Sequence[str | os.PathLike[str]] = (),
                 packages: Iterable[str] = ()) -> None:
        if isinstance(folders, (str, os.PathLike)):
            raise TypeError("file_folders: want a list of folders, not one")
        self._path = os.path.abspath(path)
        self.missing: dict[str, list[str]] = {}  # by what names a file that is not there, where it was looked for
        self._own = {os.path.realpath(os.path.dirname(self._path)), os.path.dirname(os.path.realpath(self._path))}
        self._allowed = [os.path.realpath(folder) for folder in folders]
        self._packages = {root for folder in self._own if (root := _package_root(folder)) is not None}
        self._packages |= {os.path.realpath(package) for package in packages}

    def read(self, attribute: str, places: Iterable[tuple[str, str | None]]) -> tuple[str, bytes] | None:
        """Reads the first file of these places that is there and may be sent.

        Parameters
        ----------
        attribute : str
            What of the document names it, for the error.
        places : iterable of tuple of str and str
            Where it may be, the likeliest first, and the package that it is looked for in, or None.

        Returns
        -------
        tuple of str and bytes, optional
            Where it was found, and its content; None if there is no such file.

        Raises
        ------
        PermissionError
            There are such files, but none that may be sent.
        """
        refused, looked = None, []
        for place, package in places:
            looked.append(os.path.normpath(place))
            if not os.path.isfile(place):
                continue
            if self._may_send(os.path.realpath(place), package):
                with open(place, "rb") as content:
                    return place, content.read()
            refused = refused or os.path.realpath(place)
        if refused is None:
            self.missing[attribute] = list(dict.fromkeys(looked))
            return None
        folder = os.path.dirname(refused)
        raise PermissionError(f"{attribute} of {self._path} is {refused}, which is not sent, being outside of the document's "
                              f"folder: file_folders=[{folder!r}], of the tool --file_folders={folder}, allows it")

    def _may_send(self, path: str, package: str | None) -> bool:
        if any(_holds(folder, path) for folder in self._allowed):
            return True
        roots = set(self._own)
        if path.lower().endswith(_SHAPES):
            roots |= self._packages
            if package is not None and is_package(package):
                roots.add(os.path.realpath(package))
        return any(_holds(root, path) and not any(part.startswith(".") for part in os.path.relpath(path, root).split(os.sep))
                   for root in roots)
