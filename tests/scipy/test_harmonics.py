"""Legendre functions and spherical harmonics: SciPy's values, and derivatives by differences and by SciPy's own."""

import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.scipy import special as ours

ANGLES = np.array([0.0, 0.3, 1.2, 2.9])
PLACES = np.array([-0.6, 0.0, 0.3, 0.95])
DEGREES = [(n, m) for n in range(5) for m in range(-n - 1, n + 2)]


def slopes(f, x, h=1e-3):
    return (f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h)


@pytest.mark.parametrize(("n", "m"), DEGREES)
def test_values_are_scipys(n, m):
    for name, args in (
        ("sph_legendre_p", (n, m, ANGLES)), ("sph_legendre_p", (n, m, -ANGLES)), ("assoc_legendre_p", (n, m, PLACES)),
        ("sph_harm_y", (n, m, ANGLES, 0.7)), ("legendre_p", (n, PLACES)),
    ):  # fmt: skip
        found, wanted = getattr(ours, name)(*args), np.asarray(getattr(special, name)(*args))
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("n", "m"), DEGREES)
def test_scipys_functions_are_differentiated(n, m):
    at = ANGLES[1:]
    for f, x in (
        (lambda t: special.sph_legendre_p(n, m, t)[0], at), (lambda z: special.assoc_legendre_p(n, m, z)[0], PLACES),
        (lambda z: special.legendre_p(n, z)[0], PLACES), (lambda t: special.sph_harm_y(n, m, t, 0.7).real, at),
        (lambda p: special.sph_harm_y(n, m, 0.8, p).imag, at),
    ):  # fmt: skip
        value, change = ad.jvp(f, (x,), (np.ones_like(x),))
        np.testing.assert_allclose(value, f(x), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(change, slopes(f, x), rtol=1e-7, atol=1e-7)
        second = ad.jvp(lambda x: ad.jvp(f, (x,), (np.ones_like(x),))[1], (x,), (np.ones_like(x),))[1]
        np.testing.assert_allclose(second, slopes(lambda x: slopes(f, x), x), rtol=1e-4, atol=1e-4)


def test_degrees_and_orders_that_are_arrays():
    n, m = np.array([0, 1, 2, 3, 4]), np.array([0, -1, 2, 0, 5])
    loss = lambda t: np.sum(np.abs(special.sph_harm_y(n, m, t[0], t[1]) + 1.0) ** 2)
    point = np.array([0.4, 0.9])
    wanted = [slopes(lambda s, e=e: loss(point + s * e), 0.0) for e in np.eye(2)]
    np.testing.assert_allclose(ad.grad(loss)(point), wanted, rtol=1e-8)
    np.testing.assert_allclose(ad.vmap(loss)(np.stack([point, point + 0.1])), [loss(point), loss(point + 0.1)])
    np.testing.assert_allclose(ad.compile(loss)(point), loss(point), rtol=1e-12)


def test_poles_have_derivatives_from_within():
    slope = special.sph_legendre_p(1, 1, 1e-9)[0] / 1e-9
    assert ad.grad(lambda t: special.sph_legendre_p(1, 1, t)[0])(0.0) == pytest.approx(slope, rel=1e-6)


def test_what_scipy_differentiates_itself_is_refused():
    for call in (
        lambda t: special.sph_harm_y(1, 0, t, 0.1, diff_n=1)[0].real,
        lambda t: special.legendre_p(1, t, diff_n=1)[1],
        lambda t: special.assoc_legendre_p(1, 1, t, norm=True)[0],
    ):
        with pytest.raises(ad.NotSupportedError):
            ad.grad(call)(0.3)
