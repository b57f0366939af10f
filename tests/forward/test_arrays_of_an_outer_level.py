"""Arrays of an outer transform's kind that an inner transform's values were written into, beside those values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import ndimage

import adjoint as ad

Z = np.array([1.0, 2.0])


def put(target, value):
    target[:] = value
    return target


def added(target, value):
    target += value
    return target


USES = {
    "two writes": lambda d, z, k: put(d[1:], -k * z[:1]) * z[1] + d,
    "d * z": lambda d, z, k: d * z,
    "z * d": lambda d, z, k: z * d,
    "concatenate": lambda d, z, k: np.concatenate([d, z]),
    "stack": lambda d, z, k: np.stack([z, d]),
    "where": lambda d, z, k: np.where(z > 1.5, z, d),
    "dot": lambda d, z, k: np.dot(z, d)[None],
    "einsum": lambda d, z, k: np.einsum("i,i->i", z, d),
    "maximum": lambda d, z, k: np.maximum(z * 0.1, d),
    "copied": lambda d, z, k: put(np.zeros_like(z), d),
    "in place": lambda d, z, k: added(z * 1.0, d),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("inner", [ad.jacobian, ad.jacfwd], ids=["reverse", "forward"])
@pytest.mark.parametrize("outer", ["jvp", "jacobian"])
def test_nothing_that_was_written_is_lost(use, inner, outer):
    def derivative(k):
        def f(z):
            d = np.zeros_like(np.stack([k, k]))
            d[0] = z[1] * k
            return USES[use](d, z, k)

        return inner(f)(Z)

    h = 1e-6
    differences = (derivative(1.3 + h) - derivative(1.3 - h)) / (2 * h)
    if outer == "jvp":
        value, slope = ad.jvp(derivative, (1.3,), (1.0,))
        assert_allclose(value, derivative(1.3))
    else:
        slope = ad.jacobian(derivative)(1.3)
    assert_allclose(slope, differences, atol=1e-6)


def whole(b):
    out = np.zeros(4)
    out[...] = 2.0 * b
    return out


def through_a_view(b):
    out = np.zeros(4)
    part = out[:]
    part[...] = 2.0 * b
    return out


def written_after(b):
    out, value = np.zeros(4), 2.0 * b
    out[...] = value
    value[0] = 7.0
    return out


FILLED = [whole, through_a_view, written_after, lambda b: ndimage.gaussian_filter1d(b, 0.1) * 2.0]


@pytest.mark.parametrize("filled", FILLED, ids=lambda f: f.__name__)
def test_an_inner_array_that_is_filled_with_an_outer_one(filled):
    """Both are of one kind and of two levels: the outer one's tangents, or samples, are not the inner one's."""
    x, t = np.array([0.7, -0.4, 1.3, 0.25]), np.array([1.0, 2.0, 0.0, 1.0])
    pushed = lambda x: ad.jvp(lambda t: t * filled(x), (t,), (t,))[1]
    assert_allclose(ad.jvp(pushed, (x,), (x,))[1], 2 * t * x)
    assert_allclose(ad.jacfwd(pushed)(x), np.diag(2 * t))
    assert_allclose(ad.jacrev(pushed)(x), np.diag(2 * t))
    assert_allclose(ad.jvp(lambda x: ad.jvp(lambda a: a * filled(x), (x,), (t,))[1], (x,), (x,))[1], 2 * t * x)
    assert_allclose(ad.hessian(lambda x: np.sum(pushed(x) ** 2))(x), np.diag(8 * t**2))
    assert_allclose(ad.grad(lambda x: ad.grad(lambda t: np.sum(t * filled(x) ** 2))(t) @ t)(x), 8 * t * x)
    for many in (np.stack([t, 2 * t]), np.stack([t, 2 * t, 3 * t])):
        outer = np.stack([x, x + 1, 2 * x])
        wanted = many[None] * 2 * outer[:, None]
        assert_allclose(ad.vmap(lambda x, many=many: ad.vmap(lambda t: t * filled(x))(many))(outer), wanted)
