"""Several steps of networks as one operation each: faster, and stable where the separate steps are not."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from adjoint.core.backend import as_array, beside, in_chunks
from adjoint.core.constructors import elementwise, general
from adjoint.core.errors import ShapeError
from adjoint.core.op import Op, call
from adjoint.core.rows import drawn
from adjoint.core.types import Array, Axis
from adjoint.ops.linalg.lapack import conj
from adjoint.ops.neural.activation import has_rows, have_rows, shifted, sigmoid, softmax, total, total_product
from adjoint.ops.reductions.moments import reduce_mean

Kept = tuple[Array, Array] | None
_FEW = 4096


def in_single(x: Array) -> Array:
    """`x`; half precision as single, in which squares and sums do not overflow."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _rows(x: Array) -> Array:
    """A batch of any shape as the rows of one matrix."""
    return x if x.ndim == 2 else np.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def _through(x: Array, w: Array) -> Array:
    """``x @ w``; of plain arrays in one product for all rows, which reads `w` once."""
    if type(x) is np.ndarray and x.ndim > 2:
        return np.matmul(x.reshape(math.prod(x.shape[:-1]), x.shape[-1]), w).reshape(*x.shape[:-1], w.shape[-1])
    return np.matmul(x, w)


def _weight_cotangent(g: Array, x: Array) -> Array:
    if x.ndim == 1:
        return g[:, None] * conj(x)
    return np.dot(_rows(g).T, conj(_rows(x)))  # for one row, several times as fast as matmul


def _affine_each(x: Array, w: Array, b: Array, stacked: tuple[bool, ...], n: int) -> Array:
    if not any(stacked[1:]):  # many rows through the same layer
        return affine(x, w, b)
    inner = x.shape[stacked[0] : -1]
    rows = np.reshape(x, (n if stacked[0] else 1, math.prod(inner), x.shape[-1]))
    out = np.matmul(rows, np.swapaxes(w, -1, -2)) + b[..., None, :]
    return np.reshape(out, (n, *inner, out.shape[-1]))


@general(
    vjps=(
        lambda g, w: _through(g, conj(w)),
        _weight_cotangent,
        lambda g: g if g.ndim == 1 else total(_rows(g), axis=0),
    ),
    jvps=(lambda t, w: np.matmul(t, w.T), lambda t, x: np.matmul(x, t.T), lambda t: t),
    batch=_affine_each,
    flags=("finite", "contracts"),
    samples=lambda r: [call(r(3, 4), r(2, 4), r(2)), call(r(4), r(2, 4), r(2)), call(r(2, 3, 4), r(5, 4), r(5))],
    errors=lambda r: [call(r(3, 4), r(4, 2), r(2)), call(r(3, 4), r(2, 4), r(3))],
)
def affine(x: Array, w: Array, b: Array, /) -> Array:
    """``x @ w.T + b``: rows of `x` (…, in) through weights (out, in) and biases (out,)."""
    x = as_array(x)
    if x.shape[-1:] != w.shape[1:] or b.shape != w.shape[:1]:
        raise ShapeError(
            f"a linear layer takes x (…, in), weight (out, in), bias (out,); got {x.shape}, {w.shape}, {b.shape}"
        )
    out = _through(x, w.T)
    return np.add(out, b, out=out) if out.dtype == b.dtype and type(out) is np.ndarray else out + b


def averaged(a: Array, axis: Axis) -> Array:
    """The mean along `axis`, which stays."""
    if has_rows(a, axis):
        return total(a, axis, keepdims=True) / a.dtype.type(a.shape[-1])
    return _by_numpy(a, axis)


def _by_numpy(a: Array, axis: Axis) -> Array:
    """`numpy.mean`, for plain arrays in a fraction of its time."""
    if type(a) is not np.ndarray or a.dtype.char not in "fd" or not a.size:
        return np.mean(a, axis=axis, keepdims=True)
    sums = np.add.reduce(a, axis, keepdims=True)
    return sums / (a.size // sums.size)


def averaged_product(a: Array, b: Array, axis: Axis) -> Array:
    """The mean of ``a * b`` along `axis`, which stays."""
    if have_rows(a, b, axis):
        return total_product(a, b, axis) / a.dtype.type(a.shape[-1])
    return _by_numpy(np.square(a) if a is b else a * b, axis)


def standard(x: Array, axis: Axis, eps: float) -> tuple[Array, Array, Array, Array]:
    """`x` less its mean, over the root of its variance and `eps`; that root; the mean and the variance."""
    mean = averaged(x, axis)
    centred = x - mean
    var = averaged_product(centred, centred, axis)
    scale = np.sqrt(var + eps)
    if type(centred) is np.ndarray and type(scale) is np.ndarray and scale.dtype == centred.dtype:
        centred /= scale
    else:
        centred = centred / scale
    return centred, scale, mean, var


def standard_cotangent(g: Array, found: Array, scale: Array, axis: Axis) -> Array:
    """The cotangent of `x`, from that of the first value of `standard`, and from the first two."""
    return _unscaled(g, averaged(g, axis), found, averaged_product(g, found, axis), scale)


def _unscaled(g: Array, mean: Array, found: Array, slope: Array, scale: Array) -> Array:
    """``(g - mean - found * slope) / scale``, in place of plain arrays."""
    if all(type(x) is np.ndarray and x.dtype == g.dtype for x in (g, found, slope, scale)):
        out = g - mean
        out -= found * slope
        out /= scale
        return out
    return (g - mean - found * slope) / scale


def _standardized(g: Array, a: Array, out: Array, axis: Axis, eps: float) -> Array:
    if g.dtype == np.float16:
        return _standardized(in_single(g), in_single(a), in_single(out), axis, eps).astype(np.float16)
    mean, slope = averaged(g, axis), averaged_product(g, out, axis)
    centred = a - averaged(a, axis) if type(a) is np.ndarray else None
    var = np.var(a, axis=axis, keepdims=True) if centred is None else averaged_product(centred, centred, axis)
    return _unscaled(g, mean, out, slope, np.sqrt(var + eps))


@general(
    vjp=_standardized,
    jvp=lambda t, a, out, axis, eps: _standardized(t, a, out, axis, eps),  # its Jacobian is symmetric
    batch="axes",
    samples=lambda r: [call(r(3, 4)), call(r(2, 3, 4), (-2, -1)), call(r(3, 4), 0, 0.1)],
    flags=("real", "finite"),  # a scale of 0 leaves no finite `out`
)
def standardize(a: Array, /, axis: Axis = -1, eps: float = 1e-5) -> Array:
    """``(a - mean) / sqrt(var + eps)`` along `axis` (Ba et al., Layer Normalization, 2016)."""
    if a.dtype == np.float16:
        return standardize(in_single(a), axis=axis, eps=eps).astype(np.float16)
    return standard(a, axis, eps)[0]


@lru_cache(64)
def _few_numbers(count: int) -> np.ndarray:
    """0, 1, …, below `count`: an index, which nobody writes."""
    numbers = np.arange(count)
    numbers.flags.writeable = False
    return numbers


def _at(labels: Array) -> tuple[Array, ...]:
    """The index of each row's label."""
    if labels.ndim == 1:
        count = len(labels)
        return beside(labels, _few_numbers(count) if count <= _FEW else np.arange(count)), labels
    return *(beside(labels, i) for i in np.indices(labels.shape, sparse=True)), labels


def _at_labels(a: Array, labels: Array) -> Array:
    """``a[..., label]`` for each label."""
    return selected(a, labels) if in_chunks(a) or in_chunks(labels) else a[_at(labels)]


def selected(a: Array, labels: Array) -> Array:
    """``a[..., label]`` for each label, of arrays in chunks; nan for what is no class, which cannot be seen here.

    `a`: of shape (classes,), or of one more axis than `labels`.
    """
    hits = np.equal(labels[..., None], beside(labels, np.arange(a.shape[-1])))
    return np.where(np.any(hits, axis=-1), np.sum(np.where(hits, a, 0), axis=-1), np.nan)


def of_labels(weight: Array, labels: Array) -> Array:
    """``weight[labels]``: the weight of each label's class."""
    return selected(weight, labels) if in_chunks(labels) else weight[labels]


def with_softmax(a: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minus the log-softmax of `a` at `labels`, and the softmax, which has the bits of `softmax`."""
    p = shifted(a, -1)
    chosen = p[_at(labels)]
    p = np.exp(p, out=p) if p is not a else np.exp(p)
    sums = total(p, axis=-1, keepdims=True)
    p /= sums
    return np.log(sums[..., 0]) - chosen, p


def _likelihood_cotangent(g: Array, a: Array, labels: Array, mean: bool, kept: Kept) -> Array:
    """The softmax, less one at the label, times the row's cotangent."""
    g = g / labels.size if mean else g[..., None]
    p = softmax(a) if kept is None or type(a) is not np.ndarray else kept[1].copy()
    if isinstance(p, np.ndarray) and isinstance(g, np.ndarray | np.generic):
        p[_at(labels)] -= 1
        p *= g
        return p
    return (p - np.equal(labels[..., None], beside(a, np.arange(a.shape[-1])))) * g


def _likelihood_each(a: Array, labels: Array, mean: bool, kept: Kept = None) -> Array:
    loss = negative_log_likelihood(a, labels)
    return np.mean(loss, axis=tuple(range(1, np.ndim(loss)))) if mean and np.ndim(loss) > 1 else loss


def _likelihood_tangent(t: Array, a: Array, labels: Array, mean: bool) -> Array:
    loss = np.sum(softmax(a) * t, axis=-1) - _at_labels(t, labels)
    return reduce_mean(loss) if mean else loss


@general(
    vjps=(_likelihood_cotangent, None),
    jvps=(_likelihood_tangent, None),
    batch=_likelihood_each,
    samples=lambda r: [
        call(r(3, 4), np.array([0, 3, 1])),
        call(r(4), np.array(2)),
        call(r(2, 3, 4), np.array([[0, 1, 2], [3, 3, 0]])),
        call(r(3, 4), np.array([0, 3, 1]), mean=True),
    ],
    errors=lambda r: [call(r(3, 4), np.array([0, 4, 0]))],
    flags=("real",),
)
def negative_log_likelihood(a: Array, labels: Array, /, mean: bool = False, kept: Kept = None) -> Array:
    """Minus the log-softmax of logits `a` (…, classes) at `labels` (…): whole numbers from 0; or the mean of these.

    `kept`: what `with_softmax` gives, if that is known. Then the softmax is not computed again on the way back.
    """
    if kept is not None and type(a) is np.ndarray:
        return reduce_mean(kept[0]) if mean else kept[0].copy()
    s = shifted(as_array(a), -1)
    loss = np.log(total(np.exp(s), axis=-1)) - _at_labels(s, labels)
    return reduce_mean(loss) if mean else loss


def _keep_mask(x: Array, /, p: float, rng: np.random.Generator) -> Array:
    return beside(x, drawn(np.shape(x), lambda shape: rng.random(shape, dtype=np.float32)) >= p)


# True with probability 1 - p, for each element of each sample.
kept = Op("kept", _keep_mask, ("x",), settings={"p": 0.5, "rng": None}, kind="constant", batch="leading",
          flags=frozenset({"random"}))  # fmt: skip


def _logit_cross_entropy(x: Array, y: Array) -> Array:
    wrong = np.where(np.greater(x, 0), 1 - y, y)
    with np.errstate(invalid="ignore"):  # 0 * inf: no cost where the answer is right, however sure it is
        return np.where(np.equal(wrong, 0), 0, wrong * np.abs(x)) + np.log1p(np.exp(-np.abs(x)))


logit_cross_entropy = elementwise(
    _logit_cross_entropy,
    name="logit_cross_entropy",
    partials=(lambda x, y: sigmoid(x) - y, lambda x: -x),
    domain=((-2, 2), (0, 1)),
    flags=("real",),
)


def _held_log(p: Array) -> Array:
    """The logarithm, at least -100."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(p), -100.0)


probability_cross_entropy = elementwise(
    lambda x, y: -(y * _held_log(x) + (1 - y) * _held_log(1 - x)),
    name="probability_cross_entropy",
    partials=(lambda x, y: (x - y) / np.maximum((1 - x) * x, 1e-12), lambda x, y: _held_log(1 - x) - _held_log(x)),
    domain=((0.1, 0.9), (0, 1)),
    flags=("real",),
)

huber_cost = elementwise(
    lambda x, delta: np.where(np.less_equal(np.abs(x), delta), 0.5 * x * x, delta * (np.abs(x) - 0.5 * delta)),
    name="huber_cost",
    inputs=("x", "delta"),
    partials=(lambda x, delta: np.clip(x, -delta, delta), lambda x, delta: np.maximum(np.abs(x) - delta, 0.0)),
    domain=((-2, 2), (0.5, 1)),
    flags=("real", "array"),
)
