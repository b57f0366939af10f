"""Stand-ins for ``numpy.emath``: outside of a function's real domain, the result is complex."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from adjoint.core.box import raw
from adjoint.core.types import Array, Function, Value
from adjoint.twin.standins.of_numpy.joining import joined
from adjoint.twin.standins.values import boxed

_INSIDE: dict[str, Callable[[Value], Value]] = {
    **{name: lambda x: x >= 0 for name in ("sqrt", "log", "log2", "log10", "power")},
    **{name: lambda x: np.abs(x) <= 1 for name in ("arccos", "arcsin", "arctanh")},
}


def _fitting(name: str, x: Value) -> Array:
    """`x`, made complex if the function called `name` is not real for one of its values."""
    x = joined(x)
    if np.iscomplexobj(x) or not boxed(x):
        return x if boxed(x) or np.iscomplexobj(x) or np.all(_INSIDE[name](np.asarray(x))) else np.asarray(x) + 0j
    return x if bool(np.all(_INSIDE[name](raw(x)))) else x + 0j


def _of(name: str) -> Function:
    original, function = getattr(np.emath, name), getattr(np, name)

    def stand_in(x: Array, *rest: object) -> Array:
        if not any(map(boxed, (x, *rest))):
            return original(x, *rest)
        return function(_fitting(name, x), *map(joined, rest))

    return stand_in


def _logn(n: Value, x: Value) -> object:
    if not (boxed(n) or boxed(x)):
        return np.emath.logn(n, x)
    return np.log(_fitting("log", x)) / np.log(_fitting("log", n))


def table() -> Iterable[tuple[Value, Function]]:
    """The functions of ``numpy.emath``, and their stand-ins."""
    for name in _INSIDE:
        yield getattr(np.emath, name), _of(name)
    yield np.emath.logn, _logn
