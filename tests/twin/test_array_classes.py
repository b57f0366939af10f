"""Classes that derive from NumPy's arrays differentiate as they are written, in every transform."""

import importlib.util
import pathlib
import sys

import numpy as np
import pytest

import adjoint as ad

pytestmark = pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # NumPy 2.5's, of its own arrays


def load(name, path):
    """The module at `path`, as a package of its own: its classes are no reason for twins in other tests."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CLASSES = load("adjoint_tests_array_classes", pathlib.Path(__file__).parent / "array_classes.py")
PROGRAMS, Named = CLASSES.PROGRAMS, CLASSES.Named
POINT = np.array([0.7, 1.3, 0.4])
table = pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)


def parts(value):
    """What `value` is made of, weighed differently, as plain numbers."""
    found = value if isinstance(value, tuple) else (value,)
    flat = [np.ravel(np.asarray(y)) for y in found]
    return sum(np.sum(y * np.cos(k + np.arange(1.0, 1.0 + np.size(y)))) for k, y in enumerate(flat))


def loss(f):
    def total(x):
        return parts(f(x))

    return total


def slopes(f, x, h=1e-3):
    rows = []
    for direction in np.eye(x.size):
        a, b, c, d = (np.asarray(f(x + k * h * direction)) for k in (-2, -1, 1, 2))
        rows.append((a - 8 * b + 8 * c - d) / (12 * h))
    return np.stack(rows, axis=-1)


@table
def test_grad(f):
    value, gradient = ad.value_and_grad(loss(f))(POINT)
    wanted = slopes(loss(f), POINT)
    assert np.any(wanted)
    np.testing.assert_allclose(value, loss(f)(POINT), rtol=1e-12)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-7 * np.max(np.abs(wanted)))
    assert type(gradient) is np.ndarray


@table
def test_jvp(f):
    direction = np.array([0.3, -1.1, 0.5])
    value, change = ad.jvp(loss(f), (POINT,), (direction,))
    np.testing.assert_allclose(value, loss(f)(POINT), rtol=1e-12)
    np.testing.assert_allclose(change, ad.grad(loss(f))(POINT) @ direction, rtol=1e-10)


@table
def test_vmap(f):
    rows = np.stack([POINT * k for k in (1.0, 1.1, 0.9)])
    np.testing.assert_allclose(ad.vmap(loss(f))(rows), [loss(f)(row) for row in rows], rtol=1e-12)


@table
def test_hessian(f):
    wanted = slopes(ad.grad(loss(f)), POINT)
    np.testing.assert_allclose(ad.hessian(loss(f))(POINT), wanted, rtol=1e-6, atol=1e-6 * (1 + np.max(np.abs(wanted))))


@table
def test_compile(f):
    compiled, gradient = ad.compile(loss(f)), ad.compile(ad.grad(loss(f)))
    for k in (1.0, 1.1, 0.9):
        np.testing.assert_allclose(compiled(POINT * k), loss(f)(POINT * k), rtol=1e-12)
        np.testing.assert_allclose(gradient(POINT * k), ad.grad(loss(f))(POINT * k), rtol=1e-10)


@table
def test_what_it_gives(f):
    given, found = f(POINT), ad.jvp(f, (POINT,), (np.ones(3),))[0]
    several = isinstance(given, tuple)
    for a, b in zip(given if several else (given,), found if several else (found,), strict=True):
        np.testing.assert_allclose(np.asarray(b), np.asarray(a), rtol=1e-12)


def area(q):
    return np.sum(q.scaled() ** 2) if isinstance(q, Named) else np.nan


def test_an_argument_of_a_class():
    q, wanted = Named(POINT, 3.0), 18.0 * POINT
    np.testing.assert_allclose(ad.grad(area)(q), wanted)
    np.testing.assert_allclose(ad.grad(lambda tree: area(tree["a"][0]))({"a": [q]})["a"][0], wanted)
    np.testing.assert_allclose(ad.jvp(area, (q,), (np.ones(3),)), (area(q), wanted.sum()))
    np.testing.assert_allclose(ad.hessian(area)(q), 18.0 * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(ad.vmap(area)(Named(np.stack([POINT, POINT]), 3.0)), [area(q)] * 2)
    np.testing.assert_allclose(ad.compile(area)(q), area(q))
    np.testing.assert_allclose(ad.compile(area)(Named(POINT, 2.0)), area(Named(POINT, 2.0)))
    assert type(ad.grad(area)(q)) is np.ndarray


def test_an_argument_of_a_transform_inside():
    def total(x):
        return np.sum(ad.grad(area)(Named(x, 3.0)) * POINT)

    np.testing.assert_allclose(ad.grad(total)(POINT), 18.0 * POINT)
    np.testing.assert_allclose(ad.vmap(total)(np.stack([POINT, 2.0 * POINT])), [total(POINT), 2.0 * total(POINT)])


def test_values_are_plain_arrays():
    value, change = ad.jvp(lambda x: {"q": Named(x, 2.0) * x}, (POINT,), (np.ones(3),))
    assert type(value["q"]) is type(change["q"]) is np.ndarray
    np.testing.assert_allclose(change["q"], 2.0 * POINT)


def test_tensors_by_hand():
    @ad.differentiable
    def loss(t):
        return area(Named(t, 3.0))

    t = ad.tensor(POINT, requires_grad=True)
    loss(t).backward()
    np.testing.assert_allclose(t.grad.numpy(), 18.0 * POINT)
    assert loss(POINT) == pytest.approx(area(Named(POINT, 3.0)))


def test_an_attribute_that_changes_between_calls():
    q = Named(POINT.copy(), 3.0)

    def weighed(x):
        return np.sum((q * x).scaled())

    compiled, gradient = ad.compile(weighed), ad.compile(ad.grad(weighed))
    for info in (3.0, 3.0, 5.0, 2.0):
        q.info = info
        assert compiled(POINT) == pytest.approx(weighed(POINT), rel=1e-12)
        np.testing.assert_allclose(gradient(POINT), info * POINT)


def test_refusals():
    outside = Named(np.zeros(3), 2.0)

    def writes(x):
        outside[0] = x[0]
        return np.sum(outside)

    class Masked(np.ma.MaskedArray):
        pass

    with pytest.raises((ad.LeavesGraphError, ValueError)):
        ad.grad(writes)(POINT)
    with pytest.raises(ad.NotSupportedError, match=r"MaskedArray|Masked"):
        ad.grad(lambda x: np.sum(x.view(Masked)))(POINT)
    with pytest.raises(ad.LeavesGraphError, match=r"buffer=t"):
        ad.grad(lambda x: np.sum(np.ndarray.__new__(Named, (2,), float, x, 8)))(POINT)


LEAVING = {"numpy": lambda t: t.numpy()[0] * 3.0}


def test_values_that_leave_are_reported_beside_such_classes():
    leave = LEAVING["numpy"]
    ad.grad(loss(PROGRAMS[0]))(POINT)
    with pytest.warns(ad.LeakWarning, match="test_array_classes"):
        ad.grad(lambda x: leave(np.atleast_1d(x)) * np.sum(x))(POINT)
    found = ad.grad(lambda x: np.atleast_1d(x)[0].item() * np.sum(x) + x.tolist()[1])(POINT)
    np.testing.assert_allclose(found, np.sum(POINT) * np.eye(3)[0] + POINT[0] + np.eye(3)[1])


class Unbound(np.ndarray):
    """Calls NumPy's methods by their names, as many do."""

    def __mul__(self, other):
        return np.ndarray.__mul__(self, other) + 1.0

    def __getitem__(self, index):
        return np.ndarray.__getitem__(self, index) * 3.0

    def __setitem__(self, index, value):
        np.ndarray.__setitem__(self, index, value * 2.0)

    def sum(self, *args, **kwargs):
        return np.ndarray.sum(self, *args, **kwargs) ** 2

    def dot(self, other):
        return np.ndarray.dot(self, other) * 5.0

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return np.ndarray.__array_wrap__(self, array, context, return_scalar)


def written(x):
    q = np.outer(x, x).view(Unbound)
    q[0, 0] = x[1]
    q[1] = x  # into a copy: NumPy asks the class for the place
    q[:, 2] = x * 7.0
    q[...] = q * 1.0
    q[[0, 1]] = x * x
    return np.sum(np.asarray(q) * np.arange(9.0).reshape(3, 3))


UNBOUND = [
    lambda x: np.sum(np.asarray(x.view(Unbound) * x)) + np.sum(np.asarray(x.view(Unbound) * 2.0)),
    lambda x: x.view(Unbound).sum() + x.view(Unbound)[0] * x.view(Unbound)[1:].sum(),
    lambda x: x.view(Unbound).dot(x) + np.sum(np.asarray(np.exp(x.view(Unbound)))),
    written,
]


@pytest.mark.parametrize("f", UNBOUND)
def test_numpys_methods_by_their_names(f):
    value, gradient = ad.value_and_grad(f)(POINT)
    steps = 1e-5 * np.eye(3)
    np.testing.assert_allclose(value, f(POINT), rtol=1e-14)
    np.testing.assert_allclose(gradient, [(f(POINT + s) - f(POINT - s)) / 2e-5 for s in steps], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose([ad.jvp(f, (POINT,), (e,))[1] for e in np.eye(3)], gradient, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ad.vmap(f)(np.stack([POINT, POINT * 1.1])), [f(POINT), f(POINT * 1.1)], rtol=1e-14)


class Old(np.ndarray):
    """Written for NumPy 1, which told ``__array_wrap__`` less."""

    def __array_wrap__(self, array, context=None):
        made = np.ndarray.__array_wrap__(self, array, context)
        made.count = getattr(self, "count", 0) + 1
        return made


class Oldest(np.ndarray):
    def __array_wrap__(self, array):
        return array


class Broken(np.ndarray):
    def __array_wrap__(self, array, context=None, return_scalar=False):
        raise TypeError("no wrap today")


def test_array_wrap_of_fewer_arguments():
    def counted(x):
        q = np.sin(x.view(Old)) * 2.0
        return np.sum(np.asarray(q)) * q.count

    found = ad.grad(counted)(POINT)
    np.testing.assert_allclose(found, 4.0 * np.cos(POINT))
    with pytest.raises(TypeError, match="no wrap today"):
        ad.grad(lambda x: np.sum(np.sin(x.view(Broken))))(POINT)
    with pytest.raises(TypeError, match="argument"):  # what NumPy asks with a context is not asked without
        ad.grad(lambda x: np.sum(np.sin(x.view(Oldest))))(POINT)
