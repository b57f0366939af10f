"""Cotangents that users give: as real as the value. Reductions between places, of tensors as they are."""

import numpy as np
import pytest

import adjoint as ad


def test_a_complex_cotangent_of_a_real_value_is_refused():
    _, pullback = ad.vjp(lambda x: x * x, 2.0)
    with pytest.raises(ad.DTypeError, match="pullback: the value is of float64, which is real"):
        pullback(1 + 0j)
    t = ad.tensor([2.0], requires_grad=True)
    for gradient in (np.array([1 + 0j]), [1j]):
        with pytest.raises(ad.DTypeError, match="backward: the value is of float64, which is real"):
            (t * t).backward(gradient)
    z = ad.tensor([2.0 + 1j], requires_grad=True)
    (z * z).backward([1.0])
    np.testing.assert_allclose(z.grad.numpy(), [4.0 - 2.0j])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum])
def test_reduceat(ufunc, axis):
    x = ad.tensor(np.arange(12.0).reshape(3, 4) - 4.5, requires_grad=True)
    f = lambda x: ufunc.reduceat(x, [0, 2, 1], axis=axis)
    y = f(x)
    np.testing.assert_array_equal(y.numpy(), f(x.numpy()))
    (y * y).sum().backward()
    ad.testing.check_grads(f, x.detach().numpy())
    np.testing.assert_allclose(x.grad.numpy(), ad.grad(lambda x: (f(x) ** 2).sum())(x.detach().numpy()))
