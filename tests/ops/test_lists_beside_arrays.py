"""Functions of several arrays, one of which is a tensor and the others are lists, as NumPy takes them."""

import numpy as np
import pytest

import adjoint as ad

V, W, X = [3.0, 1.0, 2.0, 0.5], [0.5, 2.0, 1.0, 3.0], np.array([0.2, 0.7])
CALLS = {
    "setdiff1d": (lambda t: np.setdiff1d(t, [1.5, 3.5]), np.array(V)),
    "setdiff1d of a list": (lambda t: np.setdiff1d(V, t) * t[0], np.array([1.5, 3.5])),
    "average by weights": (lambda t: np.average(V, weights=t), np.array(W)),
    "average of rows by weights": (lambda t: np.average([V, W], axis=1, weights=t), np.array(W)),
    "quantile": (lambda t: np.quantile(V, t), X),
    "percentile": (lambda t: np.percentile(V, 100 * t), X),
    "nanquantile": (lambda t: np.nanquantile(V, t), X),
    "nanpercentile": (lambda t: np.nanpercentile(V, 100 * t), X),
    "histogram2d": (lambda t: np.histogram2d(V, W, [[0, 1, 2, 4], [0, 1, 4]], weights=t)[0], np.array(W)),
    "histogramdd": (lambda t: np.histogramdd([V, W], [[0, 1, 4], [0, 1, 2, 4]], weights=t)[0], np.array(V)),
}


@pytest.mark.parametrize("name", CALLS)
def test_lists(name):
    f, x = CALLS[name]
    f = ad.differentiable(f)
    np.testing.assert_allclose(f(ad.tensor(x)).numpy(), f(x), rtol=1e-14)
    wanted = np.stack([(f(x + d) - f(x - d)) / 2e-6 for d in 1e-6 * np.eye(x.size)], axis=-1)
    np.testing.assert_allclose(ad.jacobian(f)(x), wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ad.vmap(f)(np.stack([x, x])), [f(x), f(x)], rtol=1e-14)
    compiled = ad.compile(f, wait=True)
    np.testing.assert_allclose([compiled(x), compiled(x)], [f(x), f(x)], rtol=1e-13)


def test_rows_of_edges_of_different_lengths():
    x = ad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    counts = np.histogram2d(x, [1.0, 2.0, 3.0], bins=[[0, 1, 2, 4], [0, 1, 4]])[0]
    np.testing.assert_array_equal(counts, np.histogram2d([1, 2, 3], [1, 2, 3], bins=[[0, 1, 2, 4], [0, 1, 4]])[0])
