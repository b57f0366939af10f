"""Results for whole numbers that are repeated along an axis lie as NumPy's, also where they are converted first."""

import numpy as np
import pytest

import adjoint as ad

CALLS = {
    "clip": lambda x: np.clip(x, -0.5, 0.5),
    "modf": lambda x: np.modf(x)[0],
    "nancumsum": lambda x: np.nancumsum(x, axis=1),
    "nancumprod": lambda x: np.nancumprod(x, axis=0),
    "var": lambda x: np.var(x[None], axis=1),
    "mean": lambda x: np.mean(x[None], axis=2),
}


@pytest.mark.parametrize("dtype", [np.int8, np.int64, bool])
@pytest.mark.parametrize("name", CALLS)
def test_results_lie_as_numpys(name, dtype):
    f = CALLS[name]
    for x in (np.broadcast_to(np.ones(4, dtype), (3, 4)), np.broadcast_to(np.ones((3, 1), dtype), (3, 4))):
        wanted, found = f(x), ad.capture(f, x)(x)
        assert (found.dtype, found.strides) == (wanted.dtype, wanted.strides)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.float64])
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value) encountered:RuntimeWarning")
@pytest.mark.parametrize("p", [None, 1, 2, -2, "fro"])
def test_conditions_of_singular_matrices_have_the_precision_of_their_numbers(p, dtype):
    for x in (np.ones((3, 3), dtype), np.stack([np.eye(3, dtype=dtype), np.zeros((3, 3), dtype)])):
        assert np.linalg.cond(ad.tensor(x), p).dtype == np.linalg.cond(x, p).dtype


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_norms_of_half_precision_have_a_gradient_where_they_are_infinite():
    x = np.full(100, 300, np.float16)
    assert np.isinf(np.linalg.norm(x))
    np.testing.assert_allclose(ad.grad(np.linalg.norm)(x), np.full(100, 0.1), rtol=1e-3)
    np.testing.assert_allclose(ad.jvp(np.linalg.norm, (x,), (np.ones_like(x),))[1], 10, rtol=1e-3)
