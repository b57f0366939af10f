"""Reductions of few elements, of none, and of endless ones, beside NumPy's."""

import numpy as np
import pytest

import adjoint as ad

INF = np.inf
METHODS = ("linear", "midpoint", "hazen", "interpolated_inverted_cdf", "lower", "weibull")


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("x", [[-INF, 1.0, 2.0], [1.0, 2.0, INF], [1.0, INF, INF], [-INF, -INF, 3.0, 4.0]])
def test_quantiles_beside_infinities(x, method):
    """NumPy multiplies a distance by 0, which gives nan where the distance is infinite."""
    x = np.array(x)
    for q in ([0, 0.25, 1 / 3, 0.5, 2 / 3, 1.0], 0.5, 1, np.float32(0.3)):

        def f(t, q=q):
            return np.quantile(t, q, method=method)

        np.testing.assert_array_equal(ad.vjp(f, x)[0], f(x))
        compiled = ad.compile(f, wait=True)
        compiled(np.arange(len(x), dtype=float))
        np.testing.assert_array_equal(compiled(x), f(x))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64])
def test_averages_return_counts_in_their_dtype(dtype):
    x = np.arange(12.0).reshape(3, 4).astype(dtype)
    for axis in (None, 0, -1, (0, 1)):
        f = lambda t, a=axis: np.average(t, axis=a, returned=True)
        for found, wanted in zip(ad.vjp(f, x)[0], f(x), strict=True):
            assert (found.dtype, np.shape(found)) == (wanted.dtype, np.shape(wanted))
            np.testing.assert_allclose(found, wanted, rtol=1e-3 if dtype == np.float16 else 1e-6)


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (lambda x: np.average(x[:0, None] * np.ones(3), axis=1), ZeroDivisionError),
        (lambda x: np.mean(x[0], axis=0, dtype=float), np.exceptions.AxisError),
        (lambda x: np.var(x[0], axis=0, dtype=complex), np.exceptions.AxisError),
        (lambda x: np.std(x[0], axis=-1, dtype=np.float32), np.exceptions.AxisError),
        (lambda x: np.linalg.norm(x[0], 1, axis=0), np.exceptions.AxisError),
    ],
    ids=["average", "mean", "var", "std", "norm"],
)
def test_what_numpy_refuses(f, error):
    x = np.arange(3.0)
    for call in (f, lambda x: ad.vjp(f, x)):
        with pytest.raises(error):
            call(x)
