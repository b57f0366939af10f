"""Means, variances and standard deviations along axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.backend import backend_of, beside, maybe_any
from adjoint.core.constructors import composite, linear, reduction, spread
from adjoint.core.errors import DTypeError
from adjoint.core.messages.meanings import note
from adjoint.core.op import call
from adjoint.core.protocol import put, widened
from adjoint.core.pullbacks import dtype_of
from adjoint.core.types import Array, Axis, DType, Value
from adjoint.ops.reductions.sums import count_along, divided, summed

if TYPE_CHECKING:
    from adjoint.core.op import Op


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


def _moment(op: Op, a: Array, where: Array, dtype: DType, out: Array, options: dict[str, Value]) -> Array:
    """A mean-like reduction with NumPy's `dtype` and `out`; `where` needs the sums themselves."""
    if dtype is not None:
        if op is not reduce_mean and np.dtype(dtype).kind not in "fc":
            raise DTypeError(f"np.var and np.std are no whole numbers; got dtype={np.dtype(dtype)}. Convert the result")
        a = a.astype(dtype)
    elif dtype_of(a).kind in "iub":
        a = a.astype(float)
    elif op is reduce_mean and out is not None:
        a = widened(_wide(a, None), out)
    result = op(a, **options)
    if dtype is not None and out is None and result.dtype != dtype:
        result = result.astype(dtype)
    return put(result, out, np.std if op is reduce_std else np.mean)


def _wide(a: Array, dtype: DType) -> Array:
    """`a` in `dtype`, or in that in which NumPy computes means: whole numbers and half precision are widened."""
    given = dtype_of(a)
    if dtype is None:
        dtype = np.float32 if given == np.float16 else np.dtype(float) if given.kind in "iub" else given
    return a if given == dtype else a.astype(dtype)


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
    if where is not True:
        total = np.sum(_wide(a, dtype), axis=axis, keepdims=keepdims, where=where)
        mean = total / _number_of(where, a, axis, keepdims, total.dtype)
        return put(mean.astype(np.float16) if dtype is None and dtype_of(a) == np.float16 else mean, out, np.mean)
    if dtype is None and out is None and dtype_of(a).kind not in "iub":
        return reduce_mean(a, axis=axis, keepdims=bool(keepdims))
    return _moment(reduce_mean, a, where, dtype, out, {"axis": axis, "keepdims": bool(keepdims)})


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
    ddof = ddof if correction is None else correction
    if where is True and mean is None and widened(a, out) is a:
        options = {"axis": axis, "keepdims": bool(keepdims), "ddof": ddof}
        return _moment(reduce_var, a, where, dtype, out, options)
    return put(_variance(a, axis, dtype, out, ddof, keepdims, where, mean), out, np.var)


def _variance(
    a: Array, axis: Axis, dtype: DType, out: Array, ddof: float, keepdims: bool, where: Array, mean: Array
) -> Array:
    """The variance by its squares, which are added up in the dtype that `out` asks for."""
    wide = _wide(a, dtype)
    if mean is not None and np.iscomplexobj(mean) and not np.iscomplexobj(a):
        raise DTypeError("np.var and np.std: the mean of real numbers is real; got a complex one")
    centre = np.mean(wide, axis=axis, keepdims=True, where=where) if mean is None else mean
    squares = widened(np.square(np.abs(wide - centre)), out if dtype is None else None)
    total = np.sum(squares, axis=axis, keepdims=keepdims, where=where)
    variance = total / np.maximum(_number_of(where, a, axis, keepdims, total.dtype) - ddof, 0)
    return variance.astype(np.float16) if dtype is None and out is None and dtype_of(a) == np.float16 else variance


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
    ddof = ddof if correction is None else correction
    if where is True and mean is None and widened(a, out) is a:
        options = {"axis": axis, "keepdims": bool(keepdims), "ddof": ddof}
        return _moment(reduce_std, a, where, dtype, out, options)
    return put(root(_variance(a, axis, dtype, out, ddof, keepdims, where, mean)), out, np.std)


def root(variance: Array) -> Array:
    """The square root; where all elements are equal it has no slope: 0."""
    flat = np.equal(variance, 0)
    return np.where(flat, 0.0, np.sqrt(np.where(flat, 1.0, variance)))
