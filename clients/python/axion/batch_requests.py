"""Requests about the worlds of a batch, made of arguments: what calls of every transport send."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from axion import tensors
from axion.arguments import checked
from axion.names import Choices
from axion.tensors import Snapshots, Worlds
from axion.texts import documented
from axion.v1 import simulation_pb2, state_pb2, task_pb2

if TYPE_CHECKING:
    from axion.model import Model

Kind = Literal["body", "shape"]
IndexOfName = Callable[[str, "int | str", Kind], int]


class ModelWanted(Exception):
    """A name stands where an index may, and what has it is not known yet."""


def index_in(model: Model | None, field: str, given: int | str, kind: Kind) -> int:
    """The index of a body or shape of the model that is given by its name; a body may be the "world"."""
    if not isinstance(given, str):
        try:
            return operator.index(given)
        except TypeError:
            raise TypeError(f"{field}: wants an index or a name, not {given!r}") from None
    if model is None:
        raise ModelWanted
    names = model.body_names if kind == "body" else model.shape_names
    if given in names:
        return names.index(given)
    if kind == "body" and given == "world":
        return -1
    raise KeyError(f"{field}: {given!r} is none of the names {', '.join(name for name in names if name)}")


class BatchRequests:
    """A batch as the server told of it; n, nb, nq, nv and nu are as in Batch."""

    _known_model: Model | None = None  # once a name was asked for

    def __init__(self, proto: simulation_pb2.Batch) -> None:
        self.proto = proto
        self.name = proto.name
        self.model = proto.model
        self.world_count = proto.world_count
        self.dt = proto.dt
        self.device = proto.device
        self.memory_bytes = proto.memory_bytes

    @property
    def task(self) -> task_pb2.TaskInfo:
        """axion.v1.TaskInfo : What follows from its task: sizes, bounds and names; empty without a task."""
        return self.proto.task

    def __len__(self) -> int:
        """Its worlds."""
        return self.world_count

    def _indices(self, worlds: Worlds) -> list[int]:
        return tensors.world_indices(worlds, self.world_count)

    def _request_id(self) -> str:
        """Of a call that is to be made once however often it is sent; none if it is never made again."""
        raise NotImplementedError

    @property
    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """dict of str to tuple of int : Shape, for one world, of each number that a world may have of its own.

        gravity [3]; body_mass [nb], body_center_of_mass [nb, 3], body_inertia [nb, 6] (xx yy zz xy xz yz); axis_damping
        and others [axes], axis_anchor [axes, 3], of hinges and slides joint by joint; shape_friction and others
        [shapes], shape_size, shape_position [shapes, 3]; actuator_gear and others [nu]. Units as in SceneSpec;
        Batch.proto.parameters has what each is.
        """
        return Choices("parameter", {info.name: tuple(info.shape) for info in self.proto.parameters})

    @documented
    @checked
    def step_request(self, control: npt.ArrayLike | None = None, steps: int = 1, outputs: str | Iterable[str] = (),
                     record_every: int = 0, worlds: Worlds = None, expected_step: int | None = None,
                     body_wrench: npt.ArrayLike | None = None, request_id: str = "",
                     mocap_pose: npt.ArrayLike | None = None) -> simulation_pb2.StepRequest:
        """Makes the message that `step` sends, for StepStream.

        Returns
        -------
        StepRequest
            The message.

        Raises
        ------
        TypeError
            An array is not of real numbers.
        ValueError
            An array has no such shape.
        """
        request = simulation_pb2.StepRequest(
            batch=self.name, world_indices=self._indices(worlds), step_count=steps, record_every=record_every,
            outputs=[outputs] if isinstance(outputs, str) else outputs,
            request_id=request_id or self._request_id(),
            expected_incarnation=self.proto.incarnation)
        if control is not None:
            per_world = self._per_world(control, len(request.world_indices), "control")
            request.control.CopyFrom(tensors.to_tensor(per_world, "control"))
        for name, array in (("body_wrench", body_wrench), ("mocap_pose", mocap_pose)):
            if array is not None:
                rows = tensors.of_each_world(array, tensors.WORLD_DIMENSIONS[name], len(request.world_indices) or self.world_count, name)
                getattr(request, name).CopyFrom(tensors.to_tensor(rows, name))
        if expected_step is not None:
            request.expected_step = expected_step
        return request

    def _per_world(self, given: npt.ArrayLike, count: int, name: str) -> npt.NDArray[Any]:
        """One row of controls stands for all worlds."""
        values = tensors.as_array(given, name)
        if values.ndim == 0:
            raise ValueError(f"{name}: wants shape [nu], [n, nu] or [n, k, nu], not a single number")
        return np.broadcast_to(values, (count or self.world_count, len(values))) if values.ndim == 1 else values

    def _state_update(self, worlds: list[int], snapshot: Snapshots | None, parameters: Mapping[str, npt.ArrayLike] | None = None,
                      **arrays: npt.ArrayLike | None) -> state_pb2.StateUpdate | None:
        count, shapes = len(worlds) or self.world_count, self.parameter_shapes
        given = {name: tensors.to_tensor(tensors.of_each_world(array, tensors.WORLD_DIMENSIONS[name], count, name), name)
                 for name, array in arrays.items() if array is not None}
        numbers = {name: tensors.of_each_world(array, len(shapes.get(name, ())) + 1, count, f'parameters["{name}"]')
                   for name, array in (parameters or {}).items()}
        if not given and snapshot is None and not numbers:
            return None
        return state_pb2.StateUpdate(**given, snapshot=() if snapshot is None else tensors.snapshot_list(snapshot),
                                     parameters=tensors.to_tensors(numbers, "parameters"))
