"""SciPy's own Python is followed: the values are SciPy's, and derivatives agree with differences in both modes."""

import numpy as np
import pytest
import scipy.differentiate
from numpy import c_, r_
from numpy.testing import assert_allclose
from scipy import integrate, interpolate, optimize, signal, spatial, stats
from scipy.spatial import distance
from scipy.spatial.transform import Rotation

import adjoint as ad

KNOTS = np.linspace(0.0, 3.0, 7)
X = np.array([0.9, 1.4, 0.6])
AT = np.array([0.4, 1.1, 2.6])
GRID = np.add.outer(np.sin(KNOTS), KNOTS**2)

CALLS = {
    "chi.logpdf": lambda x: stats.chi.logpdf(AT, 2.0 + x[0], loc=-0.1 * x[1], scale=x[2]),
    "f.cdf": lambda x: stats.f.cdf(AT * x[0], 3.0, 5.0),
    "weibull_max.sf": lambda x: stats.weibull_max.sf(-AT * x[0], 1.5, scale=x[1]),
    "frozen": lambda x: stats.chi(2.0 + x[0], scale=x[1]).logpdf(AT),
    "frozen of constants": lambda x: stats.chi(2.5).pdf(x),
    "moments by integrals": lambda x: stats.gompertz.mean(x[0]) * stats.gompertz.std(x[1]),
    "multivariate_t": lambda x: stats.multivariate_t(x, np.diag([1.0, 2.0, 3.0]), df=4).logpdf(AT),
    "wishart": lambda x: stats.wishart.logpdf(np.diag(AT), 5, np.diag(x)),
    "rosen": lambda x: optimize.rosen(x) + np.sum(optimize.rosen_der(x)),
    "approx_fprime": lambda x: optimize.approx_fprime(x, lambda q: np.sum(q**3), 1e-3),
    "derivative": lambda x: scipy.differentiate.derivative(lambda q: np.sin(x[0] * q), 0.3).df,
    "tanhsinh": lambda x: integrate.tanhsinh(lambda q: np.exp(-q * x[0]), 0.0, x[1]).integral,
    "step": lambda x: signal.step(([1.0], [1.0, x[0]]), T=KNOTS)[1],
    "lsim": lambda x: signal.lsim(([1.0, x[1]], [1.0, x[0], 2.0]), np.sin(KNOTS), KNOTS)[1],
    "procrustes": lambda x: spatial.procrustes(np.outer(x, [1.0, 2.0]) ** 2, np.outer(AT, [1.0, -1.0]) ** 3)[2],
    "distance_matrix": lambda x: spatial.distance_matrix(x[:, None], AT[:, None], p=3),
    "two distances": lambda x: distance.minkowski(x, AT, 3) + distance.cityblock(x, AT),
    "geometric_slerp": lambda x: spatial.geometric_slerp([np.cos(x[0]), np.sin(x[0])], [0.0, 1.0], [0.2, 0.7]),
    "CubicHermiteSpline": lambda x: interpolate.CubicHermiteSpline(AT, x, x**2)([0.5, 2.0]),
    "its derivative": lambda x: interpolate.CubicHermiteSpline(AT, x, x**2).derivative()(2.0),
    "smoothing spline": lambda x: interpolate.make_smoothing_spline(KNOTS, np.sin(x[0] * KNOTS), lam=0.1)(AT),
    "constants in a class method": lambda x: interpolate.BSpline.basis_element([0.0, 1.0, 2.0, 3.0])(x),
    "pchip_interpolate": lambda x: interpolate.pchip_interpolate(AT, x, [0.5, 2.0], der=1),
    "pade": lambda x: interpolate.pade(r_[x, 0.3], 2)[0].coef,
    "list of tensors as queries": lambda x: interpolate.interp1d(KNOTS, KNOTS**2)([x[0], x[1] * x[2], 0.4]),
    "grid of lists": lambda x: interpolate.RegularGridInterpolator((KNOTS, KNOTS), x[0] * GRID)([[x[1], x[2]]]),
    "from_mrp": lambda x: Rotation.from_mrp(0.3 * x).as_matrix(),
    "as_mrp": lambda x: Rotation.from_rotvec(3.0 * x).as_mrp(),
    "mean": lambda x: Rotation.from_rotvec(np.outer(AT, x)).mean([1.0, 2.0, 0.5]).as_matrix(),
    "r_ and c_ by their names": lambda x: c_[r_[x, 1.0], r_[2.0, x * x]],
}


@pytest.mark.filterwarnings("ignore:`.*` is deprecated .* SciPy 1.20")  # pade, distance_matrix
@pytest.mark.parametrize("name", CALLS)
def test_values_and_derivatives(name):
    f = CALLS[name]
    found, jacobian = f(X), ad.jacobian(f)(X)
    columns = [np.subtract(f(X + h), f(X - h)) / 2e-5 for h in 1e-5 * np.eye(3)]
    assert_allclose(ad.value_and_grad(lambda x: np.sum(f(x)))(X)[0], np.sum(found), rtol=1e-9)
    assert_allclose(jacobian, np.stack(columns, axis=-1), rtol=2e-4, atol=2e-5)
    assert_allclose(ad.jacfwd(f)(X), jacobian, rtol=1e-6, atol=1e-8)


def test_constraints_that_alone_hold_the_variable():
    def nearest(x):
        line = {"type": "eq", "fun": lambda q: q[0] + x[0] * q[1] - x[1]}
        return optimize.minimize(lambda q: q @ q, [0.5, 0.5], constraints=[line]).x

    def least(x):
        beyond = optimize.NonlinearConstraint(lambda q: q[0] + x[0] * q[1], 1.0, 9.0)
        return optimize.minimize(lambda q: q @ q, [0.5, 0.5], constraints=beyond, tol=1e-12).fun

    by_hand = ad.jacobian(lambda x: x[1] / (1.0 + x[0] ** 2) * np.stack([1.0, x[0]]))(X)
    assert_allclose(ad.jacobian(nearest)(X), by_hand, atol=1e-5)
    assert_allclose(ad.grad(least)(X), [-2.0 * X[0] / (1.0 + X[0] ** 2) ** 2, 0.0, 0.0], atol=1e-4)


def test_a_quantile_that_is_found_by_search():
    def f(x):
        return stats.foldnorm.ppf(0.3, x[0], scale=x[1])

    slopes = [(f(X + h) - f(X - h)) / 2e-5 for h in 1e-5 * np.eye(3)]
    with np.errstate(invalid="ignore"):  # beside the search, at infinity
        assert_allclose(ad.grad(f)(X), slopes, rtol=1e-5)


def test_compiled_kernels_are_found_after_other_compiled_functions_were_called():
    def f(x):
        interpolate.BSpline.design_matrix(AT, np.arange(-3.0, 7.0), 3)  # Cython's, which has no stand-in
        return np.sum(stats.gaussian_kde(x)(AT))

    with pytest.raises(ad.LeavesGraphError):
        ad.grad(lambda x: np.sum(interpolate.BPoly(x[:, None], [0.0, 1.0])(AT)))(X)
    assert np.all(np.isfinite(ad.grad(f)(X)))


def test_a_class_that_compiled_code_fills_is_refused_by_name():
    with pytest.raises(ad.LeavesGraphError, match=r"test_followed\.py"):
        ad.grad(lambda x: spatial.HalfspaceIntersection(np.stack([x, x, x - 9.0], 1), np.zeros(2)).dual_area)(X)


@pytest.mark.parametrize("way", [ad.jacobian, ad.jacfwd])
def test_conditions_at_the_ends_of_a_spline_have_derivatives(way):
    y = np.sin(KNOTS)

    def f(x):
        ends = ([(2, x[0])], [(1, x[1] * x[2])])
        return interpolate.make_interp_spline(KNOTS, x[1] * y, bc_type=ends)(AT)

    columns = [(f(X + h) - f(X - h)) / 2e-3 for h in 1e-3 * np.eye(3)]
    assert_allclose(way(f)(X), np.stack(columns, axis=-1), atol=1e-9)
