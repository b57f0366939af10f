"""Interpolation: SciPy's values, gradients by places, values and queries, errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.interpolate
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.scipy import interpolate
from adjoint.testing import check_grads

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 3, 6))
Y = rng.normal(size=(6, 2))
QUERIES = np.array([[-0.2, 0.1, 1.0], [2.0, 2.9, 3.5]])
ENDS = ["not-a-knot", "clamped", "natural", ((1, 0.3), (2, 0.5)), ("natural", (1, 0.2))]


def scipys(bc_type):
    if isinstance(bc_type, str):
        return bc_type
    return tuple((c[0], np.full(2, c[1])) if isinstance(c, tuple) else c for c in bc_type)


@pytest.mark.parametrize("bc_type", ENDS, ids=str)
def test_cubic_splines(bc_type):
    ours = interpolate.CubicSpline(X, Y, bc_type=bc_type)
    theirs = scipy.interpolate.CubicSpline(X, Y, bc_type=scipys(bc_type))
    for nu in range(5):
        assert_allclose(ours(QUERIES, nu), theirs(QUERIES, nu), rtol=1e-9, atol=1e-9)
    for a, b in ((0.1, 2.3), (2.3, -0.5)):
        assert_allclose(ours.integrate(a, b), theirs.integrate(a, b))
    f = lambda x, y, q: interpolate.CubicSpline(x, y, bc_type=bc_type)(q)
    check_grads(f, (X[:5], Y[:5], QUERIES[0]))


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("bc_type", ENDS[:3])
def test_splines_through_few_points(n, bc_type):
    ours, theirs = (m.CubicSpline(X[:n], Y[:n], bc_type=bc_type) for m in (interpolate, scipy.interpolate))
    assert_allclose(ours(QUERIES), theirs(QUERIES), rtol=1e-9, atol=1e-9)


def test_axes_and_ends():
    ours, theirs = (m.CubicSpline(X, Y.T, axis=1, extrapolate=False) for m in (interpolate, scipy.interpolate))
    assert_allclose(ours(QUERIES), theirs(QUERIES), rtol=1e-9)
    check_grads(lambda x, y: interpolate.CubicSpline(x, y).integrate(0.2, 1.9), (X, Y))


@pytest.mark.parametrize("y", [Y, np.sort(Y, 0), np.round(Y)], ids=["any", "rising", "flat"])
@pytest.mark.parametrize("n", [2, 3, 6])
def test_monotone_cubics(y, n):
    ours, theirs = (m.PchipInterpolator(X[:n], y[:n])(QUERIES) for m in (interpolate, scipy.interpolate))
    assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_monotone_cubics_have_gradients():
    check_grads(lambda x, y, q: interpolate.PchipInterpolator(x, y)(q), (X, np.sort(Y, 0), QUERIES[0]))


@pytest.mark.parametrize(
    "options",
    [{"fill_value": "extrapolate"}, {"bounds_error": False}, {"fill_value": (1.0, 2.0), "bounds_error": False}],
    ids=str,
)
def test_lines(options):
    ours, theirs = (m.interp1d(X[::-1], Y.T, **options)(QUERIES) for m in (interpolate, scipy.interpolate))
    assert_allclose(ours, theirs)
    check_grads(lambda x, y, q: interpolate.interp1d(x, y, axis=0)(q), (X, Y, np.array([[1.0, 2.0]])))


def test_grids():
    grid = (np.sort(rng.normal(size=4)), np.sort(rng.normal(size=3)))
    values = rng.normal(size=(4, 3, 2))
    q = np.stack([rng.uniform(g[0], g[-1], (2, 5)) for g in grid], axis=-1)
    for places in (q, q[0, 0], (q[..., 0], q[..., 1])):
        ours, theirs = (m.RegularGridInterpolator(grid, values)(places) for m in (interpolate, scipy.interpolate))
        assert_allclose(ours, theirs)
    for fill in (None, np.nan, 7.0):
        options = {"bounds_error": False, "fill_value": fill}
        ours, theirs = (
            m.RegularGridInterpolator(grid, values, **options)(3 * q) for m in (interpolate, scipy.interpolate)
        )
        assert_allclose(ours, theirs)
    check_grads(lambda a, b, v, q: interpolate.RegularGridInterpolator((a, b), v)(q), (*grid, values, q[0]))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda t: interpolate.interp1d(X, t[:, 0], kind="cube"), ad.ArgumentError, "'cubic'"),
        (lambda t: interpolate.interp1d(X, t[:3], axis=0), ad.ShapeError, "places"),
        (lambda t: interpolate.interp1d(X, t, axis=0)(99.0), ad.ArgumentError, "outside"),
        (lambda t: interpolate.CubicSpline(X[::-1], t), ad.ArgumentError, "rise"),
        (lambda t: interpolate.CubicSpline(X, t, bc_type="free"), ad.ArgumentError, "bc_type"),
        (lambda t: interpolate.RegularGridInterpolator((X, X), t), ad.ShapeError, "grid"),
        (lambda t: interpolate.RegularGridInterpolator((X,), t, method="spline"), ad.ArgumentError, "linear"),
        (lambda t: interpolate.RegularGridInterpolator((X,), t)([99.0]), ad.ArgumentError, "outside"),
    ],
)
def test_refusals(call, error, match):
    with pytest.raises(error, match=match):
        call(ad.tensor(Y, requires_grad=True))
