"""Special functions: those that SciPy writes in Python, and the way to the others."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.scipy import special
from adjoint.testing import check_grads

rng = np.random.default_rng(0)
X = rng.normal(size=(3, 4))
WEIGHTS = rng.normal(size=(3, 4))


@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": (0, 1), "keepdims": True}], ids=str)
def test_logsumexp(options):
    for b in (None, np.abs(WEIGHTS), np.where(WEIGHTS > 0.5, 0.0, 2.0)):
        assert_allclose(special.logsumexp(X, b=b, **options), scipy.special.logsumexp(X, b=b, **options))
    ours, theirs = (s.logsumexp(X, b=WEIGHTS, return_sign=True, **options) for s in (special, scipy.special))
    for got, value in zip(ours, theirs, strict=True):
        assert_allclose(got, value)
    check_grads(lambda x, b: special.logsumexp(x, b=b, return_sign=True, **options)[0], (X, WEIGHTS))


def test_logsumexp_far_out():
    assert special.logsumexp(np.array([1e4, 1e4])) == pytest.approx(1e4 + np.log(2))
    assert special.logsumexp(np.array([-np.inf, -np.inf])) == -np.inf
    gradient = ad.grad(lambda x: special.logsumexp(x, b=np.ones(2)))(np.array([-np.inf, 0.0]))
    assert gradient.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_softmax(name, axis):
    assert_allclose(getattr(special, name)(X, axis), getattr(scipy.special, name)(X, axis))
    check_grads(lambda x: getattr(special, name)(x, axis), (X,))


@pytest.mark.parametrize(
    "name", ["gammaln", "expi", "exp1", "j0", "i1", "erf", "betaln", "gammainc", "psi", "polygamma"]
)
def test_functions_that_dispatch(name):
    x = np.array([0.7, 1.9])
    args = {"betaln": (1.5, x), "gammainc": (1.5, x), "polygamma": (2, x)}.get(name, (x,))
    ours = getattr(special, name)(*args[:-1], ad.tensor(x, requires_grad=True))
    assert_allclose(ours.numpy(), getattr(scipy.special, name)(*args))
    assert ours.requires_grad


def test_multigammaln():
    assert_allclose(special.multigammaln(4.5, 3), scipy.special.multigammaln(4.5, 3))


def test_an_order_is_refused_with_the_reason():
    with pytest.raises(ad.NotDifferentiableError, match="closed form"):
        ad.grad(lambda order: scipy.special.jv(order, 2.0))(1.5)


def test_unknown_functions_name_the_nearest():
    with pytest.raises(AttributeError, match="gammaincc"):
        special.gammaincx  # noqa: B018 - the look-up is what raises
