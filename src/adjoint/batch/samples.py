"""Functions that may or may not be able to work on many samples at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.batch.batched import Batched
from adjoint.core.box import outermost, settled
from adjoint.core.errors import BatchedValueError
from adjoint.core.objects.trees import flatten
from adjoint.core.types import Array, Function, Value


class PerSample:
    """Something that is no array, one for each sample: a factorisation, say, that foreign code made."""

    def __init__(self, items: Sequence[object], level: int) -> None:
        self.items, self.level = items, level


def each_sample(function: Function, *args: object) -> Value:
    """``function(*args)`` of trees: for all samples at once, or if it cannot do that, for one after another.

    What it gives are trees too: arrays, and anything else.
    """
    try:
        return function(*args)
    except Exception:  # foreign code has errors of its own for what is not one number
        leaves, rebuild = flatten(args)
        if not isinstance(outermost(leaves), Batched) and not any(isinstance(x, PerSample) for x in leaves):
            raise
    top: Value = max([x for x in leaves if isinstance(x, Batched | PerSample)], key=lambda x: x.level)
    level = top.level
    n = len(top.items) if isinstance(top, PerSample) else _count(leaves, level)
    results = [each_sample(function, *rebuild([_sample(x, i, level) for x in leaves])) for i in range(n)]
    columns = zip(*(flatten(result)[0] for result in results), strict=True)
    return flatten(results[0])[1]([_together(list(column), level) for column in columns])


def _count(leaves: Sequence[Array], level: int) -> int:
    for x in leaves:
        if isinstance(x, Batched) and x.level == level and x.layers[1]:
            return int(x.layers[0].shape[0])
    raise BatchedValueError("inside vmap, the function asks for one value of what differs between samples, and none "
                            "of its arguments does")  # fmt: skip


def _sample(x: Array, i: int, level: int) -> Array:
    """What `x` is for sample number `i`."""
    x = settled(x, level)
    if isinstance(x, PerSample) and x.level == level:
        return x.items[i]
    if isinstance(x, Batched) and x.level == level:
        data, stacked = x.layers
        return data[i] if stacked else data
    return x


def _together(column: list[Value], level: int) -> object:
    first = column[0]
    if all(x is first for x in column):
        return first
    if not all(isinstance(x, float | int | complex) or hasattr(x, "dtype") for x in column):
        return PerSample(column, level)
    shapes = {np.shape(x) for x in column}
    if len(shapes) > 1:
        raise BatchedValueError(
            f"a function inside vmap gives results of different shapes for different samples "
            f"({', '.join(map(str, sorted(shapes)))}), which do not fit into one array"
        )
    return Batched.of((np.stack(column), True), level)
