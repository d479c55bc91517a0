"""What a fleet's batch sends to each server, and the answers of several servers as one, in the caller's order of worlds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from axion import tensors
from axion.v1 import state_pb2, tensor_pb2

_Indices: TypeAlias = "npt.NDArray[np.int64]"

# What has no row for each world: rays that all worlds have alike, one snapshot for all, names of columns.
_ALIKE_DIMENSIONS = {"origin": 2, "direction": 2}
_WITHOUT_ROWS = ("fields", "inputs", "outputs", "parameters", "pairs", "frames", "ignored_bodies", "residual_blocks",
                 "coordinates")


def cut(request: Any, rows: _Indices, count: int) -> Any:
    """The part of a request about `count` worlds that these rows are of; `world_indices` is left to the caller.

    Raises ValueError where something has not one row for each of the worlds.
    """
    mine = type(request)()
    for field, value in request.ListFields():
        name = field.name
        if name == "world_indices":
            continue
        if isinstance(value, tensor_pb2.Tensor):
            getattr(mine, name).CopyFrom(_rows_of(value, rows, count, name))
        elif hasattr(value, "items"):
            for key, tensor in value.items():
                getattr(mine, name)[key].CopyFrom(_rows_of(tensor, rows, count, f'{name}["{key}"]'))
        elif hasattr(value, "extend"):
            whole = name in _WITHOUT_ROWS or (name == "snapshot" and len(value) == 1)
            if not whole and len(value) != count:
                raise ValueError(f"{name}: has {len(value)} values for {count} worlds")
            getattr(mine, name).extend(value if whole else [value[row] for row in rows])
        elif field.message_type is not None:
            getattr(mine, name).CopyFrom(cut(value, rows, count))
        else:
            setattr(mine, name, value)
    return mine


def _rows_of(tensor: tensor_pb2.Tensor, rows: _Indices, count: int, name: str) -> tensor_pb2.Tensor:
    if len(tensor.shape) == _ALIKE_DIMENSIONS.get(name):
        return tensor
    if not tensor.shape or tensor.shape[0] != count:
        raise ValueError(f"{name}: has shape {list(tensor.shape)}; it must have a row for each of {count} worlds")
    return tensors.with_data(tensor, tensors.to_array(tensor)[rows])


def joined(answers: Sequence[Any], rows: Sequence[_Indices], firsts: Sequence[int]) -> Any:
    """Answers as one, whose row rows[p][i] is row i of answer p, whose worlds are counted from firsts[p] on."""
    asked = np.concatenate(rows)
    order = None if (asked[1:] > asked[:-1]).all() else np.argsort(asked)  # None: they follow each other as they are
    if not isinstance(answers[0], state_pb2.GetContactsResponse):
        return _joined(answers, rows, firsts, order)
    whole = _joined(answers, rows, firsts, order, ("world_indices", "contact_count"))
    counts = np.concatenate([np.array(answer.contact_count, dtype=np.int64) for answer in answers])
    starts = np.cumsum(counts) - counts
    contacts = None if order is None else np.concatenate([np.arange(starts[row], starts[row] + counts[row]) for row in order])
    columns = [name for name in whole.DESCRIPTOR.fields_by_name if name not in ("world_indices", "contact_count")]
    whole.MergeFrom(_joined(answers, rows, firsts, contacts, columns))
    return whole


def _joined(answers: Sequence[Any], rows: Sequence[_Indices], firsts: Sequence[int], order: _Indices | None,
            names: Sequence[str] = ()) -> Any:
    """Likewise, of the fields of these names, or of all; row i is row order[i] of the answers one after the other."""
    whole = type(answers[0])()
    for field in whole.DESCRIPTOR.fields:
        name, values = field.name, [getattr(answer, field.name) for answer in answers]
        # With final_rows; sums over all worlds.
        if (names and name not in names) or name in ("final_observation", "final_privileged_observation", "batch"):
            continue
        if name == "final_rows":
            ended = np.concatenate([row[np.array(value, dtype=np.int64)] for row, value in zip(rows, values)])
            if len(ended):
                whole.final_rows.extend(np.sort(ended).tolist())
                last = [answer.final_observation for answer in answers if answer.final_rows]
                whole.final_observation.CopyFrom(_stacked(last, np.argsort(ended)))
                if answers[0].HasField("privileged_observation"):
                    last = [answer.final_privileged_observation for answer in answers if answer.final_rows]
                    whole.final_privileged_observation.CopyFrom(_stacked(last, np.argsort(ended)))
        elif name == "world_indices":
            whole.world_indices.extend(_ordered([first + world for first, value in zip(firsts, values) for world in value], order))
        elif hasattr(values[0], "items"):
            for key in values[0]:
                getattr(whole, name)[key].CopyFrom(_stacked([value[key] for value in values], order))
        elif hasattr(values[0], "extend"):
            getattr(whole, name).extend(values[0] if name in _WITHOUT_ROWS else _ordered(list(itertools.chain(*values)), order))
        elif field.message_type is None:
            setattr(whole, name, values[0])
        elif answers[0].HasField(name):
            is_tensor = isinstance(values[0], tensor_pb2.Tensor)
            getattr(whole, name).CopyFrom(_stacked(values, order) if is_tensor else _joined(values, rows, firsts, order))
    return whole


def _ordered(values: list[Any], order: _Indices | None) -> list[Any]:
    return values if order is None or not values else [values[row] for row in order]


def _stacked(parts: Sequence[tensor_pb2.Tensor], order: _Indices | None) -> tensor_pb2.Tensor:
    if order is None:
        return tensor_pb2.Tensor(dtype=parts[0].dtype, shape=[sum(part.shape[0] for part in parts), *parts[0].shape[1:]],
                                 data=b"".join(part.data for part in parts))
    return tensors.with_data(parts[0], np.concatenate([tensors.to_array(part) for part in parts])[order])


def world_seeds(seed: int, first: int, end: int) -> npt.NDArray[np.uint64]:
    """The seeds that the server gives worlds first to end - 1 of one batch with this seed: uint64 [end - first].

    SplitMix64 (Steele, Lea, Flood 2014) of both, as server/schedule/initial_noise.cpp has it.
    """
    golden = np.uint64(0x9E3779B97F4A7C15)

    def mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return bits ^ (bits >> np.uint64(31))
    of_batch = mixed(np.array([seed], dtype=np.uint64) + golden)
    return mixed(of_batch ^ (np.arange(first + 1, end + 1, dtype=np.uint64) * golden))
