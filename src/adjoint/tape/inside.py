"""The plain arrays inside the values that pass through the tape."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from adjoint.arrays.fast_path import WithFastPaths
from adjoint.core.box import Box
from adjoint.core.rules.cotangents import Lazy
from adjoint.core.rules.pullbacks import Pullback
from adjoint.core.types import Array


def arrays(value: Array) -> Iterator[np.ndarray | np.generic]:
    """The plain arrays and NumPy numbers in boxes, in sequences, and in cotangents that are not written out."""
    while isinstance(value, Box | Lazy):
        if isinstance(value, WithFastPaths):  # of a dual, its tangent too
            value = value.layers
        else:
            value = value.held if isinstance(value, Box) and value.goes_back else getattr(value, "value", None)
    if isinstance(value, np.ndarray | np.generic):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from arrays(item)


def parent_numbers(pullback: Pullback, saved: tuple[Array, ...]) -> tuple[int, ...]:
    """The numbers of those inputs of an operation that its node's parents are."""
    return pullback.wanted or tuple(dict(zip(pullback.names, saved, strict=True)).get("needs", ()))


def input_name(pullback: Pullback, number: int) -> str:
    """What input `number` of an operation is called."""
    first = pullback.op.inputs[0]
    return f"{first[1:]}[{number}]" if first[0] == "*" else pullback.op.inputs[number]
