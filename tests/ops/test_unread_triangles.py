"""Decompositions of Hermitian matrices read one triangle: what the other one holds does not matter."""

import numpy as np
import pytest

import adjoint as ad

LOWER = {
    "eigvalsh": np.linalg.eigvalsh,
    "eigh": lambda a: np.linalg.eigh(a).eigenvectors ** 2,
    "cholesky": np.linalg.cholesky,
    "eigvalsh, upper": lambda a: np.linalg.eigvalsh(np.swapaxes(a, -1, -2), UPLO="U"),
    "cholesky, upper": lambda a: np.linalg.cholesky(np.swapaxes(a, -1, -2), upper=True),
}


@pytest.mark.parametrize("other", [np.nan, np.inf, -np.inf, 7.0])
@pytest.mark.parametrize("f", LOWER.values(), ids=LOWER)
def test_what_stands_in_the_other_triangle(f, other):
    a = np.array([[4.0, 0, 0], [0.5, 3.0, 0], [-0.7, 0.2, 2.0]])
    given = np.where(np.tri(3, k=0, dtype=bool), a, other)
    stack = np.stack([given, a + a.T])
    np.testing.assert_allclose(ad.vjp(f, given)[0], f(given), atol=1e-14)
    np.testing.assert_allclose(ad.vjp(f, stack)[0], f(stack), atol=1e-13)
    np.testing.assert_allclose(ad.vmap(f)(stack), f(stack), atol=1e-13)
    weights = np.cos(np.arange(f(given).size)).reshape(f(given).shape)
    gradient = ad.grad(lambda a: np.sum(f(a) * weights))(given)
    wanted = ad.grad(lambda a: np.sum(f(np.tril(a) + np.tril(a, -1).T) * weights))(a)
    np.testing.assert_allclose(gradient, wanted, atol=1e-13)
    tangent = ad.jvp(f, (given,), (np.tril(np.ones((3, 3))),))[1]
    assert np.sum(tangent * weights) == pytest.approx(np.sum(wanted), abs=1e-13)
    compiled = ad.compile(ad.grad(lambda a: np.sum(f(a) * weights)), wait=True)
    for _ in range(2):
        np.testing.assert_allclose(compiled(given), wanted, atol=1e-13)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_what_is_not_finite_on_both_sides_is_of_a_hermitian_matrix():
    a = np.diag([np.inf, 3.0, 2.0]) + np.where(np.eye(3, dtype=bool), 0, 0.3)
    gradient = ad.grad(lambda a: np.linalg.cholesky(a)[2, 1])(a)
    assert gradient[1, 2] == gradient[2, 1] != 0
