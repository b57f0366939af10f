"""Means, variances and standard deviations along axes."""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import backend_of, beside, maybe_any
from adjoint.core.constructors import composite, linear, reduction, spread
from adjoint.core.errors import ArgumentError, DTypeError
from adjoint.core.memory import NEW_K, settled_as
from adjoint.core.messages.meanings import note
from adjoint.core.op import call
from adjoint.core.protocol import put, repeats, widened
from adjoint.core.rules.pullbacks import dtype_of
from adjoint.core.types import Array, Axis, DType, Value
from adjoint.ops.reductions.sums import count_along, divided, refuse_axes_of_number, summed


@linear(
    transpose=lambda g, a_shape, axis, keepdims: spread(
        divided(g, count_along(a_shape, axis)), a_shape, axis, keepdims
    ),
    flags=("moves",),
    samples=lambda r: [call(r(5)), call(r(2, 3, 4), axis=(0, -1)), call(r(3, 4), 1, True)],
)
def reduce_mean(a: Array, /, axis: Axis = None, keepdims: bool = False) -> Array:
    if a.dtype.kind == "f" and a.dtype.itemsize > 2 and a.size and (a.shape or axis is None):
        total = summed(a, axis, keepdims)
        return total / (a.size // total.size)
    return np.mean(a, axis=axis, keepdims=keepdims)


def _centred(a: Array, mean: Array) -> Array:
    """a - mean; conjugated where complex, since `reduction` conjugates it once more."""
    apart = a - mean
    return np.conj(apart) if apart.dtype.kind == "c" else apart


def _spread(shape: tuple[int, ...], axis: Axis, ddof: float) -> Array:
    return max(count_along(shape, axis) - ddof, 0) or float("nan")


reduce_var = reduction(
    lambda a, axis, keepdims, ddof: np.var(a, axis=axis, keepdims=keepdims, ddof=ddof),
    partial=lambda a, a_shape, axis, ddof: (
        _centred(a, np.mean(a, axis=axis, keepdims=True)) * (2 / _spread(a_shape, axis, ddof))
    ),
    name="reduce_var",
    settings={"ddof": 0},
    samples=lambda r: [call(r(5)), call(r(2, 3, 4), axis=(0, -1)), call(r(3, 4), 1, True, ddof=1)],
)


def _std_slope(a: Array, out: Array, a_shape: tuple[int, ...], axis: Axis, ddof: float) -> Array:
    """(a - mean) / (n - ddof) / std, and 0 where all elements are equal, though they or their mean may be rounded."""
    flat, mean = np.equal(out, 0), np.mean(a, axis=axis, keepdims=True)
    count = count_along(a_shape, axis)
    if count and maybe_any(np.less_equal(out, np.finfo(out.dtype).eps * count * np.abs(mean))):
        high, low = np.max(a, axis=axis, keepdims=True), np.min(a, axis=axis, keepdims=True)
        last = 0 if a.dtype.kind == "c" else 4 * np.finfo(out.dtype).eps * np.abs(low)
        flat = flat | np.less_equal(np.abs(high - low), last)
    return np.where(flat, 0, _centred(a, mean) / np.where(flat, 1, out)) / _spread(a_shape, axis, ddof)


reduce_std = reduction(
    lambda a, axis, keepdims, ddof: np.std(a, axis=axis, keepdims=keepdims, ddof=ddof),
    partial=_std_slope,
    name="reduce_std",
    settings={"ddof": 0},
    samples=lambda r: [call(r(5)), call(r(2, 3, 4), axis=(0, -1)), call(r(3, 4), 1, True, ddof=1)],
)


def float_of(a: Array, dtype: DType) -> DType:
    """The dtype in which NumPy adds up: None for that of the numbers, if they are no whole ones."""
    return np.dtype(float) if dtype is None and dtype_of(a).kind in "iub" else dtype


def summed_into(a: Array, axis: Axis, dtype: DType, out: Array, keepdims: bool, where: Array) -> Array:
    """The sum, in the dtype of `out`: NumPy writes it there before it goes on."""
    total = np.sum(widened(a, out) if dtype is None else a, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    return total if out is None or (total.dtype.kind == "c" and out.dtype.kind != "c") else _as(total, out.dtype)


def _as(x: Array, dtype: DType) -> Array:
    return x if x.dtype == dtype else x.astype(dtype)


def over(total: Array, count: Array) -> Array:
    """`total` divided by a number of elements, in its dtype; the quotient is that of double precision, rounded."""
    if total.dtype.char == "f" and not np.ndim(count) and type(count) is int:  # which rounds the same
        return total / count
    wide = np.result_type(total.dtype, np.int64)
    quotient = _as(_as(total, wide) / count, total.dtype)
    return settled_as(NEW_K, quotient, [total]) if np.ndim(count) > 1 else quotient


def _count(a: Array, axis: Axis, keepdims: bool, where: Array) -> Array:
    """How many elements are taken together."""
    if where is True:
        refuse_axes_of_number(axis, np.ndim(a))
        return count_along(np.shape(a), axis)
    return _number_of(where, a, axis, keepdims, np.dtype(float))


def freedom(count: Array, ddof: float = 0) -> Array:
    """The degrees of freedom: of no elements a number of NumPy's, which divides by 0 with a warning."""
    if isinstance(count, int) and isinstance(ddof, int | float):
        return max(count - ddof, 0) or np.float64(0)
    return np.maximum(count - ddof, 0)


def _number_of(where: Array, a: Array, axis: Axis, keepdims: bool, dtype: DType) -> Array:
    """How many elements `where` takes, as real numbers of the precision of `dtype`."""
    where = where if backend_of(where) else beside(a, where)
    count = np.sum(np.broadcast_to(where, np.shape(a)), axis=axis, keepdims=keepdims)
    return count.astype(np.zeros(0, dtype).real.dtype)


@composite(
    np.mean,
    samples=lambda r: [
        call(r(3, 4)),
        call(r(3, 4), 1, keepdims=True),
        call(r(3, 4), axis=0, where=np.array([[True], [False], [True]])),
    ],
)
def mean(
    a: Array, axis: Axis = None, dtype: DType = None, out: Array = None, keepdims: bool = False, *, where: Array = True
) -> Array:
    keepdims = bool(keepdims)
    if where is True and dtype is None and out is None and dtype_of(a).kind not in "iub":
        return reduce_mean(a, axis=axis, keepdims=keepdims)
    half = dtype is None and dtype_of(a) == np.float16
    wide = np.dtype(np.float32) if half else float_of(a, dtype)
    total = summed_into(a, axis, wide, out, keepdims, where)
    found = over(total, freedom(_count(a, axis, keepdims, where)))
    return put(found.astype(np.float16) if half and out is None else found, out, np.mean)


@composite(
    np.var,
    samples=lambda r: [
        call(r(3, 4)),
        call(r(3, 4), axis=1, ddof=1, keepdims=True),
        call(r(3, 4), axis=0, where=np.array([[True], [True], [False]])),
    ],
)
def var(
    a: Array,
    axis: Axis = None,
    dtype: DType = None,
    out: Array = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Array = True,
    mean: Array = None,
    correction: Value = None,
) -> Array:
    if not ddof and correction is None:
        note("var", a)
    ddof = degrees(ddof, correction)
    if _is_plain(a, dtype, out, where, mean):
        return reduce_var(_as(a, float_of(a, dtype) or a.dtype), axis=axis, keepdims=bool(keepdims), ddof=ddof)
    return put(_variance(a, axis, dtype, out, ddof, bool(keepdims), where, mean), out, np.var)


def _is_plain(a: Array, dtype: DType, out: Array, where: Array, mean: Array) -> bool:
    """Whether the variance is that of `a` itself, or of `a` in the precision `dtype`."""
    refuse_wholes(dtype)
    given = dtype_of(a)
    fits = dtype is None or (np.dtype(dtype).kind == "f" and given.kind != "c" and np.can_cast(given, dtype))
    is_cast = given.kind in "iub" or (dtype is not None and given != dtype)
    return fits and out is None and where is True and mean is None and not (is_cast and repeats(a))


def degrees(ddof: float, correction: Value) -> Array:
    """What is subtracted from a count, by either of its two names."""
    if correction is not None and ddof != 0:
        raise ArgumentError(f"ddof and correction are two names of one setting; got {ddof} and {correction}")
    return ddof if correction is None else correction


def refuse_wholes(dtype: DType) -> None:
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise DTypeError(f"np.var and np.std are no whole numbers; got dtype={np.dtype(dtype)}. Convert the result")


def _variance(
    a: Array, axis: Axis, dtype: DType, out: Array, ddof: float, keepdims: bool, where: Array, mean: Array
) -> Array:
    """The variance in NumPy's steps, which are rounded to the dtypes of `a`, `dtype` and `out` in turn."""
    dtype = float_of(a, dtype)
    if mean is not None and np.iscomplexobj(mean) and not np.iscomplexobj(a):
        raise DTypeError("np.var and np.std: the mean of real numbers is real; got a complex one")
    if mean is None:
        mean = over(summed_into(a, axis, dtype, None, True, where), freedom(_count(a, axis, True, where)))
    apart = a - mean
    if apart.dtype.kind == "c":
        apart, imag = np.real(apart), np.imag(apart)
        squares = np.square(apart) + np.square(imag)
    else:
        squares = np.square(apart)
    total = summed_into(squares, axis, dtype, out, keepdims, where)
    return over(total, freedom(_count(a, axis, keepdims, where), ddof))


@composite(np.std, samples=lambda r: [call(r(3, 4)), call(r(3, 4), axis=1, ddof=1, keepdims=True)])
def std(
    a: Array,
    axis: Axis = None,
    dtype: DType = None,
    out: Array = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Array = True,
    mean: Array = None,
    correction: Value = None,
) -> Array:
    if not ddof and correction is None:
        note("std", a)
    ddof = degrees(ddof, correction)
    if _is_plain(a, dtype, out, where, mean):
        return reduce_std(_as(a, float_of(a, dtype) or a.dtype), axis=axis, keepdims=bool(keepdims), ddof=ddof)
    return put(root(_variance(a, axis, dtype, out, ddof, bool(keepdims), where, mean)), out, np.std)


def root(variance: Array) -> Array:
    """The square root; where all elements are equal it has no slope: 0."""
    flat = np.equal(variance, 0)
    return np.where(flat, 0.0, np.sqrt(np.where(flat, 1.0, variance)))
