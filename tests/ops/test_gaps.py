"""Derivatives of eigenvectors and singular vectors where values are equal, or nearly: right or nan, never wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_sylvester

import adjoint as ad
from adjoint.scipy import linalg
from adjoint.testing import check_grads

GAPS = (0.0, 4.5e-16, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-8, 1e-6, 1e-4)
rng = np.random.default_rng(1)
TURNS = [np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(2)]
WEIGHTS, DIRECTION = rng.normal(size=(2, 4, 4))
SYMMETRIC = (WEIGHTS + WEIGHTS.T) / 2
T = DIRECTION + DIRECTION.T


def values(gap):
    return np.array([1.0, 1.0 + gap, 3.0, 4.0])


def spread(left, inner, right):
    return left @ inner @ right.T


# Each case: the function, the two bases of its matrix, and its gradient, without a difference of near values.


def of_roots(a):
    w, v = np.linalg.eigh(a)
    return np.sum(WEIGHTS * ((v * np.sqrt(w)) @ v.T))


def by_roots(w, q, _):
    root = np.sqrt(w)
    return spread(q, (q.T @ SYMMETRIC @ q) / (root[:, None] + root), q)


def of_roots_by_eig(a):
    w, v = np.linalg.eig(a)
    return np.real(np.sum(WEIGHTS * ((v * np.sqrt(w)) @ np.linalg.inv(v))))


def by_roots_of_any(w, q, _):
    root = np.sqrt(w)
    return spread(q, (q.T @ WEIGHTS @ q) / (root[:, None] + root), q)


def of_a_projector(a):
    v = np.linalg.eigh(a)[1][:, :2]
    return np.sum(WEIGHTS * (v @ v.T))


def of_scipys_projector(a):
    v = linalg.eigh(a)[1][:, :2]
    return np.sum(WEIGHTS * (v @ v.T))


def of_the_hermitian_svds_projector(a):
    u = np.linalg.svd(a, hermitian=True)[0][:, :2]
    return np.sum(WEIGHTS * (u @ u.T))


def by_resolvent(w, q, _):
    inner = np.zeros((4, 4))
    inner[:2, 2:] = 1 / (w[:2, None] - w[2:])
    return spread(q, (q.T @ SYMMETRIC @ q) * (inner + inner.T), q)


def of_the_polar_factor(a):
    u, _, vh = np.linalg.svd(a)
    return np.sum(WEIGHTS * (u @ vh))


def by_sums(w, p, q):
    inner = p.T @ WEIGHTS @ q
    return spread(p, (inner - inner.T) / (w[:, None] + w), q)


def of_squares(a):
    u, s, vh = np.linalg.svd(a)
    return np.sum(WEIGHTS * ((u * s**2) @ vh))


def by_squares(w, p, q):
    inner = p.T @ WEIGHTS @ q
    sums = w[:, None] + w
    even, odd = (inner + inner.T) / 2, (inner - inner.T) / 2
    return spread(p, even * sums + odd * (w[:, None] ** 2 + w**2) / sums, q)


CASES = {
    "f(A)": (of_roots, 0, by_roots),
    "f(A) by eig": (of_roots_by_eig, 0, by_roots_of_any),
    "projector": (of_a_projector, 0, by_resolvent),
    "scipy's projector": (of_scipys_projector, 0, by_resolvent),
    "svd of a symmetric matrix": (of_the_hermitian_svds_projector, 0, by_resolvent),
    "polar factor": (of_the_polar_factor, 1, by_sums),
    "f of singular values": (of_squares, 1, by_squares),
}


def case(name, gap):
    f, other, rule = CASES[name]
    p, q, w = TURNS[other], TURNS[0], values(gap)
    w = np.array([4.0, 4.0 + gap, 2.0, 1.0]) if "svd" in name else w
    a = spread(p, np.diag(w), q)
    return f, (a if other else (a + a.T) / 2), rule(w, p, q)


def close(found, wanted, rtol=1e-3):
    """Whether it is right, or all nan; never wrong."""
    if np.isnan(found).all():
        return False
    np.testing.assert_allclose(found, wanted, rtol=0, atol=rtol * np.max(np.abs(wanted)))
    return True


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_right_or_nan(name, gap):
    f, a, wanted = case(name, gap)
    gradient = ad.grad(f)
    finite = close(gradient(a), wanted)
    assert finite == (gap > 1e-11) or 1e-13 < gap < 1e-10
    assert close(ad.vmap(gradient)(np.stack([a, a]))[1], wanted) == finite
    assert close(ad.grad(lambda s: np.sum(ad.vmap(f)(s)))(np.stack([a, a]))[0], wanted) == finite
    recorded = ad.compile(gradient)
    apart = case(name, 0.5)
    for _ in range(3):
        assert close(recorded(apart[1]), apart[2], 1e-12)
        assert close(recorded(a), wanted) == finite
    assert close(ad.jvp(ad.grad(f), (a,), (a,))[0], wanted) == finite
    t = T if CASES[name][1] == 0 else DIRECTION
    assert close(ad.jvp(f, (a,), (t,))[1], np.sum(wanted * t), 5e-2) == (gap >= 1e-10)


def second_derivatives(f, a):
    def along(x):
        return ad.jvp(f, (x,), (T,))[1]

    yield ad.jvp(along, (a,), (T,))[1]
    yield np.sum(T * ad.grad(along)(a))
    yield np.sum(T * ad.jvp(ad.grad(f), (a,), (T,))[1])
    yield np.sum(T * ad.grad(lambda x: np.sum(T * ad.grad(f)(x)))(a))
    yield np.sum(T * ad.compile(ad.grad(lambda x: np.sum(T * ad.grad(f)(x))))(a))
    yield np.einsum("ij,ijkl,kl", T, ad.hessian(f)(a), T)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("name", ["logarithms of values", "f(A)", "projector", "one vector"])
def test_second_derivatives_are_right_or_nan(name, gap):
    w, q = values(gap), TURNS[0]
    a = spread(q, np.diag(w), q)
    a = (a + a.T) / 2
    if name == "logarithms of values":
        f = lambda a: np.sum(np.log(np.linalg.eigvalsh(a)))
        wanted = -np.trace(np.linalg.solve(a, T) @ np.linalg.solve(a, T))
    elif name == "f(A)":
        f, root = of_roots, spread(q, np.diag(np.sqrt(w)), q)
        slope = solve_sylvester(root, root, T)
        wanted = np.sum(WEIGHTS * solve_sylvester(root, root, -2 * slope @ slope))
    else:
        f = of_a_projector
        if name == "one vector":
            f = lambda a: np.sum(WEIGHTS[0] * np.linalg.eigh(a)[1][:, 3]) ** 2
        h = 1e-3  # where values are far from each other again
        d = [ad.jvp(f, (a + k * h * T,), (T,))[1] for k in (-2, -1, 1, 2)]
        wanted = (d[0] - 8 * d[1] + 8 * d[2] - d[3]) / (12 * h)
    for found in second_derivatives(f, a):
        finite = close(found, wanted, 2e-3)
        assert finite or gap < (1e-10 if name == "logarithms of values" else 1e-5)
        assert not finite or gap > 1e-13 or name == "one vector"


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("by", [np.linalg.eigh, np.linalg.eig, lambda a: np.linalg.svd(a)[1::-1]])
def test_one_vector_of_a_pair_has_a_derivative_where_the_gap_is_more_than_rounding(by, gap):
    a = np.diag(values(gap))
    first = int(np.argmin(by(a)[0]))
    gradient = ad.grad(lambda a: np.sum(WEIGHTS[0] * by(a)[1][:, first]) ** 2)
    for found in (gradient(a), ad.vmap(gradient)(a[None])[0], ad.compile(gradient)(a)):
        if gap < 1e-13:
            assert np.isnan(found).all()
        elif gap > 1e-11:
            wanted = -2 * WEIGHTS[0, 0] * WEIGHTS[0, 1] / (values(gap)[1] - 1)
            np.testing.assert_allclose((found + found.T)[0, 1], wanted, rtol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("multiplicity", [2, 3, 6])
def test_larger_spaces_and_other_dtypes(dtype, multiplicity):
    r = np.random.default_rng(multiplicity)
    half = r.normal(size=(12, 12)) + (1j * r.normal(size=(12, 12)) if np.dtype(dtype).kind == "c" else 0)
    q, w = np.linalg.qr(half)[0], np.arange(1.0, 13)
    w[:multiplicity] = 1.0
    a = ((q * w) @ q.conj().T).astype(dtype)
    a = (a + a.conj().T) / 2
    weights = half.astype(dtype)

    def projector(a, n):
        v = np.linalg.eigh(a)[1][:, :n]
        return np.real(np.sum(weights * np.conj(v @ np.conj(v.T))))

    assert np.isnan(ad.grad(projector)(a, multiplicity)).all()
    w[:multiplicity] = np.linspace(1, 1.5, multiplicity)  # far apart
    b = ((q * w) @ q.conj().T).astype(dtype)
    found = ad.grad(projector)((b + b.conj().T) / 2, multiplicity)
    inner = np.zeros((12, 12))
    inner[:multiplicity, multiplicity:] = 1 / (w[:multiplicity, None] - w[multiplicity:])
    both = (half + half.conj().T) / 2
    wanted = q @ ((q.conj().T @ both @ q) * (inner + inner.T)) @ q.conj().T
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, atol=1e4 * np.finfo(dtype).eps)


def test_vectors_of_a_null_space():
    """Values of 1e-17 are equal beside one of 1, however much they differ from each other."""
    x = np.random.default_rng(0).normal(size=(5, 2))
    gradient = ad.grad(lambda a: np.sum(WEIGHTS[0, 0] * (v := np.linalg.eigh(a)[1][:, :3]) @ v.T))
    assert np.isnan(gradient(x @ x.T)).all()


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_a_matrix_of_low_rank_put_together_again(rank):
    r = np.random.default_rng(rank)
    a, weights = r.normal(size=(6, rank)) @ r.normal(size=(rank, 4)), r.normal(size=(6, 4))

    def f(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.sum(weights * ((u * s) @ vh))

    np.testing.assert_allclose(ad.grad(f)(a), weights, atol=1e-11)
    gram = lambda a: np.sum(weights[:4] * (((e := np.linalg.eigh(a.T @ a))[1] * e[0]) @ e[1].T))
    np.testing.assert_allclose(ad.grad(gram)(a), a @ (weights[:4] + weights[:4].T), atol=1e-11)


def test_vectors_that_are_not_used_may_have_equal_values():
    a = np.random.default_rng(0).normal(size=(6, 2))
    a = a @ a.T  # four values are 0, but for rounding

    def f(a):
        w, v = np.linalg.eigh(a)
        return np.sum(WEIGHTS[0, 0] * w[-1] * v[:, -1] ** 2) + v[0, -2] ** 2

    assert np.isfinite(ad.grad(f)(a)).all()
    check_grads(lambda a: f(a + a.T), (a / 2,), order=1)


@pytest.mark.parametrize("gap", GAPS)
def test_what_to_call_where_values_may_be_equal(gap):
    """SciPy's functions of matrices do not take the vectors: they are right for all gaps, and of higher order too."""
    calls = {
        "f(A)": lambda a: np.sum(WEIGHTS * linalg.sqrtm(a)),
        "projector": lambda a: np.sum(WEIGHTS * (np.eye(4) - linalg.polar(a - 2 * np.eye(4))[0]) / 2),
        "polar factor": lambda a: np.sum(WEIGHTS * linalg.polar(a)[0]),
    }
    for name, f in calls.items():
        _, a, wanted = case(name, gap)
        found = ad.grad(f)(a)
        found = found if name == "polar factor" else (found + found.T) / 2
        np.testing.assert_allclose(found, wanted, atol=1e-12)
        np.testing.assert_allclose(ad.jvp(f, (a,), (T,))[1], np.sum(wanted * T), atol=1e-12)
        h = 1e-4
        slope = (ad.jvp(f, (a + h * T,), (T,))[1] - ad.jvp(f, (a - h * T,), (T,))[1]) / (2 * h)
        np.testing.assert_allclose(np.sum(T * ad.jvp(ad.grad(f), (a,), (T,))[1]), slope, rtol=1e-4)


def by_inverse(name, a):
    """A function of a matrix, whose cotangent of the vectors is 0 where terms of it cancel."""
    if name == "svd":
        _, s, vh = np.linalg.svd(a)
        return (np.linalg.inv(vh) * np.exp(s)) @ vh
    w, v = getattr(np.linalg, name)(a)
    return (v * np.exp(w)) @ np.linalg.inv(v)


@pytest.mark.parametrize("values", [(1.0, 1.0, 1.0), (1.0, 1.0, 2.0)], ids=str)
@pytest.mark.parametrize("name", ["eig", "eigh", "svd"])
def test_a_cotangent_of_the_vectors_that_cancels_is_one(name, values):
    a = np.diag(values)
    gradient = ad.grad(lambda a: np.real(by_inverse(name, a)[0, 1]))
    for found in (gradient(a), ad.vmap(gradient)(np.stack([a, a])), ad.compile(gradient, wait=True)(a)):
        assert np.isnan(found).all()  # the derivative of the function is e at its place, not 0


@pytest.mark.parametrize("function", [np.linalg.eig, np.linalg.eigh, np.linalg.svd])
def test_vectors_without_a_use_spoil_nothing(function):
    of_values = ad.grad(lambda a: np.sum(np.real(function(a)[1 if function is np.linalg.svd else 0]) ** 2))
    twice = ad.grad(lambda a: np.sum(of_values(a)))
    assert np.allclose(of_values(np.eye(3)), 2 * np.eye(3))
    assert np.isfinite(twice(np.diag([1.0, 2.0, 3.0]))).all()
    assert np.allclose(ad.vjp(of_values, np.eye(3))[0], 2 * np.eye(3))
