"""Results are what the plain function gives: arrays that may be written, arrays and no tensors."""

import numpy as np
import pytest

import adjoint as ad

VIEWS = {
    "number[None]": lambda x: np.sum(x)[None],
    "number[..., None]": lambda x: x[0][..., None],
    "expand_dims": lambda x: np.expand_dims(np.sum(x), 0),
    "reshape": lambda x: np.reshape(np.sum(x), (1, 1)),
    "atleast_2d": lambda x: np.atleast_2d(x[0]),
    "repeated once": lambda x: np.sum(x)[None][:, None],
}


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("kind", [np.array, ad.tensor])
def test_a_number_with_axes_may_be_written(name, backend, kind):
    f, x = ad.compile(VIEWS[name], backend=backend, wait=backend == "native"), kind([1.0, 2.0])
    for _ in range(3):
        y = f(x)
        assert isinstance(y, ad.Tensor) is isinstance(x, ad.Tensor)
        y[...] = 5.0
        assert np.all(np.asarray(y) == 5.0)


@pytest.mark.parametrize("make", [lambda x: np.full(3, np.sum(x)), lambda x: np.full((2, 1), fill_value=x[0])])
def test_an_array_that_is_filled_with_a_tensor_is_no_tensor(make):
    f, x = ad.compile(make, wait=True), ad.tensor(np.array([1.0, 2.0]))
    for _ in range(3):
        y = f(x)
        assert type(y) is np.ndarray
        np.testing.assert_array_equal(y, make(x))
    f = ad.compile(make, wait=True)
    for _ in range(3):
        np.testing.assert_array_equal(f(np.array([1.0, 3.0])), make(np.array([1.0, 3.0])))
    assert f._specializations
