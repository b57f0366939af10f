"""Sparse Jacobians: patterns that miss nothing, colours that do not clash, and values against dense ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.transforms.sparse import colours

rng = np.random.default_rng(0)


def band(u):
    return (u[2:] - 2 * u[1:-1] + u[:-2]) * 1e2 + np.exp(u[1:-1]) * u[2:] + u[1:-1] ** 3


def mixture(x):
    y = np.sin(x)
    z = np.concatenate([y[:1], y[1:-1] * y[2:] - 2 * y[:-2] ** 2, y[-1:]])
    z[3:5] += x[:2]
    return np.roll(z, 1) * np.where(x > 0, x, 0) + np.exp(-np.sum(x.reshape(-1, 5), 1)).repeat(5)


def in_place(x):
    y = np.zeros_like(x)
    y[1:] = x[:-1] ** 2
    v = y[::2]
    v *= x[: v.shape[0]]
    np.add.at(y, np.array([0, 0, 3]), x[:3])
    return y


def parts_written(x):
    z = x[:3] + 1j * x[3:] ** 2
    z.imag[1:] = x[:2]
    v = z[::-1]
    v.real[0] = x[5] * x[0]
    return np.abs(z) ** 2 * np.concatenate([z.real[1:], z.imag[:1]])


def heron(x):
    return x * ad.fixed_point(lambda z, a: (z + a / z) / 2, np.ones(4), 1 + x**2)


def solved_by_division(x):
    return ad.custom_linear_solve(
        lambda v: v * (2 + x), x**2, lambda product, b: b / product(np.ones(3)), symmetric=True
    )


CASES = {
    "band": (band, (9,), 21),
    "mixture": (mixture, (20,), None),
    "in place": (in_place, (10,), None),
    "one number": (lambda x: np.sum(x**2), (6,), 6),
    "of a number": (lambda t: t * np.arange(1.0, 4.0), (), 3),
    "rows of a product": (lambda x: np.tanh(x @ np.arange(12.0).reshape(4, 3)), (5, 4), 60),
    "a product on the left": (lambda x: np.arange(8.0).reshape(2, 4) @ x, (4, 3), 24),
    "stacked matrices": (lambda a: np.linalg.inv(a + 3 * np.eye(2)) * np.linalg.det(a)[:, None, None], (3, 2, 2), 48),
    "means": (lambda x: x - np.mean(x, axis=1, keepdims=True), (3, 2), 12),
    "a constant": (lambda x: np.zeros(3), (4,), 0),
    "sorted": (np.sort, (4,), None),
    "windows": (lambda x: np.lib.stride_tricks.sliding_window_view(x, 3).sum(-1), (7,), 15),
    "complex on the way": (lambda x: np.abs(np.exp(1j * x) + x), (4,), 4),
    "an implicit function": (heron, (4,), 16),
    "a solver of one's own": (solved_by_division, (3,), 9),
    "complex sums": (lambda x: np.stack([np.sum(x * 1j), x[0] * (2.0 + 1j)]), (5,), 6),
    "imaginary parts": (lambda x: np.exp(1j * x).imag, (4,), 4),
    "imaginary parts of a transform": (lambda x: np.fft.fft(x).imag, (4,), 16),
    "parts written": (parts_written, (6,), 14),
    "the mean of an odd number": (lambda x: x - np.mean(x), (5,), 25),
    "means of four": (lambda x: np.mean(x.reshape(-1, 4), axis=1), (8,), 8),
    "medians of four": (lambda x: np.median(x.reshape(-1, 4), axis=1), (8,), 8),
    "the sum of nothing": (lambda x: x * np.sum(x[3:]), (3,), 3),
    "of nothing": (lambda x: x**2, (0,), 0),
    "transposed": (lambda x: x.T.ravel()[::-1] * 2.0, (2, 3), 6),
}


@pytest.mark.parametrize("name", CASES)
def test_equals_the_dense_jacobian(name):
    f, shape, entries = CASES[name]
    x = rng.normal(size=shape) + 0.1
    sparse = ad.sparse_jacobian(f)(x)
    dense = ad.jacobian(f)(x)
    assert isinstance(sparse, sp.csr_array)
    np.testing.assert_allclose(sparse.toarray(), np.reshape(dense, sparse.shape), rtol=1e-12, atol=1e-14)
    pattern = ad.sparsity(f)(x)
    assert pattern.dtype == bool
    assert not np.any(np.reshape(dense, pattern.shape)[~pattern.toarray()])
    if entries is not None:
        assert pattern.nnz == entries


def test_hessian():
    def energy(u):
        return np.sum((u[1:] - u[:-1]) ** 4) + np.sum(np.cos(u))

    u = rng.normal(size=12)
    found = ad.sparse_hessian(energy)(u)
    assert found.nnz == 12 + 2 * 11
    np.testing.assert_allclose(found.toarray(), ad.hessian(energy)(u), rtol=1e-12, atol=1e-12)


def test_few_directions():
    x = rng.normal(size=1000)
    assert colours(ad.sparsity(band)(x)).max() + 1 == 3
    # One row depends on everything: then rows are grouped, for reverse mode.
    calls = []

    def arrow(x):
        calls.append(1)
        return np.concatenate([x[1:] ** 2, np.sum(x, keepdims=True)])

    found = ad.sparse_jacobian(arrow)(x[:50])
    np.testing.assert_allclose(found.toarray(), ad.jacobian(arrow)(x[:50]), rtol=1e-12)
    assert len(calls) == 3


def test_a_row_that_has_everything_costs_no_more_than_the_others():
    jacobian = ad.sparse_jacobian(lambda x: np.concatenate([x**2, np.stack([np.sum(x)])]))(np.arange(20_000.0))
    assert jacobian.nnz == 40_000
    np.testing.assert_array_equal(jacobian[[-1]].toarray(), np.ones((1, 20_000)))


def test_a_known_pattern_is_used_and_checked():
    x = rng.normal(size=8)
    pattern = ad.sparsity(band)(x)
    known = ad.sparse_jacobian(band, pattern=pattern)(x)
    np.testing.assert_array_equal(known.toarray(), ad.sparse_jacobian(band)(x).toarray())
    pattern = pattern.tolil()
    pattern[2, 3] = False
    with pytest.raises(ad.ArgumentError, match=r"outside the given pattern, in row 2 .* ad.sparsity\(f\)\(x\)"):
        ad.sparse_jacobian(band, pattern=pattern)(x)
    with pytest.raises(ad.ShapeError, match="5 columns, but the argument 8 elements"):
        ad.sparse_jacobian(band, pattern=np.ones((6, 5)))(x)


def test_other_arguments_and_precisions():
    def f(k, x):
        return k * x[1:] * x[:-1]

    x = rng.normal(size=5).astype(np.float32)
    found = ad.sparse_jacobian(f, argnums=1)(np.float32(2.0), x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.toarray(), ad.jacobian(f, argnums=1)(np.float32(2.0), x), rtol=1e-6)


def test_refusals():
    with pytest.raises(ad.DTypeError, match="real numbers; got int64"):
        ad.sparse_jacobian(lambda x: x)(np.arange(3))
    with pytest.raises(ad.ArgumentError, match="gives one array; this one gave tuple"):
        ad.sparse_jacobian(lambda x: (x, x))(np.ones(3))
    with pytest.raises(ad.ArgumentError, match="argument 0 is a dict"):
        ad.sparse_jacobian(lambda x: x["a"])({"a": np.ones(3)})
    with pytest.raises(ad.ArgumentError, match="argnums=1: the call has 1 positional"):
        ad.sparse_jacobian(lambda x: x, 1)(np.ones(3))
    for rows in (2, 4):
        with pytest.raises(ad.ShapeError, match=f"pattern has {rows} rows, but the value 3 elements"):
            ad.sparse_jacobian(lambda x: x, pattern=np.eye(rows, 3))(np.ones(3))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 12), st.floats(0.0, 0.5))
def test_columns_of_one_colour_share_no_row(seed, rows, columns, density):
    pattern = sp.random_array((rows, columns), density=density, rng=np.random.default_rng(seed)).astype(bool).tocsr()
    colour = colours(pattern)
    for c in range(colour.max(initial=-1) + 1):
        assert pattern[:, colour == c].sum(axis=1).max(initial=0) <= 1


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 7), min_size=1, max_size=6), st.integers(0, 1000))
def test_random_programs(steps, seed):
    w = np.random.default_rng(seed).normal(size=(6, 6))
    moves = [
        lambda x: np.sin(x),
        lambda x: np.roll(x, 2),
        lambda x: x * x[::-1],
        lambda x: np.where(x > 0.1, x, 0.5 * x),
        lambda x: np.concatenate([x[3:], x[:3] * 2]),
        lambda x: (x.reshape(2, 3) @ w[:3, :3]).ravel(),
        lambda x: x + np.sum(x.reshape(3, 2), axis=1).repeat(2),
        lambda x: np.cumsum(x)[np.array([5, 0, 0, 3, 2, 1])],
    ]

    def f(x):
        for k in steps:
            x = moves[k](x)
        return x

    x = np.random.default_rng(seed + 1).normal(size=6)
    np.testing.assert_allclose(ad.sparse_jacobian(f)(x).toarray(), ad.jacobian(f)(x), rtol=1e-10, atol=1e-12)
