"""Results are what the plain function gives: arrays that may be written, arrays and no tensors."""

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.objects.trees import flatten

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


# Gradients that show one number everywhere, or that are a number.
SPREAD = {
    "math.sin of a sum": lambda x: math.sin(np.sum(x)),
    "abs of a sum": lambda x: abs(np.sum(x)) + 1,
    "interp": lambda x: np.interp(np.sum(x), [0.0, 10.0], [0.0, 1.0]),
    "maximum": lambda x: np.max(x) + 0,
    "item": lambda x: np.sum(x).item() ** 2,
}


def kind(x):
    """All that tells a gradient's memory: its class, that of its data, and whether it may be written."""
    data = x.data if isinstance(x, ad.Tensor) else x
    return type(x), type(data), getattr(data, "shape", None), isinstance(data, np.ndarray) and data.flags.writeable


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("f", SPREAD.values(), ids=SPREAD)
@pytest.mark.parametrize("x", [np.array([1.5, -0.5]), np.array([3.0]), np.array(2.0), 2.0, np.float32([1.0, 2.0])])
@pytest.mark.parametrize("make", [lambda x: x, ad.tensor])
def test_gradients_are_as_the_plain_ones(f, x, make, backend):
    for transform in (ad.grad, ad.value_and_grad):
        compiled = ad.compile(transform(f), backend=backend, wait=backend == "native")
        expected = flatten(transform(f)(make(x)))[0]
        for _ in range(3):
            found = flatten(compiled(make(x)))[0]
            assert list(map(kind, found)) == list(map(kind, expected))
    if np.ndim(x):
        gradient = ad.capture(ad.grad(f), make(x))(make(x))
        gradient *= 2.0
        np.testing.assert_allclose(np.asarray(gradient), 2.0 * np.asarray(ad.grad(f)(make(x))), rtol=1e-6)


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("f", [lambda x: x, lambda x: np.reshape(x, (-1, 1)).T, lambda x: np.broadcast_to(x[:1], (2,))])
def test_a_value_and_a_gradient_have_memory_of_their_own(f, backend):
    def value_and_pulled(x):
        y, pull = ad.vjp(f, x)
        return y, *pull(y)

    compiled, x = ad.compile(value_and_pulled, backend=backend, wait=backend == "native"), np.array([1.0, 2.0])
    for _ in range(3):
        y, g = compiled(x)
        assert y.flags.writeable
        assert g.flags.writeable
        assert not np.shares_memory(y, g)
        assert not np.shares_memory(x, g)
        np.testing.assert_array_equal(y, f(x))


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("a", [1.5j, 2.0, np.complex64(1j), True])
@pytest.mark.parametrize("b", [np.float64(2.0), np.float32(2.0), np.complex128(2.0), np.array(2.0), 2])
def test_python_decides_the_kind_of_a_sum_of_two_numbers(a, b, backend):
    def f(a, b):
        return a + b, a - b, a * b, a / b, a**b, b + a, b * a, (a + b) * np.float32(2)

    compiled = ad.compile(f, backend=backend, wait=backend == "native")
    for _ in range(3):
        assert list(map(type, compiled(a, b))) == list(map(type, f(a, b)))


def test_an_array_of_transposed_arrays_lies_row_by_row():
    def f(a):
        both = np.array([a[0].T, a[1].T])
        both.swapaxes(1, 2).reshape(-1)[1] = 0.5  # of a copy
        return both * 1.0

    x = np.arange(12.0).reshape(2, 3, 2)
    compiled = ad.compile(f, wait=True)
    for scale in (1.0, 2.0, 3.0):
        np.testing.assert_array_equal(compiled(scale * x), f(scale * x))
    np.testing.assert_array_equal(ad.capture(f, x)(x), f(x))


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_pythons_numbers_that_are_tensors_stay_pythons(backend):
    """They make no float32 array wider, and no complex64 one."""

    def f(t):
        return 1j * t[0], 1j - t.sum(), 2.0 * t[0], t[0] * 1j

    for t in (ad.tensor([0.5, -1.25]), ad.tensor([0.5, -1.25], requires_grad=True)):
        compiled = ad.compile(f, backend=backend, wait=backend == "native")
        for _ in range(3):
            for own, plain in zip(compiled(t), f(t), strict=True):
                assert (type(own), own.is_python) == (type(plain), plain.is_python)
                assert (own * np.ones(2, np.complex64)).dtype == (plain * np.ones(2, np.complex64)).dtype
                np.testing.assert_array_equal(own.data, plain.data)
                assert own.requires_grad == plain.requires_grad


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_pythons_numbers_of_a_transform_stay_pythons(backend):
    compiled = ad.compile(lambda x: x * x + 1.0, backend=backend, wait=backend == "native")
    dtypes = []

    def f(x):
        y = compiled(x) * np.ones(2, np.float32)
        dtypes.append(y.dtype)
        return np.sum(y)

    for _ in range(3):
        assert ad.grad(f)(2.0) == 8.0
    assert dtypes == [np.float32] * 3
