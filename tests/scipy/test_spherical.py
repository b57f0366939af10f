"""Spherical Bessel functions of `scipy.special`, of both signs and at 0, in every transform."""

import numpy as np
import pytest
from scipy import special

import adjoint as ad

X = np.array([0.7, 2.3, 5.1])
KINDS = [special.spherical_jn, special.spherical_yn, special.spherical_in, special.spherical_kn]


@pytest.mark.parametrize("derivative", [False, True])
@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("function", KINDS)
def test_slopes(function, n, derivative):
    def f(x):
        return function(n, x, derivative)

    h = 1e-3
    slopes = (f(X - 2 * h) - 8 * f(X - h) + 8 * f(X + h) - f(X + 2 * h)) / (12 * h)
    found = (
        ad.grad(lambda x: f(x).sum())(X),
        ad.jvp(f, (X,), (np.ones(3),))[1],
        ad.vmap(ad.grad(f))(X),
        ad.compile(ad.grad(lambda x: f(x).sum()))(X),
    )
    for slope in found:
        np.testing.assert_allclose(slope, slopes, rtol=1e-7, atol=1e-9)
    bends = np.diag(ad.hessian(lambda x: np.sum(function(n, x)))(X))
    np.testing.assert_allclose(bends, ad.grad(lambda x: function(n, x, True).sum())(X), rtol=1e-12, atol=1e-14)


def test_at_zero_and_below():
    second = ad.grad(ad.grad(lambda z: special.spherical_jn(2, z)))
    assert second(0.0) == pytest.approx(2 / 15)
    assert ad.grad(lambda z: special.spherical_jn(1, z))(-0.5) == special.spherical_jn(1, -0.5, True)
