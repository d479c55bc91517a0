"""What a client asks about models."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any

from axion.arguments import checked
from axion.assets import VisualFiles
from axion.calls import ServerCalls, nothing
from axion.errors import AxionError
from axion.model import Model
from axion.model_request import ModelRequest, model_request
from axion.scene import Scene
from axion.texts import documented_call
from axion.v1 import scene_pb2, simulation_pb2


def _tell_places(missing: Mapping[str, list[str]], error: AxionError) -> None:
    """Adds to the refusal of a scene where the files were looked for that it lacks."""
    if missing and "not sent along" in error.message:
        error.message += "; the client has looked for " + "; ".join(
            f"{attribute} at {', '.join(places[:4])}" for attribute, places in list(missing.items())[:4])


class ClientModels(ServerCalls):
    """The part of Client that makes and lists models."""

    _visual_files: VisualFiles

    @documented_call
    @checked
    def create_model(self, mjcf: str | None = None, *, path: str | os.PathLike[str] | None = None,
                     urdf: str | None = None, scene: Scene | scene_pb2.SceneSpec | None = None,
                     assets: Mapping[str, str | bytes] | None = None,
                     file_folders: Sequence[str | os.PathLike[str]] = (), allow_unsupported: bool = False,
                     shape_overrides: Mapping[str, Mapping[str, float]] | None = None,
                     joint_overrides: Mapping[str, Mapping[str, float]] | None = None,
                     urdf_options: Mapping[str, Any] | None = None, keep_visuals: bool = False,
                     timeout: float | None = None) -> Model:
        """Compiles a scene; the same content gives the same model.

        Parameters
        ----------
        mjcf : str, optional
            Text of an MJCF file.
        path : str or path, optional
            Where an MJCF or URDF file is, which is sent with the files that it refers to (read_mjcf, read_urdf).
        urdf : str, optional
            Text of a URDF file.
        scene : Scene or SceneSpec, optional
            A scene that was made in Python, or its message.
        assets : Mapping[str, str | bytes], optional
            Contents of the files that the MJCF includes and of meshes, by name; with a path, beside those that are
            found.
        file_folders : sequence of str | path, optional
            With a path, further folders whose files may be sent when the document names them (read_mjcf says which are).
        allow_unsupported : bool, default False
            Elements that would change the physics and are not supported become warnings (Model.warnings); else they
            are refused by name.
        shape_overrides : Mapping[str, Mapping[str, float]], optional
            What MJCF has no words for, by the name of the shape, "" for every shape: dicts of restitution (0 to 1),
            contact_stiffness (N/m), contact_damping (N s/m).
        joint_overrides : Mapping[str, Mapping[str, float]], optional
            Likewise of joints: dicts of lock_stiffness (N/m, N m/rad) and lock_damping (N s/m, N m s/rad).
        urdf_options : Mapping[str, Any], optional
            What URDF has no words for: base ("fixed", the default, or "free"), base_position [3] (m) and
            base_rotation [4] (w x y z) of the root link, actuators ("none", the default, or "motor"), ground,
            self_collision, keep_overlaps and massless (bool).
        keep_visuals : bool, default False
            Meshes for the eye are sent too, so that viewers of other programs show them; viewers of this program have
            them anyway.

        Returns
        -------
        Model
            The compiled model.

        Raises
        ------
        TypeError
            Not exactly one of mjcf, path, urdf and scene is given, or an option has no such name.
        ValueError
            What is given as mjcf or urdf is no text of that: a path, or the other of them.
        PermissionError
            The document names a file that it may not send; the message says which, and by what.
        OSError
            A file cannot be read.
        """
        return self._create_model(model_request(
            mjcf, path=path, urdf=urdf, scene=scene, assets=assets, file_folders=file_folders, allow_unsupported=allow_unsupported,
            shape_overrides=shape_overrides, joint_overrides=joint_overrides, urdf_options=urdf_options,
            keep_visuals=keep_visuals), timeout)

    def _create_model(self, wanted: ModelRequest, timeout: float | None) -> Model:
        def made(proto: simulation_pb2.Model) -> Model:
            self._visual_files.remember(proto.visuals, wanted.files)
            return self._model(proto)
        return self._ask("CreateModel", wanted.message, made, timeout, refused=functools.partial(_tell_places, wanted.missing),
                         assets=wanted.assets)

    def _model(self, proto: simulation_pb2.Model) -> Model:
        return Model(proto, self._visual_files)

    @documented_call
    @checked
    def get_model(self, name: str, timeout: float | None = None) -> Model:
        """Fetches a model that the server has.

        Parameters
        ----------
        name : str
            Its resource name, "models/{id}".

        Returns
        -------
        Model
            The model.
        """
        return self._ask("GetModel", simulation_pb2.GetModelRequest(name=name), self._model, timeout)

    @documented_call
    @checked
    def get_scene(self, model: Model | str, timeout: float | None = None) -> Scene:
        """Fetches the whole scene that a model was compiled from.

        create_model(scene=...) makes a model of it that moves alike, here or on another server. What is for the eye alone
        (Model.visuals) is no part of it: such a model is drawn as it collides.

        Returns
        -------
        Scene
            The scene.
        """
        name = model if isinstance(model, str) else model.name
        request = simulation_pb2.GetModelRequest(name=name, view=simulation_pb2.MODEL_VIEW_FULL)
        return self._ask("GetModel", request, lambda answer: Scene.of(answer.scene), timeout)

    @documented_call
    @checked
    def list_models(self, page_size: int = 0) -> list[Model]:
        """Lists the models on the server.

        Returns
        -------
        list[Model]
            All of them.
        """
        return self._ask_all("ListModels", simulation_pb2.ListModelsRequest(page_size=page_size),
                             lambda page: [self._model(proto) for proto in page.models])

    @documented_call
    @checked
    def delete_model(self, model: Model | str, timeout: float | None = None) -> None:
        """Deletes a model.

        Raises
        ------
        FailedPreconditionError
            A batch uses it.
        """
        name = model if isinstance(model, str) else model.name
        return self._ask("DeleteModel", simulation_pb2.DeleteModelRequest(name=name), nothing, timeout)
