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
