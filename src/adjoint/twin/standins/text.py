"""Numbers as text: printing a value and writing it into a message drops no derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.box import raw, varies
from adjoint.twin.standins.values import CONTAINERS, is_box, plainly


class Samples(float):
    """A value that differs between samples, for a message: where it is not the text of them all, it is the first."""

    __slots__ = ("text",)
    text: str

    def __str__(self) -> str:
        return self.text

    def __format__(self, spec: str) -> str:
        return float.__format__(self, spec) if spec else self.text


def formatted(x: Any) -> Any:
    """`x` for a message: the numbers of a box, or of the boxes in a container."""
    if is_box(x):
        return _of_samples(x) if varies(x) else plainly(x)
    if not isinstance(x, CONTAINERS):
        return x
    if not _differ(x):
        return plainly(x)
    return tuple(map(formatted, x)) if isinstance(x, tuple) else [formatted(q) for q in x]


def _of_samples(x: Any) -> Any:
    values = np.asarray(_values(x))
    if x.shape or not values.size:
        return values
    value = Samples(np.real(values.flat[0]))
    value.text = np.array2string(values)
    return value


def _values(x: Any) -> Any:
    values = raw(x)
    return getattr(values, "value", values)


def _differ(x: Any) -> bool:
    if isinstance(x, CONTAINERS):
        return any(map(_differ, x.values() if isinstance(x, dict) else x))
    return varies(x)


def shown(original: Callable[..., Any]) -> Callable[..., Any]:
    """The stand-in of a function that makes text of its arguments."""

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        return original(*map(formatted, args), **{name: formatted(value) for name, value in kwargs.items()})

    return stand_in


def serialising(original: Callable[..., Any]) -> Callable[..., Any]:
    """The stand-in of a function that writes Python's numbers: ``json.dumps``."""

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        return original(*map(_pythons, args), **kwargs)

    return stand_in


def _pythons(x: Any) -> Any:
    if is_box(x):
        values = plainly(x)
        return values.item() if isinstance(values, np.generic) else values
    if isinstance(x, dict):
        return {key: _pythons(value) for key, value in x.items()}
    return list(map(_pythons, x)) if isinstance(x, list | tuple) else x
