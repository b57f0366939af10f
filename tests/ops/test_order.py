"""Sorting and order statistics: ties, nan, every method of quantile, and gradients by the fraction itself."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad

METHODS = [
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
    "lower",
    "higher",
    "midpoint",
    "nearest",
]


def test_sort_sends_each_gradient_back_to_where_its_element_came_from():
    g = ad.grad(lambda x: np.sum(np.sort(x) * np.array([1.0, 10.0, 100.0])))(np.array([3.0, 1.0, 2.0]))
    assert g.tolist() == [100.0, 1.0, 10.0]


def test_stable_sort_keeps_equal_elements_in_order():
    weights = np.array([1.0, 10.0, 100.0])
    g = ad.grad(lambda x: np.sum(np.sort(x, stable=True) * weights))(np.array([2.0, 1.0, 1.0]))
    assert g.tolist() == [100.0, 1.0, 10.0]


def test_partition_is_differentiated_for_the_order_numpy_chose():
    x = np.random.default_rng(0).normal(size=200)
    weights = np.arange(200.0)
    g = ad.grad(lambda x: np.sum(np.partition(x, 50) * weights))(x)
    parted = np.partition(x, 50)
    assert all(g[x == value] == weights[parted == value] for value in x)


def test_partition_with_ties_loses_no_gradient():
    g = ad.grad(lambda x: np.sum(np.partition(x, 1) * np.array([1.0, 2.0, 4.0])))(np.array([5.0, 5.0, 1.0]))
    assert g[2] == 1.0
    assert sorted(g[:2]) == [2.0, 4.0]


def test_median_of_an_even_number_takes_half_of_the_two_in_the_middle():
    assert ad.grad(np.median)(np.array([4.0, 1.0, 3.0, 2.0])).tolist() == [0.0, 0.0, 0.5, 0.5]


def test_ties_share_the_gradient_of_a_median_evenly():
    assert ad.grad(np.median)(np.array([2.0, 1.0, 2.0, 2.0, 9.0])).tolist() == [1 / 3, 0.0, 1 / 3, 1 / 3, 0.0]


@pytest.mark.parametrize("f", [np.median, lambda x: np.quantile(x, 0.5), lambda x: np.percentile(x, 50)])
def test_nan_makes_the_result_and_its_gradient_nan_or_zero(f):
    value, gradient = ad.value_and_grad(f)(np.array([1.0, np.nan, 3.0]))
    assert np.isnan(value)
    assert not np.any(np.isfinite(gradient) & (gradient != 0))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("q", [0.0, 0.13, 0.5, 0.77, 1.0])
def test_quantile_agrees_with_numpy_for_every_method(method, q):
    x = np.random.default_rng(1).normal(size=(3, 7))
    t = ad.tensor(x, requires_grad=True)
    out = np.quantile(t, q, axis=1, method=method)
    np.testing.assert_allclose(out.numpy(), np.quantile(x, q, axis=1, method=method), rtol=1e-12)
    out.sum().backward()
    np.testing.assert_allclose(t.grad.numpy().sum(axis=1), 1.0, rtol=1e-12)


def test_quantile_takes_a_share_of_each_neighbour():
    assert ad.grad(lambda x: np.quantile(x, 0.25))(np.array([1.0, 2.0, 4.0])).tolist() == [0.5, 0.5, 0.0]


def test_quantile_is_differentiable_in_the_fraction():
    x = np.array([1.0, 2.0, 4.0, 8.0])
    assert ad.grad(lambda q: np.quantile(x, q))(0.5) == pytest.approx(3 * 2.0)
    assert ad.grad(lambda q: np.percentile(x, q))(50.0) == pytest.approx(3 * 2.0 / 100)


def test_a_method_that_steps_refuses_a_fraction_with_a_gradient():
    with pytest.raises(ad.NotSupportedError, match=r"'nearest' moves in steps.*linear"):
        ad.grad(lambda q: np.quantile(np.arange(3.0), q, method="nearest"))(0.5)


def test_weighted_quantile_picks_one_element():
    weights = np.array([0.1, 0.1, 5.0])
    f = lambda x: np.quantile(x, 0.5, weights=weights, method="inverted_cdf")
    assert ad.grad(f)(np.array([3.0, 1.0, 2.0])).tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("bad", [-0.1, 1.5])
def test_a_fraction_outside_0_and_1_is_refused(bad):
    with pytest.raises(ValueError, match=r"\[0, 1\]; got"):
        np.quantile(ad.tensor([1.0, 2.0]), bad)


def test_nanmedian_leaves_nan_out_row_by_row():
    x = np.array([[1.0, np.nan, 3.0], [4.0, 6.0, 5.0]])
    value, pullback = ad.vjp(lambda x: np.nanmedian(x, axis=1), x)
    assert value.tolist() == [2.0, 5.0]
    assert pullback(np.ones(2))[0].tolist() == [[0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]


def test_nanquantile_of_nothing_but_nan_warns_as_numpy_does():
    t = ad.tensor([[np.nan, np.nan], [1.0, 3.0]], requires_grad=True)
    with pytest.warns(RuntimeWarning, match="All-NaN slice"):
        out = np.nanquantile(t, 0.5, axis=1)
    assert np.isnan(out.numpy()[0])
    assert out.numpy()[1] == 2.0


def test_quantiles_keep_float32():
    t = ad.tensor(np.arange(5, dtype=np.float32), requires_grad=True)
    for out in (np.quantile(t, 0.3), np.median(t), np.nanmedian(t), np.percentile(t, 10)):
        assert out.dtype == np.float32
        out.backward()
    assert t.grad.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize(
    "bounds", [(-1.0, 1.0), (-np.inf, 0.5), (0.5, np.inf), (2.0, -2.0), (np.nan, 1.0), (-1.0, np.nan), (0.0, 1.0)]
)
def test_clip_is_numpys_to_the_bit(dtype, bounds):
    numbers = np.array([-np.inf, -2, -1, -0.0, 0.0, 0.5, 1, 3, np.inf, np.nan, 7, -7], dtype)
    for x in (numbers, numbers[::-2], numbers.reshape(3, 4).T, numbers[:0], numbers[3]):
        found, expected = np.clip(ad.tensor(x), *bounds).numpy(), np.clip(x, *bounds)
        assert (found.dtype, found.shape, found.strides) == (expected.dtype, expected.shape, expected.strides)
        np.testing.assert_array_equal(found, expected)
        if bounds[0]:
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("axis", [0, 1, -1, (0, 1), None])
def test_ties_and_nan_share_the_gradient_of_an_extreme(dtype, axis):
    x = np.random.default_rng(0).integers(0, 3, (5, 4)).astype(dtype)
    for a in (x, np.where(x == 0, np.nan, x).astype(dtype), np.ones_like(x)):
        for extreme in (np.max, np.min):
            won = a == extreme(a, axis=axis, keepdims=True)
            with np.errstate(all="ignore"):
                expected = np.where(won.any(axis=axis, keepdims=True), won / won.sum(axis=axis, keepdims=True), np.nan)
            found = ad.grad(lambda t, f=extreme: np.sum(f(t, axis=axis)))(a)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, expected.astype(dtype))


def test_median_of_complex_numbers_that_are_nan_is_the_last_in_order():
    z = np.array([1 + 2j, complex(np.nan, 3), complex(2, np.nan), 5 - 1j])
    for part in (z, z[[0, 2, 3]], z[1:3]):
        compiled = ad.compile(lambda z: np.median(z), wait=True)
        for found in (
            np.median(ad.tensor(part)).numpy(),
            ad.vmap(np.median)(part[None])[0],
            compiled(part),
            compiled(part),
        ):
            np.testing.assert_array_equal(found, np.median(part))
