"""Factors: sizes at which gradients go by blocks, stacks, and what is read of a triangle."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.linalg.equations.triangular import triangular_solve
from adjoint.ops.linalg.factors.cholesky import cholesky_solved
from adjoint.ops.linalg.factors.lu import packed_lu

N = 130


def matrix(dtype, n=N):
    r = np.random.default_rng(0)
    a = r.standard_normal((n, n)) + (1j * r.standard_normal((n, n)) if dtype is complex else 0)
    return a / np.sqrt(n) + 3 * np.eye(n)


def slope(f, a, direction, step=1e-6):
    return (f(a + step * direction) - f(a - step * direction)) / (2 * step)


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("name", ["cholesky", "lu", "solve", "slogdet"])
def test_large_matrices(name, dtype):
    a, weights = matrix(dtype), np.cos(np.arange(N * N)).reshape(N, N)
    direction = a * weights
    if name == "cholesky":
        a, direction = a @ a.conj().T, direction + direction.conj().T
    f = {
        "cholesky": lambda x: np.sum(np.real(ad.cholesky(x)) * weights),
        "lu": lambda x: np.sum(np.real(packed_lu(x)[0]) * weights),
        "solve": lambda x: np.sum(np.real(ad.solve(x, weights)) * weights),
        "slogdet": lambda x: ad.slogdet(x).logabsdet,
    }[name]
    ours = np.real(np.vdot(ad.grad(f)(a), direction))
    np.testing.assert_allclose(ours, slope(f, a, direction), rtol=1e-5)


def test_blocks_of_a_stack_are_those_of_each_matrix():
    half = np.random.default_rng(0).standard_normal((9, 5, 5))
    a = half @ half.swapaxes(-1, -2) + np.eye(5)
    whole = ad.vjp(np.linalg.cholesky, a)[1](half)[0]
    for i in range(9):
        np.testing.assert_allclose(whole[i], ad.vjp(np.linalg.cholesky, a[i])[1](half[i])[0], rtol=1e-10)


@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("lower", [False, True])
def test_the_other_triangle_is_not_read(lower, trans, count):
    a = np.stack([matrix(complex, 4)] * count)
    part = np.tril(a) if lower else np.triu(a)
    b = np.ones((4, 2))
    turned = (part, part.swapaxes(-1, -2), part.conj().swapaxes(-1, -2))[trans]
    np.testing.assert_allclose(turned @ triangular_solve(a, b, trans=trans, lower=lower), np.stack([b] * count))
    whole = part @ part.conj().swapaxes(-1, -2) if lower else part.conj().swapaxes(-1, -2) @ part
    np.testing.assert_allclose(whole @ cholesky_solved(a, b, lower=lower), np.stack([b] * count))
