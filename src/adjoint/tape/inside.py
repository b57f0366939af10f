"""What is inside of the values that pass through the tape: the plain arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.arrays.fast_path import Shortened
from adjoint.core.box import Box
from adjoint.core.cotangents import Lazy
from adjoint.core.pulls import Pull


def arrays(value: Any) -> Iterator[np.ndarray | np.generic]:
    """The plain arrays and NumPy numbers in boxes, in sequences, and in cotangents that are not written out."""
    while isinstance(value, Box | Lazy):
        if isinstance(value, Shortened):  # of a dual, its tangent too
            value = value.layers
        else:
            value = getattr(value, "value" if isinstance(value, Lazy) else "data", None)
    if isinstance(value, np.ndarray | np.generic):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from arrays(item)


def parent_numbers(pull: Pull, saved: tuple[Any, ...]) -> tuple[int, ...]:
    """The numbers of those inputs of an operation that its node's parents are."""
    return pull.wanted or tuple(dict(zip(pull.names, saved, strict=True)).get("needs", ()))


def input_name(pull: Pull, number: int) -> str:
    """What input `number` of an operation is called."""
    first = pull.op.inputs[0]
    return f"{first[1:]}[{number}]" if first[0] == "*" else pull.op.inputs[number]
