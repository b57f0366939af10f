"""Linear algebra where it is singular, rank-deficient, stacked or badly called."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad


def test_determinant_of_a_singular_matrix_has_its_cofactors_as_gradient():
    assert np.array_equal(ad.grad(np.linalg.det)(np.ones((3, 3))), np.zeros((3, 3)))
    a = np.array([[1.0, 2.0], [2.0, 4.0]])
    np.testing.assert_allclose(ad.grad(np.linalg.det)(a), [[4.0, -2.0], [-2.0, 1.0]])


def test_a_stack_with_one_singular_matrix():
    a = np.array([[[1.0, 2.0], [2.0, 4.0]], [[3.0, 1.0], [0.0, 2.0]]])
    gradient = ad.vjp(np.linalg.det, a)[1](np.ones(2))[0]
    np.testing.assert_allclose(gradient, [[[4.0, -2.0], [-2.0, 1.0]], [[2.0, 0.0], [-1.0, 3.0]]])


def test_second_derivative_of_a_singular_determinant():
    # det = a d - b c at rank one: the only second derivatives are d2/da dd = 1 and d2/db dc = -1.
    hessian = ad.hessian(np.linalg.det)(np.array([[1.0, 2.0], [2.0, 4.0]])).reshape(4, 4)
    np.testing.assert_allclose(hessian, [[0, 0, 0, 1], [0, 0, -1, 0], [0, -1, 0, 0], [1, 0, 0, 0]], atol=1e-12)


@pytest.mark.parametrize(
    "call",
    [lambda t: np.linalg.inv(t), lambda t: np.linalg.solve(t, np.ones(2)), lambda t: np.linalg.matrix_power(t, -1)],
)
def test_a_singular_matrix_raises_numpys_error(call):
    with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
        call(ad.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True))


def test_slogdet_is_a_named_pair_whose_sign_is_flat():
    t = ad.tensor([[0.0, 1.0], [2.0, 0.0]], requires_grad=True)
    result = np.linalg.slogdet(t)
    assert result.sign.item() == -1.0
    (result.sign * 3 + result.logabsdet).backward()
    assert t.grad.tolist() == [[0.0, 1.0], [0.5, 0.0]]


def test_only_one_of_two_results_used():
    t = ad.tensor([[0.0, 1.0], [2.0, 0.0]], requires_grad=True)
    np.linalg.slogdet(t)[1].backward()
    np.linalg.slogdet(t)[0].backward()
    assert t.grad.tolist() == [[0.0, 1.0], [0.5, 0.0]]


def test_pseudo_inverse_keeps_its_rank():
    gradient = ad.vjp(np.linalg.pinv, np.diag([1.0, 0.0]))[1](np.ones((2, 2)))[0]
    np.testing.assert_allclose(gradient, [[-1.0, 1.0], [1.0, 0.0]], atol=1e-15)


def test_lstsq_gives_numpys_four_answers():
    rng = np.random.default_rng(0)
    for shape, right in (((5, 2), (5,)), ((5, 2), (5, 3)), ((2, 5), (2,))):
        a, b = rng.normal(size=shape), rng.normal(size=right)
        ours = np.linalg.lstsq(ad.tensor(a, requires_grad=True), b)
        for mine, numpys in zip(ours, np.linalg.lstsq(a, b), strict=True):
            np.testing.assert_allclose(mine.numpy() if isinstance(mine, ad.Tensor) else mine, numpys, atol=1e-12)


def test_rank_is_a_constant():
    assert np.linalg.matrix_rank(ad.tensor(np.ones((3, 3)), requires_grad=True)) == 1


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 7])
def test_matrix_powers(n):
    a = np.array([[2.0, 1.0], [0.5, 3.0]])
    out = np.linalg.matrix_power(ad.tensor(a, requires_grad=True), n)
    np.testing.assert_allclose(out.numpy(), np.linalg.matrix_power(a, n))


def test_condition_number_of_an_orthogonal_matrix():
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for p in (None, 2, -2, "fro"):
        expected = np.linalg.cond(turn, p)
        assert np.linalg.cond(ad.tensor(turn, requires_grad=True), p).item() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda t: np.linalg.outer(t, t), ad.ShapeError),
        (lambda t: np.linalg.matrix_power(t[:1], 2), ad.ShapeError),
        (lambda t: np.linalg.matrix_power(t, 0.5), TypeError),
        (lambda t: np.linalg.lstsq(t, np.ones(3)), ad.ShapeError),
        (lambda t: np.linalg.cond(t[0]), ad.ArgumentError),
    ],
)
def test_refusals_name_the_function(call, error):
    with pytest.raises(error, match=r"np\.linalg\."):
        call(ad.tensor(np.ones((2, 2)), requires_grad=True))


def test_log_likelihood_of_a_gaussian_has_the_textbook_gradient():
    rng = np.random.default_rng(0)
    half = rng.normal(size=(3, 3))
    covariance, y = half @ half.T + np.eye(3), rng.normal(size=3)
    f = lambda s: -0.5 * (y @ np.linalg.solve(s, y) + np.linalg.slogdet(s)[1])
    inverse = np.linalg.inv(covariance)
    np.testing.assert_allclose(ad.grad(f)(covariance), 0.5 * (np.outer(inverse @ y, inverse @ y) - inverse), atol=1e-12)


@pytest.mark.parametrize("f", [np.dot, np.inner])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.complex128, int])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 1), (2, 3), (3, 1), (2, 3, 2), (0,)])
@pytest.mark.parametrize("number", [0.0, -0.0, -1.0, -1j, 2, np.float32(-1.0)])
def test_products_by_a_number_have_numpys_zeros(f, dtype, shape, number):
    x = (np.arange(np.prod(shape, dtype=int)) % 2).astype(dtype).reshape(shape) * dtype(-1)
    for g in (lambda x: f(number, x), lambda x: f(x, number)):
        plain, own = g(x), g(ad.tensor(x)).data
        assert (own.dtype, own.shape, own.strides) == (plain.dtype, plain.shape, plain.strides)
        for part in (np.real, np.imag):
            np.testing.assert_array_equal(part(own), part(plain))
            np.testing.assert_array_equal(np.signbit(part(own)), np.signbit(part(plain)))


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("dtypes", ["b d", "f d", "e f", "b D", "f D", "F d", "d f b", "f d f", "f D f", "b d b"])
def test_einsum_of_mixed_dtypes_sums_in_the_precision_of_the_result(dtypes, optimize):
    """Bytes would overflow, and single precision would be rounded before it meets double precision."""
    rng = np.random.default_rng(2)
    xs = [(30 * rng.normal(size=(40, 5))).astype(dtype) for dtype in dtypes.split()]
    for term in ("ij,kj->k", "ij,ij->", "ij,kl->kl", "ij,kj,kl->il", "ij,kj,lm->m"):
        if term.count(",") + 1 != len(xs):
            continue
        wanted = np.einsum(term, *(x.astype(complex) for x in xs))
        parts = np.einsum(term, *(np.abs(x.astype(complex)) for x in xs)).max()
        found = np.einsum(
            term, *(ad.tensor(x, requires_grad=True) if x.dtype.kind in "fc" else x for x in xs), optimize=optimize
        )
        dtype = np.result_type(*xs)
        assert found.dtype == dtype
        np.testing.assert_allclose(found.numpy(), wanted, rtol=0, atol=4 * np.finfo(dtype).eps * parts.real)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, float, complex])
def test_vecdot_of_two_vectors_is_a_number(dtype):
    """Which shows a copy, as NumPy's numbers do."""
    x = np.arange(3.0).astype(dtype)

    def f(x):
        number = np.vecdot(x, x)
        number.ravel()[0] = 7.0
        return number

    np.testing.assert_array_equal(ad.vjp(f, x)[0], f(x))
