"""Functions whose value is no array but an object that holds one: the derivative is that of the array, or an error."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad

X = np.array([0.5, 1.5, 2.5])


class Labelled:
    """An array with a name, as xarray's hold whatever array they are given."""

    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.data, dtype)


class Column:
    """Numbers as objects, as a column of pandas' holds them."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values


class Hidden:
    """What shows its array to NumPy alone."""

    def __init__(self, inner):
        self.inner = inner

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.inner)


def column(x):
    values = np.empty(3, object)
    values[0], values[1], values[2] = x[0] ** 2, 2.0, x[1] * x[2]
    return Column(values)


def test_the_array_of_a_labelled_one_is_the_value():
    def f(x):
        return Labelled(np.sum(x**3))

    value, gradient = ad.value_and_grad(f)(X)
    assert_allclose((value, *gradient), (np.sum(X**3), *(3 * X**2)))
    assert_allclose(ad.jvp(f, (X,), (np.ones(3),)), (np.sum(X**3), np.sum(3 * X**2)))
    assert_allclose(ad.hessian(f)(X), np.diag(6 * X))
    assert_allclose(ad.vmap(f)(np.stack([X, 2 * X])), [np.sum(X**3), 8 * np.sum(X**3)])
    assert_allclose(ad.compile(ad.grad(f))(X), 3 * X**2)


def test_a_tree_with_labelled_arrays():
    value, pullback = ad.vjp(lambda x: {"a": Labelled(2 * x), "b": x[0]}, X)
    assert_allclose(value["a"], 2 * X)
    assert_allclose(pullback({"a": np.ones(3), "b": 5.0})[0], [7, 2, 2])


def test_a_column_of_objects_is_an_array():
    expected = [[1, 0, 0], [0, 0, 0], [0, 2.5, 1.5]]
    assert_allclose(ad.jacobian(column)(X), expected)
    assert_allclose(ad.jacfwd(column)(X), expected)


def test_what_goes_beside_the_value_stays():
    gradient, aux = ad.grad(lambda x: (Labelled(np.sum(x)), Labelled("name")), has_aux=True)(X)
    assert_allclose(gradient, np.ones(3))
    assert aux.data == "name"


def test_a_constant_has_no_derivative():
    assert_allclose(ad.grad(lambda x: Labelled(np.float64(3.0)))(X), 0)


@pytest.mark.parametrize("transform", [ad.grad, ad.jacobian, ad.jacfwd, lambda f: lambda x: ad.linearize(f, x)])
def test_what_shows_its_array_to_numpy_alone_is_an_error(transform):
    with pytest.raises(ad.LeavesGraphError, match="test_labelled_results"):
        transform(lambda x: Hidden(np.sum(x**2)))(X)


def test_xarray():
    xarray = pytest.importorskip("xarray")
    grid = xarray.DataArray(np.arange(6.0).reshape(2, 3), dims=("time", "place"))
    assert_allclose(ad.grad(lambda p: np.exp(-p[0] * grid).sum() + (p[1] * grid).mean("time").sum())(X),
                    [-np.sum(grid.values * np.exp(-0.5 * grid.values)), 7.5, 0])  # fmt: skip
