"""Arguments of calls, checked against their annotations before anything is sent: errors begin with the argument's name."""

from __future__ import annotations

import functools
import inspect
import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Check = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a pair, of which no message can be made
        return False
    return True


def _is_index(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return False
    try:
        return -1 << 63 <= operator.index(value) < 1 << 64
    except TypeError:
        return False


def _is_number(value: Any) -> bool:
    if isinstance(value, (str, bytes, bytearray)) or getattr(value, "ndim", 0) > 0:
        return False
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _are_texts(value: Any) -> bool:
    """An iterator is not looked into: it would be used up."""
    return _is_several(value) and (isinstance(value, Iterator) or all(_is_text(one) for one in value))


def _is_several(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray, Mapping)) and getattr(value, "ndim", 1) > 0


_DOCUMENTS = ("mjcf", "urdf")  # whose mistakes files.check_texts knows

_CHECKS: dict[str, _Check] = {
    "None": lambda value: value is None,
    "str": _is_text,
    "int": _is_index,
    "float": _is_number,
    "bool": lambda value: isinstance(value, (bool, np.bool_)) or (_is_index(value) and value in (0, 1)),
    "bytes": lambda value: isinstance(value, bytes),
    "os.PathLike": lambda value: isinstance(value, os.PathLike),
    "datetime.timedelta": lambda value: hasattr(value, "total_seconds"),
    "Mapping": lambda value: isinstance(value, Mapping) and all(_is_text(key) for key in value),
    "Iterable[str]": _are_texts,
    "Iterable": _is_several,
    "Sequence[str | os.PathLike[str]]": lambda value: isinstance(value, Sequence) and _is_several(value) and all(
        _is_text(one) or isinstance(one, os.PathLike) for one in value),
    "Sequence": lambda value: isinstance(value, Sequence) and _is_several(value),
    # Whatever transport they are of.
    "Model": lambda value: hasattr(value, "name"),
    "Batch": lambda value: hasattr(value, "name"),
    "snapshot_pb2.Snapshot": lambda value: hasattr(value, "content"),
}


def _alternatives(annotation: str) -> list[str]:
    """Of a union."""
    found, depth = [""], 0
    for letter in annotation:
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [one.strip() for one in found]


def _check_of(annotation: str) -> tuple[str, tuple[_Check, ...]] | None:
    """In words what is wanted, and the checks one of which it must pass; None where another place checks it."""
    wanted = _alternatives(annotation)
    checks = [_CHECKS.get(one) or _CHECKS.get(one.partition("[")[0]) for one in wanted]
    if any(check is None for check in checks):
        return None
    words = " or ".join(re.sub(r"\w+(_pb2)?\.(?=\w)", "", one) for one in wanted)
    return words, tuple(check for check in checks if check is not None)


def _out_of_range(error: ValueError, given: Mapping[str, Any]) -> str | None:
    """The name of the argument that a field of a message is too small for."""
    found = re.fullmatch(r"Value out of range: (-?\d+)", str(error))
    return found and next((name for name, value in given.items() if _is_index(value) and int(value) == int(found[1])), None)


def checked(function: _Function) -> _Function:
    """Decorator: a function that raises TypeError for an argument that is nothing of its annotation, before it does anything.

    Arrays, worlds, tasks and scenes are left to what makes messages of them.
    """
    signature = inspect.signature(function)
    checks = {name: check for name, one in signature.parameters.items()
              if name not in _DOCUMENTS and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) and (check := _check_of(str(one.annotation))) is not None}
    places = {name: place for place, name in enumerate(signature.parameters)}

    def refuse(name: str, value: Any) -> None:
        words, passes = checks[name]
        if value is signature.parameters[name].default or any(check(value) for check in passes):
            return
        shown = f"{value!r}"[:80]
        raise TypeError(f"{name}: wants {words}, not {shown} of type {type(value).__name__}")

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        for name in checks:
            if name in named:
                refuse(name, named[name])
            elif places[name] < len(arguments):
                refuse(name, arguments[places[name]])
        try:
            return function(*arguments, **named)
        except ValueError as error:
            name = _out_of_range(error, named | dict(zip(signature.parameters, arguments)))
            if name is None:
                raise
            raise ValueError(f"{name}: {error}") from None
    return cast(_Function, call)
