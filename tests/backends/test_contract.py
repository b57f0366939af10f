"""What holds for arrays of other libraries: nothing moves unasked, and what an owner overwrites changes no gradient."""

import numpy as np
import pytest

import adjoint as ad
from tests.backends.strict import Strict, UnaskedError, inside, strict, transfers

X = np.array([0.5, 1.0, 2.0])


def same(found, expected):
    assert isinstance(found, Strict)
    np.testing.assert_allclose(inside(found), expected, rtol=1e-12)


def unmoved(go):
    """What `go` gives, which may fetch nothing."""
    before = transfers["out"]
    found = go()
    assert transfers["out"] == before
    return found


def cubes(x):
    return np.sum(np.tanh(x) ** 3)


@pytest.mark.parametrize(
    "go",
    [
        ad.grad(cubes),
        ad.hessian(cubes),
        lambda x: ad.hvp(cubes, x, x),
        lambda x: ad.grad(lambda x: np.sum(ad.grad(cubes)(x) ** 2))(x),
        ad.jacobian(lambda x: np.sin(x) * x[0]),
        ad.jacfwd(lambda x: np.sin(x) * x[0]),
        lambda x: ad.vmap(ad.grad(cubes))(np.stack([x, x])),
        lambda x: ad.linearize(np.sin, x)[1](x),
        lambda x: ad.grad(ad.checkpoint(cubes))(x),
    ],
)
def test_transforms_stay_where_the_array_is(go):
    same(unmoved(lambda: go(strict(X))), go(X))


def test_tensors():
    t = ad.tensor(strict(X), requires_grad=True)
    unmoved(lambda: cubes(t).backward())
    same(t.grad.data, ad.grad(cubes)(X))
    unmoved(lambda: cubes(t).backward())
    same(t.grad.data, 2 * ad.grad(cubes)(X))
    np.testing.assert_array_equal(t.detach().numpy(), X)  # asked for by name
    assert t.detach()[1].item() == 1.0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_was_not_chosen_stays_zero():
    def f(x):
        return np.sum(np.where(x > 0, np.sqrt(x), 0.0))

    at = np.array([0.0, 4.0])
    same(unmoved(lambda: ad.grad(f)(strict(at))), [0.0, 0.25])
    same(unmoved(lambda: ad.jvp(f, (strict(at),), (strict(at),))[1]), 1.0)
    t = ad.tensor(strict(at), requires_grad=True)
    f(t).backward()
    same(t.grad.data, [0.0, 0.25])


def test_writing_in_place():
    def f(x):
        y = np.zeros_like(x)
        y[0] = x[1] * x[2]
        y[1:] = x[1:] ** 2
        y *= x
        view = y[1:]
        view[0] = x[0]
        return np.sum(y * x)

    same(unmoved(lambda: ad.grad(f)(strict(X))), ad.grad(f)(X))


@pytest.mark.parametrize(
    "go",
    [
        lambda t, a: t * a,
        lambda t, a: a * t,
        lambda t, a: np.concatenate([t, a]),
        lambda t, a: np.where(a > 0, t, 1.0),
        lambda t, a: ad.jvp(lambda x: x * a, (t.data,), (t.data,)),
        lambda t, a: ad.vmap(lambda x: x * a[:1])(t.data),
        lambda t, a: t.backward(a),
        lambda t, a: ad.vjp(np.sin, t.data)[1](a),
    ],
)
def test_arrays_of_two_libraries_are_an_error_that_names_the_call(go):
    with pytest.raises(ad.DeviceError, match=r"np\.asarray\(a, like=x\)"):
        go(ad.tensor(strict(X), requires_grad=True), X)
    moved = np.asarray(X, like=strict(X))
    same(ad.grad(lambda x: np.sum(x * moved))(strict(X)), X)


@pytest.mark.parametrize("go", [np.asarray, float, int, bool, lambda t: np.add(X, t), lambda t: np.asarray(t[0] > 0)])
def test_nothing_is_fetched_unasked(go):
    t = ad.tensor(strict(X[:1]))
    before = transfers["out"]
    with pytest.raises((UnaskedError, ad.DeviceError)):
        go(t)
    assert transfers["out"] == before


@pytest.mark.parametrize("tensor", [ad.tensor, ad.Tensor])
def test_what_the_owner_overwrites_changes_no_gradient(tensor):
    a, x = strict(X), strict(X)
    t = tensor(x, requires_grad=True)
    loss = np.sum(t * a) + np.sum(t * tensor(a)) + np.sum(np.sin(t))
    a[...] = 100.0
    x[...] = 100.0
    loss.backward()
    same(t.grad.data, 2 * X + np.cos(X))


class Described:
    """An array of a library that nobody has described."""

    shape, ndim, dtype = (2,), 1, np.dtype(float)
    __array_ufunc__ = __array_function__ = lambda self, *args, **kwargs: NotImplemented

    def __array__(self, *args, **kwargs):
        raise AssertionError("converted")


class OnGPU:
    """An array of a library without NumPy's protocols, such as JAX's, on a GPU."""

    shape, ndim, dtype = (2,), 1, np.dtype(float)

    def __dlpack_device__(self):
        return 2, 0

    def __array__(self, *args, **kwargs):
        raise AssertionError("fetched")


@pytest.mark.parametrize(
    "go",
    [ad.tensor, ad.Tensor, ad.grad(np.sum), ad.vmap(np.sin), lambda x: ad.jvp(np.sin, (x,), (x,)), ad.jacobian(np.sin)],
)
def test_arrays_of_libraries_that_are_not_known_are_not_converted(go):
    with pytest.raises(ad.NotSupportedError, match=r"Described, which answers NumPy's calls.*np\.asarray\(x\)"):
        go(Described())
    with pytest.raises(ad.DeviceError, match=r"ad\.from_dlpack\(x\)"):
        go(OnGPU())


def test_gradients_are_nobodys_memory():
    t = ad.tensor(strict(X), requires_grad=True)
    c = strict(np.ones(3))
    (t * 1.0).backward(c)
    c[...] = 7.0
    same(t.grad.data, np.ones(3))


@pytest.mark.parametrize("transform", [ad.jacobian, ad.jacfwd, ad.jacrev, ad.hessian])
def test_jacobians_of_samples(transform):
    """The unit vectors of one sample were made of the shape of all."""
    rows = np.stack([X, 2 * X])
    f = cubes if transform is ad.hessian else np.tanh
    same(unmoved(lambda: ad.vmap(transform(f))(strict(rows))), ad.vmap(transform(f))(rows))
