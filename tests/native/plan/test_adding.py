"""Sums that are added up in memory, and short axes that kernels go through within each vector."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native


def compared(f, *args, tolerance=1e-10):
    graph = ad.capture(f, *args)
    program = native.build(graph.inputs, graph.outputs)
    for found, expected in zip(program(*args), graph.run(args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    return program


def nearest(c, x):
    return np.sum(np.min(np.sum((x[:, None] - c[None]) ** 2, axis=-1), axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("points", "centres", "d"), [(2000, 33, 3), (1100, 64, 2), (700, 131, 5), (3000, 17, 1)])
def test_gradient_by_the_nearest_centres(points, centres, d, dtype):
    rng = np.random.default_rng(0)
    args = rng.normal(size=(centres, d)).astype(dtype), rng.normal(size=(points, d)).astype(dtype)
    compared(ad.grad(nearest), *args, tolerance=2e-3 if dtype == np.float32 else 1e-10)
    compared(ad.grad(nearest, 1), *args, tolerance=2e-3 if dtype == np.float32 else 1e-10)


def test_equally_near_centres_share():
    c, x = np.repeat(np.arange(24.0).reshape(8, 3), 2, axis=0), np.arange(6000.0).reshape(2000, 3) % 29
    compared(ad.grad(nearest), c, x)


@pytest.mark.parametrize("seed", range(12))
def test_random_sums_over_rows(seed):
    rng = np.random.default_rng(seed)
    n, k, m = int(rng.integers(300, 900)), int(rng.integers(2, 10)), int(rng.integers(9, 70))
    order = rng.permutation(3)
    which = [tuple(a for a in range(3) if rng.random() < 0.7 or a == i) for i in range(3)]

    def shaped(x, axes):
        return x.transpose(order)[tuple(slice(None) if a in axes else slice(0, 1) for a in range(3))]

    def f(x):
        parts = [shaped(x, axes) for axes in which]
        same = np.tanh(parts[0] * parts[1] - 0.5) * parts[0] + np.where(parts[1] > 0, parts[0], 2.0 * parts[1])
        every = (same - parts[2]) * shaped(x, (0, 1, 2)) - same**2
        row, summed = int(order.tolist().index(0)), np.sum(every)
        return np.sum(every, axis=row), every * same, np.sum(every, axis=(row, (row + 1) % 3)), summed

    compared(f, rng.normal(size=(n, k, m)))


def test_axes_may_be_an_array():
    x = np.ones((2, 3, 4))
    gradient = ad.grad(lambda x: np.sum(x.transpose(np.array([2, 0, 1]))[1] ** 2))(x)
    np.testing.assert_array_equal(gradient, 2 * (np.arange(4) == 1) * x)
