"""Transforms inside compiled functions, where NumPy gives an array itself: a write through it reaches the array."""

import numpy as np
import pytest

import adjoint as ad

X, T = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.5, 2.0])


def by_real(a):
    v = a**1.0
    np.add(a, v, out=v.real)
    return v * a


def by_squeeze(a):
    v = a * 1.0
    w = np.squeeze(v)
    w *= 2.0
    return v * a


def by_broadcast_arrays(a):
    v = a * 1.0
    w, _ = np.broadcast_arrays(v, 1.0)
    w += a
    return v * a


def by_astype(a):
    v = a * 1.0
    w = v.astype(float, copy=False)
    w += a * a
    return v * a


def by_several(a):
    v = a * 2.0
    w = np.atleast_1d(v)
    w -= a * a
    u = w.real
    u *= a
    return v * a


def by_copies(a):
    v = a * 2.0
    w, u = v.copy(), np.array(v)
    w += a
    u *= 3.0
    return v * a + w + u


MODES = {
    "plain": lambda f, a: f(a),
    "jvp": lambda f, a: ad.jvp(f, (a,), (T,))[1],
    "vmap": lambda f, a: ad.vmap(f)(np.stack([a, a * 2.0])),
    "grad": lambda f, a: ad.grad(lambda a: np.sum(f(a) ** 2))(a),
    "vjp": lambda f, a: ad.vjp(lambda a: (a, f(a)), a)[1]((T, T))[0],
    "hessian": lambda f, a: ad.hessian(lambda a: np.sum(f(a) ** 2))(a),
    "vmap of grad": lambda f, a: ad.vmap(ad.grad(lambda a: np.sum(f(a) ** 2)))(np.stack([a, a * 2.0])),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [by_real, by_squeeze, by_broadcast_arrays, by_astype, by_several, by_copies])
def test_writes_reach_the_array(f, mode):
    run = MODES[mode]
    compiled = ad.compile(lambda a: run(f, a), backend="numpy")
    right = run(f, X.copy())
    for _ in range(3):
        np.testing.assert_allclose(np.asarray(compiled(X.copy())), np.asarray(right), rtol=1e-13)
