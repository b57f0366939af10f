"""Differences, integrals, interpolation: edges, spacing that has a gradient, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad


def test_diff_of_order_zero_is_the_array_itself():
    t = ad.tensor([1.0, 2.0], requires_grad=True)
    assert np.diff(t, 0) is t


def test_diff_of_truth_values():
    assert np.diff(ad.tensor([True, False, False])).tolist() == [True, False]


def test_trapezoid_is_differentiable_in_its_grid():
    y = np.array([1.0, 3.0, 2.0])
    gradient = ad.grad(lambda x: np.trapezoid(y, x))(np.array([0.0, 1.0, 3.0]))
    assert gradient.tolist() == [-2.0, -0.5, 2.5]


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient_is_exact_for_polynomials_of_its_order(edge_order):
    x = np.array([0.0, 0.5, 2.0, 2.5, 4.0])
    slopes = np.gradient(ad.tensor(x**edge_order, requires_grad=True), x, edge_order=edge_order)
    np.testing.assert_allclose(slopes.numpy(), edge_order * x ** (edge_order - 1))


def test_gradient_is_differentiable_in_the_spacing():
    f = np.array([0.0, 1.0, 4.0])
    assert ad.grad(lambda h: np.gradient(f, h)[1])(2.0) == pytest.approx(-4.0 / (2 * 4.0))


@pytest.mark.parametrize(
    ("f", "args", "kwargs", "error"),
    [
        (np.ones(1), (), {}, ad.ArgumentError),
        (np.ones(4), (np.ones(3),), {}, ad.ShapeError),
        (np.ones((3, 3)), (1.0, 2.0, 3.0), {}, TypeError),
        (np.ones(4), (), {"edge_order": 3}, ad.ArgumentError),
    ],
)
def test_gradient_refuses_what_numpy_refuses(f, args, kwargs, error):
    with pytest.raises(error, match=r"np\.gradient"):
        np.gradient(ad.tensor(f, requires_grad=True), *args, **kwargs)


def test_interp_has_slopes_inside_and_none_outside():
    xp, fp = np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 3.0])
    x = np.array([-1.0, 0.5, 2.0, 4.0])
    assert ad.vjp(lambda x: np.interp(x, xp, fp), x)[1](np.ones(4))[0].tolist() == [0.0, 2.0, 0.5, 0.0]
    assert ad.vjp(lambda fp: np.interp(x, xp, fp), fp)[1](np.ones(4))[0].tolist() == [1.5, 1.0, 1.5]


def test_interp_at_the_very_nodes_gives_the_nodes():
    xp, fp = np.array([0.0, 0.1, 0.3]), np.array([0.1, 0.7, 0.3])
    assert np.interp(ad.tensor(xp, requires_grad=True), xp, fp).tolist() == fp.tolist()


def test_interp_outside_takes_its_gradient_from_left_and_right():
    f = lambda x, left, right: np.sum(np.interp(x, [0.0, 1.0], [2.0, 3.0], left, right))
    inner, left, right = ad.grad(f, argnums=(0, 1, 2))(np.array([-1.0, 9.0, 8.0]), 5.0, 6.0)
    assert (inner.tolist(), left, right) == ([0.0, 0.0, 0.0], 1.0, 2.0)


def test_interp_of_nan_is_nan():
    assert np.isnan(np.interp(ad.tensor(np.nan, requires_grad=True), [0.0, 1.0], [2.0, 3.0]).item())


@pytest.mark.parametrize("shapes", [((3,), (4,)), ((0,), (0,)), ((2, 2), (2, 2))])
def test_interp_refuses_nodes_that_do_not_fit(shapes):
    xp, fp = (np.zeros(shape) for shape in shapes)
    with pytest.raises(ad.ShapeError, match="xp and fp"):
        np.interp(ad.tensor(0.5, requires_grad=True), xp, fp)


def test_unwrap_adds_whole_turns():
    x = np.array([0.0, 3.0, 6.1, -0.1])
    value, pullback = ad.vjp(np.unwrap, x)
    np.testing.assert_allclose(value, np.unwrap(x))
    assert pullback(np.ones(4))[0].tolist() == [1.0] * 4


def test_i0_is_differentiated_twice():
    assert ad.grad(np.i0)(0.0) == 0.0
    assert ad.grad(ad.grad(np.i0))(0.0) == pytest.approx(0.5)


@pytest.mark.parametrize("fp", [[3.0, 4.0, np.nan], [np.inf, 2.0, 3.0], [np.inf, np.inf, 2.0], [2.0, -np.inf, np.inf]])
def test_interp_beside_infinities(fp):
    x, fp = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, -1.0, np.nan]), np.array(fp)
    with np.errstate(all="ignore"):
        wanted = np.interp(x, [0.0, 1.0, 2.0], fp)
        found = np.interp(ad.tensor(x), [0.0, 1.0, 2.0], fp)
        native = ad.compile(lambda fp: np.interp(x, [0.0, 1.0, 2.0], fp), wait=True)
        np.testing.assert_array_equal(found.numpy(), wanted)
        np.testing.assert_array_equal(native(fp), wanted)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("step", [0.0, 1e-200, 1e200, 0.5])
@pytest.mark.parametrize("edge_order", [1, 2])
def test_slopes_at_even_steps_whose_square_is_lost(step, edge_order):
    y, x = np.array([1.0, 3.0, 2.0, 7.0]), step * np.arange(4)
    wanted = np.gradient(y, x, edge_order=edge_order)
    with np.errstate(over="ignore"):  # the other sample's formula
        of_samples = ad.vmap(lambda x: np.gradient(y, x, edge_order=edge_order))(np.stack([x, np.arange(4.0)]))
    for found in (
        np.gradient(ad.tensor(y), x, edge_order=edge_order).numpy(),
        np.gradient(y, ad.tensor(x), edge_order=edge_order).numpy(),
        ad.compile(lambda y: np.gradient(y, x, edge_order=edge_order), wait=True)(y),
        of_samples[0],
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    if step:
        gradient = ad.grad(lambda y: np.gradient(y, x, edge_order=edge_order)[1] * step)(y)
        np.testing.assert_allclose(gradient, [-0.5, 0.0, 0.5, 0.0], atol=1e-12)
