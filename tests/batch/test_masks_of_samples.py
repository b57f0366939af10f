"""`np.place` and `np.putmask` inside vmap, where each sample has places of its own, and arrays without axes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad

SAMPLES = np.array([[0.1, 0.6, 0.7, 0.8], [0.9, 0.2, 0.6, 0.1], [0.1, 0.2, 0.3, 0.4]])


def places(x):
    y = np.zeros(4)
    y[:] = x
    np.place(y, x > 0.5, [x[0], -1.0, 3.0])
    return np.sum(y * np.arange(1.0, 5.0))


def places_of_rows(x):
    y = np.outer(x, [1.0, 2.0])
    np.place(y, y > 0.5, x[1])
    np.putmask(y, y < 0.3, x * 2.0)
    return np.sum(y**2)


def a_number(x):
    z = np.array(x[0])
    np.place(z, x[0] > 0.5, x[1:])
    np.putmask(z, x[1] > 0.5, 7.0 * x[2])
    return z * x[3]


@pytest.mark.parametrize("f", [places, places_of_rows, a_number], ids=lambda f: f.__name__)
def test_each_sample_has_its_own(f):
    assert_allclose(ad.vmap(f)(SAMPLES), [f(x) for x in SAMPLES], rtol=1e-14)
    assert_allclose(ad.vmap(ad.grad(f))(SAMPLES), [ad.grad(f)(x) for x in SAMPLES], rtol=1e-14)


def two_writes(x):
    high = x > 0.5
    y = np.empty_like(high, dtype=float)
    y[~high] = np.cos(x[~high])
    y[high] = np.sin(x[high])
    return y


@pytest.mark.parametrize("points", [SAMPLES + 0.5, SAMPLES - 1, SAMPLES[:, 0:0]], ids=["high", "low", "none"])
def test_values_beside_gradients_of_masked_writes(points):
    def f(x):
        return np.sum(two_writes(x) ** 2)

    values, gradients = ad.vmap(ad.value_and_grad(f))(points)
    assert_allclose(values, [f(x) for x in points], rtol=1e-14)
    assert_allclose(gradients, [ad.grad(f)(x) for x in points], rtol=1e-14)


def test_values_of_one_element_beside_its_gradient():
    def f(x):
        return two_writes(x[0])  # an array without axes

    values, gradients = ad.vmap(ad.value_and_grad(f))(SAMPLES + 0.5)
    assert_allclose(values, np.sin(SAMPLES[:, 0] + 0.5), rtol=1e-14)
    assert_allclose(gradients[:, 0], np.cos(SAMPLES[:, 0] + 0.5), rtol=1e-14)


def test_no_values():
    with pytest.raises(ad.ArgumentError, match="no values"):
        ad.vmap(lambda x: np.place(x.copy(), x > 0.5, []))(SAMPLES)


def test_assertions_of_numpys():
    """`np.testing` compares all samples, also with what they share."""

    def f(x):
        np.testing.assert_array_less(x, 10)
        np.testing.assert_array_less(x, np.full(4, 2.0))
        np.testing.assert_allclose(x, x.copy())
        return np.sum(x)

    assert_allclose(ad.vmap(f)(SAMPLES), np.sum(SAMPLES, axis=1))
    with pytest.raises(AssertionError):
        ad.vmap(lambda x: np.testing.assert_array_less(x, 0.85))(SAMPLES)
