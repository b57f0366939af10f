"""SciPy's integrals of functions that hold tensors: every rule, every place to hold one, every mode."""

import inspect

import numpy as np
import pytest
import scipy.integrate
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint.scipy import integrate, optimize
from tests.scipy.solved import MODES, WAYS, check, given


def wave(x, k):
    return np.sin(k * x) * k


def exact(k):
    return 1.0 - np.cos(2.0 * k)


def surface(y, x, k):
    return np.exp(k * x) * y


def volume(k):  # over 0 < x < 1, 0 < y < 2
    return 2.0 * (np.exp(k) - 1.0) / k


SOLVERS = {
    "quad": (wave, exact, lambda f, args: integrate.quad(f, 0.0, 2.0, args)[0]),
    "quad, full": (wave, exact, lambda f, args: integrate.quad(f, 0.0, 2.0, args, full_output=1, points=[1.0])[0]),
    "quad_vec": (wave, exact, lambda f, args: integrate.quad_vec(f, 0.0, 2.0, args=args)[0]),
    "dblquad": (surface, volume, lambda f, args: integrate.dblquad(f, 0.0, 1.0, 0.0, lambda x: 2.0, args)[0]),
    "nquad": (surface, volume, lambda f, args: integrate.nquad(f, [(0.0, 2.0), [0.0, 1.0]], args)[0]),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", ["grad", "jvp", "hessian", "vmap"])
def test_an_integral_is_a_function_of_what_the_integrand_holds(solver, way, mode):
    f, closed, solve = SOLVERS[solver]
    check(lambda k: solve(*given(way, f, k)), closed, 1.3, mode, 1e-9)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", WAYS)
def test_in_every_mode(mode, way):
    check(lambda k: SOLVERS["quad"][2](*given(way, wave, k)), exact, 1.3, mode, 1e-9)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["quad", "quad_vec"])
def test_ends_are_followed_too(name, mode):
    f = lambda k: getattr(integrate, name)(lambda x: np.exp(x) * k, np.sin(k), k**2)[0]
    check(f, lambda k: k * (np.exp(k**2) - np.exp(np.sin(k))), 1.3, mode, 1e-9)
    check(lambda k: integrate.quad(np.exp, k, 1.0)[0], lambda k: np.e - np.exp(k), 1.3, mode, 1e-9)


RANGES = {
    "to infinity": (lambda x, k: np.exp(-k * x), 0.0, np.inf, lambda k: 1.0 / k),
    "from infinity": (lambda x, k: np.exp(k * x), -np.inf, 0.0, lambda k: 1.0 / k),
    "everywhere": (lambda x, k: np.exp(-k * x * x), -np.inf, np.inf, lambda k: np.sqrt(np.pi / k)),
    "backwards": (lambda x, k: np.exp(k * x), 1.0, 0.0, lambda k: (1.0 - np.exp(k)) / k),
    "singular": (lambda x, k: k * x ** (k - 1.0), 0.0, 1.0, lambda k: k / k),
    "root": (lambda x, k: k**2 / np.sqrt(x), 0.0, 1.0, lambda k: 2.0 * k**2),
    "kink": (lambda x, k: np.abs(x - k), 0.0, 3.0, lambda k: 0.5 * (k**2 + (3.0 - k) ** 2)),
    "sharp": (lambda x, k: np.exp(-((x - k) ** 2) * 1e4), 0.0, 3.0, lambda k: 0.0 * k + np.sqrt(np.pi) / 100.0),
}


@pytest.mark.parametrize("name", RANGES)
def test_ranges_and_difficulties(name):
    f, a, b, closed = RANGES[name]
    k = 0.7
    solve = lambda k: integrate.quad(lambda x: f(x, k), a, b)[0]
    assert_allclose(ad.grad(solve)(k), ad.grad(closed)(k), rtol=1e-6, atol=1e-6)
    if name != "kink":  # whose second derivative is a pulse
        assert_allclose(ad.hessian(solve)(k), ad.hessian(closed)(k), rtol=1e-6, atol=1e-4 if name == "sharp" else 1e-6)


def test_the_derivative_is_exact_where_the_integrand_is_zero():
    narrow = lambda x, k: k**2 * np.exp(-((x - 0.337) ** 2) * 1e4) + k * np.exp(-((x - 0.8) ** 2) * 1e4)
    solve = lambda k: integrate.quad(lambda x: narrow(x, k), 0.0, 2.0)[0]
    area = np.sqrt(np.pi) / 100.0
    assert_allclose(ad.grad(solve)(0.0), area, rtol=1e-8)
    assert_allclose(ad.hessian(solve)(0.0), 2.0 * area, rtol=1e-8)
    assert_allclose(ad.jvp(solve, (0.0,), (1.0,))[1], area, rtol=1e-8)


LOGARITHMS = [(name, (0.2, 0.1)) for name in ("alg-loga", "alg-logb", "alg-log")]


@pytest.mark.parametrize(("weight", "wvar"), [("cos", 3.0), ("sin", 3.0), ("alg", (-0.5, 0.3)), *LOGARITHMS])
def test_weights(weight, wvar):
    solve = lambda k: integrate.quad(lambda x: np.exp(k * x), 0.0, 2.0, weight=weight, wvar=wvar)[0]
    h = 1e-4
    assert_allclose(ad.grad(solve)(0.7), (solve(0.7 + h) - solve(0.7 - h)) / (2 * h), rtol=1e-6)
    with pytest.raises(ad.NotSupportedError, match="cauchy"):
        ad.grad(lambda k: integrate.quad(lambda x: np.exp(k * x), 0.0, 2.0, weight="cauchy", wvar=0.5)[0])(0.7)


def test_complex_integrands():
    solve = lambda k: integrate.quad(lambda x: np.exp(1j * k * x), 0.0, 2.0, complex_func=True)[0]
    check(lambda k: solve(k).real, lambda k: np.sin(2.0 * k) / k, 1.3, "hessian", 1e-9)
    check(lambda k: solve(k).imag, lambda k: (1.0 - np.cos(2.0 * k)) / k, 1.3, "grad", 1e-9)


def test_limits_that_depend_on_variables_and_on_tensors():
    triangle = lambda k: integrate.dblquad(lambda y, x, k: x * y * k, 0.0, k, lambda x: 0.0, lambda x: k * x, (k,))[0]
    check(triangle, lambda k: k**7 / 8.0, 1.3, "hessian", 1e-8)
    inner = lambda z, y, x: x * y**2 * z
    wedge = lambda k: integrate.tplquad(lambda *x: inner(*x) * k, 0, 1, 0, lambda x: x, 0, lambda x, y: x + y)[0]
    theirs = scipy.integrate.tplquad(inner, 0, 1, 0, lambda x: x, 0, lambda x, y: x + y)[0]
    assert_allclose(ad.grad(wedge)(1.0), theirs)
    solid = lambda k: integrate.tplquad(lambda z, y, x: x * y * z, 0, 1, 0, lambda x: k * x, 0, lambda x, y: k * x)[0]
    check(solid, lambda k: k**4 / 24.0, 1.3, "grad", 1e-8)
    nested = lambda k: integrate.nquad(lambda y, x, k: np.exp(k * y), [lambda x, k: (0.0, k * x), (0.0, 1.0)], (k,))[0]
    check(nested, lambda k: ((np.exp(k**2) - 1.0) / k**2 - 1.0) / k, 1.3, "grad", 1e-8)


def test_arrays_as_values():
    f = lambda k: integrate.quad_vec(lambda x: np.stack([k * x, np.exp(-k * x)]), 0.0, 1.0)[0]
    closed = lambda k: np.stack([k / 2.0, (1.0 - np.exp(-k)) / k])
    assert_allclose(ad.jacobian(f)(1.3), ad.jacobian(closed)(1.3), rtol=1e-9)
    matrix = lambda k: integrate.quad_vec(lambda x: np.outer(k, k) * x, 0.0, 1.0, points=[0.5])[0]
    k = np.array([1.0, 2.0])
    assert_allclose(ad.jacobian(matrix)(k), ad.jacobian(lambda k: 0.5 * np.outer(k, k))(k), atol=1e-12)
    tail = lambda k: integrate.quad_vec(lambda x: np.exp(-k * x), 0.0, np.inf)[0]
    check(tail, lambda k: 1.0 / k, 1.3, "hessian", 1e-8)


@pytest.mark.parametrize("quantity", ["grad", "hessian"])
def test_infinite_limits_that_are_computed(quantity):
    both = lambda k: integrate.quad(lambda x: np.exp(-k * x * x), k * -np.inf, k * np.inf)[0]
    check(both, lambda k: np.sqrt(np.pi / k), 1.3, quantity, 1e-7)
    one = lambda k: integrate.quad(lambda x: np.exp(-k * x), k, k + np.inf)[0]
    check(one, lambda k: np.exp(-k * k) / k, 1.3, quantity, 1e-7)
    tail = lambda k: integrate.quad_vec(lambda x: np.exp(k * x), k - np.inf, -k)[0]
    check(tail, lambda k: np.exp(-k * k) / k, 1.3, quantity, 1e-7)


@pytest.mark.parametrize("name", ["quad", "quad_vec", "dblquad", "tplquad", "nquad"])
def test_numbers_get_scipys_very_result(name):
    theirs, ours = getattr(scipy.integrate, name), getattr(integrate, name)
    assert inspect.signature(ours) == inspect.signature(theirs)
    args = {
        "quad": (np.exp, 0, 1),
        "quad_vec": (lambda x: np.array([x, x**2]), 0, 1),
        "dblquad": (lambda y, x: x * y, 0, 1, 0, 1),
        "tplquad": (lambda z, y, x: x * y, 0, 1, 0, 1, 0, 1),
        "nquad": (lambda y, x: x * y, [(0, 1), (0, 1)]),
    }[name]
    a, b = ours(*args), theirs(*args)
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        assert type(one) is type(other)
        assert_array_equal(one, other)
    full = ours(np.exp, 0, 1, full_output=1) if name == "quad" else ()
    assert name != "quad" or full[2]["neval"] == 21


def test_scipys_warnings_and_errors_stay():
    k = ad.tensor(1.3, requires_grad=True)
    with pytest.warns(scipy.integrate.IntegrationWarning, match="divergent|maximum number"):
        integrate.quad(lambda x: 1.0 / x, 0.0, 1.0)
    with pytest.raises(ValueError, match="heavy"):
        integrate.quad(lambda x: k * x, 0.0, 1.0, weight="heavy")
    with pytest.raises(ZeroDivisionError):
        integrate.quad(lambda x: k * (1 / 0), 0.0, 1.0)


def test_integrals_and_roots_inside_each_other():
    # ∫₀ʸ exp(k x) dx = 1, so y = log(1 + k) / k
    upper = lambda k: optimize.brentq(lambda y: integrate.quad(lambda x: np.exp(k * x), 0.0, y)[0] - 1.0, 0.0, 3.0)
    check(upper, lambda k: np.log(1.0 + k) / k, 1.3, "hessian", 1e-8)
    # ∫₀¹ y(x) dx where y³ = k x
    inner = lambda k: integrate.quad(lambda x: optimize.brentq(lambda y: y**3 - k * x, 0.0, 5.0), 0.0, 1.0)[0]
    check(inner, lambda k: 0.75 * k ** (1.0 / 3.0), 1.3, "hessian", 1e-6)


def test_a_derivative_inside_an_integrand_is_its_own():
    square = lambda z, k: optimize.brentq(lambda y: y - z**2 * k, 0.0, 99.0)
    slope = lambda k: integrate.quad(lambda x: ad.grad(lambda z: square(z, k))(x), 0.0, 1.0)[0]
    check(slope, lambda k: k, 1.3, "grad", 1e-8)
    assert_allclose(slope(1.3), 1.3)
