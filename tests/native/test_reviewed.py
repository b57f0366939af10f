"""Programs that went wrong once: NumPy's answer is the right one, at each call."""

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
