"""Solvers whose functions use what is differentiated by a way that cannot be seen from outside."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq, minimize_scalar

import adjoint as ad

WORLD = SimpleNamespace(a=SimpleNamespace(b=SimpleNamespace(c=SimpleNamespace(v=None))))


def cached(x):
    @functools.lru_cache
    def power(n):
        return x**n

    return brentq(lambda t: t - power(2), 0, 10) + power(3)


def root(x):
    WORLD.a.b.c.v = x * 2
    return brentq(lambda t: t - WORLD.a.b.c.v, 0, 10)


def integral(x):
    WORLD.a.b.c.v = x * 3
    return quad(lambda t: t * WORLD.a.b.c.v, 0, 1)[0]


def minimum(x):
    WORLD.a.b.c.v = x * 3
    return minimize_scalar(lambda t: (t - WORLD.a.b.c.v) ** 2).x


def flow(x):
    WORLD.a.b.c.v = x * 3
    return solve_ivp(lambda t, y: -WORLD.a.b.c.v * y, (0, 1), [1.0], rtol=1e-8, atol=1e-10).y[0, -1]


EXPECTED = {cached: 1.4 + 3 * 0.49, root: 2.0, integral: 1.5, minimum: 3.0, flow: -3 * np.exp(-2.1)}


@pytest.mark.parametrize("f", EXPECTED)
def test_it_is_found_when_the_function_is_called(f):
    np.testing.assert_allclose(ad.grad(f)(0.7), EXPECTED[f], rtol=1e-5)
    np.testing.assert_allclose(ad.jvp(f, (0.7,), (1.0,))[1], EXPECTED[f], rtol=1e-5)
    if f is not flow:
        xs = np.array([0.7, 0.8])
        np.testing.assert_allclose(ad.vmap(f)(xs), [f(x) for x in xs], rtol=1e-6)
