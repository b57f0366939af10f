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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighed", [{}, {"fweights": [1, 2, 1, 3]}, {"aweights": [0.5, 1.0, 2.0, 1.0]}])
def test_covariances_in_a_precision(dtype, weighed):
    x = np.random.default_rng(0).normal(size=(3, 4))
    for f in (lambda t: np.cov(t, dtype=dtype, **weighed), lambda t: np.corrcoef(t, dtype=dtype)):
        found, wanted = ad.vjp(f, x)[0], f(x)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6 if dtype == np.float32 else 1e-14)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, n: np.linspace(n[0] > 0, x[0], 3, retstep=True),
        lambda x, n: np.linspace(x[0], np.uint8(3), 3),
        lambda x, n: np.logspace(x[0], np.uint8(2), 3, base=np.int8(4)),
        lambda x, n: np.linspace(x, n, 3),
        lambda x, n: np.average(x, weights=n > 0, returned=True),
        lambda x, n: np.linalg.matrix_power(np.diag(np.exp(np.append(x, np.inf))), 0),
    ],
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dtypes_beside_narrow_numbers(f, dtype):
    x, n = np.array([0.5, 1.25, 2.0]).astype(dtype), np.arange(1, 4, dtype=np.int8)
    found, wanted = ad.vjp(lambda t: f(t, n), x)[0], f(x, n)
    for a, b in zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, wanted)), strict=True):
        assert (a.dtype, np.shape(a)) == (b.dtype, np.shape(b))
        np.testing.assert_allclose(a, b, rtol=1e-2 if dtype == np.float16 else 1e-5)


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (lambda x: np.var(x, ddof=1, correction=1), ValueError),
        (lambda x: np.nanstd(x, ddof=1, correction=1), ValueError),
        (lambda x: np.concatenate([x, 1j * x], dtype=float), TypeError),
        (lambda x: np.stack([x, 1j * x], dtype=np.float32), TypeError),
        (lambda x: np.hstack([x, 1j * x], dtype=float), TypeError),
        (lambda x: np.take_along_axis(x, np.array([[0, 1]]), 0), ValueError),
    ],
)
def test_settings_that_numpy_refuses(f, error):
    x = np.arange(3.0)
    for call in (f, lambda x: ad.vjp(f, x)):
        with pytest.raises(error):
            call(x)


@pytest.mark.parametrize("other", [-1.0, 0.0, 5.0])
def test_decompositions_read_one_triangle(other):
    a = np.array([[4.0, other, 1.0], [0.5, 3.0, other], [1.0, -0.5, 2.0]])
    for f, m in (
        (np.linalg.eigvalsh, a),
        (lambda a: np.linalg.eigvalsh(a, UPLO="U"), a.T),
        (np.linalg.cholesky, a),
        (lambda a: np.linalg.cholesky(a, upper=True), a.T),
    ):
        value, pullback = ad.vjp(f, m)
        np.testing.assert_allclose(value, f(m), rtol=1e-13)
        assert np.isfinite(pullback(np.ones_like(value))[0]).all()


def test_vecdot_keeps_dimensions():
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    for options in ({"keepdims": True}, {"axis": 0, "keepdims": True}, {"axis": -2, "keepdims": True}, {"order": "K"}):
        found = ad.vjp(lambda t, o=options: np.vecdot(t, 2 * t, **o), x)[0]
        np.testing.assert_allclose(found, np.vecdot(x, 2 * x, **options), rtol=1e-14, strict=True)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("initial", [-INF, INF, 2.0, complex(0, INF)])
def test_products_of_complex_numbers_that_where_leaves_out(initial):
    x = np.array([[1.0 + 2.0j, 3.0], [2.0, 1.0j]])
    for options in ({"where": False}, {"where": False, "axis": 0}, {"where": np.array([[False], [True]]), "axis": 1}):

        def f(t, options=options):
            return np.prod(t, initial=initial, **options)

        wanted = f(x)
        kept = slice(1) if "axis" in options else ...  # products with infinities are another thing
        for found in (ad.vjp(f, x)[0], ad.vmap(f)(np.stack([x, x]))[1], ad.compile(f, wait=True)(x)):
            np.testing.assert_array_equal(np.asarray(found)[kept], np.asarray(wanted)[kept])


@pytest.mark.parametrize("f", [np.sum, np.prod, np.max, np.min])
@pytest.mark.parametrize(("initial", "error"), [(np.nan, ValueError), (INF, OverflowError), (1j, TypeError)])
def test_whole_numbers_do_not_begin_with_what_is_none(f, initial, error):
    x = np.arange(1, 4)
    with pytest.raises(error):
        f(x, initial=initial)
    for call in (lambda: f(ad.tensor(x), initial=initial), lambda: ad.vmap(lambda x: f(x, initial=initial))(x[None])):
        with pytest.raises(error):
            call()


@pytest.mark.filterwarnings("ignore:Mean of empty:RuntimeWarning", "ignore:Degrees:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("f", [np.mean, np.var, np.std, np.nanmean, np.nanvar])
@pytest.mark.parametrize("where", [1.0, np.arange(24).reshape(2, 3, 4) % 3 > 0])
def test_means_lie_as_the_sums_that_numpy_divides_in_place(f, where):
    x = np.cos(np.arange(24.0)).reshape(2, 3, 4)
    for laid in (x, np.asfortranarray(x), np.ascontiguousarray(x.transpose(1, 0, 2)).transpose(1, 0, 2)):
        for axis in (0, 1, (2,)):
            if isinstance(where, float) and f in (np.nanmean, np.nanvar):  # which refuse it
                continue
            wanted, found = f(laid, axis=axis, where=where), f(ad.tensor(laid), axis=axis, where=where).numpy()
            np.testing.assert_allclose(found, wanted, rtol=1e-14)
            assert found.strides == wanted.strides


def test_means_of_numbers_along_an_axis_with_where():
    t = ad.tensor(2.5, requires_grad=True)
    assert float(np.mean(t, axis=0, where=1.0).detach()) == np.mean(np.array(2.5), axis=0, where=1.0)


@pytest.mark.filterwarnings("ignore:Mean of empty:RuntimeWarning", "ignore:Degrees:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:All-NaN:RuntimeWarning")
@pytest.mark.parametrize("ddof", [-1, 0, 1])
@pytest.mark.parametrize("f", [np.var, np.nanvar, np.std, np.nanstd])
def test_the_spread_of_what_is_left_out(f, ddof):
    """NumPy takes `ddof` from a count of 0, which is not the same as no count."""
    x, where = (
        np.array([[1.0, np.nan], [3.0, 5.0], [2.0, 2.5]]),
        np.array([[True, False], [True, False], [False, False]]),
    )
    g = lambda t: f(t, axis=0, where=where, ddof=ddof)
    for found in (g(ad.tensor(x)).numpy(), ad.vmap(g)(np.stack([x, x]))[1], ad.compile(g, wait=True)(x)):
        np.testing.assert_allclose(found, g(x))


@pytest.mark.filterwarnings("ignore:Mean of empty:RuntimeWarning", "ignore:All-NaN:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_medians_of_no_whole_numbers_are_nan():
    x = np.zeros((2, 0, 4), np.int8)
    assert np.isnan(np.nanmedian(x[0], axis=(0, 1)))
    assert np.isnan(np.nanmedian(ad.tensor(x[0]), axis=(0, 1)))
    np.testing.assert_array_equal(ad.vmap(lambda t: np.nanmedian(t, axis=0))(x), np.full((2, 4), np.nan))


def test_truth_of_some_elements_of_samples():
    x, where = np.array([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]]), np.array([[True, False], [True, False]])
    for f, options in ((np.any, {}), (np.all, {}), (np.any, {"axis": 0}), (np.all, {"axis": -1, "keepdims": True})):
        g = lambda t, f=f, o=options: f(t > 0, where=where, **o)
        np.testing.assert_array_equal(ad.vmap(g)(x), np.stack([g(each) for each in x]))


def test_sums_begin_with_a_number_of_the_dtype_in_which_they_add():
    with np.errstate(invalid="ignore"):
        wanted = np.sum(np.array([1.0, 2.0]), initial=np.inf, out=np.zeros((), np.int64))
        found = np.sum(ad.tensor([1.0, 2.0]), initial=np.inf, out=ad.tensor(np.zeros((), np.int64)))
    assert found.numpy() == wanted
