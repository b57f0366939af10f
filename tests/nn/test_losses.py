"""Losses: values and gradients by hand, beside PyTorch's, for infinite logits and for wrong arguments."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.nn import functional

INF, LOG2 = math.inf, math.log(2)


def gradient(f, x):
    t = ad.tensor(np.asarray(x, float), requires_grad=True)
    value = f(t)
    value.sum().backward()
    return value.numpy(), t.grad.numpy()


@pytest.mark.parametrize(
    ("loss", "value", "grad"),
    [
        (nn.mse_loss, 5 / 2, [1, -2]),
        (nn.l1_loss, 1.5, [0.5, -0.5]),
        (nn.huber_loss, 1.0, [0.5, -0.5]),
        (lambda x, y: nn.huber_loss(x, y, delta=1.5), (0.5 + 1.5 * 1.25) / 2, [0.5, -0.75]),
    ],
)
def test_regression_losses_by_hand(loss, value, grad):
    got, slope = gradient(lambda x: loss(x, np.array([0.0, 4.0])), [1.0, 2.0])
    assert got == pytest.approx(value)
    np.testing.assert_allclose(slope, grad)


@pytest.mark.parametrize("loss", [nn.mse_loss, nn.l1_loss, nn.huber_loss, nn.binary_cross_entropy_with_logits])
def test_reductions_and_shapes(loss):
    x, y = np.array([[0.3, -1.0], [2.0, 0.1]]), np.array([[0.0, 1.0], [0.5, 1.0]])
    each = loss(x, y, reduction="none")
    assert each.shape == (2, 2)
    assert loss(x, y, reduction="sum") == pytest.approx(each.sum())
    assert loss(x, y) == pytest.approx(each.mean())
    with pytest.raises(ad.ShapeError, match="broadcast"):
        loss(x, y[:, :1])
    with pytest.raises(ad.ArgumentError, match="reduction"):
        loss(x, y, reduction="average")


@pytest.mark.parametrize(
    ("x", "y", "value", "grad"),
    [
        (0, 1, LOG2, -0.5),
        (INF, 1, 0, 0),
        (-INF, 0, 0, 0),
        (1000, 0, 1000, 1),
        (-1000, 1, 1000, -1),
        (0, 0.25, LOG2, 0.25),
    ],
)
def test_binary_cross_entropy_of_any_logit(x, y, value, grad):
    got, slope = gradient(lambda t: nn.binary_cross_entropy_with_logits(t, np.array([float(y)])), [x])
    assert got == pytest.approx(value)
    assert slope == pytest.approx(grad)


def test_binary_cross_entropy_takes_truth_values():
    assert nn.binary_cross_entropy_with_logits(np.zeros(2), np.array([True, False])) == pytest.approx(LOG2)


@pytest.mark.parametrize(
    ("logits", "label", "value", "grad"),
    [
        ([0, 0], 1, LOG2, [0.5, -0.5]),
        ([0, 0, -INF], 0, LOG2, [-0.5, 0.5, 0]),
        ([-INF, 5, -INF], 1, 0, [0, 0, 0]),
        ([INF, 0, 3], 0, 0, [0, 0, 0]),
        ([1e4, 0], 1, 1e4, [1, -1]),
        ([-INF, 0], 0, INF, [-1, 1]),
    ],
)
def test_cross_entropy_of_any_logits(logits, label, value, grad):
    got, slope = gradient(lambda x: nn.cross_entropy(x, np.array(label)), logits)
    assert got == value or got == pytest.approx(value)
    np.testing.assert_allclose(slope, grad)
    one_hot = np.eye(len(logits))[label]
    got, slope = gradient(lambda x: nn.cross_entropy(x, one_hot), logits)
    assert got == value or got == pytest.approx(value)
    np.testing.assert_allclose(slope, grad)


def test_label_smoothing_by_hand():
    got, slope = gradient(lambda x: nn.cross_entropy(x, np.array([0]), label_smoothing=0.2), [[0.0, 0.0]])
    assert got == pytest.approx(LOG2)
    np.testing.assert_allclose(slope, [[0.5 - 0.9, 0.5 - 0.1]])


def test_ignored_rows_count_for_nothing():
    logits, labels = np.array([[0.0, 0.0], [3.0, 1.0]]), np.array([1, -100])
    got, slope = gradient(lambda x: nn.cross_entropy(x, labels), logits)
    assert got == pytest.approx(LOG2)
    np.testing.assert_allclose(slope, [[0.5, -0.5], [0, 0]])
    got, slope = gradient(lambda x: nn.cross_entropy(x, np.array([-100, -100])), logits)
    assert got == 0
    assert not slope.any()
    assert nn.cross_entropy(logits, np.array([0, 1]), ignore_index=1) == pytest.approx(LOG2)


CASES = {
    "plain": {},
    "sum": {"reduction": "sum"},
    "none": {"reduction": "none"},
    "smooth": {"label_smoothing": 0.1},
    "weight": {"weight": np.array([0.5, 1.0, 2.0])},
    "ignore": {"ignore_index": 1},
    "weight, ignore, sum": {"weight": np.array([0.5, 1.0, 2.0]), "ignore_index": 2, "reduction": "sum"},
    "weight, ignore": {"weight": np.array([0.5, 1.0, 2.0]), "ignore_index": 0},
}


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 4)])
def test_cross_entropy_matches_torch(settings, shape):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=shape), rng.integers(0, 3, (shape[0], *shape[2:]))
    theirs = torch.tensor(x, requires_grad=True)
    options = {k: torch.tensor(v) if k == "weight" else v for k, v in settings.items()}
    want = torch.nn.functional.cross_entropy(theirs, torch.tensor(labels), **options)
    want.sum().backward()
    value, grad = gradient(lambda t: nn.cross_entropy(t, labels, **settings), x)
    np.testing.assert_allclose(value, want.detach().numpy())
    np.testing.assert_allclose(grad, theirs.grad.numpy(), atol=1e-15)


@pytest.mark.parametrize("settings", [CASES["plain"], CASES["smooth"], CASES["weight"], CASES["none"]])
def test_cross_entropy_of_probabilities_matches_torch(settings):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x, p = rng.normal(size=(2, 3, 4)), ad.softmax(rng.normal(size=(2, 3, 4)), axis=1)
    theirs = torch.tensor(x, requires_grad=True)
    options = {k: torch.tensor(v) if k == "weight" else v for k, v in settings.items()}
    want = torch.nn.functional.cross_entropy(theirs, torch.tensor(p), **options)
    want.sum().backward()
    value, grad = gradient(lambda t: nn.cross_entropy(t, p, **settings), x)
    np.testing.assert_allclose(value, want.detach().numpy())
    np.testing.assert_allclose(grad, theirs.grad.numpy(), atol=1e-15)


def test_cross_entropy_has_a_second_derivative():
    # The Hessian of log-sum-exp is diag(p) - p p^T, whatever the label.
    x = np.array([0.2, -1.0, 0.7])
    p = ad.softmax(x)
    hessian = ad.hessian(lambda x: nn.cross_entropy(x, np.array(1)))(x)
    np.testing.assert_allclose(hessian, np.diag(p) - np.outer(p, p), atol=1e-14)


def test_cross_entropy_keeps_float32():
    t = ad.tensor(np.ones((2, 3), np.float32), requires_grad=True)
    loss = nn.cross_entropy(t, np.array([0, 1]), label_smoothing=0.1)
    assert loss.dtype == np.float32


@pytest.mark.parametrize(
    ("target", "settings", "error", "words"),
    [
        (np.array([0, 3]), {}, ad.ArgumentError, "from 0 to 2; got 0 to 3"),
        (np.array([0, -1]), {}, ad.ArgumentError, "got -1"),
        (np.array([0.0, 1.0]), {}, ad.DTypeError, "astype"),
        (np.array([0, 1, 2]), {}, ad.ShapeError, "got"),
        (np.ones((3, 2)), {}, ad.ShapeError, "probabilities"),
        (np.array([0, 1]), {"label_smoothing": 2.0}, ad.ArgumentError, "share"),
        (np.array([0, 1]), {"reduction": "avg"}, ad.ArgumentError, "reduction"),
    ],
)
def test_cross_entropy_refuses_what_does_not_fit(target, settings, error, words):
    with pytest.raises(error, match=words):
        nn.cross_entropy(np.zeros((2, 3)), target, **settings)


def test_functional_forms():
    x, w, b = np.ones((2, 3)), np.full((4, 3), 2.0), np.ones(4)
    assert functional.linear(x, w, b).tolist() == [[7.0] * 4] * 2
    assert functional.linear(x, w).tolist() == [[6.0] * 4] * 2
    assert functional.dropout(x, 0.5, training=False) is x
    assert functional.dropout(x, 1.0).sum() == 0
    assert all(hasattr(functional, name) for name in functional.__all__)


@pytest.mark.parametrize("words", [{}, {"reduction": "sum"}, {"size_average": False}])
def test_a_loss_is_recorded_whatever_words_it_is_called_by(words):
    x, labels = np.linspace(-1.0, 1.0, 15).reshape(5, 3), np.array([0, 1, 2, 0, 1])
    compiled = ad.compile(lambda x: nn.cross_entropy(x, labels, **words) + nn.mse_loss(x, x**2, **words), wait=True)
    for _ in range(2):
        found = compiled(x)
    assert "1 specialization" in str(compiled.explain())
    np.testing.assert_allclose(found, compiled.__wrapped__(x))


def test_a_divergence_from_what_is_no_probability_is_nan():
    found = nn.functional.kl_div(np.zeros(3), np.array([-0.1, 0.0, 1.0]), reduction="none")
    np.testing.assert_array_equal(found, [np.nan, 0.0, 0.0])


def test_targets_of_a_hinge_are_1_and_minus_1():
    with pytest.raises(ad.ArgumentError, match=r"got 0\. .* 2 \* target - 1"):
        nn.functional.hinge_embedding_loss(np.ones(2), np.array([1, 0]))
