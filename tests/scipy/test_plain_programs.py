"""Programs that call SciPy itself, with `math` and plain arrays, differentiated as they are."""

import functools
import math

import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose
from scipy.integrate import dblquad, odeint, quad, solve_ivp
from scipy.optimize import brentq, curve_fit, fixed_point, fsolve, least_squares, minimize, root
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.spatial.transform import Rotation

import adjoint as ad

X = np.linspace(0.0, 1.0, 9)


class Orbit:
    def __init__(self, eccentricity):
        self.eccentricity = float(eccentricity)

    def gap(self, e):
        return e - self.eccentricity * math.sin(e) - 1.0

    def anomaly(self):
        return brentq(self.gap, 0.0, 7.0)


def growth(x, k):
    return math.exp(k * x) - 2.0


def by_newton(k):
    return scipy.optimize.newton(growth, 0.5, args=(k,))


def system(k):
    return fsolve(lambda z: np.array([z[0] + z[1] - k, math.sin(z[0]) - z[1]]), [0.5, 0.5])[1]


def lowest(k):
    found = minimize(lambda p: sum((p[i] - k * i) ** 2 for i in range(3)), np.zeros(3), method="Nelder-Mead",
                     options={"xatol": 1e-10, "fatol": 1e-13})  # fmt: skip
    if not found.success:
        raise RuntimeError(found.message)
    return float(found.x[2]) + found.fun


def line(k):
    y = np.zeros(9)
    for i in range(9):
        y[i] = math.sin(k * X[i])
    return curve_fit(lambda x, a, b: a * x + b, X, y)[0][0]


def area(k):
    total, _ = quad(lambda t: math.cos(k * t) ** 2, 0, k)
    return total


def volume(k):
    return dblquad(lambda y, x: math.exp(-k * x * y), 0, 1, lambda x: 0, lambda x: x)[0]


def swing(k):
    def rhs(t, y):
        dy = np.zeros(2)
        dy[0] = y[1]
        dy[1] = -k * y[0]
        return dy

    return solve_ivp(rhs, (0, 1), [1, 0], method="LSODA", rtol=1e-10, atol=1e-10).y[0, -1]


def fading(k):
    return odeint(lambda y, t: [y[1], -k * y[0] - 0.1 * y[1]], [1.0, 0.0], np.linspace(0, 1, 5))[-1, 0]


def pair(k):
    return root(lambda x: [x[0] ** 2 - k, x[1] - x[0]], [1, 1], tol=1e-13).x[1]


def rate(k):
    return least_squares(lambda p: [p[0] * math.exp(-k) - 1, p[1] - p[0]], [1.0, 1.0], xtol=1e-15, gtol=1e-15).x[1]


def settled(k):
    return float(fixed_point(lambda x: math.cos(k * x), 0.5, xtol=1e-13))


def inside(k):
    log = lambda x: (x - math.log(k)) ** 2
    return scipy.optimize.minimize_scalar(log, bounds=(-5, 5), method="bounded", options={"xatol": 1e-11}).x


def spread(k):
    points = np.array([[0.0, 0.0], [1.0, k], [k, k * k]])
    return np.exp(-(squareform(pdist(points)) ** 2)).sum() + cdist(points, [[0.5, 0.5]])[2, 0]


def turned(k):
    first = Rotation.from_euler("xyz", [k, 0.2, k * k])
    second = Rotation.from_rotvec(np.array([0.1, k, 0.0]))
    fixed = Rotation.from_euler("z", 30, degrees=True)
    return (first * second).apply([1.0, 2.0, 3.0])[0] + fixed.apply([k, 1.0, 0.0])[0]


def orbit(k):
    return Orbit(0.2 * k).anomaly()


PROGRAMS = [orbit, by_newton, system, lowest, line, area, volume, swing, fading, pair, rate,
            settled, inside, spread, turned]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_differentiates_as_it_is(program):
    k, h = 1.3, 1e-4
    differences = (8 * (program(k + h) - program(k - h)) - (program(k + 2 * h) - program(k - 2 * h))) / (12 * h)
    assert_allclose(ad.grad(program)(k), differences, rtol=1e-5, atol=1e-6)
    assert_allclose(ad.jvp(program, (k,), (1.0,))[1], differences, rtol=1e-5, atol=1e-6)
    assert type(program(k)) in (float, np.float64)


class Lazy:
    """An object that computes its constant when it is first asked, which may be inside of a solver."""

    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def c(self):
        return self.x**2


@pytest.mark.parametrize(
    ("solve", "slope"),
    [
        (lambda m: brentq(lambda t: t**3 - m.c, 0.0, 2.0), (2 / 3) * 0.7 ** (-1 / 3)),
        (lambda m: fsolve(lambda t: t**3 - m.c, 1.0)[0], (2 / 3) * 0.7 ** (-1 / 3)),
        (lambda m: quad(lambda t: t**3 - m.c * t, 0.0, 2.0)[0], -4 * 0.7),
        (lambda m: minimize(lambda z: (z[0] - m.c) ** 2, [0.0]).x[0], 2 * 0.7),
        (
            lambda m: solve_ivp(lambda t, y: -m.c * y, (0, 1.0), [1.0], rtol=1e-9, atol=1e-9).y[0, -1],
            -1.4 * math.exp(-0.49),
        ),
    ],
    ids=["brentq", "fsolve", "quad", "minimize", "solve_ivp"],
)
def test_what_an_object_keeps_while_a_solver_runs_keeps_its_history(solve, slope):
    def f(x):
        m = Lazy(x)
        return solve(m) + m.c

    assert_allclose(ad.grad(f)(0.7), slope + 1.4, rtol=1e-6)
    assert_allclose(ad.jvp(f, (0.7,), (1.0,))[1], slope + 1.4, rtol=1e-6)


@pytest.mark.parametrize("first", [ad.jacfwd, ad.jacrev], ids=lambda t: t.__name__)
def test_bounds_that_vary_beside_none(first):
    def f(b):
        bounds = [(None, b[0]), (b[1], None)]
        return scipy.optimize.minimize(lambda z: np.sum((z - [2.0, -1.0]) ** 2), np.zeros(2), bounds=bounds).x

    np.testing.assert_allclose(first(f)(np.array([1.0, 0.5])), np.eye(2), atol=1e-6)
