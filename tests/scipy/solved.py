"""A function of one number in every mode, against a closed form: what the tests of SciPy's solvers have in common."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from numpy.testing import assert_allclose

import adjoint as ad

ARGUMENT, CLOSURE, METHOD, OBJECT = "argument", "closure", "method", "object"
WAYS = (ARGUMENT, CLOSURE, METHOD, OBJECT)


class Holder:
    """An object with the parameter as an attribute."""

    def __init__(self, f, k):
        self.f, self.inner = f, SimpleNamespace(k=[k])

    def value(self, *x):
        return self.f(*x, self.inner.k[0])

    __call__ = value


def given(way, f, k):
    """``f(*x, k)`` as a function that has `k` in one of four ways, and the `args` to pass."""
    if way == ARGUMENT:
        return f, (k,)
    if way == CLOSURE:
        return (lambda *x: f(*x, k)), ()
    return (Holder(f, k).value if way == METHOD else Holder(f, k)), ()


MODES = {
    "grad": ad.grad,
    "jvp": lambda f: lambda k: ad.jvp(f, (k,), (1.0,))[1],
    "hessian": ad.hessian,
    "grad of grad": lambda f: ad.grad(ad.grad(f)),
    "jvp of grad": lambda f: lambda k: ad.jvp(ad.grad(f), (k,), (1.0,))[1],
    "grad of jvp": lambda f: ad.grad(lambda k: ad.jvp(f, (k,), (1.0,))[1]),
    "one inside another": lambda f: ad.grad(lambda a: ad.grad(lambda b: f(a * b + 0.3))(a)),
    "vmap": lambda f: lambda k: ad.vmap(f)(np.stack([k, k * 1.1])),
    "vmap of grad": lambda f: lambda k: ad.vmap(ad.grad(f))(np.stack([k, k * 1.1])),
    "grad of vmap": lambda f: lambda k: ad.grad(lambda k: np.sum(ad.vmap(f)(np.stack([k, k * 1.1])) ** 2))(k),
    "compile": ad.compile,
    "compile of grad": lambda f: ad.compile(ad.grad(f)),
    "on tensors": lambda f: lambda k: _by_backward(f, k),
}


def _by_backward(f, k):
    t = ad.tensor(k, requires_grad=True)
    f(t).backward()
    return t.grad.numpy()


def check(f, exact, k, mode, rtol=1e-6):
    """`f` is what `exact` is, in one of `MODES`."""
    assert_allclose(f(k), exact(k), rtol=rtol)
    assert not isinstance(f(k), ad.Tensor)
    assert_allclose(MODES[mode](f)(k), MODES[mode](exact)(k), rtol=rtol)
