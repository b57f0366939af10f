"""Gates of the user's own, written with plain arrays alone, inside `vmap`."""

import math

import numpy as np
import pytest

import adjoint as ad


def plain(x):
    """What foreign code does: it wants an array of NumPy's, and nothing else."""
    if type(x) is not np.ndarray and not isinstance(x, np.generic):
        x = np.asarray(x)
    return x


@ad.op
def cubed(x, w, power=3):
    return np.array([math.pow(float(v), power) for v in plain(x)]) * float(w)


@cubed.backward
def cubed_backward(g, x, w, power):
    own = np.array([math.pow(float(v), power - 1) for v in plain(x)])
    return g * own * power * float(w), np.sum(plain(g) * own * plain(x))


@ad.op
def first_only(x, y):
    return np.asarray(plain(x) * plain(y))


@first_only.backward
def first_only_backward(g, y):
    return plain(g) * plain(y), None


RNG = np.random.default_rng(0)
XS, W = RNG.standard_normal((4, 3)), RNG.standard_normal(4)


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
def test_values_and_gradients_are_those_of_a_loop(axes):
    args = [a if axis == 0 else a[0] for a, axis in zip((XS, W), axes, strict=True)]

    def each(f):
        return [f(*(a[i] if axis == 0 else a for a, axis in zip(args, axes, strict=True))) for i in range(4)]

    np.testing.assert_array_equal(ad.vmap(cubed, axes)(*args), each(cubed))
    gradient = ad.grad(lambda x, w: np.sum(np.sin(cubed(x, w))), (0, 1))
    for found, expected in zip(ad.vmap(gradient, axes)(*args), zip(*each(gradient), strict=True), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    outside = ad.grad(lambda *args: np.sum(np.sin(ad.vmap(cubed, axes)(*args))), (0, 1))(*args)
    for found, expected, axis in zip(outside, zip(*each(gradient), strict=True), axes, strict=True):
        np.testing.assert_allclose(found, expected if axis == 0 else np.sum(expected, axis=0), rtol=1e-13)


def test_jacobian_goes_through():
    np.testing.assert_allclose(ad.jacobian(lambda x: cubed(x, 2.0))(XS[0]), np.diag(6 * XS[0] ** 2), rtol=1e-13)


def test_inputs_without_a_derivative():
    found = ad.vmap(ad.grad(lambda x, y: np.sum(first_only(x, y)), (0, 1)))(XS, 2 * XS)
    np.testing.assert_array_equal(found[0], 2 * XS)
    np.testing.assert_array_equal(found[1], np.zeros_like(XS))


def test_a_rule_of_numpy_calls_takes_all_samples_at_once():
    calls = []

    @ad.op
    def square(x):
        return x**2

    @square.backward
    def backward(g, x):
        calls.append(1)
        return 2 * g * x

    np.testing.assert_array_equal(ad.vmap(ad.grad(lambda x: np.sum(square(x))))(XS), 2 * XS)
    assert len(calls) == 1


def test_settings_are_shared():
    with pytest.raises(ad.BatchedValueError, match="takes one `power` for all samples"):
        ad.vmap(lambda x, p: cubed(x, 1.0, power=p))(XS, W)


def test_wrong_rules_are_still_found():
    @ad.op
    def wrong(x):
        return np.asarray(plain(x))

    @wrong.backward
    def backward(g):
        return plain(g)[:1]

    with pytest.raises(ad.RuleError, match="cotangent of shape"):
        ad.vmap(ad.grad(lambda x: np.sum(wrong(x))))(XS)
