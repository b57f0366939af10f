"""Interpolation on grids and between scattered points: values are SciPy's, derivatives those of differences."""

import numpy as np
import pytest
import scipy.sparse.linalg
from scipy import interpolate

import adjoint as ad
from tests.scipy.differences import agrees

RANDOM = np.random.default_rng(0)
AXES = tuple(np.linspace(0, 1, n) + 0.03 * np.sin(5.0 * np.arange(n)) for n in (7, 8, 6))
VALUES = RANDOM.normal(size=(7, 8, 6, 2))
QUERIES = RANDOM.uniform(0.15, 0.85, size=(3, 3))
METHODS = ("linear", "nearest", "slinear", "cubic", "quintic", "pchip", "cubic_legacy")
PLACES = RANDOM.uniform(size=(30, 2))
HEIGHTS = np.sin(3 * PLACES[:, 0]) + PLACES[:, 1] ** 2
INSIDE = RANDOM.uniform(0.35, 0.65, size=(4, 2))


def exact(method):
    """SciPy's own solver stops at 1e-6."""
    return {"solver": scipy.sparse.linalg.spsolve} if method in ("slinear", "cubic", "quintic") else {}


@pytest.mark.parametrize("method", METHODS)
def test_a_grid_by_its_values_and_by_queries(method):
    def at(values, queries=QUERIES, axes=AXES):
        return interpolate.RegularGridInterpolator(axes, values, method, **exact(method))(queries)

    agrees(at, VALUES, second=False)
    agrees(lambda values: at(values, axes=[a[::-1] for a in AXES]), VALUES, second=False)
    agrees(lambda q: at(VALUES, q), QUERIES, second=method != "nearest", h=1e-5, rtol=1e-5)
    made = interpolate.RegularGridInterpolator(AXES, VALUES, method, bounds_error=False, fill_value=None)
    agrees(made, QUERIES, second=False, h=1e-5)
    agrees(made, QUERIES + 1.0, second=False, h=1e-5)


@pytest.mark.parametrize("method", ["slinear", "cubic", "quintic"])
def test_derivatives_of_a_grid(method):
    made = interpolate.RegularGridInterpolator(AXES, VALUES, method, **exact(method))
    agrees(lambda q: made(q, nu=[1, 0, 0]), QUERIES, second=False, h=1e-5, rtol=1e-5)


@pytest.mark.parametrize("method", [*METHODS[:-1], "splinef2d"])
def test_interpn(method):
    values = np.sin(3 * AXES[0])[:, None] * np.cos(2 * AXES[1])
    at = RANDOM.uniform(0.2, 0.8, size=(2, 3, 2))
    f = lambda q: interpolate.interpn(AXES[:2], values, q, method=method)
    agrees(f, at, second=method not in ("nearest", "splinef2d"), h=1e-5, rtol=1e-5)
    agrees(
        lambda q: interpolate.interpn(AXES[:2], values, (q, q**2), method=method),
        at[0, :, 0] + 0.1,
        second=False,
        h=1e-5,
    )
    outside = at + np.array([0.0, 2.0])
    agrees(lambda q: interpolate.interpn(AXES[:2], values, q, method, False, -3.0), outside, second=False)


def test_values_of_splines_are_those_that_scipy_finds():
    made = interpolate.RegularGridInterpolator(AXES, VALUES, "cubic")
    inside = ad.jvp(lambda v: interpolate.RegularGridInterpolator(AXES, v, "cubic")(QUERIES), (VALUES,), (VALUES,))
    np.testing.assert_allclose(inside[0], made(QUERIES), rtol=1e-12)
    np.testing.assert_allclose(ad.jvp(made, (QUERIES,), (QUERIES,))[0], made(QUERIES), rtol=1e-12)


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("rescale", [False, True])
def test_griddata(method, rescale):
    f = lambda v, q=INSIDE, p=PLACES: interpolate.griddata(p, v, q, method, rescale=rescale)
    agrees(f, HEIGHTS, second=False)
    agrees(lambda q: f(HEIGHTS, q), INSIDE, second=method == "linear", h=1e-6)
    agrees(lambda p: f(HEIGHTS, INSIDE, p), PLACES, second=False, h=1e-7, samples=False)
    agrees(lambda v: f(np.stack([v, v**2], -1), (INSIDE[:, 0], INSIDE[:, 1])), HEIGHTS)
    along = np.sort(HEIGHTS)
    agrees(lambda v: interpolate.griddata(along, v, np.array([0.9, 1.1]), method), HEIGHTS, second=False)


@pytest.mark.parametrize("rescale", [False, True])
def test_interpolators_between_points(rescale):
    for cls in (interpolate.LinearNDInterpolator, interpolate.NearestNDInterpolator):
        made = cls(PLACES, HEIGHTS, rescale=rescale)
        agrees(made, INSIDE, second=False, h=1e-6)
        agrees(lambda q, made=made: made(q[0], q[1]), INSIDE[0], second=False, h=1e-6)
        agrees(lambda v, cls=cls: cls(PLACES, v, rescale=rescale)(INSIDE), HEIGHTS)
    solid = RANDOM.uniform(size=(20, 3))
    at = np.full((1, 3), 0.5)
    agrees(lambda p: interpolate.LinearNDInterpolator(p, HEIGHTS[:20])(at), solid, second=False, h=1e-6, samples=False)


def test_outside_of_all_triangles():
    far = np.array([[2.0, 2.0], [0.5, 0.5]])
    f = lambda v: interpolate.LinearNDInterpolator(PLACES, v, fill_value=-1.0)(far)
    value, tangent = ad.jvp(f, (HEIGHTS,), (np.ones(30),))
    np.testing.assert_allclose(value, f(HEIGHTS), rtol=1e-12)
    np.testing.assert_allclose(tangent, [0.0, 1.0], rtol=1e-12)


CURVE = np.sin(7 * np.linspace(0, 1, 9) + 0.5)


@pytest.mark.parametrize(
    "roots",
    [
        lambda x, y: interpolate.CubicSpline(x, y).roots(extrapolate=False),
        lambda x, y: interpolate.CubicSpline(x, y).solve(0.3, extrapolate=False),
        lambda x, y: interpolate.CubicSpline(x, y).derivative().roots(extrapolate=False),
        lambda x, y: interpolate.Akima1DInterpolator(x, y).roots(),
        lambda x, y: interpolate.PchipInterpolator(x, y).roots(),
        lambda x, y: interpolate.PPoly.from_spline(interpolate.splrep(x, y)).roots(extrapolate=False),
        lambda x, y: interpolate.InterpolatedUnivariateSpline(x, y).roots(),
        lambda x, y: interpolate.InterpolatedUnivariateSpline(x, y, k=4).derivative().roots(),
        lambda x, y: interpolate.sproot(interpolate.splrep(x, y)),
    ],
)
def test_where_splines_are_zero(roots):
    x = np.linspace(0, 1, 9)
    agrees(lambda y: roots(x, y), CURVE, value=1e-8)


def test_where_a_spline_that_scipy_made_takes_a_value():
    made = interpolate.CubicSpline(np.linspace(0, 1, 9), CURVE)
    agrees(lambda y: made.solve(y[0], extrapolate=False), np.array([0.2]))
    with pytest.raises(ad.NotSupportedError, match="several functions"):
        ad.grad(lambda y: interpolate.CubicSpline(np.arange(9.0), np.stack([y, y], 1)).roots()[0])(CURVE)
