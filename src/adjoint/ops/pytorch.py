"""Functions that PyTorch has and NumPy has not, or under another name, in NumPy's terms: ``ad.frac(t)``, ``t.frac()``.

Each takes arrays of every kind; derivatives come from what it calls. Many are methods of tensors (`arrays/methods.py`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjoint.core.backend import beside
from adjoint.core.box import raw
from adjoint.core.errors import ArgumentError
from adjoint.core.late import service
from adjoint.core.registry import operation
from adjoint.core.types import Array, Axis, DType, Value
from adjoint.ops.elementwise.complex import join_parts
from adjoint.ops.order.extremes import ValuesAndIndices, along, in_words, marked, plain
from adjoint.ops.pytorch_shapes import (  # noqa: F401 - they are found here
    bartlett_window,
    blackman_window,
    block_diag,
    broadcast_to,
    cartesian_prod,
    cat,
    combinations,
    diag_embed,
    fill_diagonal,
    flip,
    fliplr,
    flipud,
    hamming_window,
    hann_window,
    index_copy,
    index_fill,
    index_put,
    masked_scatter,
    nonzero,
    reshape_as,
    rot90,
    swapdims,
    take_along_dim,
    tensor_split,
    tril_indices,
    triu_indices,
    unfold,
    view_as,
)


class Extremes(NamedTuple):
    """The smallest and the largest elements."""

    min: Array
    max: Array


# -- Arithmetic -----------------------------------------------------------------------------------


def added(input: Array, other: Array, *, alpha: Value = 1) -> Array:
    """``input + alpha * other``."""
    return np.add(input, np.multiply(alpha, other))


def subtracted(input: Array, other: Array, *, alpha: Value = 1) -> Array:
    """``input - alpha * other``."""
    return np.subtract(input, np.multiply(alpha, other))


def div(input: Array, other: Array, *, rounding_mode: str | None = None) -> Array:
    """``input / other``; rounded down ("floor"), or towards zero ("trunc"), which has no derivative but 0."""
    if rounding_mode is None:
        return np.divide(input, other)
    if rounding_mode not in ("floor", "trunc"):
        raise ArgumentError(f"div: rounding_mode is None, 'floor' or 'trunc'; got {rounding_mode!r}")
    down = np.floor_divide(input, other)
    if rounding_mode == "floor":
        return down
    if down.dtype.kind not in "iu":
        return np.trunc(np.divide(input, other))
    up = np.logical_and(np.remainder(input, other) != 0, np.less(input, 0) != np.less(other, 0))
    return down + up.astype(down.dtype)  # without fractions, which have no digits for large numbers


def frac(input: Array) -> Array:
    """What stands behind the point: ``t - np.trunc(t)``."""
    return input - np.trunc(input)


def clamp_min(input: Array, min: Array) -> Array:
    """``np.clip(t, min, None)``."""
    return np.clip(input, min, None)


def clamp_max(input: Array, max: Array) -> Array:
    """``np.clip(t, None, max)``."""
    return np.clip(input, None, max)


def logit(input: Array, eps: float | None = None) -> Array:
    """``np.log(t / (1 - t))`` of `input`, which `eps` keeps away from 0 and 1."""
    x = input if eps is None else np.clip(input, eps, 1 - eps)
    return np.log(x / (1 - x))


def complex(real: Array, imag: Array) -> Array:
    """``real + 1j * imag``."""
    return join_parts(real, imag)


def polar(abs: Array, angle: Array) -> Array:
    """``abs * np.exp(1j * angle)``."""
    return abs * np.exp(1j * angle)


def view_as_real(input: Array) -> Array:
    """Real and imaginary parts, side by side along a new last axis."""
    return np.stack([input.real, input.imag], -1)


def view_as_complex(input: Array) -> Array:
    """Of numbers whose last axis has the real and the imaginary part."""
    return join_parts(input[..., 0], input[..., 1])


def is_floating_point(input: Array) -> bool:
    """Whether the elements are real numbers."""
    return bool(input.dtype.kind == "f")


def is_complex(input: Array) -> bool:
    """Whether the elements are complex numbers."""
    return bool(input.dtype.kind == "c")


def is_nonzero(input: Array) -> bool:
    """Whether the one element is not 0."""
    return bool(input)


# -- Reductions -----------------------------------------------------------------------------------


@in_words
def aminmax(a: Array, axis: Axis = None, keepdims: bool = False) -> Extremes:
    """The smallest and the largest elements, along an axis or of all."""
    return Extremes(np.min(a, axis=axis, keepdims=keepdims), np.max(a, axis=axis, keepdims=keepdims))


@in_words
def median(a: Array, axis: Axis = None, keepdims: bool = False) -> Value:
    """PyTorch's ``t.median()``: the lower of the two elements in the middle; along an axis also where it is."""
    if axis is None:
        return kthvalue(np.reshape(a, -1), (np.size(plain(a)) + 1) // 2).values
    return kthvalue(a, (np.shape(a)[axis] + 1) // 2, axis, keepdims)


@in_words
def kthvalue(a: Array, k: int, axis: Value = -1, keepdims: bool = False) -> ValuesAndIndices:
    """The `k`-th smallest element along an axis, and where it is."""
    place = np.take(np.argsort(plain(a), axis=axis, kind="stable"), [k - 1], axis)
    return along(a, place, axis, keepdims)


@in_words
def mode(a: Array, axis: Value = -1, keepdims: bool = False) -> ValuesAndIndices:
    """The most frequent element along an axis (of several, the smallest), and the last place where it is."""
    x = np.moveaxis(plain(a), axis, -1)
    counts = np.sum(x[..., :, None] == x[..., None, :], -1)
    best = np.min(np.where(counts == np.max(counts, -1, keepdims=True), x, np.max(x, -1, keepdims=True)), -1)
    last = x.shape[-1] - 1 - np.argmax(np.flip(x == best[..., None], -1), -1)
    return along(a, np.expand_dims(last, axis), axis, keepdims)


@in_words
def count_nonzero(a: Array, axis: Axis = None) -> Array:
    """How many elements are not 0."""
    return marked(a, np.count_nonzero(plain(a), axis=axis))


@in_words
def var_mean(
    a: Array, axis: Axis = None, keepdims: bool = False, correction: float = 1, unbiased: bool = True
) -> Value:
    """PyTorch's variance, divided by n - 1 (`correction`), and the mean."""
    ddof = correction if unbiased else 0
    return np.var(a, axis=axis, keepdims=keepdims, ddof=ddof), np.mean(a, axis=axis, keepdims=keepdims)


@in_words
def std_mean(
    a: Array, axis: Axis = None, keepdims: bool = False, correction: float = 1, unbiased: bool = True
) -> Value:
    """PyTorch's standard deviation, divided by n - 1 (`correction`), and the mean."""
    ddof = correction if unbiased else 0
    return np.std(a, axis=axis, keepdims=keepdims, ddof=ddof), np.mean(a, axis=axis, keepdims=keepdims)


def dist(input: Array, other: Array, p: float = 2) -> Array:
    """The `p`-norm of the difference."""
    return np.linalg.norm(np.reshape(input - other, -1), p)


def pdist(input: Array, p: float = 2) -> Array:
    """The `p`-norms of the differences of each two rows."""
    first, second = np.triu_indices(len(input), 1)
    return np.linalg.norm(input[first] - input[second], p, -1)


def norm(
    input: Array, p: Value = None, dim: Axis = None, keepdim: bool = False,
    *, ord: Value = None, axis: Axis = None, keepdims: bool = False,
) -> Array:  # fmt: skip
    """The norm of all elements, or of those along `dim`, as one vector; by NumPy's words, `numpy.linalg.norm`'s.

    Example:
        >>> import adjoint as ad
        >>> ad.norm(ad.tensor([[3.0, 4.0], [0.0, 12.0]]), 2)
        tensor(13.)
    """
    if ord is not None or axis is not None or keepdims:
        return operation("norm")(input, p if ord is None else ord, dim if axis is None else axis, keepdim or keepdims)
    return operation("norm")(input, p=p, dim=dim, keepdim=keepdim)


def renorm(input: Array, p: float, dim: int, maxnorm: float) -> Array:
    """The parts along `dim`, of which each has a `p`-norm of at most `maxnorm`."""
    others = tuple(k for k in range(np.ndim(input)) if k != dim % np.ndim(input))
    norms = np.sum(np.abs(input) ** p, axis=others, keepdims=True) ** (1 / p)
    return input * np.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)


@in_words
def logcumsumexp(a: Array, axis: int = -1) -> Array:
    """The logarithm of the sum of exponentials so far, along an axis."""
    return np.logaddexp.accumulate(a, axis)


@in_words
def cumulative_trapezoid(y: Array, x: Array = None, dx: float = 1.0, axis: int = -1) -> Array:
    """The integral up to each point but the first, by trapezoids."""
    y = np.moveaxis(y, axis, -1)
    widths = dx if x is None else np.diff(x)
    return np.moveaxis(np.cumsum((y[..., 1:] + y[..., :-1]) / 2 * widths, -1), -1, axis)


def histc(input: Array, bins: int = 100, min: float = 0, max: float = 0) -> Array:
    """How many elements lie in each of `bins` equal parts from `min` to `max` (both 0: of the elements themselves)."""
    x = plain(input)
    ends = (float(np.min(x)), float(np.max(x))) if min == max == 0 else (min, max)
    return marked(input, np.histogram(x, bins, ends)[0].astype(x.dtype))


def msort(input: Array) -> Array:
    """In order along the first axis."""
    return np.sort(input, axis=0)


def bucketize(input: Array, boundaries: Array, *, right: bool = False) -> Array:
    """The number of the interval between `boundaries` in which each element lies."""
    return marked(input, np.searchsorted(plain(boundaries), plain(input), "right" if right else "left"))


def unique_consecutive(input: Array, return_inverse: bool = False, return_counts: bool = False) -> Value:
    """The elements without those that are equal to the one before."""
    x = np.reshape(input, -1)
    first = np.concatenate([[True], plain(x)[1:] != plain(x)[:-1]])[: np.size(plain(x))]
    found = [x[np.flatnonzero(first)]]
    found += [marked(input, np.reshape(np.cumsum(first) - 1, np.shape(input)))] if return_inverse else []
    found += [marked(input, np.diff(np.append(np.flatnonzero(first), len(first))))] if return_counts else []
    return tuple(found) if len(found) > 1 else found[0]


def equal(input: Array, other: Array) -> bool:
    """Whether both have one shape and the same elements."""
    return bool(np.array_equal(plain(input), plain(other)))


# -- Linear algebra -------------------------------------------------------------------------------


def addmv(input: Array, mat: Array, vec: Array, *, beta: Value = 1, alpha: Value = 1) -> Array:
    """``beta * t + alpha * (mat @ vec)``."""
    return beta * input + alpha * np.matmul(mat, vec)


def addr(input: Array, vec1: Array, vec2: Array, *, beta: Value = 1, alpha: Value = 1) -> Array:
    """``beta * t + alpha * np.outer(vec1, vec2)``."""
    return beta * input + alpha * np.outer(vec1, vec2)


def chain_matmul(*matrices: Array) -> Array:
    """``np.linalg.multi_dot(matrices)``."""
    return np.linalg.multi_dot(matrices)


def logdet(input: Array) -> Array:
    """The logarithm of the determinant; nan if that is negative."""
    sign, logarithm = np.linalg.slogdet(input)
    return np.where(plain(sign) < 0, np.nan, logarithm)


def cholesky_solve(input: Array, L: Array, upper: bool = False) -> Array:  # noqa: N803 - PyTorch's name
    """The solution of ``A x = input``, where `L` is the Cholesky factor of A."""
    factor = L.mT if upper else L
    return np.linalg.solve(factor.mT, np.linalg.solve(factor, input))


def cholesky_inverse(L: Array, upper: bool = False) -> Array:  # noqa: N803 - as above
    """The inverse of the matrix of which `L` is the Cholesky factor."""
    return cholesky_solve(beside(L, np.eye(np.shape(L)[-1], dtype=L.dtype)), L, upper)


def matrix_exp(input: Array) -> Array:
    """``adjoint.scipy.linalg.expm(t)``."""
    return service("scipy").linalg.expm(input)


# -- Types and layout -----------------------------------------------------------------------------


def char(input: Array) -> Array:
    """``astype(np.int8)``."""
    return input.astype(np.int8)


def byte(input: Array) -> Array:
    """``astype(np.uint8)``."""
    return input.astype(np.uint8)


def type(input: Array, dtype: DType = None) -> Value:
    """``astype(dtype)``; without a dtype, the name of the one that it has."""
    return str(input.dtype) if dtype is None else input.astype(dtype)


def is_contiguous(input: Array) -> bool:
    """Whether the elements lie in the order of their indices."""
    x = raw(input)
    return not isinstance(x, np.ndarray) or bool(x.flags.c_contiguous)


def stride(input: Array, dim: int | None = None) -> Value:
    """How many elements one has to go on in memory along each axis."""
    x = raw(input)
    steps = tuple(s // x.itemsize for s in (x if isinstance(x, np.ndarray) else np.empty(x.shape, x.dtype)).strides)
    return steps if dim is None else steps[dim]


def element_size(input: Array) -> int:
    """The bytes of one element."""
    return int(input.dtype.itemsize)


def nelement(input: Array) -> int:
    """How many elements there are."""
    return math.prod(np.shape(input))


def ndimension(input: Array) -> int:
    """How many axes there are."""
    return int(np.ndim(input))


def is_same_size(input: Array, other: Array) -> bool:
    """Whether both have one shape."""
    return bool(np.shape(input) == np.shape(other))


def new_empty(input: Array, *size: Value, dtype: DType = None) -> Array:
    """A constant of this dtype; its values are 0."""
    return input.new_zeros(*size, dtype=dtype)
