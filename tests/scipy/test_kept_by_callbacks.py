"""What a solver's callback keeps for later, in a closure, a dictionary or an attribute, has its derivative."""

import numpy as np
import pytest
from scipy import optimize

import adjoint as ad


def by_nonlocal(x):
    m = 0.0

    def off(t):
        nonlocal m
        m = x * 2
        return t**3 - m

    return optimize.brentq(off, 0, 2, xtol=1e-14) + m


def in_a_dictionary(x):
    kept = {}

    def off(t):
        kept["m"] = x * x
        return t**3 - kept["m"]

    return optimize.fsolve(off, 1.0, xtol=1e-12)[0] * kept["m"]


def the_argument_itself(x):
    tried = [0.0]

    def off(t):
        tried[0] = t
        return t**3 - x

    optimize.brentq(off, 0, 2, xtol=1e-14)
    return tried[0] * x


def by_newton(x):
    class Law:
        def __call__(self, t):
            self.rate = np.exp(x)
            return t**3 - self.rate

    law = Law()
    return optimize.newton(law, 1.0, tol=1e-13) * law.rate


@pytest.mark.parametrize("f", [by_nonlocal, in_a_dictionary, the_argument_itself, by_newton])
@pytest.mark.parametrize("mode", [ad.grad, ad.jacfwd, lambda f: lambda x: ad.jvp(f, (x,), (1.0,))[1]])
def test_has_its_derivative(f, mode):
    expected = (f(0.7 + 1e-5) - f(0.7 - 1e-5)) / 2e-5
    np.testing.assert_allclose(mode(f)(0.7), expected, rtol=1e-5)
