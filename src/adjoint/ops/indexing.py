"""Reading elements: every kind of index, and the functions that pick, place and select."""

from __future__ import annotations

from types import EllipsisType
from typing import Any

import numpy as np

from adjoint.core.constructors import composite, linear
from adjoint.core.cotangents import Scattered
from adjoint.core.op import call

_BASIC = (int, np.integer, slice, EllipsisType, type(None))


def may_repeat(index: Any) -> bool:
    """Whether `index` could name an element twice: only arrays of integers can."""
    for part in index if isinstance(index, tuple) else (index,):
        if not isinstance(part, _BASIC) and not (isinstance(part, np.ndarray) and part.dtype.kind == "b"):
            return True
    return False


@linear(
    transpose=lambda g, index: g[index],
    samples=lambda r: [
        call(r(2), index=(slice(1, 3),), shape=(4,)),
        call(r(3), index=(np.array([0, 2, 0]),), shape=(4,), repeats=True),
    ],
)
def scatter_add(value: Any, /, index: Any = (), shape: Any = (), repeats: bool = False) -> Any:
    """Zeros of `shape` with `value` added at `index`: the transpose of ``a[index]``."""
    return Scattered(value, index, shape, np.result_type(value), repeats).dense()


def _scatter(g: Any, a_shape: tuple[int, ...], index: Any, repeats: bool) -> Any:
    if isinstance(g, np.ndarray | np.generic):  # added in place, straight into the cotangent of `a`
        return Scattered(g, index, a_shape, g.dtype, repeats)
    return scatter_add(g, index=index, shape=a_shape, repeats=repeats)


@linear(
    transpose=_scatter,
    samples=lambda r: [
        call(r(4), index=2),
        call(r(3, 4), index=(slice(None), slice(None, None, -2))),
        call(r(3, 4), index=(Ellipsis, None, 1)),
        call(r(3, 4), index=np.array([0, 2, 0]), repeats=True),
        call(r(3, 4), index=(slice(None), np.array([[0, 1], [3, 3]])), repeats=True),
        call(r(3, 4), index=(np.array([0, 2]), slice(1, 3), None), repeats=True),
        call(r(3, 4), index=np.array([True, False, True])),
    ],
    errors=lambda r: [call(r(3), index=5), call(r(3), index=(0, 0))],
)
def getitem(a: Any, /, index: Any = (), repeats: bool = False) -> Any:
    """``a[index]``; `repeats` says that the index may name an element twice."""
    return a[index]


def put_along_axis(g: Any, index: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Zeros of `shape` with `g` added along `axis` at `index`: the transpose of `numpy.take_along_axis`."""
    places = np.indices(index.shape, sparse=True)
    where = tuple(index if i == axis % len(shape) else place for i, place in enumerate(places))
    return scatter_add(g, index=where, shape=shape, repeats=True)


@composite(
    np.take_along_axis,
    samples=lambda r: [
        call(r(3, 4), np.array([[0], [3], [0]]), axis=1),
        call(r(3, 4), np.array([[0, 2, 1, 0], [0, 1, 1, 2]]), 0),
        call(r(5), np.array([4, 4]), axis=None),
    ],
)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        arr, axis = np.ravel(arr), 0
    shape = list(np.shape(arr))
    shape[axis] = 1
    indices = np.broadcast_to(indices, np.broadcast_shapes(np.shape(indices), tuple(shape)))
    places = np.indices(indices.shape, sparse=True)
    return arr[tuple(indices if i == axis % len(shape) else place for i, place in enumerate(places))]


@composite(
    np.take,
    samples=lambda r: [
        call(r(3, 4), [0, 5, 5]),
        call(r(3, 4), np.array([[0, 1], [3, 3]]), axis=1),
        call(r(5), 2),
        call(r(5), [-7, 9], mode="wrap"),
    ],
    errors=lambda r: [call(r(3), 7)],
)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    if axis is None:
        a, axis = np.ravel(a), 0
    n = np.shape(a)[axis]
    indices = np.asarray(indices)
    if mode == "wrap":
        indices = indices % n
    elif mode == "clip":
        indices = np.clip(indices, 0, n - 1)
    index = indices if indices.ndim else int(indices)
    return a[(slice(None),) * (axis % np.ndim(a)) + (index,)]
