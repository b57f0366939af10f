"""``axes=`` of products, and order "A" of np.reshape, in every mode."""

import numpy as np
import pytest

import adjoint as ad
from tests.scipy.differences import agrees

RANDOM = np.random.default_rng(0)
X, Y, V = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(3, 5)), RANDOM.normal(size=4)


@pytest.mark.parametrize(
    "product",
    [
        lambda x: np.matmul(x, Y, axes=[(0, 1), (0, 1), (1, 0)]),
        lambda x: np.matmul(x, x, axes=[(1, 0), (0, 1), (0, 1)]),
        lambda x: np.matmul(x, V, axes=[(1, 0), 0, 0]),
        lambda x: np.matmul(x, V, axes=[(1, 0), (0,), (0,)]),
        lambda x: np.matmul(V, x, axes=[0, (0, 1), 0]),
        lambda x: np.matmul(V, np.sin(x[:, 0]), axes=[0, 0, ()]),
        lambda x: np.matmul(np.stack([x, x**2]), np.stack([Y, Y], -1), axes=[(-2, -1), (0, 1), (0, 1)]),
        lambda x: np.vecdot(x, x + 1, axes=[0, 0]),
        lambda x: np.vecdot(x, np.stack([V, V, V]), axes=[0, 1, ()]),
        lambda x: np.matvec(x, V, axes=[(1, 0), 0, 0]),
        lambda x: np.vecmat(Y[:, 0], x, axes=[0, (1, 0), 0]),
    ],
)
def test_products_along_axes(product):
    agrees(product, X)
    agrees(product, np.asfortranarray(X))


def test_axes_that_are_too_few():
    with pytest.raises(ad.ArgumentError, match="2, 2 and 2 axes"):
        ad.grad(lambda x: np.sum(np.matmul(x, Y, axes=[(0, 1), (0, 1)])))(X)


@pytest.mark.parametrize("x", [X, np.asfortranarray(X), X[::2], RANDOM.normal(size=(2, 3, 4)).transpose(2, 0, 1)])
def test_reshape_by_the_memory(x):
    weights = np.arange(1.0, x.size + 1)
    f = lambda x: np.sum(np.reshape(np.sin(x), -1, order="A") * weights)
    g = lambda x: np.sum(x.T.reshape((-1, 2), order="A")[:, 0] * weights[: x.size // 2])
    by_words = lambda x: np.sum(np.reshape(np.sin(x), shape=(x.size,), order="A") * weights)
    for h in (f, g, by_words):
        change = np.cos(x)
        wanted = (h(x + 1e-6 * change) - h(x - 1e-6 * change)) / 2e-6
        found = ad.jvp(h, (x,), (change,))
        np.testing.assert_allclose(found[0], h(x), rtol=1e-12)
        np.testing.assert_allclose(found[1], wanted, rtol=1e-7)
        np.testing.assert_allclose(np.sum(ad.grad(h)(x) * change), wanted, rtol=1e-7)
        compiled = ad.compile(ad.grad(h))
        for y in (x, np.ascontiguousarray(x), np.asfortranarray(x), x):
            np.testing.assert_allclose(compiled(y), ad.grad(h)(y), rtol=1e-12)
