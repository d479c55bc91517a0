"""What is given to environments, by their callers and by the own methods of a task, checked: errors begin with the name of the argument or
of the method."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from axion.client import Client
from axion.fleet import Fleet
from axion.gym.server_tasks import ServerTask, server_task
from axion.tensors import as_array

_Bools = npt.NDArray[np.bool_]


def task_of(task: ServerTask | str, choices: Mapping[str, Any]) -> ServerTask:
    """The task, made with the choices where it is named."""
    if isinstance(task, str):
        return server_task(task, **choices)
    if not isinstance(task, ServerTask):
        raise TypeError(f"task: wants a ServerTask or the name of one of Gymnasium's, not {task!r}"[:200])
    if choices:
        raise TypeError(f"{', '.join(choices)}: are given to the ServerTask itself")
    return task


def mode_of(autoreset_mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(autoreset_mode)
    except ValueError:
        raise ValueError(f"autoreset_mode: {autoreset_mode!r} is none of {', '.join(mode.value for mode in AutoresetMode)}") from None


def check_client(client: Client | Fleet | None) -> None:
    if client is not None and not isinstance(client, (Client, Fleet)):
        raise TypeError(f"client: wants Client, Fleet or None, not {client!r}; the address of a server is given as `target`"[:200])


def seeds_of(seed: int | Sequence[int | None] | None, count: int) -> list[int | None]:
    """A seed of each world, None for a world that goes on with its own."""
    if seed is None:
        return [None] * count
    several = isinstance(seed, Iterable) and not isinstance(seed, (str, bytes, bytearray, Mapping)) and getattr(seed, "ndim", 1) > 0
    given: list[Any] = list(seed) if several and isinstance(seed, Iterable) else [seed]
    for each in given:
        if each is None:
            continue
        if isinstance(each, (bool, np.bool_)) or not hasattr(each, "__index__") or getattr(each, "ndim", 0) > 0:
            raise TypeError(f"seed: wants whole numbers, not {each!r}"[:200])
        if not 0 <= operator.index(each) < 1 << 64:
            raise ValueError(f"seed: {each} is not from 0 to 2**64 - 1")
    if not several:
        given = [operator.index(given[0]) + world for world in range(count)]
        if given[-1] >= 1 << 64:
            raise ValueError(f"seed: {seed} leaves no seeds below 2**64 for {count} environments")
    if len(given) != count:
        raise ValueError(f"seed: has {len(given)} numbers for {count} environments")
    return [None if each is None else operator.index(each) for each in given]


def mask_of(options: Mapping[str, Any] | None, count: int) -> _Bools:
    """The worlds in which reset begins episodes."""
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"options: wants a dict or None, not {options!r}"[:200])
    if options is None or "reset_mask" not in options:
        return np.ones(count, dtype=bool)
    mask = as_array(options["reset_mask"], "options['reset_mask']")
    if mask.dtype != np.bool_ or mask.shape != (count,) or not mask.any():
        raise ValueError(f"options['reset_mask']: must be {count} booleans, one of them true")
    return mask


def actions_of(actions: npt.ArrayLike, shape: Sequence[int]) -> npt.NDArray[Any]:
    """Actions of all worlds."""
    action = as_array(actions, "actions")
    if action.shape != tuple(shape):
        raise ValueError(f"actions: have shape {list(action.shape)}; it must be {list(shape)}")
    if action.dtype.kind not in "biuf":
        raise TypeError(f"actions: wants an array of real numbers, not of {action.dtype}")
    finite = np.isfinite(action).all(axis=1)
    if not finite.all():
        raise ValueError(f"actions: are not finite in world {np.argmin(finite)}")
    return action


def own_observations(given: npt.ArrayLike, shape: Sequence[int | None]) -> npt.NDArray[Any]:
    """What ServerTask.observe gives, of a shape whose first number is that of the worlds; a shape of that alone takes any other numbers."""
    seen = as_array(given, "observe")
    if seen.dtype.kind not in "if":
        raise TypeError(f"observe: has to give an array of floats or integers, not of {seen.dtype}")
    if seen.shape != tuple(shape) and (len(shape) > 1 or seen.shape[:1] != tuple(shape)):
        raise ValueError(f"observe: gives the shape {list(seen.shape)}; it must {'begin with' if len(shape) == 1 else 'be'} {list(shape)}")
    return seen


def own_rewards(given: Mapping[str, npt.ArrayLike], names: Iterable[str], count: int) -> dict[str, npt.NDArray[np.float64]]:
    """What ServerTask.rewards gives, besides the server's terms of these names."""
    if not isinstance(given, Mapping):
        raise TypeError(f"rewards: has to give a dict of arrays by name, not {given!r}"[:200])
    terms = {name: as_array(values, f'rewards["{name}"]', np.float64) for name, values in given.items()}
    for name, values in terms.items():
        if name in names:
            raise ValueError(f'rewards["{name}"]: the server\'s task has a term of this name, too')
        if values.shape not in ((), (count,)):
            raise ValueError(f'rewards["{name}"]: has shape {list(values.shape)}; it must be [{count}]')
    return terms


def own_ends(given: npt.ArrayLike, count: int) -> _Bools:
    """What ServerTask.terminated gives."""
    ends = as_array(given, "terminated")
    if ends.dtype != np.bool_ or ends.shape != (count,):
        raise ValueError(f"terminated: gives {ends.dtype} {list(ends.shape)}; it must be bool [{count}]")
    return ends
