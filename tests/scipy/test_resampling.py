"""Images that are moved, turned and scaled: values are SciPy's, and derivatives those of differences, by everything."""

import numpy as np
import pytest
from scipy import ndimage

import adjoint as ad

pytestmark = pytest.mark.filterwarnings("ignore:It is recommended:UserWarning")  # of grid_mode with such a border

IMAGE = np.random.default_rng(0).normal(size=(5, 7))
LINE = np.random.default_rng(1).normal(size=70)  # longer than what is filtered by a matrix
MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap", "grid-mirror", "grid-constant")
PLACES = np.random.default_rng(2).uniform(-3.0, 9.0, size=(2, 3, 5))
INSIDE = np.random.default_rng(3).uniform(0.1, 3.9, size=(2, 8))
SLANT = np.array([[0.9, 0.2], [-0.1, 1.1]])

MOVED = {
    "shift": lambda x, **k: ndimage.shift(x, (0.3, -1.7), **k),
    "zoom": lambda x, **k: ndimage.zoom(x, (1.7, 0.6), **k),
    "zoom_of_cells": lambda x, **k: ndimage.zoom(x, 1.4, grid_mode=True, **k),
    "rotate": lambda x, **k: ndimage.rotate(x, 35.0, **k),
    "affine_transform": lambda x, **k: ndimage.affine_transform(x, SLANT, [0.4, -0.3], (6, 6), **k),
    "affine_scaling": lambda x, **k: ndimage.affine_transform(x, [0.8, 1.3], [0.4, -0.3], **k),
    "map_coordinates": lambda x, **k: ndimage.map_coordinates(x, PLACES, **k),
    "geometric_transform": lambda x, **k: ndimage.geometric_transform(
        x, lambda at: (at[0] * 0.8 + 0.1 * at[1], at[1] - 0.3), **k
    ),
}
BY_NUMBERS = {
    "shift": (lambda s, **k: ndimage.shift(IMAGE, s, **k), np.array([0.3, -0.7])),
    "matrix": (lambda m, **k: ndimage.affine_transform(IMAGE, m, [0.43, 0.3], (3, 3), **k), SLANT),
    "scaling": (lambda m, **k: ndimage.affine_transform(IMAGE, m, [0.43, 0.3], (3, 3), **k), np.array([0.8, 1.3])),
    "offset": (lambda o, **k: ndimage.affine_transform(IMAGE, SLANT, o, (3, 3), **k), np.array([0.43, 0.3])),
    "coordinates": (lambda c, **k: ndimage.map_coordinates(IMAGE, c, **k), INSIDE),
    "everywhere": (lambda c, **k: ndimage.map_coordinates(IMAGE, c, **{"mode": "mirror", **k}), PLACES),
    "mapping": (
        lambda s, **k: ndimage.geometric_transform(IMAGE, lambda at: (at[0] * s[0], at[1] * 0.7 + s[1]), (4, 5), **k),
        np.array([0.9, 0.35]),
    ),
}


def compared(f, x, h=1e-5):
    """The values of `f` inside of transforms, and its derivatives against differences."""
    weights = np.cos(np.arange(np.size(f(x)))).reshape(np.shape(f(x)))
    change = np.sin(np.arange(x.size)).reshape(x.shape)
    wanted = (f(x + h * change) - f(x - h * change)) / (2 * h)
    value, tangent = ad.jvp(f, (x,), (change,))
    np.testing.assert_allclose(value, f(x), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(tangent, wanted, rtol=1e-6, atol=1e-7)
    gradient = ad.grad(lambda x: np.sum(f(x) * weights))(x)
    np.testing.assert_allclose(np.sum(gradient * change), np.sum(wanted * weights), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", list(MOVED))
def test_borders(name, mode):
    compared(lambda x: MOVED[name](x, mode=mode, cval=0.7), IMAGE)


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("name", list(MOVED))
def test_orders(name, order):
    compared(lambda x: MOVED[name](x, order=order), IMAGE)
    compared(lambda x: MOVED[name](x, order=order, prefilter=False, mode="nearest"), IMAGE)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("name", list(BY_NUMBERS))
def test_by_what_moves(name, order):
    f, at = BY_NUMBERS[name]
    compared(lambda q: f(q, order=order), at, h=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_long_lines(order, mode):
    if mode not in ("grid-constant", "grid-mirror"):
        compared(lambda x: ndimage.spline_filter1d(x, order, mode=mode), LINE)
    compared(lambda x: ndimage.shift(x, 1.3, order=order, mode=mode), LINE)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("mode", MODES)
def test_small_images(size, mode):
    compared(lambda x: ndimage.map_coordinates(x, [[-2.2, -1.0, -0.3, 0.0, 0.4, 1.0, 2.6]], mode=mode), LINE[:size])


def test_three_axes_complex_and_single():
    volume = np.random.default_rng(4).normal(size=(3, 4, 5))
    compared(lambda x: ndimage.zoom(x, 1.5), volume)
    compared(lambda x: ndimage.rotate(x, 20.0, axes=(2, 1), reshape=False), volume)
    z = IMAGE + 1j * IMAGE[::-1]
    found = ad.jvp(lambda z: ndimage.shift(z, 0.4), (z,), (z,))
    np.testing.assert_allclose(found[0], ndimage.shift(z, 0.4), atol=1e-12)
    np.testing.assert_allclose(found[1], ndimage.shift(z, 0.4), atol=1e-12)
    single = ad.jvp(lambda x: ndimage.shift(x, 0.4), (IMAGE.astype("f4"),), (IMAGE.astype("f4"),))
    assert single[0].dtype == np.float32
    np.testing.assert_allclose(single[0], ndimage.shift(IMAGE.astype("f4"), 0.4), rtol=1e-5, atol=1e-6)


def test_higher_orders_samples_and_compiled_code():
    def miss(q):
        moved = ndimage.affine_transform(IMAGE, SLANT + q[2], q[:2], (3, 3), mode="mirror")
        return np.sum((moved - 1.0) ** 2)

    q = np.array([0.4, 0.3, 0.02])
    gradient, h = ad.grad(miss), 1e-6
    wanted = np.stack([(gradient(q + h * e) - gradient(q - h * e)) / (2 * h) for e in np.eye(3)])
    np.testing.assert_allclose(ad.hessian(miss)(q), wanted, rtol=1e-5, atol=1e-5)
    several = np.stack([q, q / 2, q - 0.1])
    np.testing.assert_allclose(ad.vmap(gradient)(several), [gradient(q) for q in several], rtol=1e-10)
    compiled = ad.compile(gradient)
    for q in several:
        np.testing.assert_allclose(compiled(q), gradient(q), rtol=1e-10)


@pytest.mark.parametrize("mode", MODES)
def test_each_sample_by_its_own_numbers(mode):
    shifts, images = np.array([[0.3, -0.7], [1.2, 0.1], [-2.6, 8.0]]), np.stack([IMAGE, IMAGE**2, -IMAGE])
    for f in (
        lambda x, s: ndimage.shift(x, s, mode=mode, cval=0.7),
        lambda x, s: ndimage.affine_transform(x, SLANT, s, mode=mode, cval=0.7),
        lambda x, s: ndimage.map_coordinates(x, PLACES[:, 0] + s[:, None], mode=mode, cval=0.7),
    ):
        np.testing.assert_allclose(ad.vmap(f)(images, shifts), list(map(f, images, shifts)), atol=1e-11)
        one = ad.vmap(lambda s, f=f: f(IMAGE, s))(shifts)
        np.testing.assert_allclose(one, [f(IMAGE, s) for s in shifts], atol=1e-11)
