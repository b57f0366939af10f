"""Corners of NumPy in native code, byte orders, masks, bins, signs, dtypes: the answer is its, at each call."""

import numpy as np
import pytest

import adjoint as ad


def same_as_numpy(f, *calls, backend="native"):
    """Compare the compiled function with the function, over several rounds of these calls."""
    compiled = ad.compile(f, wait=True, backend=backend)
    for _ in range(3):
        for args in calls:
            expected, found = f(*args), compiled(*args)
            assert type(found) is type(expected)
            assert np.asarray(found).dtype == np.asarray(expected).dtype
            np.testing.assert_array_equal(found, expected)
    return compiled


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">f2", ">i2", ">u8"])
def test_the_other_byte_order(dtype):
    x = np.arange(6).astype(dtype)
    same_as_numpy(lambda x: x + x, (x,), (x[::-1],))
    same_as_numpy(lambda x: x[1:], (x,))

    @ad.compile(wait=True)
    def first(x):
        x[0] = 3

    for _ in range(3):
        written = x.copy()
        first(written)
        assert written[0] == 3


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("reduce", [np.any, np.all])
def test_truth_of_some_elements(reduce, backend):
    few, many, none = np.array([-1.0, 0.5, 2.0]), np.array([0.5, 0.5, 2.0]), np.array([2.0, 3.0, -1.0])
    same_as_numpy(lambda x: reduce(x > 0, where=x < 1), (few,), (many,), (none,), backend=backend)


def test_weights_are_counted_in_as_many_bins_as_there_are():
    same_as_numpy(lambda x: np.bincount(x.astype(int), weights=x), (np.array([0.0, 4.0]),), (np.array([3.0, 1.0]),))


@pytest.mark.parametrize("index", [True, False, np.True_, (slice(None), True, 1), ([1, 2], True), (None, True, None)])
def test_truth_values_in_an_index_are_masks(index):
    x = np.arange(12.0).reshape(3, 4)
    same_as_numpy(lambda x: x[index], (x,), (2 * x,))

    def written(x):
        y = x.copy()
        y[index] = 3.0
        y[index] *= y[index] + 1.0
        return y

    same_as_numpy(written, (x,), (2 * x,))
    slope = ad.grad(lambda x: np.sum(np.square(x[index])))
    same_as_numpy(slope, (x,), (2 * x,))


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "u8"])
@pytest.mark.parametrize("given", ["f8", "f4", "f2"])
def test_floats_below_zero_as_unsigned_numbers(given, dtype):
    x = np.array([-1.0, 300.0, -300.0, 0.5, -0.5, 255.9, 31000.0, -31000.0], given)
    same_as_numpy(lambda x: x.astype(dtype), (x,), (x[::-1],), (-x,))


@pytest.mark.parametrize("signed", ["i8", "i1"])
@pytest.mark.parametrize("compare", [np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal])
def test_signed_and_unsigned_numbers_are_compared_by_value(compare, signed):
    x = np.array([-1, -3, 0, 5, 100, 7], signed)
    y = np.array([2**64 - 1, 2, 0, 7, 100, 5], "u8")
    same_as_numpy(compare, (x, y), (y, x), (-x, y))


def test_dtype_says_in_which_numbers_is_computed():
    small = np.array([200, 100], "u1")
    same_as_numpy(lambda x: np.add(x, x, dtype="f8"), (small,), (small[::-1],))
    same_as_numpy(lambda x: np.multiply(x, x, dtype=np.int64), (small,))
    same_as_numpy(lambda x: np.sqrt(x, dtype="f8"), (np.array([2.0, 3.0], "f4"),))
    same_as_numpy(lambda x: np.add(x, 1e-9, dtype="f4"), (np.array([2.0, 3.0]),))


def test_one_result_given_twice_after_a_step_by_numpy():
    def f(x, v):
        x += np.sort(v) * 0.1
        return x * 2.0, x, x + 0.0

    compiled = ad.compile(f, wait=True)
    for k in range(4):
        given, expected, v = np.full((3, 3), float(k)), np.full((3, 3), float(k)), np.array([3.0, 1.0, 2.0])
        y, z = compiled(given, v), f(expected, v)
        for found, wanted in zip((*y, given), (*z, expected), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", ["i4", "u1", "?", "f4"])
@pytest.mark.parametrize("subscripts", ["ij->j", "ij->i", "ij,ij->j", "ij,jk->k"])
def test_einsum_keeps_the_dtype(subscripts, dtype):
    x = (np.arange(9).reshape(3, 3) * 20 % 256).astype(dtype)
    same_as_numpy(lambda *xs: np.einsum(subscripts, *xs), (x,) * (1 + subscripts.count(",")))


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "?"])
@pytest.mark.parametrize("function", [np.sum, np.prod, np.cumsum, np.cumprod, np.add.reduce])
def test_dtype_of_a_sum(function, dtype):
    x = np.arange(-40, 59).reshape(9, 11)
    same_as_numpy(lambda x: function(x, axis=0, dtype=dtype), (x,), (-x,))
