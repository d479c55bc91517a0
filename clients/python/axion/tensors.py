"""NumPy arrays to and from axion.v1.Tensor: whole buffers, never element by element."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from axion.v1 import tensor_pb2

# Worlds that a call is about: one index, some, a boolean mask of all worlds, or None for all.
Worlds: TypeAlias = "int | Sequence[int] | Sequence[bool] | npt.NDArray[np.integer[Any]] | npt.NDArray[np.bool_] | None"
# One snapshot for all worlds, or one a world.
Snapshots: TypeAlias = "bytes | Sequence[bytes] | npt.NDArray[Any]"

_DTYPES: dict[int, np.dtype[Any]] = {
    tensor_pb2.DTYPE_FLOAT32: np.dtype("<f4"),
    tensor_pb2.DTYPE_FLOAT64: np.dtype("<f8"),
    tensor_pb2.DTYPE_INT32: np.dtype("<i4"),
    tensor_pb2.DTYPE_UINT32: np.dtype("<u4"),
    tensor_pb2.DTYPE_INT64: np.dtype("<i8"),
}
_CODES: dict[Any, Any] = {dtype: code for code, dtype in _DTYPES.items()}
_REALS = (_CODES[np.dtype("<f4")], _CODES[np.dtype("<f8")])


def as_array(array: npt.ArrayLike, name: str, dtype: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
    """numpy.asarray, whose errors, as of rows that differ in length, begin with the name."""
    try:
        return np.asarray(array, dtype)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def to_tensor(array: npt.ArrayLike, name: str = "array") -> tensor_pb2.Tensor:
    """Makes the message of an array of reals.

    Parameters
    ----------
    array : array_like
        [...]: anything that numpy.asarray takes. Float32 and float64 keep their type; integers, booleans and other
        floats become float64, as the server takes reals only. Other byte orders and layouts are converted.
    name : str, default 'array'
        What errors call it.

    Returns
    -------
    Tensor
        The message.

    Raises
    ------
    TypeError
        It is no array of real numbers.
    """
    values = as_array(array, name)
    dtype = values.dtype.newbyteorder("<") if values.dtype.kind == "f" else values.dtype
    if _CODES.get(dtype) not in _REALS:
        if values.dtype.kind not in "biuf":
            raise TypeError(f"{name}: wants an array of real numbers, not of {values.dtype}")
        dtype = np.dtype("<f8")
    values = np.ascontiguousarray(values, dtype=dtype) if values.ndim else values.astype(dtype)
    return tensor_pb2.Tensor(dtype=_CODES[dtype], shape=values.shape, data=values.tobytes())


# Dimensions of what worlds are given, with that of the worlds.
WORLD_DIMENSIONS = {"body_pose": 3, "body_velocity": 3, "joint_position": 2, "joint_velocity": 2, "time": 1, "activation": 2,
                    "mocap_pose": 3, "mass_scale": 2, "friction_scale": 1, "gain_scale": 2, "body_wrench": 3,
                    "action": 2}


def of_each_world(array: npt.ArrayLike, dimensions: int, world_count: int, name: str) -> npt.ArrayLike:
    """What all worlds are given: one robot's, which has a dimension less, stands for each of them."""
    values = as_array(array, name)
    return np.broadcast_to(values, (world_count, *values.shape)) if values.ndim == dimensions - 1 else array


def to_tensors(arrays: Mapping[str, npt.ArrayLike], name: str) -> dict[str, tensor_pb2.Tensor]:
    """Tensors by name; errors of to_tensor name `name["key"]`."""
    return {key: to_tensor(array, f'{name}["{key}"]') for key, array in arrays.items()}


def to_array(tensor: tensor_pb2.Tensor) -> npt.NDArray[Any]:
    """Makes an array of a message, without a copy.

    Parameters
    ----------
    tensor : Tensor
        The message.

    Returns
    -------
    numpy.ndarray
        [...] of its shape, read-only: it shares the bytes of the message.

    Raises
    ------
    ValueError
        The element type is unknown, or shape and bytes do not fit each other.
    """
    dtype = _DTYPES.get(tensor.dtype)
    if dtype is None:
        raise ValueError(f"tensor has the unknown element type {tensor.dtype}")
    shape = tuple(tensor.shape)
    expected = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    if any(extent < 0 for extent in shape) or len(tensor.data) != expected:
        raise ValueError(f"tensor of shape {shape} and type {dtype.name} wants {expected} bytes, has {len(tensor.data)}")
    array = np.frombuffer(tensor.data, dtype=dtype).reshape(shape)
    return array if sys.byteorder == "little" else array.astype(dtype.newbyteorder("="))


def with_data(tensor: tensor_pb2.Tensor, array: npt.NDArray[Any]) -> tensor_pb2.Tensor:
    """A tensor of an array of the type that another has."""
    return tensor_pb2.Tensor(dtype=tensor.dtype, shape=array.shape, data=array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())


def world_indices(worlds: Worlds, world_count: int, name: str = "worlds") -> list[int]:
    """A list of indices for `repeated int32 world_indices`; None means all worlds and gives an empty list.

    worlds: None, one index, a slice-free sequence or array of integers, or a boolean mask with one value for each of the
    `world_count` worlds. Raises TypeError for anything else, ValueError for a mask of another length and for an empty
    choice (which the server would read as "all").
    """
    if worlds is None:
        return []
    values = np.atleast_1d(as_array(worlds, name))
    if values.dtype == np.bool_:
        if values.shape != (world_count,):
            raise ValueError(f"{name}: a mask of shape {list(values.shape)} for {world_count} worlds; "
                             f"it must have shape [{world_count}]")
        values = np.flatnonzero(values)
    if values.size == 0:
        raise ValueError(f"{name}: chooses no world; pass None for all")
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise TypeError(f"{name}: wants a list of world indices, not {worlds!r}")
    if values.max() >= 1 << 31 or values.min() < -(1 << 31):
        raise ValueError(f"{name}: {max(values, key=abs)} is no index of {world_count} worlds")
    return [int(index) for index in values]


def snapshot_list(snapshot: Snapshots, name: str = "snapshot") -> list[bytes]:
    """A list for `repeated bytes snapshot`. Raises TypeError for what is neither bytes nor a sequence of them."""
    is_one = isinstance(snapshot, (bytes, bytearray, memoryview)) or not isinstance(snapshot, Iterable)
    given: list[Any] = [snapshot] if is_one else list(snapshot)
    if not all(isinstance(one, (bytes, bytearray, memoryview)) for one in given):
        raise TypeError(f"{name}: wants bytes, or one bytes a world, as get_state(fields=[\"snapshot\"]) gives them")
    if not given:
        raise ValueError(f"{name}: is empty")
    return [bytes(one) for one in given]
