"""Searching, sorting and sets."""

from __future__ import annotations

from typing import Literal

import numpy as np

from adjoint.core.types import Array
from adjoint.ops.order.sets import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from adjoint.xp.arrays import boxed, each, plain


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    return boxed(np.argmax(x, axis=axis, keepdims=keepdims))


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    return boxed(np.argmin(x, axis=axis, keepdims=keepdims))


def count_nonzero(x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    return boxed(np.count_nonzero(x, axis=axis, keepdims=keepdims))


def nonzero(x: Array, /) -> tuple[Array, ...]:
    return each(np.nonzero(x))


def searchsorted(x1: Array, x2: Array, /, *, side: Literal["left", "right"] = "left", sorter: object = None) -> Array:
    return boxed(np.searchsorted(plain(x1), plain(x2), side, plain(sorter)))


def where(condition: Array, x1: Array, x2: Array, /) -> Array:
    """`numpy.where`; what is not selected gets a gradient of exactly 0."""
    return boxed(np.where(condition, x1, x2))


def isin(x1: Array, x2: Array, /, *, invert: bool = False) -> Array:
    return boxed(np.isin(plain(x1), plain(x2), invert=invert))


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    values = plain(x)
    if not descending:
        return boxed(np.argsort(values, axis=axis, stable=stable))
    # Backwards twice, so that of equal elements the first still comes first.
    order = np.flip(np.argsort(np.flip(values, axis), axis=axis, stable=stable), axis)
    return boxed(values.shape[axis] - 1 - order)


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The elements of `x` in order; each keeps its gradient."""
    order = argsort(x, axis=axis, descending=descending, stable=stable)
    return boxed(np.take_along_axis(x, plain(order), axis=axis))


def unique_all(x: Array, /) -> UniqueAllResult:
    """The unique elements, where each was first, and how often it was; the first gets the gradient."""
    found = np.unique_all(plain(x))
    values = boxed(np.take(x, found.indices))
    return UniqueAllResult(values, *each((found.indices, found.inverse_indices, found.counts)))


def unique_counts(x: Array, /) -> UniqueCountsResult:
    found = unique_all(x)
    return UniqueCountsResult(found.values, found.counts)


def unique_inverse(x: Array, /) -> UniqueInverseResult:
    found = unique_all(x)
    return UniqueInverseResult(found.values, found.inverse_indices)


def unique_values(x: Array, /) -> Array:
    return unique_all(x).values
