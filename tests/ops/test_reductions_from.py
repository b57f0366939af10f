"""Reductions that begin with a number: infinite complex ones beside masks, signs of zeros, dtypes without a loop."""

import itertools

import numpy as np
import pytest

import adjoint as ad

MODES = {
    "tensors": lambda f, x: f(ad.tensor(x, requires_grad=True)).numpy(),
    "vmap": lambda f, x: ad.vmap(f)(np.stack([x, x]))[1],
    "compiled": lambda f, x: [(run := ad.compile(f))(x), run(x)][1],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("initial", [np.inf, complex(0, -np.inf), complex(np.inf, 2), complex(1, np.nan)])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_masked_products_from_infinite_complex_numbers(mode, initial):
    generator = np.random.default_rng(1)
    axes = [0] if mode == "compiled" else [None, 0, -1, (0, 1)]
    for axis, keepdims in itertools.product(axes, [False, True]):
        z = generator.normal(size=(2, 3)) + 1j * generator.normal(size=(2, 3))
        mask = generator.random((2, 3)) < 0.5

        def product(z, mask=mask, axis=axis, keepdims=keepdims):
            return np.prod(z, axis=axis, where=mask, initial=initial, keepdims=keepdims)

        found, expected = np.asarray(MODES[mode](product, z)), np.asarray(product(z))
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found.real, expected.real)
        np.testing.assert_array_equal(found.imag, expected.imag)


@pytest.mark.parametrize("function", [np.max, np.min, np.maximum.reduce])
def test_signs_of_zeros_in_samples_are_those_of_one(function):
    for count, first, initial in itertools.product([1, 2, 5], [0.0, -0.0], [0.0, -0.0]):
        x = np.full(count, -0.0)
        x[0] = first
        found = ad.vmap(lambda x, initial=initial: function(x, initial=initial))(np.stack([x, x]))
        expected = function(np.stack([x, x]), axis=1, initial=initial)
        assert np.signbit(found).tolist() == np.signbit(expected).tolist()


@pytest.mark.parametrize("dtype", [int, bool])
def test_a_dtype_without_a_loop_is_refused_as_numpy_does(dtype):
    for x in (np.ones(3), ad.tensor(np.ones(3), requires_grad=True)):
        with pytest.raises(TypeError, match="No loop matching"):
            np.logaddexp.reduce(x, dtype=dtype)
    assert np.add.reduce(ad.tensor([1.5, 2.5]), dtype=dtype) == np.add.reduce(np.array([1.5, 2.5]), dtype=dtype)
