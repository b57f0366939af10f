"""Complex eigenvectors: derivatives of what LAPACK returns, its choice of the phase included."""

import numpy as np
import pytest
import scipy.linalg

import adjoint as ad
from adjoint.scipy import linalg


def complex_normal(rng, *shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def general(rng, n):
    return complex_normal(rng, n, n) + np.diag(3.0 * np.arange(n))


def turning(rng, n):
    pairs = np.kron(np.diag(np.arange(1.0, n // 2 + 1)), [[0.0, 6.0], [-1.0, 0.0]])
    a = rng.normal(size=(n, n)) / 2
    a[: len(pairs), : len(pairs)] += pairs  # most of the eigenvalues are pairs, apart from each other
    return a


def hermitian(rng, n):
    a = complex_normal(rng, n, n)
    return a + a.conj().T + np.diag(4.0 * np.arange(n))


def metric(n):
    b = complex_normal(np.random.default_rng(9), n, n)
    return b @ b.conj().T + n * np.eye(n)


CASES = {
    "eig": (np.linalg.eig, np.linalg.eig, general),
    "eig of a real matrix": (np.linalg.eig, np.linalg.eig, turning),
    "eigh": (np.linalg.eigh, np.linalg.eigh, hermitian),
    "eigh of the upper triangle": (lambda a: np.linalg.eigh(a, "U"), lambda a: np.linalg.eigh(a, "U"), hermitian),
    "scipy's eigh": (linalg.eigh, scipy.linalg.eigh, hermitian),
    "scipy's eigh, upper": (
        lambda a: linalg.eigh(a, lower=False),
        lambda a: scipy.linalg.eigh(a, lower=False, driver="ev"),
        hermitian,
    ),
    "scipy's eigh, generalised": (
        lambda a: linalg.eigh(a, metric(len(a))),
        lambda a: scipy.linalg.eigh(a, metric(len(a)), driver="gv"),
        hermitian,
    ),
}
SIZES = (1, 2, 3, 5, 12, 40)


def weighted(decompose, n, beside=None):
    """A loss that depends on every phase; of vectors with the signs that those of the matrix `beside` have.

    A sign is LAPACK's to choose, by rounding. A phase other than a sign is not.
    """
    weights = complex_normal(np.random.default_rng(5), n, n)

    def loss(a):
        w, v = decompose(a)
        if beside is not None:
            v = v * np.sign(np.real(np.sum(np.conj(decompose(beside)[1]) * v, axis=0)))
        return np.sum(np.real(weights * v)) + np.sum(np.real(v * v) * np.imag(weights)) + np.sum(np.real(w)) / n

    return loss


def direction(rng, a, make):
    t = make(rng, len(a)) / len(a)
    return t.real if a.dtype.kind == "f" else t


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", CASES)
def test_a_loss_that_depends_on_phases(name, n):
    if n == 40 and "eigh" not in name:
        pytest.skip("the eigenvalues of a general matrix of that size change places")
    ours, lapack, make = CASES[name]
    rng = np.random.default_rng(n)
    a = make(rng, n)
    t, h = direction(rng, a, make), 1e-6
    one, other = np.conj(ours(a)[1]), lapack(a)[1]
    np.testing.assert_allclose(
        np.abs(np.real(np.sum(one * other, axis=0))), np.sum(np.abs(one) ** 2, axis=0), rtol=1e-8
    )
    loss, near = weighted(ours, n), weighted(ours, n, a)
    expected = (near(a + h * t) - near(a - h * t)) / (2 * h)
    found = ad.grad(loss)(a)
    np.testing.assert_allclose(np.sum(np.real(np.conj(found) * t)), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ad.jvp(loss, (a,), (t,))[1], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives(name):
    ours, _, make = CASES[name]
    rng = np.random.default_rng(3)
    a = make(rng, 4)
    t, loss, h = direction(rng, a, make), weighted(ours, 4), 1e-6
    near = ad.grad(weighted(ours, 4, a))
    expected = (near(a + h * t) - near(a - h * t)) / (2 * h)
    np.testing.assert_allclose(ad.jvp(ad.grad(loss), (a,), (t,))[1], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_stacks_and_vmap(name):
    if "scipy" in name:
        pytest.skip("SciPy's takes one matrix")
    ours, _, make = CASES[name]
    loss = weighted(ours, 3)
    stack = np.stack([make(np.random.default_rng(seed), 3) + np.diag([0.0, 9.0, 20.0]) for seed in range(3)])
    each = np.stack([ad.grad(loss)(a) for a in stack])
    np.testing.assert_allclose(ad.vmap(ad.grad(loss))(stack), each, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ad.grad(lambda s: np.sum(ad.vmap(loss)(s)))(stack), each, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_where_the_component_that_is_real_is_zero(uplo):
    a = np.zeros((4, 4), complex)
    a[:2, :2], a[2:, 2:] = [[1.0, 0.5j], [-0.5j, 3.0]], [[7.0, 1j - 1], [-1j - 1, 12.0]]
    t, weights = hermitian(np.random.default_rng(0), 4) / 5, np.random.default_rng(1).normal(size=(4, 4))

    def lengths(a):
        return np.sum(np.abs(np.linalg.eigh(a, uplo)[1]) ** 2 * weights)

    h = 1e-6
    expected = (lengths(a + h * t) - lengths(a - h * t)) / (2 * h)
    np.testing.assert_allclose(np.sum(np.real(np.conj(ad.grad(lengths)(a)) * t)), expected, rtol=1e-6)
    np.testing.assert_allclose(ad.jvp(lengths, (a,), (t,))[1], expected, rtol=1e-6)
    turned = ad.grad(lambda a: np.sum(np.imag(np.linalg.eigh(a, uplo)[1])))(a)
    assert np.isnan(turned).any()  # the phase jumps there
