"""Several steps that networks take together, as one operation each: faster, and stable where the steps are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.backend import as_array, beside
from adjoint.core.constructors import elementwise, general
from adjoint.core.errors import ShapeError
from adjoint.core.op import Op, call
from adjoint.core.rows import drawn
from adjoint.ops.activation import shifted, sigmoid, softmax, total
from adjoint.ops.reductions import reduce_mean


def _rows(x: Any) -> Any:
    """A batch of any shape as the rows of one matrix."""
    return x if x.ndim == 2 else np.reshape(x, (int(np.prod(x.shape[:-1])), x.shape[-1]))


def _conjugate(x: Any) -> Any:
    return np.conj(x) if x.dtype.kind == "c" else x


def _weight_cotangent(g: Any, x: Any) -> Any:
    if x.ndim == 1:
        return g[:, None] * _conjugate(x)
    return np.dot(_rows(g).T, _conjugate(_rows(x)))  # for one row, several times as fast as matmul


def _affine_each(x: Any, w: Any, b: Any, stacked: tuple[bool, ...], n: int) -> Any:
    if not any(stacked[1:]):  # many rows through the same layer
        return affine(x, w, b)
    rows = np.reshape(x, (n if stacked[0] else 1, -1, x.shape[-1]))
    out = np.matmul(rows, np.swapaxes(w, -1, -2)) + b[..., None, :]
    return np.reshape(out, (n, *x.shape[stacked[0] : -1], out.shape[-1]))


@general(
    vjps=(
        lambda g, w: g @ _conjugate(w),
        _weight_cotangent,
        lambda g: g if g.ndim == 1 else total(_rows(g), axis=0),
    ),
    jvps=(lambda t, w: np.matmul(t, w.T), lambda t, x: np.matmul(x, t.T), lambda t: t),
    batch=_affine_each,
    flags=("finite", "contracts"),
    samples=lambda r: [
        call(r(3, 4), r(2, 4), r(2)),
        call(r(4), r(2, 4), r(2)),
        call(r(2, 3, 4), r(5, 4), r(5)),
    ],
    errors=lambda r: [call(r(3, 4), r(4, 2), r(2)), call(r(3, 4), r(2, 4), r(3))],
)
def affine(x: Any, w: Any, b: Any, /) -> Any:
    """``x @ w.T + b``: rows of `x` (…, in) through weights (out, in) and biases (out,)."""
    x = as_array(x)
    if x.shape[-1:] != w.shape[1:] or b.shape != w.shape[:1]:
        raise ShapeError(
            f"a linear layer takes x (…, in), weight (out, in), bias (out,); got {x.shape}, {w.shape}, {b.shape}"
        )
    out = np.matmul(x, w.T)
    return np.add(out, b, out=out) if out.dtype == b.dtype and type(out) is np.ndarray else out + b


def _standardized(g: Any, a: Any, out: Any, axis: Any, eps: float) -> Any:
    mean = np.mean(g, axis=axis, keepdims=True)
    slope = np.mean(g * out, axis=axis, keepdims=True)
    return (g - mean - out * slope) / np.sqrt(np.var(a, axis=axis, keepdims=True) + eps)


@general(
    vjp=_standardized,
    jvp=lambda t, a, out, axis, eps: _standardized(t, a, out, axis, eps),  # its Jacobian is symmetric
    batch="axes",
    samples=lambda r: [call(r(3, 4)), call(r(2, 3, 4), (-2, -1)), call(r(3, 4), 0, 0.1)],
    flags=("real",),
)
def standardize(a: Any, /, axis: Any = -1, eps: float = 1e-5) -> Any:
    """``(a - mean) / sqrt(var + eps)`` along `axis` (Ba et al., Layer Normalization, 2016)."""
    centred = a - np.mean(a, axis=axis, keepdims=True)
    return centred / np.sqrt(np.mean(np.square(centred), axis=axis, keepdims=True) + eps)


def _at(labels: Any) -> tuple[Any, ...]:
    """The index of each row's label."""
    if labels.ndim == 1:
        return beside(labels, np.arange(len(labels))), labels
    return *(beside(labels, i) for i in np.indices(labels.shape, sparse=True)), labels


def _likelihood_cotangent(g: Any, a: Any, labels: Any, mean: bool) -> Any:
    """The softmax, less one at the label, times the row's cotangent."""
    g = g / labels.size if mean else g[..., None]
    p = softmax(a)
    if isinstance(p, np.ndarray) and isinstance(g, np.ndarray | np.generic):
        p[_at(labels)] -= 1
        p *= g
        return p
    return (p - np.equal(labels[..., None], beside(a, np.arange(a.shape[-1])))) * g


def _likelihood_each(a: Any, labels: Any, mean: bool) -> Any:
    loss = negative_log_likelihood(a, labels)
    return np.mean(loss, axis=tuple(range(1, np.ndim(loss)))) if mean and np.ndim(loss) > 1 else loss


def _likelihood_tangent(t: Any, a: Any, labels: Any, mean: bool) -> Any:
    loss = np.sum(softmax(a) * t, axis=-1) - t[_at(labels)]
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
def negative_log_likelihood(a: Any, labels: Any, /, mean: bool = False) -> Any:
    """Minus the log-softmax of logits `a` (…, classes) at `labels` (…): whole numbers from 0; or the mean of these."""
    s = shifted(as_array(a), -1)
    loss = np.log(total(np.exp(s), axis=-1)) - s[_at(labels)]
    return reduce_mean(loss) if mean else loss


def _keep_mask(x: Any, /, p: float, rng: np.random.Generator) -> Any:
    return beside(x, drawn(np.shape(x), lambda shape: rng.random(shape, dtype=np.float32)) >= p)


# True with probability 1 - p, for each element of each sample.
kept = Op("kept", _keep_mask, ("x",), settings={"p": 0.5, "rng": None}, kind="constant", batch="leading",
          flags=frozenset({"random"}))  # fmt: skip


def _logit_cross_entropy(x: Any, y: Any) -> Any:
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

huber_cost = elementwise(
    lambda x, delta: np.where(np.less_equal(np.abs(x), delta), 0.5 * x * x, delta * (np.abs(x) - 0.5 * delta)),
    name="huber_cost",
    inputs=("x", "delta"),
    partials=(
        lambda x, delta: np.clip(x, -delta, delta),
        lambda x, delta: np.maximum(np.abs(x) - delta, 0.0),
    ),
    domain=((-2, 2), (0.5, 1)),
    flags=("real",),
)
