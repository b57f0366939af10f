"""Linear algebra: SciPy's values, closed forms of gradients, stacks, errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.scipy import linalg
from adjoint.testing import check_grads

rng = np.random.default_rng(0)
A = rng.normal(size=(3, 3)) + 3 * np.eye(3)
B = rng.normal(size=(3, 2))
H = A @ A.T + np.eye(3)
G = B @ B.T + 2 * np.eye(3)
STACK = rng.normal(size=(2, 3, 3)) + 3 * np.eye(3)
NILPOTENT = np.diag([1.0, 2.0], 1)

SAME = {
    "solve": (A, B),
    "inv": (A,),
    "det": (A,),
    "expm": (A,),
    "logm": (H,),
    "sqrtm": (H,),
    "sinm": (A,),
    "cosm": (A,),
    "sinhm": (A,),
    "coshm": (A,),
    "solve_sylvester": (A, H, A),
    "solve_continuous_lyapunov": (A, H),
    "solve_discrete_lyapunov": (A / 9, H),
    "cholesky": (H,),
    "svdvals": (B,),
    "norm": (B,),
    "pinv": (B,),
    "polar": (B,),
    "block_diag": (A, B, 2.0),
    "toeplitz": (B[:, 0], B[0]),
    "hankel": (B[:, 0], B[0]),
    "circulant": (B[:, 0],),
    "expm_frechet": (A, H),
}


@pytest.mark.parametrize("name", sorted(SAME))
def test_values_and_gradients(name):
    ours, theirs = getattr(linalg, name), getattr(scipy.linalg, name)
    expected = theirs(*SAME[name])
    boxed = ours(*(ad.tensor(a, requires_grad=True) for a in SAME[name]))
    for got, plain, value in zip(
        *(x if isinstance(x, tuple) else (x,) for x in (boxed, ours(*SAME[name]), expected)), strict=True
    ):
        assert_allclose(got.numpy(), value, atol=1e-12)
        assert_allclose(plain, value, atol=1e-12)
    symmetric = name == "cholesky"
    order = 1 if name == "logm" else 2  # its second order is among the rules' samples
    check_grads(lambda *a: ours(*((a[0] + a[0].T) / 2 if symmetric else x for x in a)), SAME[name], order=order)


@pytest.mark.parametrize(
    "kind", ["gen", "sym", "pos", "her", "diagonal", "tridiagonal", "banded", "upper triangular", "lower triangular"]
)
@pytest.mark.parametrize("b", [B, B[:, 0]], ids=["matrix", "vector"])
def test_solve_takes_what_is_assumed_literally(kind, b):
    a = {
        "diagonal": np.diag(np.diag(A)),
        "tridiagonal": np.triu(np.tril(A, 1), -1),
        "upper triangular": np.triu(A),
    }.get(kind, H)
    a = np.tril(A) if kind == "lower triangular" else a
    f = lambda a, b: linalg.solve(a, b, assume_a=kind)
    assert_allclose(f(a, b), np.linalg.solve(a, b), atol=1e-12)
    check_grads(f, (a, b))


@pytest.mark.parametrize("kind", ["upper triangular", "lower triangular", "gen"])
def test_solve_with_the_transpose(kind):
    a = {"upper triangular": np.triu(A), "lower triangular": np.tril(A)}.get(kind, A)
    assert_allclose(linalg.solve(a, B, assume_a=kind, transposed=True), np.linalg.solve(a.T, B), atol=1e-12)


@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("a", [A, STACK, A + 1j * H], ids=["one", "stack", "complex"])
def test_lu_factors(a, trans):
    f = lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, trans)
    turned = {0: a, 1: np.swapaxes(a, -1, -2), 2: np.swapaxes(a.conj(), -1, -2)}[trans]
    assert_allclose(f(a, B), np.linalg.solve(turned, B), atol=1e-12)
    check_grads(f, (a, B))


def test_lu_factors_of_scipy_are_ours():
    assert_allclose(linalg.lu_factor(A)[0], scipy.linalg.lu_factor(A)[0])
    assert np.array_equal(linalg.lu_factor(A)[1], scipy.linalg.lu_factor(A)[1])
    check_grads(lambda a: linalg.lu_factor(a)[0], (STACK,))


@pytest.mark.parametrize("lower", [False, True])
def test_cholesky_factors(lower):
    f = lambda a, b: linalg.cho_solve(linalg.cho_factor(a, lower), b)
    assert_allclose(f(H, B), np.linalg.solve(H, B), atol=1e-12)
    check_grads(lambda a, b: f((a + a.T) / 2, b), (H, B))


@pytest.mark.parametrize("type", [1, 2, 3])
def test_generalised_eigenvalues(type):
    w, v = linalg.eigh(H, G, type=type)
    expected_w, expected_v = scipy.linalg.eigh(H, G, type=type)
    assert_allclose(w, expected_w, rtol=1e-12)
    assert_allclose(np.abs(v), np.abs(expected_v), rtol=1e-9)
    check_grads(lambda a, b: [linalg.eigh(a, b, type=type)[0], linalg.eigh(a, b, type=type)[1] ** 2], (H, G))
    assert_allclose(linalg.eigh(H, G, type=type, eigvals_only=True, subset_by_index=(1, 2)), w[1:])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("a", [A, B, B.T], ids=["square", "tall", "wide"])
def test_polar_factors(a, side):
    for got, value in zip(linalg.polar(a, side), scipy.linalg.polar(a, side), strict=True):
        assert_allclose(got, value, atol=1e-12)
    check_grads(lambda a: linalg.polar(a, side), (a,))


def test_polar_of_equal_singular_values_has_a_derivative():
    # d u = (da - da^T) / 2 at the identity, where a rule through singular vectors divides by 0.
    gradient = ad.grad(lambda a: linalg.polar(a)[0][0, 1])(np.eye(2))
    assert_allclose(gradient, [[0.0, 0.5], [-0.5, 0.0]], atol=1e-12)


def test_exponential_of_a_nilpotent_matrix():
    assert_allclose(linalg.expm(NILPOTENT), np.eye(3) + NILPOTENT + NILPOTENT @ NILPOTENT / 2)
    check_grads(linalg.expm, (NILPOTENT,))


def test_trace_of_the_exponential_has_the_exponential_as_gradient():
    for n in (3, 50):
        a = np.random.default_rng(n).normal(size=(n, n)) / n
        assert_allclose(ad.grad(lambda a: np.trace(linalg.expm(a)))(a), scipy.linalg.expm(a.T), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")  # SciPy's, from an error of 2e-13 on
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["logm", "sqrtm", "fractional_matrix_power"])
def test_functions_of_matrices_with_negative_eigenvalues(name, seed):
    """Values on the cut of the logarithm stay on one side of it, in derivatives of every order, too."""
    rng = np.random.default_rng(seed)
    basis, w, along = rng.normal(size=(3, 3)), rng.normal(size=(2, 3, 3)), rng.normal(size=(3, 3))
    middle = np.diag([-2.0, -0.5, 1.5])
    if seed % 2:  # a pair beside a negative eigenvalue
        middle[1:, 1:] = [[0.7, -0.4], [0.4, 0.7]]
    a = basis @ middle @ np.linalg.inv(basis)
    function = (lambda a: linalg.fractional_matrix_power(a, 0.3)) if "power" in name else getattr(linalg, name)

    def value(a):
        made = function(a)
        return np.sum(w[0] * np.real(made) + w[1] * np.imag(made))

    def difference(f, step=1e-4):
        near = [k * (f(a + k * step * along) - f(a - k * step * along)) for k in (1, 2)]
        return (8 * near[0] - near[1] / 2) / (12 * step)

    slope = ad.grad(value)
    bent = ad.jvp(slope, (a,), (along,))[1]
    scale = np.abs(slope(a)).max()
    assert_allclose(np.sum(slope(a) * along), difference(value), atol=1e-6 * scale)
    assert_allclose(ad.jvp(value, (a,), (along,))[1], difference(value), atol=1e-6 * scale)
    over = ad.grad(lambda a: np.sum(slope(a) * along))(a)
    assert_allclose(over, bent, atol=1e-8 * np.abs(bent).max())
    assert_allclose(bent, difference(slope), atol=1e-5 * np.abs(bent).max())


def test_logarithm_undoes_the_exponential():
    a = A / 4
    jacobian = ad.jacobian(lambda a: linalg.logm(linalg.expm(a)))(a)
    assert_allclose(jacobian.reshape(9, 9), np.eye(9), atol=1e-9)


def test_square_of_the_square_root():
    jacobian = ad.jacobian(lambda a: linalg.sqrtm(a) @ linalg.sqrtm(a))(H)
    assert_allclose(jacobian.reshape(9, 9), np.eye(9), atol=1e-10)


def test_stacks_agree_with_their_matrices():
    for name in ("expm", "logm", "sqrtm", "inv", "det"):
        f = getattr(linalg, name)
        assert_allclose(f(STACK), np.stack([f(a) for a in STACK]), atol=1e-10)
    assert_allclose(linalg.solve_sylvester(STACK, A, B @ B.T)[1], linalg.solve_sylvester(STACK[1], A, B @ B.T))
    assert linalg.block_diag(STACK, A).shape == (2, 6, 6)
    assert_allclose(linalg.toeplitz(STACK[0])[1], scipy.linalg.toeplitz(STACK[0, 1]))


def test_least_squares():
    b = np.arange(3.0)
    for got, value in zip(linalg.lstsq(B, b), scipy.linalg.lstsq(B, b), strict=True):
        assert_allclose(got, value, atol=1e-12)
    check_grads(lambda a, b: linalg.lstsq(a, b)[:2], (B, b))
    inverse, rank = linalg.pinv(np.diag([1.0, 1e-9]), atol=1e-6, return_rank=True)
    assert rank == 1
    assert_allclose(inverse, np.diag([1.0, 0.0]))


@pytest.mark.parametrize("mode", ["economic", "r"])
def test_qr(mode):
    for got, value in zip(linalg.qr(B, mode=mode), scipy.linalg.qr(B, mode=mode), strict=True):
        assert_allclose(np.abs(got[:2]), np.abs(value[:2]), atol=1e-12)


def test_bands():
    ab = np.array([[0.0, 1.0, 2.0, 1.0], [4.0, 5.0, 6.0, 7.0], [1.0, 1.0, 1.0, 0.0]])
    for b in (np.arange(4.0), np.ones((4, 2))):
        assert_allclose(linalg.solve_banded((1, 1), ab, b), scipy.linalg.solve_banded((1, 1), ab, b))
        check_grads(lambda ab, b: linalg.solve_banded((1, 1), ab, b), (ab, b))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda t: linalg.expm(t[:2]), ad.ShapeError, "square"),
        (lambda t: linalg.solve(t, np.ones(4)), ad.ShapeError, "right side of shape"),
        (lambda t: linalg.solve(t, np.ones(3), assume_a="magic"), ad.ArgumentError, "assume_a"),
        (lambda t: linalg.solve(t * 0, np.ones(3)), np.linalg.LinAlgError, "[Ss]ingular"),
        (lambda t: linalg.solve_triangular(t, np.ones(3), trans=7), ad.ArgumentError, "trans"),
        (lambda t: linalg.lu_solve(linalg.lu_factor(t), np.ones(3), trans=7), ad.ArgumentError, "trans"),
        (lambda t: linalg.solve_sylvester(t, t, t[:2]), ad.ShapeError, "right side"),
        (lambda t: linalg.solve_discrete_lyapunov(t, t[:2, :2]), ad.ShapeError, "one shape"),
        (lambda t: linalg.solve_banded((1, 1), t[:2], np.ones(3)), ad.ShapeError, "ab of shape"),
        (lambda t: linalg.polar(t, "up"), ad.ArgumentError, "side"),
        (lambda t: linalg.polar(t[0]), ad.ShapeError, "matrix"),
        (lambda t: linalg.qr(t, pivoting=True), ad.NotSupportedError, "pivoting"),
        (lambda t: linalg.qr(t, mode="raw"), ad.ArgumentError, "mode"),
        (lambda t: linalg.eigh(t, type=4), ad.ArgumentError, "type"),
        (lambda t: linalg.eigh(t, subset_by_value=(0, 1)), ad.NotSupportedError, "subset_by_index"),
        (lambda t: linalg.cosm(t * 1j), ad.ArgumentError, "real"),
        (lambda t: linalg.block_diag(np.ones((2, 1, 1)), np.ones((3, 1, 1))), ad.ShapeError, "broadcast"),
        (lambda t: linalg.pinv(t[0]), ad.ShapeError, "matrix"),
    ],
)  # fmt: skip
def test_refusals(call, error, match):
    with pytest.raises(error, match=match):
        call(ad.tensor(A, requires_grad=True))


@pytest.mark.parametrize("options", [{}, {"lower": False}, {"subset_by_index": [1, 2]}, {"driver": "evd"}])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_eigenvectors_have_the_signs_of_scipys(options, kind):
    rng = np.random.default_rng(3)
    for _ in range(12):
        a = rng.normal(size=(4, 4)) + (1j * rng.normal(size=(4, 4)) if kind == "complex" else 0.0)
        a = a + a.conj().T
        found = linalg.eigh(ad.tensor(a, requires_grad=True), **options)
        for ours, theirs in zip(found, scipy.linalg.eigh(a, **options), strict=True):
            np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=1e-9, atol=1e-12)
