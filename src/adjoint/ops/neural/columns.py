"""Windows of small arrays as columns of matrices, and weights turned round: by places that are remembered.

There a call of NumPy's takes longer than the numbers in it: one `take` does the work of several views and copies.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from adjoint.core.types import Array
from adjoint.ops.neural.windows import Pairs, Sizes, counts

_MOST = 1 << 14  # elements of the columns


@lru_cache(32)
def _places(
    shape: Sizes, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int
) -> tuple[np.ndarray, int] | None:
    """Where the elements of all windows lie, and how many elements there are; behind the last one is a zero.

    The places have the shape of the columns. None, if there are many.
    """
    count = counts(shape[2:], kernel, stride, padding, dilation)
    n, channels, *size = shape
    if n * channels * prod(kernel) * prod(count) > _MOST or groups < 1 or channels % groups:
        return None
    where, inside = np.zeros((), np.intp), np.ones((), np.bool_)
    for length, k, c, s, (before, _), d in zip(size, kernel, count, stride, padding, dilation, strict=True):
        at = np.add.outer(np.arange(k) * d, np.arange(c) * s) - before
        where = np.add.outer(where * length, at)
        inside = np.logical_and.outer(inside, (at >= 0) & (at < length))
    axes = len(kernel)
    order = (*range(0, 2 * axes, 2), *range(1, 2 * axes, 2))
    each = np.add.outer(np.arange(n * channels) * prod(size), where.transpose(order))
    total = n * channels * prod(size)
    each = np.where(inside.transpose(order), each, total)
    return each.reshape(n, groups, channels // groups * prod(kernel), prod(count)), total


def few_columns(
    x: Array, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int
) -> np.ndarray | None:
    """The windows of a small plain `x`: (n, groups, channels a group * kernel, places). None of any other."""
    if type(x) is not np.ndarray or x.size > _MOST or x.ndim != len(kernel) + 2:
        return None
    try:
        found = _places(x.shape, kernel, stride, padding, dilation, groups)
    except TypeError:  # settings are lists
        return None
    if found is None:
        return None
    places, total = found
    if not any(map(any, padding)):
        return x.reshape(-1).take(places)
    line = np.empty(total + 1, x.dtype)
    line[:total] = x.reshape(-1)
    line[total] = 0
    return line.take(places)


@lru_cache(32)
def _turned_places(shape: Sizes, groups: int) -> np.ndarray:
    """Where the elements of turned weights lie among those of `shape`."""
    out, channels, *kernel = shape
    places = np.flip(np.arange(prod(shape)).reshape(shape), tuple(range(2, len(shape))))
    places = np.swapaxes(places.reshape(groups, out // groups, channels, *kernel), 1, 2)
    return places.reshape(channels * groups, out // groups, *kernel)


def turned(w: np.ndarray, groups: int) -> np.ndarray:
    """Weights (out, channels / groups, …) with windows turned round, for the way back: (channels, out / groups, …)."""
    if w.size <= _MOST:
        return w.reshape(-1).take(_turned_places(w.shape, groups))
    around = np.flip(w, tuple(range(2, w.ndim)))
    around = np.swapaxes(around.reshape(groups, len(w) // groups, *w.shape[1:]), 1, 2)
    return around.reshape(w.shape[1] * groups, len(w) // groups, *w.shape[2:])
