"""Expectations by location and scale: `scipy.stats`' own method in plain programs."""

import numpy as np
import pytest
from scipy import stats

import adjoint as ad

WITH_SCALE = {
    "norm": (lambda s: stats.norm.expect(lambda x: x**2, scale=s), lambda s: s**2),
    "norm by both": (lambda s: stats.norm.expect(np.sin, loc=s, scale=s), lambda s: np.sin(s) * np.exp(-(s**2) / 2)),
    "gamma": (lambda s: stats.gamma.expect(lambda x: x**2, args=(2.0,), scale=s), lambda s: 6 * s**2),
    "mean": (lambda s: stats.norm.expect(loc=2 * s, scale=s), lambda s: 2 * s),
    "limits": (lambda s: stats.expon.expect(lambda x: 1.0, scale=s, lb=0.0, ub=2.0), lambda s: 1 - np.exp(-2.0 / s)),
}


@pytest.mark.parametrize("name", WITH_SCALE)
def test_expectations_by_scale(name):
    ours, exact = WITH_SCALE[name]
    np.testing.assert_allclose(ad.grad(ours)(1.3), ad.grad(exact)(1.3), rtol=1e-7)
    np.testing.assert_allclose(ad.grad(ad.grad(ours))(1.3), ad.grad(ad.grad(exact))(1.3), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ad.jvp(ours, (1.3,), (1.0,))[1], ad.grad(exact)(1.3), rtol=1e-7)
