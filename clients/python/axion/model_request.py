"""What CreateModel is asked, made of files and arguments: once, for however many servers."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

from axion import options as choices
from axion.arguments import checked
from axion.assets import Assets, attach
from axion.files import check_texts, read_scene
from axion.scene import Scene
from axion.v1 import scene_pb2, simulation_pb2


@dataclasses.dataclass(frozen=True)
class ModelRequest:
    """The message, all files by name, the files that it names by digest, and where absent files were looked for, by what names
    them."""

    message: simulation_pb2.CreateModelRequest
    files: Mapping[str, bytes]
    assets: Assets
    missing: Mapping[str, list[str]]


@checked
def model_request(mjcf: str | None = None, *, path: str | os.PathLike[str] | None = None, urdf: str | None = None,
                  scene: Scene | scene_pb2.SceneSpec | None = None, assets: Mapping[str, str | bytes] | None = None,
                  file_folders: Sequence[str | os.PathLike[str]] = (), allow_unsupported: bool = False,
                  shape_overrides: Mapping[str, Mapping[str, float]] | None = None,
                  joint_overrides: Mapping[str, Mapping[str, float]] | None = None,
                  urdf_options: Mapping[str, Any] | None = None, keep_visuals: bool = False) -> ModelRequest:
    """The request that Client.create_model makes of its arguments, with what it raises."""
    if sum(source is not None for source in (mjcf, path, urdf, scene)) != 1:
        raise TypeError("create_model wants one of mjcf, path, urdf and scene")
    missing: Mapping[str, list[str]] = {}
    files = {name: content.encode() if isinstance(content, str) else bytes(content) for name, content in (assets or {}).items()}
    if path is not None:
        kind, text, found, missing = read_scene(path, file_folders)
        mjcf, urdf = (text, None) if kind == "mjcf" else (None, text)
        files = {**found, **files}
    else:
        check_texts(mjcf=mjcf, urdf=urdf)
    message = scene.proto if isinstance(scene, Scene) else scene
    request = simulation_pb2.CreateModelRequest(mjcf=mjcf, urdf=urdf, scene=message, allow_unsupported=allow_unsupported,
                                                keep_visuals=keep_visuals,
                                                shape_overrides=choices.shape_overrides(shape_overrides or {}),
                                                joint_overrides=choices.joint_overrides(joint_overrides or {}))
    if urdf_options is not None:
        request.urdf_options.CopyFrom(choices.urdf_options(urdf_options))
    return ModelRequest(request, files, attach(files, request), missing)
