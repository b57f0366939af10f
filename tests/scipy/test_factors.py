"""Schur, Hessenberg, RQ, LDL, null spaces and functions of matrices: SciPy's values, derivatives of differences."""

import numpy as np
import pytest
from scipy import linalg

import adjoint as ad
from tests.scipy.differences import agrees

RANDOM = np.random.default_rng(0)
A, S = RANDOM.normal(size=(4, 4)), np.diag([1.0, 2.0, 4.0, 7.0]) + 0.3
S = S + np.outer(np.arange(4.0), np.arange(4.0)) / 5
REAL = np.diag([1.0, 2.0, -3.0, 5.0]) + 0.2 * A  # whose eigenvalues are real


@pytest.mark.parametrize("a", [A, S, REAL, RANDOM.normal(size=(5, 5))], ids=["blocks", "symmetric", "real", "five"])
def test_schur(a):
    agrees(lambda a: linalg.schur(a)[0], a, value=1e-8, rtol=1e-5, h=1e-5)
    agrees(lambda a: linalg.schur(a)[1], a, value=1e-8, rtol=1e-5, h=1e-5)
    agrees(lambda a: np.abs(linalg.schur(a, "complex")[0]) ** 2, a, value=1e-8, rtol=1e-5, h=1e-5, second=False)
    agrees(lambda a: np.real(np.diagonal(linalg.schur(a, output="complex")[0])), a, value=1e-8, rtol=1e-5, h=1e-5)
    agrees(lambda a: linalg.schur(a, sort="lhp")[0], a, value=1e-8, rtol=1e-5, h=1e-5, second=False)
    rebuilt = lambda a: (r := linalg.schur(a))[1] @ r[0] @ r[1].T
    np.testing.assert_allclose(ad.jvp(rebuilt, (a,), (S if len(a) == 4 else a,))[1], S if len(a) == 4 else a, atol=1e-9)


def test_schur_of_equal_eigenvalues_has_no_derivative():
    with pytest.raises(ad.GradientError):
        ad.grad(lambda a: linalg.schur(a)[1][0, 0])(np.eye(3))


@pytest.mark.parametrize("a", [A, S, RANDOM.normal(size=(6, 6))], ids=["four", "symmetric", "six"])
def test_hessenberg(a):
    agrees(linalg.hessenberg, a)
    agrees(lambda a: linalg.hessenberg(a, calc_q=True)[1], a)
    agrees(lambda t: np.abs(linalg.hessenberg(a + 1j * t * a.T)), np.array(0.3), second=False)
    with pytest.raises(ad.GradientError, match=r"scipy\.linalg\.hessenberg"):
        ad.grad(lambda a: linalg.hessenberg(a)[0, 0])(np.triu(a))


@pytest.mark.parametrize("shape", [(4, 4), (3, 5)])
def test_rq(shape):
    a = RANDOM.normal(size=shape)
    for k in range(2):
        agrees(lambda a, k=k: linalg.rq(a, mode="economic")[k], a)
    agrees(lambda a: linalg.rq(a, mode="r") if shape[0] == shape[1] else linalg.rq(a, mode="economic")[0], a)
    if shape[0] < shape[1]:
        with pytest.raises(ad.NotSupportedError, match=r"scipy\.linalg\.rq"):
            ad.grad(lambda a: linalg.rq(a)[0][0, 0])(a)


INDEFINITE = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.1]])
SYMMETRIC = [S, A + A.T, INDEFINITE, RANDOM.normal(size=(7, 7))]


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("a", SYMMETRIC, ids=["definite", "indefinite", "zeros", "seven"])
def test_ldl(a, lower):
    for k in range(2):
        agrees(lambda a, k=k: linalg.ldl(a, lower=lower)[k], a, samples=False)
    np.testing.assert_array_equal(ad.grad(lambda a: linalg.ldl(a, lower=lower)[2].sum() + a.sum())(a), 1.0)
    z = a + 0.5j * (np.tril(a, -1) - np.tril(a, -1).T)
    for way in (True, False):
        agrees(lambda t, way=way: np.real(linalg.ldl(z * (1 + 0.1j * t * (not way)) * t, lower, way)[1]), np.array(1.3),
               samples=False)  # fmt: skip


@pytest.mark.parametrize("a", [A[:3], A[:2], A[:, :2] @ A[:2], np.ones((1, 3))], ids=["one", "two", "rank", "row"])
def test_null_spaces(a):
    projector = lambda a: (z := linalg.null_space(a)) @ z.T
    if a.shape == (4, 4):  # differences leave the rank
        u = lambda b: b @ A[:2]
        agrees(lambda b: projector(u(b)), A[:, :2], rtol=1e-5, samples=False)
    else:
        agrees(projector, a)
    if a.shape[1] - np.linalg.matrix_rank(a) == 1:
        agrees(linalg.null_space, a)


@pytest.mark.parametrize("a", [A, S, REAL], ids=["complex", "symmetric", "real"])
def test_functions_of_a_matrix(a):
    for function in (np.sin, np.exp, lambda x: 1 / (x + 20.0)):
        agrees(lambda a, f=function: np.real(linalg.funm(a, f)), a, value=1e-8)
    agrees(linalg.signm, a, value=1e-8)
    np.testing.assert_allclose(ad.jvp(linalg.signm, (a,), (a,))[1], 0.0, atol=1e-9)


@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("columns", [(), (3,)], ids=["vector", "columns"])
@pytest.mark.parametrize("n", [1, 50, 70, 300])
def test_large_factors_are_differentiated_by_blocks(n, columns, trans):
    """The way back goes through blocks, the way forward through whole triangles."""
    a, b, ta, tb = (RANDOM.normal(size=shape) for shape in ((n, n), (n, *columns), (n, n), (n, *columns)))
    a, kinds = a + 3 * np.sqrt(n) * np.eye(n), (float,) if n == 300 else (float, complex)
    for kind in kinds:
        turn = (lambda x: x * (1 + 0.1j)) if kind is complex else (lambda x: x)

        def solved(a, b, turn=turn):
            lu, pivots = linalg.lu_factor(turn(a))
            x = linalg.lu_solve((lu, pivots), turn(b), trans=trans)
            return np.sum(np.abs(x) ** 2) * n + np.sum(np.abs(lu) ** 2) / n

        _, forward = ad.jvp(solved, (a, b), (ta, tb))
        ga, gb = ad.grad(solved, argnums=(0, 1))(a, b)
        np.testing.assert_allclose(np.sum(ga * ta) + np.sum(gb * tb), forward, rtol=1e-9)
