"""NumPy's functions that write into their first argument, in terms of ``t[index] = value``."""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import as_beside, beside
from adjoint.core.box import Box, raw, varies
from adjoint.core.constructors import in_place
from adjoint.core.errors import ArgumentError, BatchedValueError, LeavesGraphError, ShapeError
from adjoint.core.leaks.notes import matters
from adjoint.core.memory import apart
from adjoint.core.op import call
from adjoint.core.protocol import fitting_mask
from adjoint.core.registry import REDUCTIONS
from adjoint.core.types import Array, Index, Value
from adjoint.ops.indexing.index import joined, kept
from adjoint.ops.indexing.reading import read, scatter
from adjoint.ops.shape.reshaping import as_assigned


def _target(a: Array, function: str, *written: object) -> None:
    """Refuse a plain array, which cannot hold the history of what is written into it, if that has one."""
    if isinstance(a, Box):
        return
    if not isinstance(a, np.ndarray) or any(varies(x) or matters(x) for x in written):
        raise LeavesGraphError(
            f"np.{function} would write a tensor's values into a plain array and drop their gradient; make the "
            f"target a tensor (np.zeros_like(t), or ad.tensor(a)), or pass values alone: t.detach().numpy()"
        )


def _fits(values: Array, target: Array, casting: Value, function: str) -> None:
    """Refuse an array that NumPy would not convert to the dtype of `target`; numbers and lists are converted."""
    if np.ndim(values) == 0 and casting == "safe":  # float64 numbers are Python's own, too
        casting = "same_kind"
    dtype = getattr(values, "dtype", target.dtype)
    if not np.can_cast(dtype, target.dtype, casting):
        raise TypeError(
            f"np.{function}: values of dtype {dtype} do not fit a target of {target.dtype} by the rule {casting!r}; "
            f"convert them first: values.astype({target.dtype})"
        )


def _with_an_axis(a: Array) -> Array:
    """`a`, or a view of its one element."""
    if not np.ndim(a) and varies(a):  # whose reshape is a copy
        raise BatchedValueError("writing by places into a number inside vmap: write x[...] = value instead")
    return a if np.ndim(a) else np.reshape(a, 1)


@in_place(
    np.copyto,
    samples=lambda r: [call(r(3, 4), r(4)), call(r(2, 3), r(2, 1), where=np.array([True, False, True]))],
    errors=lambda r: [call(r(3), r(4))],
)
def copyto(dst: Array, src: Array, casting: str = "same_kind", where: Array = True) -> None:
    _target(dst, "copyto", src, where)
    if src is dst:  # then NumPy looks at nothing else
        return
    _fits(src, dst, casting, "copyto")
    if where is True:
        dst[...] = src
        return
    where = np.broadcast_to(fitting_mask(where, dst.shape), dst.shape)
    src = as_assigned(src, dst.shape)
    if not dst.size:  # NumPy takes a mask of no elements, in a box, for a list of numbers
        return
    if varies(where):
        dst[...] = np.where(where, src, dst)
    else:
        dst[where] = src[where]


@in_place(
    np.put,
    samples=lambda r: [call(r(2, 3), [0, -1], r(2)), call(r(4), [5, 1, 2], r(2), mode="wrap")],
    errors=lambda r: [call(r(3), [3], r(1))],
)
def put(a: Array, ind: Value, v: Array, mode: Value = "raise") -> None:
    _target(a, "put", ind, v)
    a, ind = _with_an_axis(a), np.ravel(ind)
    if not np.size(v):
        return
    numbers = beside(raw(ind), np.arange(a.size))
    places = np.unravel_index(np.take(numbers, ind, mode=mode), a.shape)
    a[places] = np.resize(as_beside(a, v), ind.shape)


@in_place(np.place, samples=lambda r: [call(r(4), np.array([True, False, True, True]), r(2))])
def place(arr: Array, mask: Array, vals: Value) -> None:
    _target(arr, "place", mask, vals)
    _fits(vals, arr, "safe", "place")
    if vals is arr:
        vals = np.reshape(vals, vals.shape)  # a view of it
    apart(arr, vals, "np.place(arr, mask, vals.copy())")
    if varies(mask) or (varies(arr) and not np.ndim(arr)):  # as many places as each sample has
        mask, vals = np.reshape(mask, arr.shape).astype(bool), np.ravel(as_beside(arr, vals))
        if not vals.size:
            raise ArgumentError("np.place inside vmap: there are no values to fill places with")
        which = np.reshape(np.cumsum(mask) - 1, arr.shape) % vals.size
        arr[...] = np.where(mask, vals[0] if vals.size == 1 else vals[which], arr)
        return
    arr = _with_an_axis(arr)
    at = np.nonzero(np.reshape(mask, arr.shape))
    if not np.size(vals) and at[0].size:
        raise ArgumentError("np.place: there are places to fill, and no values to fill them with")
    arr[at] = np.resize(as_beside(arr, vals), at[0].shape)


@in_place(np.putmask, samples=lambda r: [call(r(2, 2), np.array([[True, False], [True, True]]), r(2))])
def putmask(a: Array, mask: Array, values: Array) -> None:
    _target(a, "putmask", mask, values)
    _fits(values, a, "safe", "putmask")
    if np.size(mask) != np.size(a):
        raise ShapeError(f"np.putmask: mask and data must be of one size; got {np.shape(mask)} and {np.shape(a)}")
    if not np.size(values):
        return
    of_one = varies(a) and not np.ndim(a)
    a = a if of_one else _with_an_axis(a)
    mask, values = np.reshape(mask, a.shape), np.resize(values, a.shape)
    if varies(mask) or of_one:
        a[...] = np.where(mask, values, a)
        return
    at = np.nonzero(mask)
    a[at] = values[at]


@in_place(
    np.put_along_axis,
    samples=lambda r: [
        call(r(3, 4), np.array([[1], [0], [3]]), r(3, 1), 1),
        call(r(2, 3), np.array([4, 0]), r(2), axis=None),
    ],
    errors=lambda r: [call(r(3, 4), np.array([[4], [0], [3]]), r(3, 1), 1)],
)
def put_into_axis(arr: Array, indices: Array, values: Array, axis: int | None) -> None:
    _target(arr, "put_along_axis", indices, values)
    if axis is None:
        arr[np.unravel_index(indices, arr.shape)] = values
        return
    places = tuple(beside(raw(indices), p) for p in np.indices(arr.shape, sparse=True))
    arr[tuple(indices if i == axis % arr.ndim else p for i, p in enumerate(places))] = values


@in_place(np.fill_diagonal, samples=lambda r: [call(r(3, 3), r(3)), call(r(5, 2), 2.0, wrap=True)])
def fill_diagonal(a: Array, val: Array, wrap: bool = False) -> None:
    _target(a, "fill_diagonal", val)
    apart(a, val, "np.fill_diagonal(a, val.copy())")
    numbers = np.zeros(a.shape, int)
    np.fill_diagonal(numbers, 1, wrap)
    at = np.nonzero(numbers)
    if not np.size(val):
        return
    a[at] = np.resize(as_beside(a, val), at[0].shape)


def accumulate_at(a: Array, ufunc: np.ufunc, index: Index, value: Array) -> None:
    """``np.add.at(a, index, value)`` and ``np.subtract.at``: repeated indices count every time."""
    _target(a, f"{ufunc.__name__}.at", index, value)
    index = joined(index)
    index = tuple(map(kept, index)) if isinstance(index, tuple) else kept(index)
    region = np.shape(read(np.empty(a.shape, bool), index))
    value = as_beside(a, joined(value))
    dtype = np.promote_types(a.dtype, value.dtype)  # whole numbers and truth values would wrap round
    value = value if value.dtype == dtype else value.astype(dtype)
    added = scatter(np.broadcast_to(value, region), index, a.shape)
    a += added if ufunc is np.add else -added


REDUCTIONS |= {
    (np.add, "at"): lambda a, index, value: accumulate_at(a, np.add, index, value),
    (np.subtract, "at"): lambda a, index, value: accumulate_at(a, np.subtract, index, value),
}
