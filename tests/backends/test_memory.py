"""Writes, views and copies on arrays that nobody can look at: what shares memory there, and what does not."""

from contextlib import suppress

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.box import raw
from tests.backends.strict import Strict, inside, strict, transfers

B = np.arange(1.0, 7).reshape(2, 3)


def chosen(b):
    v = b * 1.0
    w = v[[0, 1]]  # a copy
    w[0] = 9.0
    return v * b + w


def reshaped(b):
    v = b * 1.0
    w = np.reshape(v, -1, copy=True)
    w[0] = 9.0
    return v * b + np.sum(w)


def typed(b):
    v = b * 1.0
    w = v.astype(float)  # a copy
    w[0] = 9.0
    return v * b + w


def chosen_before(b):
    v = b * 1.0
    w = v[[0, 1]]
    v[0] = 9.0
    return w * b


def sliced(b):
    v = b * 1.0
    w = v[:1]  # a view
    w[0] = 9.0
    return v * b


def turned(b):
    v = b * 1.0
    w = v.T
    v[0] = 9.0
    return w.T * b


def total(f):
    return lambda x: np.sum(f(x) ** 2)


STACKED = {
    "vmap": lambda f: lambda x: ad.vmap(f)(np.stack([x, x])),
    "vmap of grad": lambda f: lambda x: ad.vmap(ad.grad(total(f)))(np.stack([x, x])),
    "grad of vmap": lambda f: ad.grad(lambda x: np.sum(ad.vmap(f)(np.stack([x, x])) ** 2)),
}
SINGLE = {
    "vjp": lambda f: lambda x: ad.vjp(f, x)[0],
    "grad": lambda f: ad.grad(total(f)),
    "jvp": lambda f: lambda x: ad.jvp(f, (x,), (x,))[1],
    "tensor": lambda f: lambda x: f(ad.tensor(x, requires_grad=True)).data,
}


@pytest.mark.parametrize("mode", [*STACKED, *SINGLE])
@pytest.mark.parametrize("f", [chosen, reshaped, typed, chosen_before, sliced, turned])
def test_copies_are_copies_and_views_are_views(f, mode):
    """Inside vmap, whatever might be a view was taken for one: a write to `v[[0, 1]]` reached `v`."""
    go = (STACKED | SINGLE)[mode](f)
    np.testing.assert_allclose(inside(raw(go(strict(B)))), go(B), rtol=1e-12)


def in_line(b):
    v = b * 1.0
    v.reshape(-1)[0] = 9.0
    return v * b


def turned_in_line(b):
    v = b * 1.0
    v.T.ravel()[0] = 9.0
    return v * b


def in_fortran_order(b):
    v = b * 1.0
    np.asfortranarray(v)[0] = 9.0
    return v * b


def converted(b):
    v = b.astype(float, order="F")
    v.reshape(-1)[0] = 9.0
    return v * b


@pytest.mark.parametrize("mode", ["vjp", "grad", "jvp"])
@pytest.mark.parametrize("f", [in_line, turned_in_line, in_fortran_order, converted])
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_lies_in_another_order_stays_so(f, mode, order):
    """Tensors took copies in C order, in which `reshape` gives views of what it copies in Fortran's order."""
    x = np.asarray(B, order=order)
    np.testing.assert_allclose(inside(raw(SINGLE[mode](f)(strict(x)))), SINGLE[mode](f)(x), rtol=1e-12)


def late(b):
    v = b * 1.0
    w = np.ravel(v)
    v[0] = 9.0
    return w


@pytest.mark.parametrize("f", [in_line, turned_in_line, in_fortran_order, late])
@pytest.mark.parametrize("mode", STACKED)
@pytest.mark.parametrize("order", ["C", "F"])
def test_views_of_samples_whose_layout_nobody_knows_are_refused(f, mode, order):
    with pytest.raises(ad.NotSupportedError, match="how one sample would lie"):
        STACKED[mode](f)(strict(np.asarray(B, order=order)))


def test_samples_in_line_can_be_read():
    def f(b):
        return np.sin(np.ravel(b.T)) * b.reshape(-1)

    for go in (ad.vmap(f), ad.vmap(ad.jacobian(f))):
        np.testing.assert_allclose(inside(go(strict(np.stack([B, 2 * B])))), go(np.stack([B, 2 * B])), rtol=1e-12)


def test_a_sample_without_axes_is_an_array_there():
    """As the library's own: it has no numbers, so `*=` writes."""

    def f(x):
        v = np.sum(x * x)
        w = v
        w *= 3.0
        return v

    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(inside(f(strict(x))), 15.0)
    np.testing.assert_allclose(inside(ad.vmap(f)(strict(x[None]))), [15.0])
    np.testing.assert_allclose(inside(ad.vmap(ad.grad(f))(strict(x[None]))), [6 * x])


def f_with_constants(x):
    return np.sum(x * np.asarray([1.0, 2.0, 3.0], like=x) + x @ np.asarray(np.eye(3), like=x)) + np.sum(
        np.zeros(3, like=x) + np.arange(3.0, like=x) * x
    )


@pytest.mark.parametrize(
    "go", [ad.grad, ad.hessian, lambda f: lambda x: ad.jvp(f, (x,), (x,))[1], lambda f: lambda x: ad.vmap(f)(x[None])]
)
def test_like_makes_an_array_where_its_model_is(go):
    """Inside a transform, the call that errors name, ``np.asarray(a, like=x)``, made an array of NumPy's."""
    x = np.array([0.5, 1.0, 2.0])
    found = go(f_with_constants)(strict(x))
    assert isinstance(found, Strict)
    np.testing.assert_allclose(inside(found), go(f_with_constants)(x), rtol=1e-12)


@pytest.mark.parametrize("go", [lambda c, x: np.put(x, c, 1.0, mode="wrap"), lambda c, x: np.polyder(c)])
def test_a_constant_of_a_transform_is_not_fetched(go):
    """A dual number without a tangent gave its values to NumPy."""

    def f(x):
        y = x * 1.0
        go(np.floor(y).astype(int), y)
        return y

    x = strict([0.5, 1.0, 2.0])
    before = transfers["out"]
    with suppress(ad.DeviceError):
        ad.jvp(f, (x,), (x,))
    assert transfers["out"] == before
