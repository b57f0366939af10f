"""Sparse products and equations: SciPy's values, gradients by vectors and stored values."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.scipy import sparse
from adjoint.testing import check_grads

rng = np.random.default_rng(0)
M = (scipy.sparse.random_array((6, 6), density=0.4, rng=rng) + scipy.sparse.eye_array(6) * 3).tocsr()
B = rng.normal(size=(6, 2))


def ours(values):
    return sparse.csr(values, M.indices, M.indptr, M.shape)


def test_products():
    t = ad.tensor(B, requires_grad=True)
    assert_allclose(sparse.matmul(M, t).numpy(), M @ B)
    assert_allclose(sparse.matmul(t.T, M.tocsc()).numpy(), B.T @ M)
    assert_allclose((ours(M.data) @ t[:, 0]).numpy(), M @ B[:, 0])
    assert_allclose((t.T @ ours(M.data)).numpy(), B.T @ M)
    assert_allclose(B[:, 0] @ ours(M.data), B[:, 0] @ M)
    assert_allclose(ours(M.data).toarray(), M.toarray())
    assert ours(M.data).T.T.shape == M.shape
    check_grads(lambda v, b: b.T @ (ours(v).T @ b), (M.data, B))


def test_gradient_by_values_is_the_dense_one_where_they_are_stored():
    dense = ad.grad(lambda a: np.sum(np.sin(a @ B)))(M.toarray())
    stored = ad.grad(lambda v: np.sum(np.sin(ours(v) @ B)))(M.data)
    rows = np.repeat(np.arange(6), np.diff(M.indptr))
    assert_allclose(stored, dense[rows, M.indices])


@pytest.mark.parametrize("b", [B, B[:, 0], B * 1j], ids=["columns", "vector", "complex"])
def test_equations(b):
    assert_allclose(sparse.spsolve(M, b), np.linalg.solve(M.toarray(), b))
    assert_allclose(sparse.spsolve(ours(M.data).T, b), np.linalg.solve(M.toarray().T, b))
    assert_allclose(sparse.factorized(M)(b), np.linalg.solve(M.toarray(), b))
    check_grads(lambda v, b: sparse.spsolve(ours(v), b), (M.data, b))
    check_grads(sparse.factorized(M), (b,))


def test_one_factorisation_serves_solution_and_gradient(monkeypatch):
    calls, splu = [], scipy.sparse.linalg.splu
    monkeypatch.setattr(scipy.sparse.linalg, "splu", lambda a: calls.append(1) or splu(a))
    ad.grad(lambda v: np.sum(sparse.spsolve(ours(v), B)))(M.data)
    assert len(calls) == 1


def test_unsorted_and_repeated_indices():
    repeated = sparse.csr(np.array([1.0, 2.0, 3.0, 4.0]), [1, 0, 0, 1], [0, 3, 4], (2, 2))
    assert_allclose(repeated.toarray(), [[5.0, 1.0], [0.0, 4.0]])
    assert_allclose(sparse.spsolve(repeated, np.ones(2)), np.linalg.solve(repeated.toarray(), np.ones(2)))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda t: sparse.matmul(t, t), ad.ArgumentError, "one sparse"),
        (lambda t: sparse.matmul(M, M), ad.ArgumentError, "one sparse"),
        (lambda t: ours(M.data) @ t[:3], ad.ShapeError, "takes a vector"),
        (lambda t: sparse.spsolve(M, t[:3]), ad.ShapeError, "right side"),
        (lambda t: sparse.spsolve(t, t), ad.ArgumentError, "sparse matrix"),
        (lambda t: sparse.csr(t[:, 0], [0], [0, 1], (1, 1)), ad.ShapeError, "column indices"),
        (lambda t: sparse.spsolve(scipy.sparse.csr_array((6, 6)), t), np.linalg.LinAlgError, "singular"),
    ],
)
def test_refusals(call, error, match):
    with pytest.raises(error, match=match):
        call(ad.tensor(B, requires_grad=True))


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "coo_array", "csr_matrix", "dia_array", "bsr_array"])
def test_scipys_own_operator(kind):
    """``A @ t`` and ``t @ A`` with a matrix of SciPy's reach the differentiable product."""
    A = getattr(scipy.sparse, kind)(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    dense, x, y = A.toarray(), np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.7])
    check_grads(lambda v: A @ v, (x,), order=2)
    check_grads(lambda v: v @ A, (y,), order=2)
    np.testing.assert_allclose(ad.jacobian(lambda v: A @ v)(x), dense)
    np.testing.assert_allclose(ad.jacobian(lambda v: v @ A)(y), dense.T)
    assert (A @ ad.tensor(x)).tolist() == (dense @ x).tolist()
    with pytest.raises(ad.LeavesGraphError):
        A.multiply(ad.tensor(x, requires_grad=True))


def test_products_by_element_add_up_repeated_places():
    other = scipy.sparse.csr_array(np.array([[2.0, 0.0], [0.0, 3.0]]))

    def total(values):
        return sparse.csr(values, [0, 0, 1], [0, 2, 3], (2, 2)).multiply(other).toarray().sum()

    values = np.array([1.0, 10.0, 100.0])
    assert total(values) == 322.0
    np.testing.assert_array_equal(ad.grad(total)(values), [2.0, 2.0, 3.0])


def test_values_of_diagonals_are_not_laid_out_as_scipys():
    """SciPy's `data` has a row for each diagonal; a sum over other values would differ without a word."""

    def square(values, take):
        return np.sum(take(scipy.sparse.dia_array((np.stack([values, 10 * values]), [0, 1]), shape=(3, 3))) ** 2)

    values = np.array([1.0, 2.0, 3.0])
    with pytest.raises(ad.NotSupportedError, match=r"A\.diagonal\(k\) gives one"):
        ad.grad(lambda v: square(v, lambda a: a.data))(values)
    np.testing.assert_allclose(ad.grad(lambda v: square(v, lambda a: a.tocoo().data))(values), [2.0, 404.0, 606.0])
    np.testing.assert_allclose(ad.grad(lambda v: square(v, lambda a: a.diagonal(1)))(values), [0.0, 400.0, 600.0])
