"""Arrays from arrays: grids, ranges, insertion, deletion."""

from __future__ import annotations

import operator

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from adjoint.core.backend import as_beside, beside, surely_any
from adjoint.core.box import Box, differs, outermost, raw
from adjoint.core.constants import constant
from adjoint.core.constructors import composite
from adjoint.core.errors import ArgumentError, BatchedValueError, NotSupportedError
from adjoint.core.memory import NEW, NEW_A, NEW_K, axes_by, in_order, lies, lying_as
from adjoint.core.messages.meanings import note
from adjoint.core.op import call
from adjoint.core.protocol import detached, in_graph, promoting
from adjoint.core.types import Array, Axis, Device, DType, Function, ShapeLike, Value
from adjoint.ops.elementwise.comparison import each_element
from adjoint.ops.indexing.writing import created_like
from adjoint.ops.shape.reshaping import as_assigned
from adjoint.ops.values import values_of, with_shape


def _places(indices: Array, shape: ShapeLike, order: Value = "C") -> Array:
    """`numpy.unravel_index` of one index a sample, or of several."""
    whole = np.ndim(indices) == 1 and np.size(shape) == 0  # of an array without axes
    return () if whole else np.unravel_index(indices, shape, order)


constant(np.tril_indices_from, np.triu_indices_from, np.diag_indices_from, flags=("once",))
constant(np.common_type, np.min_scalar_type, flags=("once",))
constant(np.ravel_multi_index, like=lambda x, dims, mode="raise", order="C": None)
constant(np.unravel_index, batch=each_element(_places, 0), like=lambda x, shape, order="C": None)
constant(np.isin, batch=each_element(np.isin, 0), flags=("array",))
constant(np.array_repr, np.array_str, np.array2string)


def _no_file_of_samples(xs: Array) -> Array:
    raise BatchedValueError(
        "inside vmap an array is a value for each of many samples, and a file would hold one. Return the values, and "
        "save what vmap gives"
    )


constant(np.save, np.savez, np.savez_compressed, np.savetxt, batch=_no_file_of_samples)


@composite(np.full_like, samples=lambda r: [call(r(2, 3), r()), call(r(2, 3), r(3), shape=(4, 3))])
def full_like(
    a: Array,
    fill_value: Array,
    dtype: DType = None,
    order: Value = "K",
    subok: bool = True,
    shape: ShapeLike = None,
    *,
    device: Device = None,
) -> Array:
    """`numpy.full_like`; differentiable in `fill_value`."""
    dtype = np.result_type(a) if dtype is None else np.dtype(dtype)
    if in_graph(fill_value) and fill_value.dtype.kind in "fc" and dtype.kind not in "fc":
        raise ArgumentError(f"np.full_like: a {dtype} array cannot hold a value with a gradient; pass dtype=float")
    shape = np.shape(a) if shape is None else tuple(shape) if np.ndim(shape) else shape
    if not isinstance(fill_value, Box):
        return created_like(a, np.full_like(lies(with_shape(a)), fill_value, dtype=dtype, order=order, shape=shape))
    lying = axes_by("K", np.empty_like(lies(with_shape(a)), dtype, order, False, shape))
    return in_order(as_assigned(with_shape(fill_value), shape).astype(dtype), lying)


@composite(
    np.linspace,
    samples=lambda r: [
        call(r(), r(), 5),
        call(r(2), r(2), 4, endpoint=False),
        call(r(2), r(), 3, axis=1),
        call(r(), r(), 3, retstep=True),
    ],
    errors=lambda r: [call(r(), r(), -1)],
)
def linspace(
    start: Array,
    stop: Array,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DType = None,
    axis: int = 0,
    *,
    device: Device = None,
) -> Array:
    """`numpy.linspace`; differentiable in both ends."""
    num = operator.index(num)
    if num < 0:
        raise ArgumentError(f"np.linspace: num must not be negative; got {num}")
    intervals = num - 1 if endpoint else num
    ends = start, stop
    dtype_of_all = np.result_type(*ends)
    dtype_of_all = dtype_of_all if dtype_of_all.kind in "fc" else np.result_type(dtype_of_all, float)
    one: Value = dtype_of_all.type(1) if dtype_of_all.kind == "f" else 1.0
    width = stop * one - start * one
    if dtype_of_all.kind == "c":  # a product of complex numbers loses signs of zeros
        start, stop = (as_beside(width, promoting(x)).astype(dtype_of_all) for x in ends)
        width = stop - start
    else:
        start, stop = start * one, as_beside(width, stop * one)
    counts = beside(width, np.arange(num).astype(dtype_of_all))
    step = width / max(intervals, 1)  # rounded as NumPy's
    values = start + np.reshape(counts, (-1,) + (1,) * np.ndim(width)) * step
    if endpoint and num > 1:  # `stop` itself, not what rounding makes of it
        values = np.concatenate([values[:-1], np.broadcast_to(stop, (1, *np.shape(width)))])
    values = np.moveaxis(values, 0, axis) if axis != 0 else values
    values = lying_as(values, lambda a, b: np.linspace(a, b, num, endpoint, axis=axis), *ends)
    if dtype is not None:
        values = (np.floor(values) if np.dtype(dtype).kind in "iu" else values).astype(dtype)
    return (values, width / intervals if intervals > 0 else np.nan * width) if retstep else values


@composite(np.logspace, samples=lambda r: [call(r(), r(), 4), call(r(), r(), 3, base=2.5, endpoint=False)])
def logspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    base: Value = 10.0,
    dtype: DType = None,
    axis: int = 0,
) -> Array:
    if np.ndim(base):
        ndim = max(np.ndim(x) for x in (start, stop, base))
        start, stop, base = (np.reshape(x, (1,) * (ndim - np.ndim(x)) + np.shape(x)) for x in (start, stop, base))
        base = np.expand_dims(base, axis)
    values = np.power(base, np.linspace(start, stop, num, endpoint, axis=axis))
    return values if dtype is None else values.astype(dtype)


@composite(
    np.geomspace,
    samples=lambda r: [
        call(r(low=0.5, high=1), r(low=2, high=3), 4),
        call(r(2, low=-2, high=-1), r(2, low=-9, high=-4), 3),
        call(r(low=0.5, high=1) + 0.5j, r(low=2, high=3) + 1j, 4),
    ],
    errors=lambda r: [call(0.0, r(), 3)],
)
def geomspace(
    start: Array, stop: Array, num: int = 50, endpoint: bool = True, dtype: DType = None, axis: int = 0
) -> Array:
    if surely_any(np.equal(raw(start), 0)) or surely_any(np.equal(raw(stop), 0)):
        raise ArgumentError("np.geomspace: neither end may be 0, since each value is a multiple of the one before")
    if start is None or stop is None:
        raise TypeError("np.geomspace: both ends must be numbers")
    start, stop = with_shape(start), with_shape(stop)
    dtype_of_values = np.result_type(start.dtype, stop.dtype, float(num), np.zeros((), dtype))
    if dtype_of_values.kind not in "fc":
        raise TypeError("np.geomspace: both ends must be numbers")
    start, stop = start.astype(dtype_of_values), stop.astype(dtype_of_values)
    sign = np.sign(detached(start))
    first, last = start / sign, stop / sign
    values = logspace(np.log10(first), np.log10(last), num, endpoint, dtype=dtype_of_values)
    ends = [np.broadcast_to(x, (1, *values.shape[1:])) for x in (first, last)]  # not what rounding makes of them
    if num > 1 and endpoint:
        values = np.concatenate([ends[0], values[1:-1], ends[1]])
    elif num > 0:
        values = np.concatenate([ends[0], values[1:]])
    values = np.moveaxis(sign * values, 0, axis)
    values = lying_as(values, lambda a, b: np.geomspace(a, b, num, endpoint, axis=axis), start, stop)
    return values if dtype is None else values.astype(dtype)


@composite(np.ix_, samples=lambda r: [call(r(3), r(2)), call(np.array([True, False, True]), r(2))])
def ix_(*args: Array) -> Array:
    def column(x: Array, k: int) -> Array:
        if not hasattr(x, "shape"):
            x = np.asarray(x)
            x = x if x.size else x.astype(np.intp)
        if x.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        places = np.nonzero(x)[0] if x.dtype.kind == "b" else x
        return np.reshape(places, tuple(-1 if i == k else 1 for i in range(len(args))))

    return tuple(map(column, args, range(len(args))))


@composite(
    np.meshgrid,
    samples=lambda r: [call(r(3), r(2)), call(r(3), r(2), r(2), indexing="ij"), call(r(3), r(2), sparse=True)],
    errors=lambda r: [call(r(2), r(2), indexing="yx")],
)
def meshgrid(*xi: Array, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Array:
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"np.meshgrid: indexing is 'xy' or 'ij'; got {indexing!r}")
    n = len(xi)
    if indexing == "xy" and n > 1:
        note("meshgrid", outermost(xi))
    places = list(range(n))
    if indexing == "xy" and n > 1:
        places[:2] = 1, 0
    flat = [
        np.reshape(x, tuple(-1 if k == place else 1 for k in range(n))) for x, place in zip(xi, places, strict=True)
    ]
    grids = flat if sparse else np.broadcast_arrays(*flat)
    return tuple(np.copy(x, order="C") if copy else x for x in grids)


@composite(
    np.insert,
    memory=NEW_A,
    samples=lambda r: [
        call(r(4), 1, r()),
        call(r(4), [0, 2], r(2)),
        call(r(2, 3), 1, r(2), axis=1),
        call(r(2, 3), slice(0, 2), 5.0, axis=0),
        call(r(4), 1, r(3)),
        call(r(4), [1], r(3)),
    ],
    errors=lambda r: [call(r(3), 7, 1.0)],
)
def insert(arr: Array, obj: object, values: Array, axis: int | None = None) -> Array:
    arr = with_shape(arr)
    if isinstance(values, complex) and arr.dtype.kind != "c":
        raise TypeError(f"np.insert: an array of dtype {arr.dtype} cannot hold the complex number {values}")
    values = as_beside(arr, values)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = normalize_axis_index(axis, arr.ndim)
    n = arr.shape[axis]
    values = np.reshape(values, (1,) * (arr.ndim - values.ndim) + values.shape)
    index = np.arange(n)[obj] if isinstance(obj, slice) else np.asarray(obj)
    if index.dtype == bool:
        index = np.flatnonzero(index)
    if index.ndim == 0:
        values = np.moveaxis(values, 0, axis)
    # One index takes as many values as there are; several take one each.
    count = values.shape[axis] if index.size == 1 else index.size
    shape = (*arr.shape[:axis], count, *arr.shape[axis + 1 :])
    values = as_assigned(values, shape).astype(arr.dtype)
    # Where each element of the two, put end to end, goes: the insertion carried out on their numbers.
    places = np.insert(np.arange(n), index, np.arange(n, n + count))
    return np.take(np.concatenate([arr, values], axis=axis), places, axis=axis)


@composite(
    np.delete,
    memory=NEW,
    samples=lambda r: [call(r(4), 1), call(r(2, 3), [0, 2], axis=1), call(r(3, 2), slice(0, 2), 0)],
    errors=lambda r: [call(r(3), 7)],
)
def delete(arr: Array, obj: Array, axis: int | None = None) -> Array:
    arr = with_shape(arr)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    n = arr.shape[axis]
    if not differs(obj):
        if isinstance(raw(obj), Box):
            raise NotSupportedError(
                "np.delete of places that are inputs of a recorded program: how many elements stay depends on their "
                "values. Give them as plain numbers, or choose by a mask: np.where(mask, x, 0.0)"
            )
        left = np.take(arr, np.delete(np.arange(n), raw(obj)), axis=axis)
        return lying_as(left, lambda x: np.delete(x, raw(obj), axis), arr)
    if np.ndim(obj):
        raise BatchedValueError(
            "np.delete inside vmap: indices that differ between samples may leave as many different lengths. Give one "
            "number, or choose by a mask: np.where(mask, x, 0.0)"
        )
    left = np.arange(n - 1)
    return np.take(arr, left + np.greater_equal(left, np.remainder(obj, n)), axis=axis)


@composite(
    np.apply_along_axis,
    samples=lambda r: [call(np.sum, 0, r(3, 4)), call(np.cumsum, 1, r(2, 3)), call(np.outer, 1, r(2, 3), np.ones(2))],
)
def apply_along_axis(func1d: Function, axis: int, arr: Array, *args: object, **kwargs: object) -> Array:
    """`func1d` of each row along `axis`, put together again."""
    axis = operator.index(axis)
    last = np.moveaxis(with_shape(arr), axis, -1)
    shape = last.shape[:-1]
    rows = np.reshape(last, (int(np.prod(shape)), last.shape[-1]))
    results = [with_shape(func1d(rows[i], *args, **kwargs)) for i in range(rows.shape[0])]
    if not results:
        raise ArgumentError(f"np.apply_along_axis: an array of shape {np.shape(arr)} has no rows along axis {axis}")
    inner = np.shape(results[0])
    together = np.reshape(np.stack(results), shape + inner)
    # The axes of a result go where the row's axis was.
    start = axis % np.ndim(arr)
    return np.moveaxis(together, range(len(shape), len(shape) + len(inner)), range(start, start + len(inner)))


@composite(np.apply_over_axes, samples=lambda r: [call(np.sum, r(2, 3, 4), (0, 2))])
def apply_over_axes(func: Function, a: Array, axes: Axis) -> Array:
    for axis in map(operator.index, axes if np.ndim(axes) else (axes,)):
        result = func(a, axis)
        a = result if np.ndim(result) == np.ndim(a) else np.expand_dims(result, axis)
    return a


def over(condition: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A mask of the first axes of an array of `shape`, for all of its elements."""
    if condition.shape != shape[: condition.ndim]:
        raise IndexError(f"np.piecewise: a condition of shape {condition.shape} does not fit values of shape {shape}")
    return np.broadcast_to(np.reshape(condition, condition.shape + (1,) * (len(shape) - condition.ndim)), shape)


@composite(
    np.piecewise,
    memory=NEW_K,
    samples=lambda r: [
        call(r(5), [np.array([True, False, True, False, False])], [np.square, np.sin]),
        call(r(2), np.array([True, False]), [np.exp, 3.0]),
    ],
    flags=("host",),
)
def piecewise(x: Array, condlist: Array, funclist: Value, *args: object, **kw: object) -> Array:
    """`numpy.piecewise`; each function sees only the elements that are its own."""
    x = with_shape(x)
    given = (
        [values_of(detached(c)) for c in condlist]
        if isinstance(condlist, list | tuple)
        else values_of(detached(condlist))
    )
    conditions = [given] if np.ndim(given) == 0 or (np.ndim(given[0]) == 0 and x.ndim) else list(given)
    if any(np.asarray(c).dtype.kind not in "biuf" for c in conditions):
        raise TypeError("np.piecewise: conditions are arrays of truth values")
    conditions = [over(np.asarray(c, bool), x.shape) for c in conditions]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ArgumentError(
            f"np.piecewise takes one function a condition, and perhaps one more; got {len(funclist)} for "
            f"{len(conditions)} conditions"
        )
    if not x.ndim:
        return np.reshape(
            piecewise(np.reshape(x, 1), [np.reshape(c, 1) for c in conditions], funclist, *args, **kw), ()
        )
    if len(funclist) > len(conditions):
        conditions.append(~np.any(conditions, axis=0))
    result = np.zeros(x.shape, x.dtype)
    for condition, function in zip(conditions, funclist, strict=True):
        at = np.nonzero(condition)
        if at[0].size:
            values = function(x[at], *args, **kw) if callable(function) else function
            spread = np.zeros(x.shape, int)
            spread[at] = np.arange(at[0].size)
            number = isinstance(values, int | float) and x.dtype.kind in "iu"
            values = np.array(values, x.dtype) if number else with_shape(values).astype(x.dtype)
            values = np.ravel(np.broadcast_to(values, np.shape(x[at])))
            result = np.where(condition, np.take(values, spread), result)
    return result
