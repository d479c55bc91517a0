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
    is_listed = type(value) is tuple or type(value) is list  # mostly, and the rest is slow
    return is_listed and all(map(_is_text, value)) or _is_several(value) and (
        isinstance(value, Iterator) or all(map(_is_text, value)))


def _is_several(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray, Mapping)) and getattr(value, "ndim", 1) > 0


_AT_ONCE: dict[str, type] = {"None": type(None), "int": int, "float": float, "bool": bool}  # of which every value is right
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
    return found and next((name for name, value in given.items() if isinstance(value, (int, np.integer)) and value == int(found[1])), None)


def checked(function: _Function) -> _Function:
    """Decorator: a function that raises TypeError for an argument that is nothing of its annotation, before it does anything.

    Arrays, worlds, tasks and scenes are left to what makes messages of them.
    """
    signature = inspect.signature(function)
    checks: dict[str, tuple[str, tuple[_Check, ...]]] = {}
    looked_at: list[tuple[str, int, Any, frozenset[type]]] = []  # with place, default and the types that it has mostly
    for place, (name, one) in enumerate(signature.parameters.items()):
        check = None if name in _DOCUMENTS or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) else _check_of(str(one.annotation))
        if check is not None:
            checks[name] = check
            at_once = frozenset(_AT_ONCE[alternative] for alternative in _alternatives(str(one.annotation)) if alternative in _AT_ONCE)
            looked_at.append((name, place, one.default, at_once))

    def refuse_unless_right(name: str, value: Any) -> None:
        words, passes = checks[name]
        if not any(check(value) for check in passes):
            raise TypeError(f"{name}: wants {words}, not {repr(value)[:80]} of type {type(value).__name__}")

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        count = len(arguments)
        for name, place, default, at_once in looked_at:
            if place < count:
                value = arguments[place]
            elif name in named:
                value = named[name]
            else:
                continue
            if value is not default and type(value) not in at_once:
                refuse_unless_right(name, value)
        try:
            return function(*arguments, **named)
        except ValueError as error:
            too_large = _out_of_range(error, named | dict(zip(signature.parameters, arguments)))
            if too_large is None:
                raise
            raise ValueError(f"{too_large}: {error}") from None
    return cast(_Function, call)
