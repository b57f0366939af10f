"""Running sums, products and extremes."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.backend import beside, is_foreign, maybe_any
from adjoint.core.box import raw
from adjoint.core.constructors import composite, general, linear
from adjoint.core.errors import ArgumentError
from adjoint.core.memory import lies
from adjoint.core.op import call
from adjoint.core.protocol import put, widened
from adjoint.core.registry import REDUCTIONS
from adjoint.core.types import Array, Axis, DType, Function, Value
from adjoint.ops.indexing.reading import put_along_axis

if TYPE_CHECKING:
    from adjoint.core.op import Op


def _to_end(g: Array, axis: int) -> Array:
    """Running sums from the end: the transpose of running sums from the start."""
    return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)


@linear(
    transpose=lambda g, axis: _to_end(g, axis),
    batch="axes",
    flags=("moves",),
    samples=lambda r: [call(r(5)), call(r(3, 4), axis=0)],
)
def running_sum(a: Array, /, axis: int = -1) -> Array:
    return np.cumsum(a, axis=axis) if is_foreign(a) else np.add.accumulate(a, axis=axis)


def _product_cotangent(g: Array, a: Array, out: Array, axis: int) -> Array:
    """sum over j >= i of g[j] times the product of a[0..j] without a[i]."""
    if not maybe_any(raw(a) == 0):
        return _to_end(g * np.conj(out), axis) / np.conj(a)
    products = _products_without_one(np.moveaxis(a, axis, -1))
    products = np.conj(products) if products.dtype.kind == "c" else products
    return np.moveaxis(np.sum(np.moveaxis(g, axis, -1)[..., None, :] * products, axis=-1), -1, axis)


def _products_without_one(a: Array) -> Array:
    """The product of a[0..j] without a[i]. With a zero about, dividing it out would lose the other factors."""
    n = a.shape[-1]
    without = np.where(beside(a, np.eye(n, dtype=bool)), np.ones_like(a[..., :1, None]), a[..., None, :])
    return np.where(beside(a, np.tri(n, dtype=bool).T), np.cumprod(without, axis=-1), 0)


def _product_tangent(t: Array, a: Array, out: Array, axis: int) -> Array:
    if not maybe_any(raw(a) == 0):
        return out * np.cumsum(t / a, axis=axis)
    products = _products_without_one(np.moveaxis(a, axis, -1))
    return np.moveaxis(np.sum(np.moveaxis(t, axis, -1)[..., :, None] * products, axis=-2), -1, axis)


@general(
    vjp=_product_cotangent,
    jvp=_product_tangent,
    batch="axes",
    samples=lambda r: [call(r(5)), call(r(3, 4), axis=0), call(np.array([2.0, 0.0, 3.0, 0.0, 1.0]))],
)
def running_product(a: Array, /, axis: int = -1) -> Array:
    return np.cumprod(a, axis=axis) if is_foreign(a) else np.multiply.accumulate(a, axis=axis)


def _extreme(ufunc: np.ufunc, name: str) -> Array:
    def places(a: Array, out: Array, axis: int) -> Array:
        # Where the running extreme stands: the latest element that equals it.
        shape = [1] * np.ndim(a)
        shape[axis] = -1
        here = np.where(np.equal(a, out), beside(a, np.reshape(np.arange(np.shape(a)[axis]), shape)), 0)
        return np.maximum.accumulate(here, axis=axis)

    def vjp(g: Array, a: Array, out: Array, axis: int) -> Array:
        return put_along_axis(g, places(a, out, axis), np.shape(a), axis)

    def jvp(t: Array, a: Array, out: Array, axis: int) -> Array:
        return np.take_along_axis(t, places(a, out, axis), axis)

    def forward(a: Array, /, axis: int = -1) -> Array:
        return ufunc.accumulate(a, axis=axis)

    forward.__name__ = name
    made = general(
        vjp=vjp,
        jvp=jvp,
        batch="axes",
        flags=("selects", "finite"),
        samples=lambda r: [call(r(5)), call(r(3, 4), axis=0)],
    )
    return made(forward)


running_max = _extreme(np.maximum, "running_max")
running_min = _extreme(np.minimum, "running_min")


def _shares(a: Array, out: Array) -> Array:
    """exp(a[i] - out[j]) for i <= j, else 0. Of the first result the first element is all, also where it is -inf."""
    n = np.shape(a)[-1]
    first = np.zeros((n, n), bool)
    first[:1, :1] = True
    shares = np.exp(a[..., :, None] - out[..., None, :])
    return np.where(beside(a, first), 1.0, np.where(beside(a, np.tri(n, dtype=bool).T), shares, 0))


def _logsumexp_cotangent(g: Array, a: Array, out: Array, axis: int) -> Array:
    a, out, g = (np.moveaxis(x, axis, -1) for x in (a, out, g))
    return np.moveaxis(np.sum(_shares(a, out) * g[..., None, :], axis=-1), -1, axis)


def _logsumexp_tangent(t: Array, a: Array, out: Array, axis: int) -> Array:
    a, out, t = (np.moveaxis(x, axis, -1) for x in (a, out, t))
    return np.moveaxis(np.sum(_shares(a, out) * t[..., :, None], axis=-2), -1, axis)


@general(
    vjp=_logsumexp_cotangent,
    jvp=_logsumexp_tangent,
    batch="axes",
    samples=lambda r: [call(r(5)), call(r(3, 4), axis=0)],
)
def running_logsumexp(a: Array, /, axis: int = -1) -> Array:
    return np.logaddexp.accumulate(a, axis=axis)


_UFUNC = {
    "running_sum": np.add,
    "running_product": np.multiply,
    "running_max": np.maximum,
    "running_min": np.minimum,
    "running_logsumexp": np.logaddexp,
}


_ALONG = (running_sum, running_product, running_max, running_min, running_logsumexp)


def _running(op: Op, a: Array, axis: Axis, dtype: DType, out: Array) -> Array:
    a = widened(a, out, _UFUNC[op.name]) if dtype is None else a.astype(dtype)
    if axis is None or (np.ndim(a) == 0 and axis in (0, -1)):  # NumPy takes a number for a row of one
        a, axis = np.ravel(a), 0
    result = op(a, axis=axis)
    return put(result if dtype is None or result.dtype == dtype else result.astype(dtype), out, np.cumsum)


_both = lambda r: [call(r(3, 4)), call(r(3, 4), 1)]  # noqa: E731 - shared samples


@composite(np.cumsum, samples=_both)
def cumsum(a: Array, axis: Axis = None, dtype: DType = None, out: Array = None) -> Array:
    return _running(running_sum, a, axis if axis is None else operator.index(axis), dtype, out)


@composite(np.cumprod, samples=_both)
def cumprod(a: Array, axis: Axis = None, dtype: DType = None, out: Array = None) -> Array:
    return _running(running_product, a, axis if axis is None else operator.index(axis), dtype, out)


@composite(np.cumulative_sum, samples=lambda r: [call(r(4)), call(r(3, 4), axis=1, include_initial=True)])
def cumulative_sum(
    x: Array, /, *, axis: Axis = None, dtype: DType = None, out: Array = None, include_initial: bool = False
) -> Array:
    return _cumulative(np.cumsum, x, axis, dtype, out, include_initial, 0)


@composite(np.cumulative_prod, samples=lambda r: [call(r(4)), call(r(3, 4), axis=1, include_initial=True)])
def cumulative_prod(
    x: Array, /, *, axis: Axis = None, dtype: DType = None, out: Array = None, include_initial: bool = False
) -> Array:
    return _cumulative(np.cumprod, x, axis, dtype, out, include_initial, 1)


def _cumulative(f: Value, x: Array, axis: Axis, dtype: DType, out: Array, initial: bool, first: int) -> Array:
    x = np.atleast_1d(x if dtype is not None else widened(x, out, np.multiply if first else np.add))
    axis = 0 if axis is None and np.ndim(x) == 1 else _one_axis(axis)
    if axis is None:
        raise ValueError("axis must be given for arrays of more than one dimension: axis=0")
    result = f(x, axis=axis, dtype=dtype)
    axis = axis % np.ndim(x)
    if initial:
        model, shape = lies(result), (*np.shape(x)[:axis], 1, *np.shape(x)[axis + 1 :])
        model = model if isinstance(model, np.ndarray) else np.empty(0, result.dtype)
        start = np.full_like(model, first, shape=shape)
        result = np.concatenate([beside(result, start), result], axis=axis)
    return put(result, out, np.cumulative_sum)


def _accumulate(op: Op) -> Function:
    """The method `accumulate` of the ufunc that `op` stands for."""

    def accumulate(a: Array, axis: Axis = 0, dtype: DType = None, out: Array = None) -> Array:
        if not np.ndim(a):
            raise TypeError(f"np.{_UFUNC[op.name].__name__}.accumulate takes an array with axes; got a number")
        return _running(op, a, _one_axis(axis), dtype, out)

    return accumulate


def _one_axis(axis: Axis) -> Axis:
    """The axis in a tuple of one, which ufuncs take for it."""
    if not isinstance(axis, tuple):
        return axis
    if len(axis) != 1:
        raise ArgumentError(f"np.ufunc.accumulate goes along one axis; got axis={axis}")
    return axis[0]


REDUCTIONS |= {(_UFUNC[op.name], "accumulate"): _accumulate(op) for op in _ALONG}
