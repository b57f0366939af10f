"""Complex numbers made of parts, and products: signs of zero, infinities and dtypes are those of the plain program."""

import cmath
import math

import numpy as np
import pytest

import adjoint as ad

PARTS = {
    "the other side of a cut": (lambda x: cmath.sqrt(complex(-x, -0.0)).imag, -0.5 / math.sqrt(2)),
    "an infinite part": (lambda x: complex(x, math.inf).real * 3, 3.0),
    "a sign": (lambda x: math.copysign(1.0, complex(x, -0.0).imag) * x, -1.0),
    "an imaginary part alone": (lambda x: complex(imag=x).imag * 2, 2.0),
    "a complex real part": (lambda x: complex(1 + 1j, x).imag, 1.0),
    "a complex imaginary part": (lambda x: complex(x, 1 + 2j).real * x, 2.0),
    "two complex parts": (lambda x: abs(complex(x * 1j, x * (2 + 1j))), math.hypot(1, 3)),
    "polar": (lambda x: cmath.rect(x, math.pi).real, -1.0),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts(name):
    f, slope = PARTS[name]
    value, gradient = ad.value_and_grad(f)(2.0)
    assert value == pytest.approx(f(2.0), rel=1e-12)
    assert gradient == pytest.approx(slope, rel=1e-12, abs=1e-15)
    assert ad.jvp(f, (2.0,), (1.0,))[1] == pytest.approx(slope, rel=1e-12, abs=1e-15)
    np.testing.assert_allclose(ad.vmap(f)(np.array([2.0, 2.5])), [f(2.0), f(2.5)], rtol=1e-12)
    compiled = ad.compile(f, wait=True)
    for x in (2.0, 2.5):
        assert compiled(x) == pytest.approx(f(x), rel=1e-12)


def test_a_part_that_is_not_written_keeps_its_sign():
    def f(z, x):
        z = z + 0
        z.imag[:] = x
        return z

    z = np.array([-0.0 + 1j, np.inf + 0j])
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    found = ad.vmap(f)(np.stack([z, z]), x)
    np.testing.assert_array_equal(found.real, [[0.0, np.inf]] * 2)
    np.testing.assert_array_equal(found.imag, x)


SINGLE = [
    lambda x: math.prod(x),
    lambda x: math.prod(list(x), start=2.0),
    lambda x: math.prod(x.tolist()),
    lambda x: math.prod([x, x])[0],
    lambda x: np.frompyfunc(lambda a, b: a * b + 1, 2, 1)(x, x).astype(float)[1],
    lambda x: np.frompyfunc(lambda a: a * 1.1, 1, 1)(x).astype(np.float32)[2],
    lambda x: np.frompyfunc(lambda a, b: (a * b, a), 2, 2)(x, 2)[0][1],
]


@pytest.mark.parametrize("f", SINGLE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_and_functions_of_objects_have_their_digits(f, dtype):
    x = np.array([1.1, 2.3, 0.7], dtype)
    wanted = f(x)
    assert ad.value_and_grad(f)(x)[0] == wanted
    assert ad.value_and_grad(f)(x)[0].dtype == np.asarray(wanted).dtype
    assert ad.vmap(f)(x[None])[0] == wanted
    assert ad.compile(f)(x) == wanted
