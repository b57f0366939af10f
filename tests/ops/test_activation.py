"""Activations and softmax: at their corners, for extreme input, and against their formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.neural.fused import affine, huber_cost, logit_cross_entropy, negative_log_likelihood, standardize

INF = math.inf


def gradient(f, x, cotangent=None):
    t = ad.tensor(np.asarray(x, float), requires_grad=True)
    with np.errstate(all="ignore"):
        value = f(t)
    value.backward(np.ones(value.shape) if cotangent is None else np.asarray(cotangent, float))
    return value.numpy(), t.grad.numpy()


@pytest.mark.parametrize(
    ("f", "x", "value", "slope"),
    [
        (ad.relu, [0, -1, 2, INF], [0, 0, 2, INF], [0, 0, 1, 1]),
        (ad.relu6, [0, 3, 6, 9], [0, 3, 6, 6], [0, 1, 0, 0]),
        (ad.hardtanh, [-1, 0, 1, 5], [-1, 0, 1, 1], [0, 1, 0, 0]),
        (ad.leaky_relu, [0, -1, 2], [0, -0.01, 2], [0.01, 0.01, 1]),
        (ad.elu, [0, 2, -INF], [0, 2, -1], [1, 1, 0]),
        (ad.gelu, [0.0, 100.0], [0, 100], [0.5, 1]),
        (ad.softsign, [0, 1, -3], [0, 0.5, -0.75], [1, 0.25, 1 / 16]),
        (ad.sigmoid, [-1000, 0, 1000], [0, 0.5, 1], [0, 0.25, 0]),
        (ad.softplus, [-1000, 0, 1000], [0, math.log(2), 1000], [0, 0.5, 1]),
        (ad.silu, [0, 1000], [0, 1000], [0.5, 1]),
    ],
)
def test_values_and_slopes_known_by_hand(f, x, value, slope):
    got, grad = gradient(f, x)
    np.testing.assert_allclose(got, value, rtol=1e-12)
    np.testing.assert_allclose(grad, slope, rtol=1e-12, atol=1e-300)


def test_relu_selects_so_an_infinite_cotangent_stays_out():
    for n in (1, 5000):  # small and large arrays take different ways
        _, grad = gradient(ad.relu, [-1.0, 1.0] * n, [INF, INF] * n)
        np.testing.assert_array_equal(grad, [0.0, INF] * n)
        _, grad = gradient(ad.relu, [-1.0, 1.0, 0.0] * n, [2.0, 3.0, 4.0] * n)
        np.testing.assert_array_equal(grad, [0.0, 3.0, 0.0] * n)


SMOOTH = {
    "sigmoid": ad.sigmoid,
    "softplus": ad.softplus,
    "silu": ad.silu,
    "softsign": ad.softsign,
    "gelu": ad.gelu,
    "gelu_tanh": lambda x: ad.gelu(x, "tanh"),
    "elu": lambda x: ad.elu(x, 0.7),
    "leaky_relu": ad.leaky_relu,
    "softmax": ad.softmax,
    "log_softmax": lambda x: ad.log_softmax(x, axis=0),
    "standardize": lambda x: standardize(x, axis=(0, 1), eps=0.1),
    "likelihood": lambda x: negative_log_likelihood(x, np.array([2, 0])),
    "bce": lambda x: logit_cross_entropy(x, np.array([[0.0, 1.0, 0.3], [0.2, 0.5, 1.0]])),
    "huber": lambda x: huber_cost(x, 0.7),
    "affine_x": lambda x: affine(x, np.arange(6.0).reshape(2, 3), np.ones(2)),
    "affine_w": lambda w: affine(np.arange(12.0).reshape(2, 2, 3), w, np.ones(2)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_first_and_second_derivatives_match_central_differences(name):
    f, rng, step = SMOOTH[name], np.random.default_rng(3), 1e-6
    x, direction = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    weights = rng.normal(size=f(x).shape)

    def first(x):
        return ad.grad(lambda y: np.sum(f(y) * weights))(x)

    def along(g):
        return (np.sum(g(x + step * direction)) - np.sum(g(x - step * direction))) / (2 * step)

    assert np.sum(first(x) * direction) == pytest.approx(along(lambda y: f(y) * weights), rel=1e-6, abs=1e-8)
    twice = ad.grad(lambda y: np.sum(first(y) * direction))(x)
    assert np.sum(twice * direction) == pytest.approx(along(lambda y: first(y) * direction), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", sorted(SMOOTH.keys() - {"affine_x", "affine_w", "bce"}))  # these mix in float64
def test_float32_stays_float32(name):
    leaf = ad.tensor(np.ones((2, 3), np.float32) / 3, requires_grad=True)
    middle = leaf * 1
    middle.retain_grad()
    result = SMOOTH[name](middle)
    assert result.dtype == np.float32
    result.sum().backward()
    assert middle.grad.dtype == np.float32


@pytest.mark.parametrize(
    ("x", "cotangent", "value", "grad"),
    [
        ([-INF, 0, 0], [1, 2, 3], [0, 0.5, 0.5], [0, -0.25, 0.25]),
        ([1e4, 0], [1, 0], [1, 0], [0, 0]),
        ([INF, 0], [1, 0], [1, 0], [0, 0]),
        ([INF, INF], [1, 0], [0.5, 0.5], [0.25, -0.25]),
    ],
)
def test_softmax_of_extreme_numbers(x, cotangent, value, grad):
    got, slope = gradient(ad.softmax, x, cotangent)
    np.testing.assert_array_equal(got, value)
    np.testing.assert_allclose(slope, grad)


def test_a_row_of_nothing_but_minus_infinity_has_no_softmax():
    assert np.isnan(ad.softmax(np.array([[-INF, -INF], [0.0, 0.0]]))).tolist() == [[True, True], [False, False]]


def test_log_softmax_of_extreme_numbers_warns_of_nothing():
    value, grad = gradient(ad.log_softmax, [-INF, -1000.0, 0.0], [0, 1, 0])
    np.testing.assert_array_equal(value, [-INF, -1000, 0])
    np.testing.assert_array_equal(grad, [0, 1, -1])


def test_log_of_softmax_is_left_as_naive_as_it_is_written():
    t = ad.tensor([-1000.0, 0.0], requires_grad=True)
    with np.errstate(all="ignore"):
        value = np.log(ad.softmax(t))
        value.backward(np.array([1.0, 0.0]))
    np.testing.assert_array_equal(value.numpy(), [-INF, 0])
    assert np.isnan(t.grad.numpy()).all()


def test_learned_slopes_have_gradients():
    slope = ad.tensor(0.1, requires_grad=True)
    ad.prelu(np.array([-2.0, 3.0, -4.0]), slope).sum().backward()
    assert slope.grad.item() == -6.0


@pytest.mark.parametrize(
    "wrong", [lambda: ad.hardtanh(np.ones(2), 1.0, -1.0), lambda: ad.gelu(np.ones(2), "erf"),
              lambda: affine(np.ones((2, 3)), np.ones((3, 2)), np.ones(2))]
)  # fmt: skip
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises(ad.AdjointError):
        wrong()
