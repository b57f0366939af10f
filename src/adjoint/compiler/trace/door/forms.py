"""Results without axes: a Python number, a NumPy number or an array is returned as what NumPy would return."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.core.box import has_box
from adjoint.core.types import Array, Function, Value
from adjoint.graph.symbol import LEVEL, Number, Symbol
from adjoint.tape.tensor import Tensor


def in_form(g: Function, values: Sequence[object], named: dict[str, object], found: Array) -> Array | None:
    """`found`, which `g` gave for symbols, as what `g` gives for their values."""
    whole = found if isinstance(found, tuple) else (found,)
    if not any(type(x) is Symbol and not np.ndim(x.value) for x in whole) or "out" in named:
        return found
    given, settings = _bare(values), _bare(named)
    if any(map(has_box, (*given, *settings.values()))):
        return found
    plain = g(*given, **settings)
    if not isinstance(found, tuple):
        return formed(found, plain)
    parts = map(formed, found, plain)
    return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)


def formed(x: Symbol, plain: Array) -> Symbol:
    """A symbol without axes as what `plain` is."""
    if type(x) is not Symbol or np.ndim(x.value):
        return x
    if type(plain) in (bool, int, float, complex):
        return Number.of((x.value.item(), x.node), LEVEL)
    if isinstance(plain, np.ndarray) is isinstance(x.value, np.ndarray):
        return x
    value = np.asarray(x.value)
    return Symbol.of((value if isinstance(plain, np.ndarray) else value[()], x.node), LEVEL)


def _bare(x: Value) -> Value:
    """The values that symbols have now, in a tree."""
    if isinstance(x, Symbol):
        return x.value
    if isinstance(x, Tensor) and not x.level:
        return _bare(x.data)
    if type(x) in (list, tuple):
        return type(x)(map(_bare, x))
    return {k: _bare(v) for k, v in x.items()} if type(x) is dict else x
