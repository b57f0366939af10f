"""Reductions that leave nan out: what is left out has no gradient, and nothing else has nan."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import adjoint as ad

X = np.array([1.0, np.nan, 3.0])


@pytest.mark.parametrize(
    ("f", "gradient"),
    [
        (np.nansum, [1.0, 0.0, 1.0]),
        (np.nanprod, [3.0, 0.0, 1.0]),
        (np.nanmean, [0.5, 0.0, 0.5]),
        (np.nanvar, [-1.0, 0.0, 1.0]),
        (np.nanstd, [-0.5, 0.0, 0.5]),
        (np.nanmax, [0.0, 0.0, 1.0]),
        (np.nanmin, [1.0, 0.0, 0.0]),
        (lambda x: np.nancumsum(x)[-1], [1.0, 0.0, 1.0]),
        (lambda x: np.nancumprod(x)[-1], [3.0, 0.0, 1.0]),
    ],
)
def test_nan_has_no_gradient(f, gradient):
    assert ad.grad(f)(X).tolist() == gradient


@pytest.mark.parametrize("f", [np.nanmax, np.nanmin])
def test_ties_share_evenly_among_numbers(f):
    assert ad.grad(f)(np.array([2.0, np.nan, 2.0])).tolist() == [0.5, 0.0, 0.5]


@pytest.mark.parametrize("f", [np.nanmax, np.nanmin, np.nanmean])
def test_nothing_but_nan_warns_and_gives_nan(f):
    t = ad.tensor([[np.nan, np.nan], [1.0, 2.0]], requires_grad=True)
    with pytest.warns(RuntimeWarning):
        out = f(t, axis=1)
    assert np.isnan(out.numpy()).tolist() == [True, False]


def test_nanstd_of_equal_numbers_is_flat():
    assert ad.grad(np.nanstd)(np.array([2.0, np.nan, 2.0])).tolist() == [0.0, 0.0, 0.0]


def test_where_and_initial_as_in_numpy():
    mask = np.array([True, True, False])
    value, gradient = ad.value_and_grad(lambda x: np.nansum(x, where=mask, initial=10.0))(X)
    assert value == np.nansum(X, where=mask, initial=10.0)
    assert gradient.tolist() == [1.0, 0.0, 0.0]


def test_float32_stays_float32():
    t = ad.tensor(X.astype(np.float32), requires_grad=True)
    for f in (np.nansum, np.nanmean, np.nanvar, np.nanstd, np.nanmax):
        assert f(t).dtype == np.float32


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("f", [np.nanmax, np.nanmean, np.nanmedian, lambda t: np.polyfit(t, t, 5)])
def test_warnings_name_the_line_that_calls(f):
    def warnings_of(x):
        with warnings.catch_warnings(record=True) as found:
            f(x)
        return {(w.category, str(w.message), w.filename, w.lineno) for w in found if w.filename == __file__}

    x = np.array([0.5, -1.25, 2.0]) if f.__name__ == "<lambda>" else np.full(3, np.nan)
    assert warnings_of(ad.tensor(x)) == warnings_of(x)


@pytest.mark.filterwarnings("ignore:All-NaN:RuntimeWarning")
@pytest.mark.parametrize("function", [np.nanmax, np.nanmin])
@pytest.mark.parametrize("dtype", [float, np.float32, np.float16, complex])
def test_an_initial_value_counts_where_all_others_are_nan(function, dtype):
    nan, inf = np.nan, np.inf
    x = np.array([[nan, nan], [1.0, nan], [-inf, nan], [-inf, -inf], [nan, inf]]).astype(dtype)
    counts = np.array([[1, 1], [0, 1], [1, 1], [1, 0], [1, 0]], bool)
    for initial in (3.0, -5.0, inf, -inf, nan, np.float64(nan)):
        for options in ({"axis": 1}, {}, {"axis": 0, "where": counts}, {"axis": 1, "where": counts}):
            wanted = function(x, initial=initial, **options)
            found = ad.vjp(lambda t, o=options, i=initial: function(t, initial=i, **o), x)[0]
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)


def test_nan_filled_with_an_infinity_stays_one():
    x = np.array([np.nan, np.inf, -np.inf, 1.0])
    for fill in (np.inf, -np.inf):
        wanted = np.nan_to_num(x, nan=fill, posinf=3.0, neginf=-3.0)
        np.testing.assert_array_equal(
            ad.vjp(lambda t, n=fill: np.nan_to_num(t, nan=n, posinf=3.0, neginf=-3.0), x)[0], wanted
        )


@pytest.mark.filterwarnings("ignore:All-NaN:RuntimeWarning")
@pytest.mark.parametrize("options", [{"axis": 1}, {"axis": 0, "keepdims": True}, {}, {"axis": (0, 1)}])
def test_weighted_quantiles_of_numbers(options):
    rng = np.random.default_rng(0)
    x, weights = rng.integers(0, 5, size=(4, 6)) + rng.random((4, 6)), rng.integers(1, 4, size=(4, 6))
    x[rng.random(x.shape) < 0.3] = np.nan
    x[0] = np.nan if options.get("axis") == 1 else x[0]

    def f(t):
        return np.nanquantile(t, [0, 0.3, 1.0], weights=weights, method="inverted_cdf", **options)

    value, pullback = ad.vjp(f, x)
    np.testing.assert_array_equal(value, f(x))
    (gradient,) = pullback(np.ones_like(value))
    assert np.nansum(gradient) == np.sum(~np.isnan(value))
    assert not gradient[np.isnan(x) & ~np.all(np.isnan(x), axis=options.get("axis"), keepdims=True)].any()
