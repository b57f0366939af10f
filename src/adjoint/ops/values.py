"""Functions of the numbers alone: those without a derivative are called on plain arrays."""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import alone, as_array
from adjoint.core.box import Box, apply, raw, varies
from adjoint.core.memory import NEW
from adjoint.core.op import Op
from adjoint.core.types import Array, Function


def values_of(x: Array) -> Array:
    """The numbers alone, of any array or box."""
    return alone(x) if isinstance(x, Box) else as_array(x)


def with_shape(x: Array) -> Array:
    """An array or a box as it is; a list or a number as an array."""
    return x if hasattr(x, "shape") else np.asarray(x)


def is_number(x: Array) -> bool:
    """Whether `x` is one of NumPy's numbers, which nobody can write into."""
    return x._is_number() if isinstance(x, Box) else isinstance(x, np.generic)  # type: ignore[attr-defined]  # of boxes


def on_values(function: Function, *xs: Array) -> Array:
    """`function` of the numbers alone; inside vmap, of one sample's after another's; of symbols, one operation."""
    boxed = [i for i, x in enumerate(xs) if isinstance(x, Box)]
    if not any(varies(x) or isinstance(raw(x), Box) for x in xs):
        return function(*(values_of(x) if i in boxed else x for i, x in enumerate(xs)))

    def of_boxed(*values: Array) -> Array:
        given = list(xs)
        for i, value in zip(boxed, values, strict=True):
            given[i] = value
        return function(*given)

    op = Op(function.__name__.strip("_"), of_boxed, ("*xs",), kind="constant", memory=NEW)
    return apply(op, [xs[i] for i in boxed], {})
