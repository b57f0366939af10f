"""Functions of SciPy's that tell places: neighbours, triangles, orders. What they give is constant.

They run on numbers alone; inside `vmap`, for one sample after another.
"""

from __future__ import annotations

import numpy as np

from adjoint.batch.batched import Batched
from adjoint.core.box import Box
from adjoint.core.errors import NotSupportedError
from adjoint.core.types import Function, Value
from adjoint.scipy.attached import constant
from adjoint.scipy.followed import NO_NUMBERS


def hosted(function: Function, *xs: Value) -> Value:
    """``function(*xs)`` of the numbers of `xs`: an array, or a tuple of arrays, as long for each sample of a `vmap`.

    Raises:
        NotSupportedError: while a program is captured, when there are no numbers.
    """
    return _sampled(function, [constant(x) if isinstance(x, Box) else x for x in xs])


def _sampled(function: Function, xs: list[Value]) -> Value:
    boxes = [x for x in xs if isinstance(x, Box)]
    if not boxes:
        return function(*xs)
    if not all(isinstance(x, Batched) for x in boxes):
        raise NotSupportedError(NO_NUMBERS)
    level = max(x.level for x in boxes)
    varied = [isinstance(x, Batched) and x.level == level and x.layers[1] for x in xs]
    inner = [x.layers[0] if isinstance(x, Batched) and x.level == level else x for x in xs]
    if not any(varied):
        return _sampled(function, inner)
    count = next(len(x) for x, many in zip(inner, varied, strict=True) if many)
    found = [
        _sampled(function, [x[i] if many else x for x, many in zip(inner, varied, strict=True)]) for i in range(count)
    ]
    if isinstance(found[0], tuple):
        return tuple(Batched.of((np.stack(parts), True), level) for parts in zip(*found, strict=True))
    return Batched.of((np.stack(found), True), level)
