"""Norms at their kinks: 0 at 0, even shares at ties, and what NumPy refuses."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad

norm = np.linalg.norm


@pytest.mark.parametrize("ord", [None, 2, 3, 1.5, 1, np.inf])
def test_a_vector_of_zeros_has_gradient_zero(ord):
    assert ad.grad(lambda x: norm(x, ord))(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


def test_the_square_of_a_norm_at_zero():
    assert ad.grad(lambda x: norm(x) ** 2)(np.zeros(2)).tolist() == [0.0, 0.0]


def test_normalising_zero_is_nan_and_says_so_in_its_gradient():
    with np.errstate(all="ignore"):
        value, pullback = ad.vjp(lambda x: x / norm(x), np.zeros(2))
        gradient = pullback(np.ones(2))[0]
    assert np.isnan(value).all()
    assert np.isnan(gradient).all()


def test_ties_share_evenly():
    x = np.array([3.0, -3.0, 1.0])
    assert ad.grad(lambda x: norm(x, np.inf))(x).tolist() == [0.5, -0.5, 0.0]
    assert ad.grad(lambda x: norm(x, -np.inf))(x).tolist() == [0.0, 0.0, 1.0]


def test_counting_norm_is_a_constant():
    assert norm(ad.tensor([3.0, 0.0, 1.0], requires_grad=True), 0) == 2.0


def test_a_p_norm_of_large_and_small_numbers_neither_overflows_nor_vanishes():
    for scale in (1e-100, 1e100):
        gradient = ad.grad(lambda x: norm(x, 3))(np.array([1.0, 0.0, 2.0]) * scale)
        np.testing.assert_allclose(gradient, np.array([1.0, 0.0, 4.0]) / 9 ** (2 / 3))


def test_nuclear_norm_of_zeros_has_a_finite_gradient():
    gradient = ad.grad(lambda x: norm(x, "nuc"))(np.zeros((2, 2)))
    assert norm(gradient, 2) <= 1 + 1e-12


def test_the_gradient_of_the_nuclear_norm_is_orthogonal():
    gradient = ad.grad(lambda x: norm(x, "nuc"))(np.random.default_rng(0).normal(size=(4, 3)))
    np.testing.assert_allclose(gradient.T @ gradient, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("ord", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
@pytest.mark.parametrize("axis", [(0, 1), (1, 0), (2, 0), (-1, -2)])
def test_matrix_norms_over_any_two_axes(ord, axis, keepdims):
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    ours = norm(ad.tensor(x, requires_grad=True), ord, axis, keepdims)
    np.testing.assert_allclose(ours.numpy(), norm(x, ord, axis, keepdims), rtol=1e-12)


@pytest.mark.parametrize(
    ("x", "kwargs", "words"),
    [
        (np.ones(3), {"ord": "fro"}, "which is for matrices"),
        (np.ones((2, 2)), {"ord": 3}, "ord='fro'"),
        (np.ones((2, 2, 2)), {"ord": 1}, "Say which axes"),
        (np.ones((2, 2, 2)), {"axis": (0, 1, 2)}, "one axis, or two"),
    ],
)
def test_refusals_say_what_would_work(x, kwargs, words):
    with pytest.raises(ad.ArgumentError, match=words):
        norm(ad.tensor(x, requires_grad=True), **kwargs)


def test_norms_of_whole_numbers_are_floats():
    assert norm(ad.tensor([3, 4])).item() == 5.0


@pytest.mark.parametrize(("shape", "ord"), [((50,), 2), ((50,), None), ((7, 9), "fro"), ((7, 9), None)])
def test_euclidean_norms_have_the_bits_of_numpys(shape, ord):
    for x in np.random.default_rng(0).normal(size=(20, *shape)):
        assert norm(ad.tensor(x), ord).item() == norm(x, ord)


@pytest.mark.parametrize("order", [1.0, 2.0, 2.5, -1.0, 3])
def test_the_order_of_a_norm_has_a_gradient(order):
    """Where NumPy takes a formula of its own, too; with plain values, and by either name."""
    x = np.array([[1.0, 2.0, -3.0], [0.5, -1.5, 1.0]])

    def by_hand(p):
        return np.sum(np.sum(np.abs(x) ** p, axis=1) ** (1.0 / p))

    expected = ad.grad(by_hand)(float(order))
    for f in (
        lambda p: np.sum(norm(x, p, axis=1)),
        lambda p: np.sum(norm(x, ord=p, axis=1)),
        lambda p: np.sum(np.linalg.vector_norm(x, ord=p, axis=1)),
        lambda p: np.linalg.norm(x[0], p) + np.linalg.norm(x[1], ord=p),
        lambda p: np.linalg.norm(x[0] * (p / p), p) + np.linalg.norm(x[1], p),
    ):
        np.testing.assert_allclose(ad.grad(f)(float(order)), expected, rtol=1e-12)
        np.testing.assert_allclose(ad.jvp(f, (float(order),), (1.0,))[1], expected, rtol=1e-12)
        np.testing.assert_allclose(f(float(order)), by_hand(float(order)), rtol=1e-12)


def test_the_order_of_a_matrix_norm_is_a_plain_number():
    with pytest.raises(ad.NotDifferentiableError, match="plain number"):
        ad.grad(lambda p: norm(np.eye(2), p))(2.0)
