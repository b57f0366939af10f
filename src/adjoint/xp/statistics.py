"""Sums and other statistics, and questions about all elements."""

from __future__ import annotations

import numpy as np

from adjoint.core.types import Array, Axes, DType, Value
from adjoint.xp.arrays import boxed


def all(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    return boxed(np.all(x, axis=axis, keepdims=keepdims))


def any(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    return boxed(np.any(x, axis=axis, keepdims=keepdims))


def diff(x: Array, /, *, axis: int = -1, n: int = 1, prepend: Value = None, append: Value = None) -> Array:
    ends = {name: end for name, end in (("prepend", prepend), ("append", append)) if end is not None}
    return boxed(np.diff(x, n, axis, **ends))


def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: DType = None, include_initial: bool = False
) -> Array:
    return boxed(np.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial))


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: DType = None, include_initial: bool = False
) -> Array:
    return boxed(np.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial))


def max(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    return boxed(np.max(x, axis=axis, keepdims=keepdims))


def mean(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    return boxed(np.mean(x, axis=axis, keepdims=keepdims))


def min(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    return boxed(np.min(x, axis=axis, keepdims=keepdims))


def prod(x: Array, /, *, axis: Axes | None = None, dtype: DType = None, keepdims: bool = False) -> Array:
    return boxed(np.prod(x, axis=axis, dtype=dtype, keepdims=keepdims))


def std(x: Array, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    return boxed(np.std(x, axis=axis, ddof=correction, keepdims=keepdims))


def sum(x: Array, /, *, axis: Axes | None = None, dtype: DType = None, keepdims: bool = False) -> Array:
    return boxed(np.sum(x, axis=axis, dtype=dtype, keepdims=keepdims))


def var(x: Array, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    return boxed(np.var(x, axis=axis, ddof=correction, keepdims=keepdims))
