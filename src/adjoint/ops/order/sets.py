"""Sets of elements: distinct values, unions, intersections, differences.

If a value occurs several times, its first occurrence gets the gradient.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjoint.core.constructors import composite
from adjoint.core.errors import DTypeError
from adjoint.core.op import call
from adjoint.core.types import Array, Axis, Value
from adjoint.ops.indexing.reading import take
from adjoint.ops.values import on_values


class UniqueAllResult(NamedTuple):
    """Distinct values, where each first stands, which of them each element is, and how often each occurs."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """Distinct values, and how often each occurs."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """Distinct values, and which of them each element is."""

    values: Array
    inverse_indices: Array


@composite(
    np.unique,
    samples=lambda r: [call(r(5)), call(r(2, 3), return_index=True, return_counts=True), call(r(3, 2), axis=0)],
)
def unique(
    ar: Array,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Axis = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Array:
    def unique(ar: Array) -> Array:
        unique_of: Value = np.unique  # its overloads know no bool that is not written out
        return unique_of(ar, True, return_inverse, return_counts, axis, equal_nan=equal_nan, sorted=sorted)

    _, index, *rest = on_values(unique, ar)
    values = take(ar, index, axis=axis)
    extra = ([index] if return_index else []) + rest
    return (values, *extra) if extra else values


@composite(np.unique_values, samples=lambda r: [call(r(5))])
def unique_values(x: Array, /) -> Array:
    return np.unique(x, equal_nan=False)


@composite(np.unique_all, samples=lambda r: [call(r(2, 3))])
def unique_all(x: Array, /) -> UniqueAllResult:
    found = on_values(np.unique_all, x)
    return UniqueAllResult(take(x, found[1]), *found[1:])


@composite(np.unique_counts, samples=lambda r: [call(r(2, 3))])
def unique_counts(x: Array, /) -> UniqueCountsResult:
    _, at, _, counts = on_values(np.unique_all, x)
    return UniqueCountsResult(take(x, at), counts)


@composite(np.unique_inverse, samples=lambda r: [call(r(2, 3))])
def unique_inverse(x: Array, /) -> UniqueInverseResult:
    _, at, inverse, _ = on_values(np.unique_all, x)
    return UniqueInverseResult(take(x, at), inverse)


def _distinct(x: Array, assume_unique: bool = False) -> Array:
    return np.ravel(x) if assume_unique else np.unique(x)


@composite(np.intersect1d, samples=lambda r: [call(r(3), r(2)), call(r(3), np.array([5, 6]), return_indices=True)])
def intersect1d(ar1: Array, ar2: Array, assume_unique: bool = False, return_indices: bool = False) -> Array:
    """`numpy.intersect1d`; the values are those of `ar1`."""

    def intersect1d(a: Array, b: Array) -> Array:
        return np.intersect1d(a, b, assume_unique, return_indices=True)

    _, first, second = on_values(intersect1d, ar1, ar2)
    values = take(ar1, first).astype(np.result_type(ar1, ar2))
    return (values, first, second) if return_indices else values


@composite(np.union1d, samples=lambda r: [call(r(2, 2), r(3))])
def union1d(ar1: Array, ar2: Array) -> Array:
    return np.unique(np.concatenate([np.ravel(ar1), np.ravel(ar2)]))


@composite(np.setdiff1d, samples=lambda r: [call(r(5), r(2)), call(r(3), r(2), assume_unique=True)])
def setdiff1d(ar1: Array, ar2: Array, assume_unique: bool = False) -> Array:
    def setdiff1d(own: Value, other: Array) -> Array:
        return np.flatnonzero(~np.isin(own, other, assume_unique=True))

    if getattr(ar2, "dtype", np.dtype(float)).kind == "O":
        raise DTypeError("np.setdiff1d: objects are no numbers")
    own = _distinct(ar1, assume_unique)
    return take(own, on_values(setdiff1d, own, ar2))


@composite(np.setxor1d, samples=lambda r: [call(r(3), r(2)), call(r(3), r(2), assume_unique=True)])
def setxor1d(ar1: Array, ar2: Array, assume_unique: bool = False) -> Array:
    def setxor1d(both: Value) -> Array:
        if not len(both):
            return np.zeros(0, int)
        apart = both[1:] != both[:-1]
        return np.flatnonzero(np.append(True, apart) & np.append(apart, True))

    both = np.sort(np.concatenate([_distinct(ar1, assume_unique), _distinct(ar2, assume_unique)]))
    return take(both, on_values(setxor1d, both))
