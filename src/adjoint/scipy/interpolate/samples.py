"""What interpolants share: places and values, the intervals of queries, and how results are laid out."""

from __future__ import annotations

import numpy as np

from adjoint.core.box import raw
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Array
from adjoint.scipy.arrays import array, constants


def samples(name: str, x: Array, y: Array, axis: int, least: int) -> tuple[Array, Array]:
    """The places, rising, and the values with `axis` first."""
    x, y = array(x), array(y)
    if x.ndim != 1 or y.ndim == 0 or y.shape[axis] != x.shape[0] or x.shape[0] < least:
        raise ShapeError(
            f"{name} takes {least} places x of shape (n,) or more, and as many values along axis {axis}; got shapes "
            f"{x.shape} and {y.shape}"
        )
    return x, np.moveaxis(y, axis, 0)


def rising(name: str, x: Array) -> Array:
    if not np.all(np.diff(raw(x)) > 0):
        raise ArgumentError(f"{name}: x must rise strictly")
    return x


def column(x: Array, like: Array) -> Array:
    """`x` with axes of length 1 for all axes of `like` but the first."""
    return np.reshape(x, (-1, *(1,) * (like.ndim - 1)))


def interval(x: Array, query: Array) -> Array:
    """The number of the interval of each query, plain; the first or the last for those outside."""
    return np.clip(np.searchsorted(constants(x), constants(query), side="right") - 1, 0, x.shape[0] - 2)


def placed(result: Array, shape: tuple[int, ...], axis: int) -> Array:
    """The results, one a row, in the shape of the queries, which stands where `axis` was."""
    rest = result.shape[1:]
    k = len(shape)
    result = np.reshape(result, shape + rest)
    order = [*range(k, k + axis), *range(k), *range(k + axis, k + len(rest))]
    return np.transpose(result, order)[()] if axis else result[()]
