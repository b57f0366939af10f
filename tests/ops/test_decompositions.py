"""Decompositions where values repeat, what each leaves free, and matrices that have none."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.testing import check_grads


def positive(n, seed=0):
    half = np.random.default_rng(seed).normal(size=(n, n))
    return half @ half.T + np.diag(np.arange(1.0, n + 1))


def test_eigenvalues_that_repeat_have_a_finite_gradient():
    gradient = ad.vjp(np.linalg.eigvalsh, np.eye(2))[1](np.ones(2))[0]
    np.testing.assert_allclose(gradient, np.eye(2), atol=1e-15)
    gradient = ad.grad(lambda a: np.sum(np.linalg.eigh(a)[0]))(np.eye(2))
    np.testing.assert_allclose(gradient, np.eye(2), atol=1e-15)


def test_singular_values_that_repeat_have_a_finite_gradient():
    for f in (np.linalg.svdvals, lambda a: np.linalg.svd(a)[1], lambda a: np.linalg.svd(a, compute_uv=False)):
        gradient = ad.vjp(f, 2 * np.eye(2))[1](np.ones(2))[0]
        np.testing.assert_allclose(gradient, np.eye(2), atol=1e-15)


@pytest.mark.parametrize("f", [lambda a: np.linalg.svd(a)[0], lambda a: np.linalg.eigh(a)[1]])
def test_vectors_of_values_that_repeat_have_none(f):
    gradient = ad.vjp(f, 2 * np.eye(2))[1](np.array([[1.0, 2.0], [3.0, 4.0]]))[0]
    assert np.isnan(gradient).all()


def test_gradients_of_symmetric_functions_are_symmetric():
    a = positive(3)
    for f in (np.linalg.cholesky, np.linalg.eigvalsh, lambda a: np.linalg.eigh(a).eigenvectors ** 2):
        value, pullback = ad.vjp(f, a)
        gradient = pullback(np.random.default_rng(1).normal(size=value.shape))[0]
        np.testing.assert_allclose(gradient, gradient.T, atol=1e-12)
        assert np.abs(gradient).max() > 1e-3


def test_cholesky_reconstructs_so_its_gradient_does():
    a, w = positive(3), np.random.default_rng(1).normal(size=(3, 3))
    for upper in (False, True):

        def f(a, upper=upper):
            factor = np.linalg.cholesky(a, upper=upper)
            return np.sum(w * (factor.T @ factor if upper else factor @ factor.T))

        np.testing.assert_allclose(ad.grad(f)(a), (w + w.T) / 2, atol=1e-12)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("kind", ["qr", "svd"])
def test_what_is_put_together_again_has_the_identity_as_derivative(kind, shape):
    a, w = np.random.default_rng(0).normal(size=(2, *shape))

    def f(a):
        if kind == "qr":
            q, r = np.linalg.qr(a)
            return np.sum(w * (q @ r))
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.sum(w * ((u * s[..., None, :]) @ vh))

    np.testing.assert_allclose(ad.grad(f)(a), w, atol=1e-11)


def test_complex_svd_put_together_again():
    rng = np.random.default_rng(0)
    a, w = rng.normal(size=(2, 4, 3)) + 1j * rng.normal(size=(2, 4, 3))

    def f(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.real(np.sum(np.conj(w) * ((u * s) @ vh)))

    np.testing.assert_allclose(ad.grad(f)(a), w, atol=1e-12)


def test_eig_of_a_turn_is_complex_and_its_gradient_real():
    a = np.array([[0.0, -2.0], [1.0, 0.5]])
    gradient = ad.grad(lambda a: np.real(np.prod(np.linalg.eig(a).eigenvalues)))(a)
    np.testing.assert_allclose(gradient, ad.grad(np.linalg.det)(a), atol=1e-12)
    gradient = ad.grad(lambda a: np.real(np.sum(np.linalg.eigvals(a) ** 3)))(a)
    np.testing.assert_allclose(gradient, 3 * (a @ a).T, atol=1e-12)


def test_second_order_through_a_decomposition():
    # tr(A^3) is the sum of the cubes of the eigenvalues.
    a = positive(3)
    ours = ad.hessian(lambda a: np.sum(np.linalg.eigvalsh(a) ** 3))(a)
    direct = ad.hessian(lambda a: np.trace((b := (a + a.T) / 2) @ b @ b))(a)
    np.testing.assert_allclose(ours, direct, atol=1e-9)


def test_results_have_names():
    a = ad.tensor(positive(2), requires_grad=True)
    assert np.linalg.eigh(a)._fields == ("eigenvalues", "eigenvectors")
    assert np.linalg.qr(a)._fields == ("Q", "R")
    assert np.linalg.svd(a)._fields == ("U", "S", "Vh")


@pytest.mark.parametrize("name", ["cholesky", "eigh", "eigvalsh"])
def test_only_square_matrices(name):
    with pytest.raises(np.linalg.LinAlgError, match=rf"np\.linalg\.{name} takes square matrices.*\(2, 3\)"):
        getattr(np.linalg, name)(ad.tensor(np.ones((2, 3)), requires_grad=True))


def test_a_matrix_that_is_not_positive_definite():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        np.linalg.cholesky(ad.tensor([[1.0, 2.0], [2.0, 1.0]], requires_grad=True))


@pytest.mark.parametrize(
    "call", [lambda t: np.linalg.svd(t), lambda t: np.linalg.qr(t, "complete"), lambda t: np.linalg.qr(t, "raw")]
)
def test_columns_that_nothing_determines_are_refused_with_the_call_to_make(call):
    with pytest.raises(ad.NotSupportedError, match=r"full_matrices=False|mode='reduced'"):
        call(ad.tensor(np.ones((3, 2)), requires_grad=True))


@pytest.mark.parametrize("half", [np.tril, np.triu])
@pytest.mark.parametrize("other", [0.0, 7.0])
def test_a_matrix_that_is_not_hermitian_is_read_as_numpy_reads_it(half, other):
    r = np.random.default_rng(0)
    a = np.where(half(np.ones((2, 3, 3))) > 0, r.normal(size=(2, 3, 3)) * (0.3 + 0.2j) + 4 * np.eye(3), other)
    lower = half is np.tril

    def functions(a):
        values, vectors = np.linalg.eigh(a, "L" if lower else "U")
        return (
            np.linalg.cholesky(a, upper=not lower),
            values,
            np.abs(vectors) ** 2,
            np.linalg.eigvalsh(a, "lu"[not lower]),
        )

    for ours, numpys in zip(functions(ad.tensor(a, requires_grad=True)), functions(a), strict=True):
        np.testing.assert_allclose(ours.detach(), numpys, rtol=1e-12)
    check_grads(lambda a: functions(a)[:2], (a,))
    assert not np.any(
        ad.grad(lambda a: np.sum(np.abs(np.linalg.cholesky(a, upper=not lower))))(a)[half(np.ones((2, 3, 3))) == 0]
    )


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4)])
def test_hermitian_svd_reads_what_numpys_reads(shape):
    rng = np.random.default_rng(0)
    a = rng.normal(size=shape) + 1j * rng.normal(size=shape)  # of which the lower triangle counts
    parts = ad.vjp(lambda x: np.linalg.svd(x, hermitian=True), a)[0]
    for part, wanted in zip(parts, np.linalg.svd(a, hermitian=True), strict=True):
        np.testing.assert_array_equal(part, wanted)
    np.testing.assert_allclose(
        np.linalg.svd(ad.tensor(a), compute_uv=False, hermitian=True).numpy(),
        np.linalg.svd(a, compute_uv=False, hermitian=True),
    )

    def put_together(x):
        u, s, vh = np.linalg.svd(x + np.conj(np.swapaxes(x, -1, -2)), hermitian=True)
        return np.sum(np.abs(np.matmul(u * np.sinh(s)[..., None, :], vh)) ** 2)

    check_grads(put_together, (a,))


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_dependent_columns_have_no_derivative_by_qr_in_any_mode(mode):
    """Beside them, other matrices of the stack have theirs."""
    a = np.stack([positive(3), np.zeros((3, 3)), np.triu(positive(3)) * [1, 0, 1]])
    b = a[:1]

    def f(a):
        return np.linalg.qr(a, "r") if mode == "r" else np.linalg.qr(a, mode)[1]

    w, t = np.random.default_rng(0).normal(size=(2, 3, 3, 3))
    backward, forward = ad.vjp(f, a)[1](w)[0], ad.jvp(f, (a,), (t,))[1]
    assert np.isnan(backward[1:]).all()
    assert np.isnan(forward[1:]).any(axis=(1, 2)).all()
    np.testing.assert_allclose(backward[:1], ad.vjp(f, b)[1](w[:1])[0])
    np.testing.assert_allclose(forward[:1], ad.jvp(f, (b,), (t[:1],))[1])
