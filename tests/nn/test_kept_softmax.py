"""Cross-entropy of small logits keeps their softmax for the way back: the values and gradients stay the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.nn.functional import cross_entropy
from adjoint.ops.neural.fused import negative_log_likelihood

SHAPES = [(3,), (8, 3), (8, 40), (300, 40), (2, 5, 4)]


def _logits(shape: tuple[int, ...], dtype: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(len(shape))
    classes = shape[1] if len(shape) > 1 else shape[0]
    labels = rng.integers(0, classes, (shape[0], *shape[2:]) if len(shape) > 1 else ())
    return (4 * rng.normal(size=shape)).astype(dtype), labels


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("extreme", [0.0, 1e30, np.inf, np.nan])
def test_same_bits(shape: tuple[int, ...], dtype: str, extreme: float) -> None:
    a, labels = _logits(shape, dtype)
    if extreme:
        a.flat[0] = extreme
    x, y = ad.Tensor(a.copy(), requires_grad=True), ad.Tensor(a.copy(), requires_grad=True)
    loss = cross_entropy(x, labels)
    expected = negative_log_likelihood(np.moveaxis(y, 1, -1) if y.ndim > 2 else y, labels, mean=True)
    loss.backward()
    expected.backward()
    np.testing.assert_array_equal(loss.numpy(), expected.numpy())
    np.testing.assert_array_equal(x.grad.numpy(), y.grad.numpy())


def test_two_passes_give_the_same() -> None:
    a, labels = _logits((8, 3), "float64")
    x = ad.Tensor(a, requires_grad=True)
    loss = cross_entropy(x, labels)
    loss.backward(retain_graph=True)
    first = x.grad.numpy().copy()
    loss.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * first)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_second_order(reduction: str) -> None:
    a, labels = _logits((4, 3), "float64")

    def gradient(a: np.ndarray) -> np.ndarray:
        x = ad.Tensor(a, requires_grad=True)
        loss = cross_entropy(x, labels, reduction=reduction)
        np.sum(loss).backward(create_graph=True)
        square = np.sum(x.grad * x.grad)
        x.grad = None
        square.backward()
        return x.grad.numpy()

    def square(a: np.ndarray) -> float:
        p = np.exp(a) / np.exp(a).sum(-1, keepdims=True)
        p[np.arange(len(a)), labels] -= 1
        return float(np.sum((p / (len(a) if reduction == "mean" else 1)) ** 2))

    found = gradient(a)
    for k in np.ndindex(a.shape):
        step = np.zeros_like(a)
        step[k] = 1e-5
        slope = (square(a + step) - square(a - step)) / 2e-5
        np.testing.assert_allclose(found[k], slope, rtol=1e-6, atol=1e-9)


def test_logits_and_labels_that_are_written_later() -> None:
    a, labels = _logits((8, 3), "float64")
    x, y = ad.Tensor(a, requires_grad=True), ad.Tensor(a.copy(), requires_grad=True)
    loss, expected = cross_entropy(x * 1.0, labels), cross_entropy(y * 1.0, labels.copy())
    labels[:] = 0
    loss.backward()
    expected.backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.grad.numpy())


def test_all_samples_at_once_and_tangents() -> None:
    a, labels = _logits((8, 3), "float64")
    each = ad.vmap(ad.grad(lambda row, label: cross_entropy(row, label)))(a, labels)
    p = np.exp(a) / np.exp(a).sum(-1, keepdims=True)
    p[np.arange(8), labels] -= 1
    np.testing.assert_allclose(each, p, rtol=1e-12)
    _, slope = ad.jvp(lambda a: cross_entropy(a, labels), (a,), (np.ones_like(a) * a,))
    np.testing.assert_allclose(slope, np.sum(p * a) / 8, rtol=1e-12)
