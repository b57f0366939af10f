"""Arrays of an outer transform's kind that an inner transform's values were written into, beside those values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

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
