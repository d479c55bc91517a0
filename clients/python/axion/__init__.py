"""Client of Axion Server: worlds of rigid bodies, stepped on a server, as NumPy arrays.

    import axion

    with axion.Client("127.0.0.1:8470") as client:
        model = client.create_model(mjcf=open("quadruped.xml").read())
        with client.create_batch(model, world_count=256) as batch:
            result = batch.step(control=model.hold_control("stand"), steps=200, outputs=["body_pose"])
            print(result["body_pose"][:, 0, 2])  # height of the first body of each world, m

SI units and radians; quaternions are w, x, y, z; poses and velocities are in the world frame.
"""

import importlib
from typing import TYPE_CHECKING, Any

from axion._version import __version__
from axion.batch import Batch
from axion.channel import DEFAULT_TARGET
from axion.client import Client, local
from axion.errors import (AbortedError, AxionError, DeadlineExceededError, FailedPreconditionError, FieldViolation,
                          InternalError, InvalidArgumentError, NotFoundError, PermissionDeniedError,
                          ResourceExhaustedError, UnauthenticatedError, UnavailableError, UnimplementedError)
from axion.files import read_mjcf, read_urdf
from axion.fleet import Fleet
from axion.fleet_batch import FleetBatch
from axion.frames import to_pandas, to_xarray
from axion.linearisation import Linearisation
from axion.model import Model
from axion.names import Named
from axion.options import solver_options
from axion.recorded_run import RecordedRun
from axion.results import (BatchStats, Contacts, Distances, Dynamics, Histogram, Outcome, RayHits, State, StepResult,
                           WorldStats)
from axion.run_log import RunLog
from axion.scene import Scene
from axion.step_gradient import StepGradient
from axion.stream import StepStream
from axion.task import TaskResult, task_spec
from axion.tensors import to_array, to_tensor
from axion.usd import read_usd
from axion.watch import Frame, Watch


if TYPE_CHECKING:
    from axion.viewing.mcap_file import McapRecorder as McapRecorder, record as record
    from axion.viewing.raycast import Camera as Camera
    from axion.viewing.render import Renderer as Renderer, render as render, save_movie as save_movie
    from axion.viewing.viewer import Viewer as Viewer, view as view

# Pictures and the viewer want packages of the extra `view`, so they are loaded when they are first named, and are none of
# the names that `from axion import *` takes.
_LAZY = {"Camera": "raycast", "McapRecorder": "mcap_file", "record": "mcap_file", "Renderer": "render", "render": "render",
         "save_movie": "render", "Viewer": "viewer", "view": "viewer"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'axion' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"axion.viewing.{_LAZY[name]}"), name)
    except ModuleNotFoundError as error:
        raise ImportError(f"axion.{name} wants the extra `view` (pip install 'axion-server-client[view]'): {error}") from error


__all__ = [
    "AbortedError", "AxionError", "Batch", "BatchStats", "Client", "Contacts", "DEFAULT_TARGET", "Distances",
    "Dynamics", "DeadlineExceededError", "FailedPreconditionError", "FieldViolation", "Fleet", "FleetBatch", "Frame",
    "Histogram", "InternalError", "InvalidArgumentError", "Linearisation", "Model", "Named", "NotFoundError",
    "Outcome", "PermissionDeniedError", "RayHits", "RecordedRun", "ResourceExhaustedError", "RunLog", "Scene", "State",
    "StepGradient", "StepResult", "StepStream", "TaskResult", "UnauthenticatedError", "UnavailableError", "UnimplementedError", "Watch",
    "WorldStats", "__version__", "local", "read_mjcf", "read_urdf", "read_usd", "solver_options", "task_spec", "to_array",
    "to_pandas", "to_tensor", "to_xarray",
]
