"""Programs with SciPy's sparse matrices as people write them, inside transforms: values and derivatives."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl

import adjoint as ad
from tests.scipy.differences import agrees

RANDOM = np.random.default_rng(0)
ROWS, COLUMNS = np.array([0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 1]), np.array([0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 1])  # one twice
VALUES = np.array([4.0, -1.0, -1.2, 4.5, -1.0, -0.9, 4.2, -1.1, -1.0, 3.8, 0.7])
B = RANDOM.normal(size=4)
CONSTANT = sp.csr_matrix(np.array([[1.0, 0, 2, 0], [0, 3, 0, 1], [0, 0, 1, 0], [2, 0, 0, 1]]))
FORMATS = ["coo_matrix", "csr_matrix", "csc_matrix", "coo_array", "csr_array", "csc_array"]


def matrix(values, kind="csr_matrix"):
    return getattr(sp, kind)((values, (ROWS, COLUMNS)), shape=(4, 4))


def symmetric(values):
    half = matrix(values)
    return ((half + half.T) / 2).tocsc()


@pytest.mark.parametrize("kind", FORMATS)
def test_a_matrix_of_values_at_places(kind):
    agrees(lambda v: matrix(v, kind) @ B, VALUES)
    agrees(lambda v: matrix(v, kind).T.dot(B) + B @ matrix(v, kind), VALUES)
    agrees(lambda v: matrix(v, kind).toarray(), VALUES, second=False)
    agrees(lambda v: sl.spsolve(matrix(v, kind).tocsc(), B), VALUES)
    other = "array" if kind.endswith("matrix") else "matrix"
    agrees(lambda v: getattr(sp, f"csr_{other}")(matrix(v, kind)) @ B, VALUES, second=False)


@pytest.mark.parametrize("kind", FORMATS)
def test_arithmetic(kind):
    other = getattr(sp, kind)(CONSTANT)
    product = (lambda a, b: a * b) if kind.endswith("matrix") else (lambda a, b: a @ b)
    for f in (
        lambda v: (matrix(v, kind) + other) @ B,
        lambda v: (other + matrix(v, kind)) @ B,
        lambda v: (other - matrix(v, kind) * 2.0) @ B,
        lambda v: (matrix(v, kind) - other / 3.0) @ B,
        lambda v: (-matrix(v, kind)) @ B,
        lambda v: product(matrix(v, kind), other) @ B,
        lambda v: product(other, matrix(v, kind)) @ B,
        lambda v: product(matrix(v, kind), B),
        lambda v: (v[0] * matrix(v, kind)) @ B,
        lambda v: (matrix(v, kind) / v[0]) @ B,
        lambda v: matrix(v, kind).multiply(other) @ B,
        lambda v: matrix(v, kind).multiply(B).tocsr() @ B,
        lambda v: matrix(v, kind).multiply(matrix(v, kind)) @ B,
        lambda v: matrix(v, kind).power(2) @ B,
        lambda v: abs(matrix(v, kind)) @ B,
        lambda v: (matrix(v, kind) @ matrix(v, kind).T).toarray(),
        lambda v: np.asarray(matrix(v, kind).sum(axis=1)).ravel() * B,
        lambda v: np.asarray(matrix(v, kind).mean(axis=0)).ravel() * B,
        lambda v: matrix(v, kind).sum() * matrix(v, kind).diagonal() + matrix(v, kind).trace(),
        lambda v: matrix(v, kind).tocsr()[1:, :3] @ B[:3],
        lambda v: matrix(v, kind).tocsc()[:, np.array([3, 1])] @ B[:2],
        lambda v: matrix(v, kind).tocsr()[np.ix_([0, 2], [1, 2])].toarray(),
        lambda v: matrix(v, kind).tocsr()[B > 0][:, B > 0].toarray() * 1.0,
        lambda v: matrix(v, kind).tocsr()[1, 1] * B,
        lambda v: matrix(v, kind).tocsr()[3, 0] + 0 * v,
        lambda v: matrix(v, kind).tocsr().data ** 2,
        lambda v: matrix(v, kind).tocsc().data ** 2,
        lambda v: matrix(v, kind).tocsr().reshape((2, 8)).toarray(),
        lambda v: matrix(v, kind).astype(float).copy().tocoo().tocsr() @ B,
    ):
        agrees(f, VALUES, second=False, samples=True)


def test_what_is_made_of_matrices():
    d = B + 3.0
    for f in (
        lambda d: sp.diags(d) @ B,
        lambda d: sp.diags([d, d[1:], -d[:-1]], [0, 1, -1]) @ B,
        lambda d: sp.diags([d[0], 1.0], [0, 1], shape=(4, 4)) @ B,
        lambda d: sp.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(4, 4)) @ (d * B),
        lambda d: sp.diags_array([d, d[1:]], offsets=[0, 1], format="csr") @ B,
        lambda d: sp.spdiags(np.stack([d, d**2]), [0, 1], 4, 4) @ B,
        lambda d: sp.dia_matrix((np.stack([d, d**2]), [0, -1]), shape=(4, 4)) @ B,
        lambda d: sp.kron(sp.diags(d), sp.eye(2)) @ np.ones(8),
        lambda d: sp.kron(np.ones((2, 2)), sp.diags(d)) @ np.arange(8.0),
        lambda d: sp.bmat([[sp.diags(d), None], [CONSTANT, sp.eye(4)]]) @ np.arange(8.0),
        lambda d: sp.hstack([sp.diags(d), CONSTANT]) @ np.arange(8.0),
        lambda d: sp.vstack([CONSTANT, sp.diags(d)], format="csr") @ B,
        lambda d: sp.block_diag([sp.diags(d), np.outer(d, d)]) @ np.arange(8.0),
        lambda d: sp.csr_matrix(np.outer(d, B)) @ B,
        lambda d: sp.tril(sp.csr_matrix(np.outer(d, B))) @ B + sp.triu(sp.csr_matrix(np.outer(d, B)), 1) @ B,
        lambda d: (sp.identity(4) * d[0] + CONSTANT) @ B,
        lambda d: (sp.eye(4) - d[0] * CONSTANT) @ B,
        lambda d: (d[1] * sp.eye_array(4)) @ B + sp.eye_array(4).multiply(d[0]) @ B,
        lambda d: CONSTANT.multiply(d) @ B,
        lambda d: CONSTANT.multiply(d[:, None]) @ B,
        lambda d: CONSTANT.dot(d) + CONSTANT * d + CONSTANT.T @ d,
        lambda d: sp.csr_matrix((d, [0, 1, 3, 2], [0, 1, 2, 3, 4]), shape=(4, 4)) @ B,
        lambda d: (sp.issparse(sp.diags(d)) and sp.diags(d).shape[0]) * d,
    ):
        agrees(f, d, second=False)


@pytest.mark.parametrize("kind", ["lil_matrix", "lil_array", "dok_matrix", "dok_array"])
def test_matrices_that_are_filled(kind):
    def by_elements(k):
        K = getattr(sp, kind)((5, 5))
        for e in range(4):
            K[e, e] += k[e]
            K[e + 1, e + 1] += k[e]
            K[e, e + 1] -= k[e]
            K[e + 1, e] = -k[e]
        K[0, 0] += 10.0
        return sl.spsolve(K.tocsc(), np.arange(5.0))

    agrees(by_elements, B + 3.0)

    def by_blocks(k):
        K = getattr(sp, kind)((5, 5))
        for e in range(4):
            dofs = [e, e + 1]
            K[np.ix_(dofs, dofs)] += k[e] * np.array([[1.0, -1.0], [-1.0, 1.0]])
        K = K.tocsr()
        return sl.spsolve(K[1:, 1:], np.ones(4))

    if kind.startswith("lil"):
        agrees(by_blocks, B + 3.0)

    def of_numbers(k):
        L = getattr(sp, kind)((4, 4))
        L[0, 1] = L[1, 2] = 2.0
        return L.tocsr() @ k + sl.spsolve((sp.eye(4) + L.tocsc()).tocsc(), B)

    agrees(of_numbers, B, second=False)


@pytest.mark.filterwarnings("ignore:Changing the sparsity structure")
def test_boundary_conditions():
    def fixed(v):
        K = matrix(v, "csr_matrix")
        K[0, :] = 0
        K[0, 0] = 1
        K.setdiag(K.diagonal() + v[0])
        return sl.spsolve(K.tolil().tocsc(), B)

    agrees(fixed, VALUES)


SOLVERS = ["cg", "cgs", "gmres", "lgmres", "bicg", "bicgstab", "minres", "gcrotmk", "tfqmr"]


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_that_iterate(name):
    solve = getattr(sl, name)
    f = lambda v, b=B: solve(symmetric(v), b, rtol=1e-13)[0]
    agrees(f, VALUES, value=1e-8)
    agrees(lambda b: f(VALUES, b), B, value=1e-8)
    agrees(lambda b: solve(symmetric(VALUES).toarray(), b, rtol=1e-13)[0], B, value=1e-8)
    operator = lambda t: sl.LinearOperator((4, 4), matvec=lambda x: symmetric(VALUES) @ x * t[0] + t[1] * x,
                                           rmatvec=lambda x: symmetric(VALUES) @ x * t[0] + t[1] * x)  # fmt: skip
    agrees(lambda t: solve(operator(t), B, rtol=1e-13)[0], np.array([1.3, 0.2]), value=1e-8)


def test_a_solver_that_stops_early_gives_scipys_value_and_the_exact_derivative():
    f = lambda b: sl.cg(symmetric(VALUES), b, maxiter=1)[0]
    exact = lambda b: sl.spsolve(symmetric(VALUES), b)
    found, tangent = ad.jvp(f, (B,), (B,))
    np.testing.assert_allclose(found, f(B), rtol=1e-12)
    np.testing.assert_allclose(tangent, exact(B), rtol=1e-10)
    preconditioned = lambda b: sl.cg(symmetric(VALUES), b, M=sl.aslinearoperator(sp.diags(1 / VALUES[:4])), rtol=1e-12)
    agrees(lambda b: preconditioned(b)[0], B, value=1e-8)


def test_factors():
    for f in (
        lambda v: sl.splu(matrix(v).tocsc()).solve(B),
        lambda v: sl.splu(matrix(v).tocsc()).solve(B, "T"),
        lambda v: sl.splu(matrix(v).tocsc()).solve(np.outer(B, B)),
        lambda v: sl.factorized(matrix(v).tocsc())(B),
        lambda v: sl.spsolve(matrix(v).tocsc(), np.outer(B, B)),
        lambda v: sl.spsolve(matrix(v).tocsc(), B[:, None]),
    ):
        agrees(f, VALUES, second=False)
    lu, ilu, solve = sl.splu(CONSTANT.tocsc()), sl.spilu(CONSTANT.tocsc()), sl.factorized(CONSTANT.tocsc())
    for f in (
        lambda b: lu.solve(b), lambda b: lu.solve(b, "T"), lambda b: ilu.solve(b), lambda b: solve(b),
        lambda b: lu.solve(np.outer(b, B)), lambda b: sl.splu(CONSTANT.tocsc()).solve(b),
        lambda b: sl.spsolve(CONSTANT.tocsc(), b), lambda b: sl.spsolve(CONSTANT, sp.csr_matrix(b[:, None])),
    ):  # fmt: skip
        agrees(f, B)
    with pytest.raises(ad.NotSupportedError, match="slogdet"):
        ad.grad(lambda v: np.sum(np.log(sl.splu(matrix(v).tocsc()).U.diagonal())))(VALUES)


def test_eigenvalues_and_exponentials():
    start = np.ones(4)
    mass = sp.diags([1.0, 2.0, 1.5, 1.0]).tocsc()
    for f in (
        lambda v: sl.eigsh(symmetric(v), k=2, v0=start)[0],
        lambda v: sl.eigsh(symmetric(v), k=2, v0=start, which="SA", return_eigenvectors=False),
        lambda v: sl.eigsh(symmetric(v), k=2, sigma=0.0, v0=start)[1],
        lambda v: sl.eigsh(symmetric(v), k=2, M=mass, sigma=0.0, v0=start)[1] ** 2,
        lambda v: np.real(sl.eigs(matrix(v), k=2, v0=start)[0]),
        lambda v: sl.svds(matrix(v), k=2, v0=start)[1],
        lambda v: (r := sl.svds(matrix(v), k=2, v0=start))[0] * r[1] @ r[2],
        lambda v: sl.svds(matrix(v), k=1, v0=start, return_singular_vectors=False),
    ):
        agrees(f, VALUES, samples=False, value=1e-8)
    agrees(lambda v: sl.expm_multiply(matrix(v) * 0.2, B), VALUES)
    agrees(lambda v: sl.expm_multiply(matrix(v) * 0.2, B, start=0, stop=1.0, num=3), VALUES, second=False)
    agrees(lambda v: sl.norm(matrix(v)) + sl.norm(matrix(v), 1) * B, VALUES, second=False)
    with pytest.raises(ad.NotSupportedError, match=r"scipy\.sparse\.linalg\.eigsh .* ad\.vmap"):
        ad.vmap(lambda v: sl.eigsh(symmetric(v), k=1)[0])(np.stack([VALUES, VALUES]))


def test_solvers_that_draw_their_beginning_give_the_same_bits_again():
    """A checkpoint computes again for its gradient, and asks for what it had."""

    def large(v):
        return sp.diags([v[0] * np.arange(1.0, 21.0), v[1] * np.ones(19), v[1] * np.ones(19)], [0, 1, -1]).tocsr()

    x = np.array([1.2, 0.7])
    for f in (
        lambda v: np.sum(sl.eigsh(large(v), k=2)[0]),
        lambda v: np.sum(sl.eigsh(large(v), k=2, sigma=0.1)[0]),
        lambda v: np.sum(sl.eigs(large(v), k=2)[0].real),
        lambda v: np.sum(sl.svds(large(v), k=2)[1]),
    ):
        np.testing.assert_allclose(ad.grad(ad.checkpoint(f))(x), ad.grad(f)(x), rtol=1e-12)
        np.testing.assert_allclose(ad.grad(f)(x) @ x, f(x), rtol=1e-8)  # of degree 1


def test_objects_of_scipys_stay_themselves_where_they_are_passed_on():
    def f(v):
        kept = [CONSTANT, CONSTANT.T]
        a = sl.spsolve(CONSTANT.tocsc(), B) + sp.csc_matrix(CONSTANT) @ B
        return a * v + kept[0] @ v + (sp.hstack(kept) @ np.ones(8))

    agrees(f, B, second=False)


def test_refusals_say_what_to_write():
    for f, said in (
        (lambda v: matrix(v).max(), "toarray"),
        (lambda v: matrix(v, "csr_array")[0].sum(), r"A\[\[i\], :\]"),
        (lambda v: matrix(v).sum(axis=1).T @ B, "csr_array"),
        (lambda v: sl.spsolve(matrix(v), CONSTANT).sum(), "toarray"),
        (lambda v: matrix(v)[0, 0:2].todense().I.sum(), "asarray"),
    ):
        with pytest.raises(ad.NotSupportedError, match=said):
            ad.grad(f)(VALUES)
