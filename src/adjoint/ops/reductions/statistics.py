"""Weighted means, covariance and correlation."""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import as_beside, beside, surely_any, zeros
from adjoint.core.box import raw
from adjoint.core.constructors import composite
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.op import call
from adjoint.core.types import Array, Axis, DType, Value
from adjoint.ops.reductions.sums import axes_of


@composite(
    np.average,
    samples=lambda r: [
        call(r(3, 4)),
        call(r(3, 4), axis=1, weights=r(4, low=0.5, high=2)),
        call(r(3, 4), weights=r(3, 4, low=0.5, high=2), returned=True),
        call(r(3, 4), axis=0, weights=r(3, low=0.5, high=2), keepdims=True),
        call(r(2, 3, 4), axis=(0, 2), weights=r(2, 4, low=0.5, high=2)),
    ],
    errors=lambda r: [call(r(3, 4), weights=r(4)), call(r(3, 4), axis=0, weights=r(4))],
)
def average(
    a: Array, axis: Axis = None, weights: Array = None, returned: bool = False, *, keepdims: Value = False
) -> Array:
    """`numpy.average`; differentiable in `weights` too."""
    keepdims = keepdims is not np._NoValue and bool(keepdims)  # NumPy's mark, if it was not given
    axis = tuple(axis) if np.ndim(axis) else axis
    if weights is None:
        result = np.mean(a, axis=axis, keepdims=keepdims)
        if not np.size(result):
            raise ZeroDivisionError("np.average: there is nothing to average; the result has no elements")
        total: Value = result.dtype.type(np.size(a) / np.size(result))
        return (result, np.full(np.shape(result), total)[()]) if returned else result
    a = a if hasattr(a, "dtype") else np.asarray(a)
    weights = _aligned(weights, a, axis)
    dtype = np.result_type(a, weights.dtype, *[float] * (np.result_type(a).kind in "iub"))
    weights = weights if weights.dtype == dtype else weights.astype(dtype)
    total = np.sum(weights, axis=axis, keepdims=keepdims)
    if surely_any(raw(total) == 0):
        raise ZeroDivisionError("np.average: the weights sum to 0 along the chosen axis, so they cannot be normalised")
    result = np.sum(a * weights, axis=axis, keepdims=keepdims) / total
    if not returned:
        return result
    return (result, np.broadcast_to(total, np.shape(result))) if np.ndim(result) else (result, total[()])


def _aligned(weights: Array, a: Array, axis: Axis) -> Array:
    """`weights` with the dimensions of `a`."""
    weights = weights if hasattr(weights, "shape") else beside(a, np.asarray(weights))
    shape = np.shape(a)
    if np.shape(weights) == shape:
        return weights
    if axis is None:
        raise TypeError(
            f"np.average: weights of shape {np.shape(weights)} for an array of shape {shape} need axis=, to say which "
            f"axes they go along"
        )
    axes = axes_of(axis, len(shape))
    if np.shape(weights) != tuple(shape[i] for i in axes):
        raise ShapeError(
            f"np.average: weights of shape {np.shape(weights)} do not fit axis {axis} of an array of shape {shape}; "
            f"expected {tuple(shape[i] for i in axes)}"
        )
    order = tuple(int(i) for i in np.argsort(axes))
    placed = [1] * len(shape)
    for i in axes:
        placed[i] = shape[i]
    return np.broadcast_to(np.reshape(np.transpose(weights, order), tuple(placed)), shape)


@composite(
    np.cov,
    samples=lambda r: [
        call(r(5)),
        call(r(3, 5)),
        call(r(5, 3), rowvar=False, bias=True),
        call(r(5), r(5), ddof=2),
        call(r(2, 4), fweights=np.array([1, 2, 1, 3])),
        call(r(2, 4), aweights=r(4, low=0.5, high=2), ddof=0),
        call(r(2, 4), fweights=[1, 2, 1, 3], aweights=r(4, low=0.5, high=2)),
    ],
    errors=lambda r: [call(r(2, 2, 2)), call(r(2, 3), ddof=0.5)],
)
def cov(
    m: Array,
    y: Array = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Array | None = None,
    aweights: Array | None = None,
    *,
    dtype: DType = None,
) -> Array:
    """`numpy.cov`; differentiable in `aweights` too."""
    if ddof is not None and ddof != int(ddof):
        raise ArgumentError(f"np.cov: ddof must be a whole number; got {ddof}")
    x = _variables(m, rowvar)
    if not np.shape(x)[0]:
        return zeros(x, (0, 0), float)  # whatever else is given, and of this dtype
    if y is not None:
        x = np.concatenate([x, _variables(y, rowvar if np.ndim(y) == 2 and np.shape(y)[0] != 1 else True)], axis=0)
    x = x.astype(np.result_type(x.dtype, np.float64) if dtype is None else dtype)
    ddof = (1 if bias == 0 else 0) if ddof is None else ddof
    fweights, aweights = (w if w is None else as_beside(x, w).astype(float) for w in (fweights, aweights))
    weights = _weights(fweights, aweights, np.shape(x)[1])
    if weights is None:
        centred = _in_place(x - np.mean(x, axis=1, keepdims=True), x)
        scale: Array = np.shape(x)[1] - ddof
        weighted = centred
    else:
        total = np.sum(weights)
        centred = _in_place(x - np.sum(x * weights, axis=1, keepdims=True) / total, x)
        twice = np.sum(weights * aweights) if aweights is not None else total
        scale = total - ddof * twice / total if ddof else total
        weighted = centred * weights
    if surely_any(np.less_equal(raw(scale), 0)):
        raise ArgumentError(
            f"np.cov: {np.shape(x)[1]} observations with ddof={ddof} leave no degree of freedom; pass ddof=0"
        )
    # As NumPy does: by the same array, if that is real, and by the inverse; other orders have other last digits.
    product = np.matmul(centred, (np.conj(weighted) if np.iscomplexobj(weighted) else weighted).T)
    return np.squeeze(_in_place(product * np.true_divide(1, scale), product))


def _in_place(result: Array, x: Array) -> Array:
    """`result` in the dtype of `x`, into which NumPy writes it."""
    return result if result.dtype == x.dtype else result.astype(x.dtype)


def _variables(m: Array, rowvar: bool) -> Array:
    if np.ndim(m) > 2:
        raise ArgumentError(f"np.cov takes one variable or a matrix of them; got {np.ndim(m)} dimensions")
    m = m if hasattr(m, "shape") else np.asarray(m)
    if np.ndim(m) < 2:
        return np.reshape(m, (1, -1))
    return m if rowvar or np.shape(m)[0] == 1 else np.transpose(m)


def _weights(fweights: Array | None, aweights: Array | None, n: int) -> Array:
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is not None and (np.shape(w) != (n,) or surely_any(np.less(raw(w), 0))):
            raise ShapeError(f"np.cov: {name} must be {n} numbers that are not negative; got shape {np.shape(w)}")
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


@composite(np.corrcoef, samples=lambda r: [call(r(3, 5)), call(r(5), r(5)), call(r(5, 2), rowvar=False)])
def corrcoef(x: Array, y: Array = None, rowvar: bool = True, *, dtype: DType = None) -> Array:
    c = np.cov(x, y, rowvar, dtype=dtype)
    if np.ndim(c) == 0:
        return c / c
    d = np.sqrt(np.real(np.diagonal(c)))
    c = c / d[:, None] / d[None, :]
    if np.iscomplexobj(c):
        return np.clip(np.real(c), -1.0, 1.0) + 1j * np.clip(np.imag(c), -1.0, 1.0)
    return np.clip(c, -1.0, 1.0)
