"""SciPy's functions that give indices, and sentences for those that give nothing that can be differentiated."""

import numpy as np
import pytest
import scipy.optimize
import scipy.signal
import scipy.stats

import adjoint as ad
from adjoint.core.errors import LeavesGraphError

X = np.array([0.3, 1.7, 0.2, 2.5, 0.1])


def assigned(x):
    costs = np.outer(x, x[::-1]) + np.eye(5)
    rows, columns = scipy.optimize.linear_sum_assignment(costs)
    return np.sum(costs[rows, columns] ** 2)


def peaks(x):
    found, _ = scipy.signal.find_peaks(x)
    (least,) = scipy.signal.argrelextrema(x, np.less)
    return np.sum(x[found] ** 2) - x[least[0]] + x[scipy.signal.argrelmax(x)[0][0]]


@pytest.mark.parametrize("f", [assigned, peaks])
def test_indices(f):
    slopes = [(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(5)]
    np.testing.assert_allclose(ad.grad(f)(X), slopes, rtol=1e-7, atol=1e-7)
    assert ad.jvp(f, (X,), (X,))[1] == pytest.approx(slopes @ X, rel=1e-7)
    np.testing.assert_allclose(ad.compile(f, wait=True)(2 * X), f(2 * X), rtol=1e-12)


def test_masked_arrays_are_refused_by_name():
    with pytest.raises(LeavesGraphError, match=r"numpy\.ma\.masked_where, called at .*choose by np\.where"):
        ad.grad(lambda x: np.ma.masked_where(x > 1, x).sum())(X)


def test_what_a_distribution_lacks():
    with pytest.raises(AttributeError, match=r"norm of adjoint\.scipy has no rvs; it has logpdf"):
        ad.grad(lambda m: scipy.stats.norm(m, 1.0).rvs(3)[0])(0.5)
    assert ad.grad(lambda m: scipy.stats.norm(m, 1.0).ppf(0.7))(0.5) == 1.0
