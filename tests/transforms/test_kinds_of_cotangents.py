"""Cotangents and tangents of other dtypes than the value's are converted, of whatever kind of array they are."""

import numpy as np
import pytest

import adjoint as ad

M = np.array([[0.5, -0.2, 0.1], [0.3, 0.8, -0.4], [0.1, 0.2, 0.6]])
V = np.array([0.2, -0.4, 0.7])


def image(v):
    return M @ np.sin(v)


def cube(v):
    return np.sum((M @ v) ** 3)


def by_backward(v, c):
    x = ad.tensor(v, requires_grad=True)
    image(x).backward(c)
    return x.grad.detach().numpy()


def by_autograd(v, c):
    x = ad.tensor(v, requires_grad=True)
    return ad.autograd.grad(image(x), x, grad_outputs=c)[0].detach().numpy()


PROGRAMS = {
    "vjp": lambda v, c: ad.vjp(image, v)[1](c)[0],
    "second order": lambda v, c: ad.grad(lambda u: np.sum(ad.vjp(image, u)[1](c)[0]))(v),
    "jvp": lambda v, c: ad.jvp(image, (v,), (c,))[1],
    "linearize": lambda v, c: ad.linearize(image, v)[1](c),
    "hvp": lambda v, c: ad.hvp(cube, v, c),
    "func.vjp": lambda v, c: ad.func.vjp(image, v)[1](c)[0],
    "backward": by_backward,
    "autograd.grad": by_autograd,
}
KINDS = {
    "array": lambda c: c,
    "tensor": ad.tensor,
    "tensor that requires a gradient": lambda c: ad.tensor(c, requires_grad=c.dtype.kind == "f"),
}


@pytest.mark.parametrize("dtype", [np.int64, np.float32, bool])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_other_dtypes(name, kind, dtype):
    program, given = PROGRAMS[name], np.array([1, 0, 1] if dtype is bool else [1, 2, 3], dtype)
    expected = np.asarray(program(V, given.astype(float)))
    compiled = ad.compile(program, wait=True, backend="numpy")
    for f in (program, compiled, compiled, compiled):
        found = f(V, kind(given))
        found = found.detach().numpy() if isinstance(found, ad.Tensor) else found
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
@pytest.mark.parametrize("name", ["vjp", "jvp", "linearize", "second order"])
def test_many_of_other_dtypes(name, dtype):
    given = np.array([[1, 2, 3], [-1, 0, 2]], dtype)
    found = ad.vmap(lambda c: PROGRAMS[name](V, c))(given)
    np.testing.assert_allclose(found, [PROGRAMS[name](V, c.astype(float)) for c in given], rtol=1e-14)


def test_complex_cotangents_of_real_values_are_refused():
    for given in (V + 1j, ad.tensor(V + 1j)):
        with pytest.raises(ad.DTypeError, match="which is real, and so is its cotangent"):
            ad.vjp(image, V)[1](given)
