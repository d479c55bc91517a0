"""Files of a scene: an MJCF document, and what it includes and refers to."""

from __future__ import annotations

import os
import xml.etree.ElementTree

_MESHES = (".stl", ".obj", ".msh")


def read_mjcf(path: str | os.PathLike[str]) -> tuple[str, dict[str, bytes]]:
    """The text of an MJCF file, and a dict of the files that it refers to: name to bytes, as Client.create_model takes them.

    These are included documents, by the names that the includes have, and meshes (STL, OBJ, MSH), by the mesh directory of the
    compiler and the name that the asset has. Files are looked for from the folder of `path` on. One that is not there is left
    out: the server says so if it is needed.
    """
    with open(path, encoding="utf-8") as file:
        text = file.read()
    folder = os.path.dirname(os.path.abspath(path))
    assets: dict[str, bytes] = {}
    meshes: list[str] = []
    directory = ""
    documents, done = [(folder, text)], set[str]()
    while documents:
        here, document = documents.pop()
        try:
            root = xml.etree.ElementTree.fromstring(document)
        except xml.etree.ElementTree.ParseError:
            continue  # the server says where
        for element in root.iter():
            if element.tag == "compiler":
                directory = element.get("meshdir", element.get("assetdir", directory))
            name = element.get("file", "")
            if element.tag == "mesh" and name:
                meshes.append(name)
            if element.tag != "include" or not name or name in done:
                continue
            done.add(name)
            for start in (folder, here):
                found = os.path.join(start, name)
                if os.path.isfile(found):
                    with open(found, "rb") as content:
                        assets[name] = content.read()
                    documents.append((os.path.dirname(found), assets[name].decode("utf-8", errors="replace")))
                    break
    for mesh in meshes:
        name = os.path.join(directory, mesh) if directory else mesh
        found = os.path.join(folder, name)
        if name.lower().endswith(_MESHES) and os.path.isfile(found):
            with open(found, "rb") as content:
                assets[name] = content.read()
    return text, assets
