"""Dtypes and constants where the registry's walk does not come: large numbers, wide sums, ufuncs' methods, losses."""

import cmath
import itertools
import statistics

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, xp
from adjoint.graph.captures.on_symbols import on_symbols


def test_whole_numbers_are_clipped_as_whole_numbers():
    large = np.array([2**62 + 1, 3, -(2**62) - 1])
    for kwargs in ({"a_min": 5, "a_max": None}, {"a_min": None, "a_max": 5}, {"a_min": 0, "a_max": 2**62}):
        clipped = np.clip(ad.tensor(large), **kwargs)
        assert clipped.dtype == np.int64
        np.testing.assert_array_equal(clipped.numpy(), np.clip(large, **kwargs))


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.int64, np.float32])
def test_reductions_by_logaddexp(dtype):
    x = np.array([[1, 3, 0], [2, 0, 1]], dtype)
    for kwargs in ({}, {"axis": 1}, {"axis": None}, {"axis": 1, "where": np.array([True, False, True])}):
        theirs, ours = np.logaddexp.reduce(x, **kwargs), np.logaddexp.reduce(ad.tensor(x), **kwargs)
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-2 if theirs.dtype == np.float16 else 1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.float32, np.float64])
def test_logits_of_any_dtype(dtype):
    """Differences of unsigned numbers wrap round, which made infinities of them."""
    logits, labels = np.array([[1, 2, 3], [3, 1, 0]], dtype), np.array([0, 2])
    wide = logits.astype(float)
    for loss in (
        nn.cross_entropy,
        lambda x, _: ad.logsumexp(x),
        lambda x, _: nn.softmax(x),
        lambda x, _: nn.log_softmax(x),
    ):
        np.testing.assert_allclose(loss(logits, labels), loss(wide, labels), rtol=1e-6)


def test_ignored_labels_leave_single_precision():
    logits = np.array([[1, 2, 3], [3, 1, 0]], np.float32)
    for weight in (None, np.ones(3, np.float32)):
        assert nn.cross_entropy(logits, np.array([0, -100]), weight).dtype == np.float32


def test_half_precision_does_not_overflow_inside():
    x = np.full(70_000, 0.5, np.float16)
    share = np.float16(1 / 70_000)
    for f in (np.max, np.min, np.mean):
        slope = ad.grad(f)(x)
        assert slope.dtype == np.float16
        np.testing.assert_allclose(slope, share, rtol=1e-2)
        assert ad.jvp(f, (x,), (np.ones_like(x),))[1] == pytest.approx(1.0, rel=1e-2)


def test_sums_and_medians_of_many_halves_do_not_overflow_inside():
    x = np.ones(70_000, np.float16)
    many = ad.compile(ad.value_and_grad(np.logaddexp.reduce), wait=True)
    for value, slope in (ad.value_and_grad(np.logaddexp.reduce)(x), *(many(x) for _ in range(3))):
        assert value == np.float16(1 + np.log(70_000))
        np.testing.assert_allclose(slope, np.float16(1 / 70_000), rtol=1e-2)
    for f in (np.median, np.nanmedian, np.logaddexp.reduce):
        assert ad.jvp(f, (x,), (x,))[1] == pytest.approx(1.0, rel=1e-2)


@pytest.mark.parametrize("f", [np.arcsinh, np.arctan, ad.softsign, lambda x: np.arctan2(300, x)])
def test_slopes_at_large_halves_do_not_overflow_inside(f):
    x = np.array([300.0, -1000.0, 0.5, 0.0], np.float16)
    slope = ad.grad(lambda x: np.sum(f(x)))
    compiled = ad.compile(slope, wait=True)
    for found in (slope(x), *(compiled(x) for _ in range(3)), ad.jvp(f, (x,), (np.ones_like(x),))[1]):
        assert found.dtype == np.float16
        np.testing.assert_allclose(found, slope(x.astype(float)), rtol=1e-2, atol=2e-7)


def assigned(value):
    def f(x):
        y = x * 1
        y[:] = value
        return y

    return f


TOO_LARGE = {
    "a number": assigned(300),
    "a list": assigned([1, 300, 1]),
    "a piece": lambda x: np.piecewise(x, [x < 1], [300, 5]),
    "a negative piece": lambda x: np.piecewise(x, [x < 1], [-1.7, 5]),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_numbers_that_do_not_fit_whole_ones_are_refused(name):
    f, x = TOO_LARGE[name], np.array([0, 1, 1], np.uint8)
    captured, compiled = (lambda: on_symbols(f, x)(x)), ad.compile(f, wait=True)
    calls = [lambda: f(x), lambda: f(ad.tensor(x)), lambda: ad.vmap(f)(np.stack([x, x])), captured]
    for call in (*calls, *(lambda: compiled(x),) * 3):
        with pytest.raises(OverflowError, match="out of bounds"):
            call()


def test_a_value_with_leading_ones_that_is_also_broadcast_is_assigned():
    def filled(v):
        out = np.zeros((2, 3))
        out[...] = v
        return np.sum(out * np.arange(6.0).reshape(2, 3))

    np.testing.assert_array_equal(ad.grad(filled)(np.ones((1, 1, 3))), [[[3.0, 5.0, 7.0]]])
    np.testing.assert_array_equal(ad.grad(filled)(np.ones((1, 1, 1, 1))), [[[[15.0]]]])


def test_decompositions_of_constants_are_whole():
    a = np.arange(6.0).reshape(3, 2) + np.eye(3, 2)
    q, r = np.linalg.qr(ad.tensor(a), "complete")
    np.testing.assert_allclose((q @ r).numpy(), a, atol=1e-12)
    u, s, vh = np.linalg.svd(ad.tensor(a))
    assert (u.shape, s.shape, vh.shape) == ((3, 3), (2,), (2, 2))
    with pytest.raises(ad.NotSupportedError, match="mode='reduced'"):
        np.linalg.qr(ad.tensor(a, requires_grad=True), "complete")


def test_a_gradient_that_was_set_to_none_can_be_kept_again():
    y = ad.tensor([1.0, 2.0], requires_grad=True) * 2
    y.grad = None
    y.retain_grad()
    np.sum(y * 3).backward()
    np.testing.assert_array_equal(y.grad.numpy(), [3.0, 3.0])


def test_parts_of_numbers_have_their_signs():
    x = np.array([-2.0, -0.0, 0.0, 2.5, -np.inf, np.inf])
    for ours, theirs in zip(np.modf(ad.tensor(x)), np.modf(x), strict=True):
        np.testing.assert_array_equal(np.copysign(1.0, ours.numpy()), np.copysign(1.0, theirs))


def test_numbers_in_a_batch_are_no_vectors():
    """A stack of numbers is a vector to NumPy: what takes vectors refuses numbers, whatever the batch."""
    numbers, vectors = np.ones(3), np.ones((3, 1))
    for f, args in (
        (np.matmul, (numbers, np.ones((3, 4)))),
        (np.sort, (numbers,)),
        (np.tril, (numbers,)),
        (np.triu, (numbers,)),
    ):
        with pytest.raises((ValueError, TypeError, np.exceptions.AxisError)):
            ad.vmap(f)(*args)
    with pytest.raises(ValueError, match="matmul"):
        ad.vmap(np.matmul)(vectors, np.ones((3, 4)))


def test_limits_of_dtypes_are_pythons_numbers():
    found = xp.finfo(ad.tensor([1.0], dtype=np.float32))
    assert (type(found.eps), found.eps, found.dtype) == (float, float(np.finfo(np.float32).eps), np.dtype(np.float32))
    assert xp.finfo(xp.complex128).bits == 64
    assert type(xp.meshgrid(xp.asarray([1.0]), xp.asarray([2.0]))) is list


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">c16"])
def test_elements_of_arrays_in_another_byte_order(dtype):
    """An element is a number in the machine's byte order; its cotangent goes back into the array's."""

    def f(x):
        return np.abs(x[0] * x[2]) ** 2 + np.abs(x[1, ...]) ** 2

    x = np.array([1.0, 2.0, 3.0], dtype)
    t = ad.tensor(x, requires_grad=True)
    f(t).backward()
    for found in (t.grad.numpy(), ad.grad(f)(x)):
        assert found.dtype == x.dtype
        np.testing.assert_allclose(found, [18.0, 4.0, 6.0], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: abs(complex(x[0], x[1])) / 3,
        lambda x: (complex(x[0], 2) * x[1].item()).imag,
        lambda x: complex(real=2, imag=x[0]).imag / 3,
        lambda x: cmath.exp(x[0]).real,
        lambda x: cmath.phase(complex(x[0]) + 1j),
        lambda x: statistics.fmean(x) / 3,
        lambda x: statistics.fmean(x, weights=[1.0, 2.0]),
    ],
)
def test_what_makes_numbers_of_python_has_64_bits(f, dtype):
    x = np.array([0.7123, 1.3191], dtype)
    for found in (ad.value_and_grad(f)(x)[0], ad.jvp(f, (x,), (x,))[0]):
        assert np.asarray(found).dtype == np.float64
        assert float(found) == pytest.approx(f(x), rel=1e-14)


BOUNDS = [None, 2, -1, 300, -300, 2.5, True, np.int8(3), np.int64(300), np.array([300.5]), np.float32(300.5), [300]]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, bool])
def test_bounds_that_promote_whole_numbers(dtype):
    """NumPy compares in the result's dtype, and leaves out Python's numbers that are outside of the array's."""
    x = np.array([0, 1, 100], dtype)
    for low, high in itertools.product(BOUNDS, BOUNDS):
        try:
            wanted = np.clip(x, low, high)
        except (OverflowError, TypeError):
            continue
        clipped = {
            "recorded": np.clip(ad.tensor(x), low, high).numpy(),
            "batched": ad.vmap(lambda x, low=low, high=high: np.clip(x, low, high))(x[None])[0],
        }
        for mode, found in clipped.items():
            assert found.dtype == wanted.dtype, (mode, low, high)
            np.testing.assert_array_equal(found, wanted, err_msg=f"{mode}: {low}, {high}")


@pytest.mark.parametrize(
    "f", [np.mean, np.var, np.std, np.nanvar, np.nanstd, np.sum, np.prod], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("wide", [np.float64, np.complex128])
def test_results_are_added_up_in_the_dtype_of_out(f, wide):
    """As NumPy does: the sums in single precision would be off by 1e-7."""
    x = np.array([[3.1, 4.7, 3.9], [3.3, 3.2, 3.7]], np.float32)
    expected, found = np.zeros(2, wide), ad.tensor(np.zeros(2, wide))
    f(x, axis=1, out=expected)
    f(ad.tensor(x, requires_grad=True), axis=1, out=found)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14)
    slope = ad.grad(lambda x: np.sum(np.real(f(x, axis=1, out=ad.tensor(np.zeros(2, wide))) * [1.0, 2.0])))(x)
    assert slope.dtype == np.float32
    np.testing.assert_allclose(slope, ad.grad(lambda x: f(x, axis=1) @ [1.0, 2.0])(x.astype(float)), rtol=1e-5)


def test_the_spread_of_equal_numbers_has_no_slope_into_a_wider_out():
    for f in (np.std, np.nanstd):
        slope = ad.grad(lambda x, f=f: f(x, out=ad.tensor(0.0)))(np.full(3, 0.5, np.float32))
        np.testing.assert_array_equal(slope, np.zeros(3))


def test_a_default_of_select_has_the_digits_of_the_result():
    x = np.array([0.5, 2.0, 3.0], np.float32)
    choices = [np.array([1, 2, 3]), ad.tensor(x)]
    found = np.select([x < 1, x < 2.5], choices, 0.34)
    expected = np.select([x < 1, x < 2.5], [choices[0], x], 0.34)
    assert found.dtype == expected.dtype == np.float64
    np.testing.assert_array_equal(found.numpy(), expected)


def test_whole_numbers_and_truth_values_are_no_symmetric_matrix_by_wrapping_round():
    """127 + 129 is 0 in eight bits."""
    for a in (np.array([[0, -128], [127, 0]], np.int8), np.array([[True, False], [True, True]])):
        for f in (np.linalg.eigvalsh, lambda a: np.linalg.eigh(a)[0]):
            expected = f(a)
            np.testing.assert_allclose(ad.vmap(f)(a[None])[0], expected, atol=1e-13)
            np.testing.assert_allclose(ad.capture(f, a)(a), expected, atol=1e-13)


VALUES = {
    "uint8": np.array([200, 200, 3], np.uint8),
    "int8": np.array([100, 100, -3], np.int8),
    "truth values": np.array([True, True, False]),
    "a truth value": True,
    "float32": np.array([0.1, 0.2, 0.3], np.float32),
    "a list": [1.0, 2.0, 3.0],
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("ufunc", [np.add, np.subtract], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.int64])
def test_what_is_added_at_a_place_is_added_in_the_wider_dtype(ufunc, values, dtype):
    """Eight bits would wrap round, and truth values would be counted once."""

    def f(x):
        y = x * 1
        ufunc.at(y, [0, 0, 1], values)
        return y

    x = np.array([1, 2, 3], dtype)
    if dtype == np.int64 and np.asarray(values).dtype.kind == "f":
        with pytest.raises(TypeError):
            f(ad.tensor(x))
        return
    for found in (f(ad.tensor(x)).numpy(), ad.vmap(f)(x[None])[0], ad.capture(f, x)(x)):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, f(x), rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.complex64, np.complex128])
def test_what_is_not_chosen_may_have_no_derivative(dtype):
    """In forward mode 0 times its tangent was nan, for complex numbers."""
    mask, x = np.array([True, False, False]), np.array([1.0, 0.0, 0.0], dtype)

    def chosen(x):
        return np.where(mask, 1 / x, 2 * x), np.where(~mask, 2 * x, 1 / x)

    def masked(x, where=mask):
        out = 2 * x
        np.divide(1, x, out=out, where=where)
        return out

    for f in (chosen, masked, lambda x: masked(x, np.zeros(3, bool))):
        with np.errstate(all="ignore"):
            value, tangent = ad.jvp(f, (x,), (x,))
        for t, y in zip(np.atleast_2d(tangent), np.atleast_2d(value), strict=True):
            assert t.dtype == y.dtype == dtype
        assert np.all(np.isfinite(np.array(tangent)))
    np.testing.assert_array_equal(ad.jvp(masked, (x,), (x,))[1], [-1.0, 0.0, 0.0])


def test_a_mask_without_elements():
    def f(a, c):
        return np.multiply(a, c, out=a * 1, where=c > 1)

    a, c = np.ones((0, 3)), np.arange(3.0)
    assert [x.shape for x in ad.vjp(f, a, c)[1](a)] == [(0, 3), (3,)]
    assert ad.jvp(f, (a, c), (a, c))[1].shape == (0, 3)
