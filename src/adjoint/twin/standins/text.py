"""Numbers as text: printing a value and writing it into a message drops no derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.box import raw, varies
from adjoint.twin.standins.values import CONTAINERS, is_box, plainly


class Samples(str):
    """The text of a value that differs between samples: any format specification gives it as it is."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return str(self)


def formatted(x: Any) -> Any:
    """`x` for a message: the numbers of a box, or of the boxes in a container."""
    if is_box(x):
        return Samples(np.array2string(np.asarray(_values(x)))) if varies(x) else plainly(x)
    if not isinstance(x, CONTAINERS):
        return x
    return plainly(x) if not _differ(x) else [formatted(q) for q in (x.values() if isinstance(x, dict) else x)]


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
