"""Sparse matrices from outside in compiled functions: their values are inputs, where these lie is known."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.scipy import sparse

X = np.array([1.0, -2.0])
PROGRAMS = {
    "product": lambda s, x: s @ x,
    "from the left": lambda s, x: x @ s.T,
    "function": lambda s, x: sparse.matmul(s, x),
    "solution": lambda s, x: ad.grad(lambda y: np.sum(sparse.spsolve(s, y) ** 2))(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_from_outside(name):
    s = sparse.csr(np.arange(3.0) + 1, [0, 1, 1], [0, 2, 3], (2, 2))

    def f(x):
        return PROGRAMS[name](s, x)

    compiled = ad.compile(f, wait=True, backend="numpy")
    for k in range(7):
        if k == 3:
            s.values[:] = 2.0 - s.values * 3
        if k == 5:
            s.values = np.array([2.0, 1.0, 4.0])
        np.testing.assert_allclose(compiled(X), f(X), rtol=1e-13)
    assert "specialization 1" in str(compiled.explain())


def test_values_that_the_function_sets():
    s = sparse.csr(np.arange(3.0) + 1, [0, 1, 1], [0, 2, 3], (2, 2))

    def f(x, k):
        s.values = np.array([1.0, 2.0, 3.0]) * k
        return sparse.matmul(s, x) + s @ x

    compiled = ad.compile(f, wait=True)
    for k in range(1, 6):
        np.testing.assert_allclose(compiled(X, float(k)), k * np.array([-6.0, -12.0]), rtol=1e-13)
