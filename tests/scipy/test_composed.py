"""Functions of `scipy.linalg` that are others put together: SciPy's values, derivatives by differences, in vmap too."""

import numpy as np
import pytest
import scipy.linalg as sl
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.scipy import linalg

RNG = np.random.default_rng(5)
S = RNG.normal(size=(4, 4)) + 3 * np.eye(4)
TALL, WIDE, B = RNG.normal(size=(5, 3)), RNG.normal(size=(3, 5)), RNG.normal(size=4)
W = S @ S.T
UPPER = np.array([[7.0, 0.1, 0.2, 0.3], [9.0, 8.0, 9.0, 8.5]])
LOWER = np.array([[9.0, 8.0, 9.0, 8.5], [0.1, 0.2, 0.3, 7.0]])

CASES = {
    "lu": (lambda m, a: m.lu(a)[1:], (S,)),
    "lu of rows": (lambda m, a: m.lu(a)[1:], (TALL,)),
    "lu of columns": (lambda m, a: m.lu(a, permute_l=True), (WIDE,)),
    "lu with indices": (lambda m, a: m.lu(a, p_indices=True)[1:], (S[::-1],)),
    "eigvals": (lambda m, a: (m.eigvals(a).real, m.eigvals(a).imag ** 2), (S,)),
    "eig": (lambda m, a: (abs(m.eig(a)[1]), m.eig(a)[0].real), (S,)),
    "eigvalsh_tridiagonal": (lambda m, d, e: (m.eigvalsh_tridiagonal(d, e),), (B, B[:3])),
    "some of them": (lambda m, d, e: (m.eigvalsh_tridiagonal(d, e, "i", (1, 2)),), (B, B[:3])),
    "eigvals_banded": (
        lambda m, a: (m.eigvals_banded(a), m.eigvals_banded(a, select="i", select_range=(0, 1))),
        (UPPER,),
    ),
    "solveh_banded": (lambda m, a, b: (m.solveh_banded(a, b),), (UPPER, B)),
    "solveh_banded of lower": (lambda m, a, b: (m.solveh_banded(a, b, lower=True),), (LOWER, B)),
    "cholesky_banded": (lambda m, a: (m.cholesky_banded(a),), (UPPER,)),
    "cholesky_banded of lower": (lambda m, a: (m.cholesky_banded(a, lower=True),), (LOWER,)),
    "cho_solve_banded": (lambda m, a, b: (m.cho_solve_banded((a, False), b),), (UPPER, B)),
    "cho_solve_banded of lower": (lambda m, a, b: (m.cho_solve_banded((a, True), b),), (LOWER, B)),
    "solve_toeplitz": (lambda m, c, b: (m.solve_toeplitz(c + 9 * np.eye(4)[0], b),), (B, S)),
    "of two": (lambda m, c, r: (m.solve_toeplitz((c + 9 * np.eye(4)[0], r), B),), (B, B[::-1])),
    "fractional_matrix_power": (
        lambda m, a: (m.fractional_matrix_power(a, 0.3), m.fractional_matrix_power(a, 3)),
        (W,),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    f, given = CASES[name]
    ways = [RNG.normal(size=x.shape) for x in given]
    found, expected = f(linalg, *given), f(sl, *given)
    for a, b in zip(found, expected, strict=True):
        assert_allclose(a, b, rtol=1e-8, atol=1e-10)
    high, low = (f(sl, *(x + h * w for x, w in zip(given, ways, strict=True))) for h in (1e-5, -1e-5))
    slopes = [np.subtract(a, b) / 2e-5 for a, b in zip(high, low, strict=True)]
    _, tangents = ad.jvp(lambda *xs: tuple(f(linalg, *xs)), given, tuple(ways))
    for a, b in zip(tangents, slopes, strict=True):
        assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    gradients = ad.grad(lambda *xs: sum(np.sum(part) for part in f(linalg, *xs)), tuple(range(len(given))))(*given)
    along = sum(np.sum(g * w) for g, w in zip(gradients, ways, strict=True))
    assert_allclose(along, sum(map(np.sum, slopes)), rtol=1e-5, atol=1e-6)


def test_the_power_has_a_derivative():
    found = ad.grad(lambda t: np.sum(sl.fractional_matrix_power(W, t)))(2.0)
    assert_allclose(found, np.sum(W @ W @ sl.logm(W)), rtol=1e-9)


def test_the_order_of_rows_is_a_constant():
    p, lower, upper = linalg.lu(S[::-1])
    assert_allclose(p @ lower @ upper, S[::-1], rtol=1e-12)
    assert np.array_equal(linalg.lu(S[::-1], p_indices=True)[0], sl.lu(S[::-1], p_indices=True)[0])


def test_calls_of_scipys_names_come_here_inside_transforms():
    def f(a):
        p, lower, upper = sl.lu(a)
        return np.sum(p @ lower**2 @ upper) + np.sum(sl.eigvals(a).real ** 2)

    slope = (f(S + 1e-6 * W) - f(S - 1e-6 * W)) / 2e-6
    assert_allclose(np.sum(ad.grad(f)(S) * W), slope, rtol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: linalg.eig(a, a),
        lambda a: linalg.eig(a, left=True),
        lambda a: linalg.lu(a[None]),
        lambda a: linalg.eigvals_banded(a, select="v", select_range=(0.0, 1.0)),
        lambda a: ad.vmap(linalg.lu)(a[None]),
    ],
)
def test_what_has_no_form_of_ours_is_refused(call):
    with pytest.raises(ad.NotSupportedError):
        call(S)
