"""Rules of users' own that write through views: cotangents that were selected, tangents in a Jacobian, patterns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import signal

import adjoint as ad

X = np.array([0.7, -0.4, 1.3, 0.25])


def part(g):
    h = g * 2.0
    e = h[0:1]
    e[...] = g[2:3]
    return h


def scaled(g):
    h = g * 2.0
    e = h[1:3]
    e *= 3.0
    return h


def seen_later(g):
    h = g * 2.0
    e = h[::-1]
    h[0] = g[2]
    return e


def block(g):
    h = g * 2.0
    e = h.reshape(2, 2).T
    e[0, 1] = 7.0 * g[0]
    return h


def line(g):
    h = g * 2.0
    h.ravel()[0] = 7.0 * g[3]
    return h


def copied(g):
    h = g * 2.0
    e = h.reshape(2, 2).T.reshape(-1)
    e[1] = 5.0 * g[0]
    return h + e


def given(g):
    h = g * 2.0
    np.multiply(h[:2], 3.0, out=h[:2])
    return h


def rows(g):
    h = (g * 2.0).reshape(2, 2)
    for row in h:
        row[0] = g[0]
    return h.ravel()


WRITES = [part, scaled, seen_later, block, line, copied, given, rows]
LINEAR = [*WRITES, lambda g: signal.savgol_filter(g, 3, 1)]
SELECTIONS = {
    "where": lambda y: np.sum(np.where(X > 0, y, 0.0) * X),
    "index": lambda y: np.sum(y[[0, 2, 3]] * X[[0, 2, 3]]),
}
COTANGENT = np.where(X > 0, X, 0.0)


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__)
def test_cotangents_that_were_selected(write, selection):
    f = ad.custom_vjp(lambda x: x**2)
    f.defvjp(lambda x: (x**2, x), lambda x, g: (write(g * x),))
    gradient = ad.grad(lambda x: SELECTIONS[selection](f(x)))
    wanted = np.stack([write(COTANGENT * e) for e in np.eye(4)], axis=1)
    assert_allclose(gradient(X), write(COTANGENT * X))
    for twice in (ad.jacobian(gradient), ad.jacfwd(gradient), ad.compile(ad.jacobian(gradient))):
        assert_allclose(twice(X), wanted)


@pytest.mark.parametrize("write", LINEAR, ids=lambda f: f.__name__)
def test_tangents_of_all_elements_and_their_patterns(write):
    f = ad.custom_jvp(lambda x: write(x**2))
    f.defjvp(lambda x, t: (write(x[0] ** 2), write(2 * x[0] * t[0])))
    wanted = np.stack([write(2 * X * e) for e in np.eye(4)], axis=1)
    for jacobian in (ad.jacfwd, ad.jacrev):
        assert_allclose(jacobian(f)(X), wanted, atol=1e-12)
    hessian = ad.hessian(lambda x: np.sum(f(x) ** 2))(X)
    assert_allclose(hessian, ad.hessian(lambda x: np.sum(write(x**2) ** 2))(X), atol=1e-12)
    if write in WRITES:
        assert_allclose(ad.sparse_jacobian(f)(X).toarray(), wanted, atol=1e-12)


def test_solvers_that_write_into_tangents_of_all_elements():
    def solve(product, b):
        x = b * 1.0
        e = x[:2]
        e *= 0.5
        x[2:] /= 4.0
        return x

    a = np.array([2.0, 2.0, 4.0, 4.0])
    f = lambda x: ad.custom_linear_solve(lambda v: a * v, x**2, solve)
    assert_allclose(ad.jacfwd(f)(X), np.diag(2 * X / a))
    assert_allclose(ad.jacrev(f)(X), np.diag(2 * X / a))
