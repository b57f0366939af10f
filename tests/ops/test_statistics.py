"""Averages, covariance and correlation: NumPy's weights and its refusals."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad


def test_average_is_differentiable_in_its_weights():
    a, w = np.array([1.0, 5.0]), np.array([1.0, 3.0])
    # d/dw_i sum(a w) / sum(w) = (a_i - average) / sum(w)
    assert ad.grad(lambda w: np.average(a, weights=w))(w).tolist() == [-0.75, 0.25]


def test_average_gives_the_sum_of_weights_when_asked():
    t = ad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    average, total = np.average(t, axis=0, weights=[1.0, 3.0], returned=True)
    assert average.tolist() == [2.5, 3.5]
    assert np.asarray(total).tolist() == [4.0, 4.0]


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"weights": np.ones(3)}, TypeError, "need axis="),
        ({"axis": 0, "weights": np.ones(3)}, ad.ShapeError, r"expected \(2,\)"),
        ({"axis": 0, "weights": np.array([1.0, -1.0])}, ZeroDivisionError, "sum to 0"),
    ],
)
def test_average_refuses_weights_that_do_not_fit(kwargs, error, words):
    with pytest.raises(error, match=words):
        np.average(ad.tensor(np.ones((2, 3)), requires_grad=True), **kwargs)


def test_cov_with_both_kinds_of_weights():
    x = np.random.default_rng(0).normal(size=(2, 5))
    f, a = np.array([1, 2, 1, 1, 3]), np.array([0.5, 1.0, 2.0, 1.0, 0.1])
    t = ad.tensor(x, requires_grad=True)
    np.testing.assert_allclose(np.cov(t, fweights=f, aweights=a).numpy(), np.cov(x, fweights=f, aweights=a))


def test_cov_of_one_observation_says_what_to_do():
    with pytest.raises(ad.ArgumentError, match="ddof=0"):
        np.cov(ad.tensor([[1.0], [2.0]], requires_grad=True))


def test_corrcoef_of_a_perfect_pair_is_one_and_flat():
    value, pullback = ad.vjp(lambda x: np.corrcoef(x, 2 * x)[0, 1], np.array([1.0, 2.0, 4.0]))
    assert value == pytest.approx(1.0)
    np.testing.assert_allclose(pullback(1.0)[0], 0.0, atol=1e-12)


def test_variance_of_complex_numbers_points_away_from_the_mean():
    z = np.array([1.0 + 1.0j, 1.0 - 1.0j])
    assert ad.grad(np.var)(z).tolist() == [1j, -1j]


def test_covariances_have_numpys_digits():
    functions = [
        lambda x: np.cov(x[0], bias=True),
        np.cov,
        lambda x: np.cov(x[0], x[1], ddof=0),
        lambda x: np.cov(x, rowvar=False),
        lambda x: np.cov(x, fweights=[1, 2, 3, 1]),
        lambda x: np.cov(x, fweights=[1, 2, 3, 1], aweights=np.abs(x[0])),
        lambda x: np.cov(x * (1 + 1j) - 1j * x[::-1]),
        np.corrcoef,
        lambda x: np.corrcoef(x * (1 + 1j) - 1j * x[::-1]),
    ]
    for f in functions:
        for seed in range(20):
            x = np.random.default_rng(seed).normal(size=(3, 4))
            np.testing.assert_array_equal(f(ad.tensor(x)).numpy(), f(x))


def test_complex_weights_are_made_real_as_numpy_makes_them():
    x, w = np.array([[0.3, -1.1, 0.7], [2.0, 0.1, -0.4]]), np.array([1.0 + 2j, 0.5 - 1j, 2.0 + 0.25j])
    with pytest.warns(np.exceptions.ComplexWarning):
        expected = np.cov(x, aweights=w)
    with pytest.warns(np.exceptions.ComplexWarning):
        got = np.cov(ad.tensor(x), aweights=w)
    np.testing.assert_array_equal(got.numpy(), expected)
