"""Splines over rectangles and radial functions: values are SciPy's, derivatives those of differences."""

import numpy as np
import pytest
from scipy import interpolate as theirs

import adjoint as ad
from adjoint.scipy import interpolate as ours

RANDOM = np.random.default_rng(0)
X, Y = np.sort(RANDOM.uniform(0, 5, 7)), np.sort(RANDOM.uniform(0, 5, 6))
Z = RANDOM.normal(size=(7, 6))
AT_X, AT_Y = RANDOM.uniform(X[0] + 0.1, X[-1] - 0.1, 5), RANDOM.uniform(Y[0] + 0.1, Y[-1] - 0.1, 5)
PLACES, VALUES, QUERIES = (RANDOM.normal(size=s) for s in ((9, 2), (9, 3), (4, 2)))
KERNELS = (
    *("linear", "thin_plate_spline", "cubic", "quintic", "multiquadric"),
    *("inverse_multiquadric", "inverse_quadratic", "gaussian"),
)


def compared(f, x, h=1e-6):
    """The values of `f` inside of transforms, and its derivatives against differences; for samples, and compiled."""
    weights = np.cos(np.arange(np.size(f(x)))).reshape(np.shape(f(x)))
    change = np.sin(np.arange(np.size(x)) + 1.0).reshape(np.shape(x))
    wanted = (f(x + h * change) - f(x - h * change)) / (2 * h)
    value, tangent = ad.jvp(f, (x,), (change,))
    np.testing.assert_allclose(value, f(x), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(tangent, wanted, rtol=1e-5, atol=1e-5)
    gradient = ad.grad(lambda x: np.sum(f(x) * weights))
    np.testing.assert_allclose(np.sum(gradient(x) * change), np.sum(wanted * weights), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(ad.vmap(gradient)(np.stack([x, x]))[1], gradient(x), rtol=1e-8, atol=1e-8)
    compiled = ad.compile(gradient)
    for _ in range(2):
        np.testing.assert_allclose(compiled(x), gradient(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kx", range(1, 6))
@pytest.mark.parametrize("ky", range(1, 6))
def test_surface(kx, ky):
    a, b = (m.RectBivariateSpline(X, Y, Z, kx=kx, ky=ky) for m in (ours, theirs))
    wide, high = np.linspace(-1, 6, 9), np.linspace(-1, 6, 8)  # beyond the range it stays what it is at its end
    np.testing.assert_allclose(a(wide, high), b(wide, high), atol=1e-8)
    np.testing.assert_allclose(a.ev(wide[:8], high), b.ev(wide[:8], high), atol=1e-8)
    if min(kx, ky) > 1:
        for orders in ((1, 0), (0, 1), (1, 1)):
            np.testing.assert_allclose(a.ev(AT_X, AT_Y, *orders), b.ev(AT_X, AT_Y, *orders), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_derivatives_of_a_surface(degree):
    k = {"kx": degree, "ky": degree}
    compared(lambda z: theirs.RectBivariateSpline(X, Y, z, **k)(np.sort(AT_X), np.sort(AT_Y)), Z)
    made = theirs.RectBivariateSpline(X, Y, Z, **k)
    compared(lambda q: made.ev(q, AT_Y), AT_X)
    compared(lambda q: made(q[0], q[1]), np.array([1.7, 2.3]))
    compared(lambda q: made(AT_X, q, grid=False), AT_Y)


def test_a_surface_of_fewer_knots():
    made = theirs.SmoothBivariateSpline(*RANDOM.uniform(0, 5, size=(2, 90)), RANDOM.normal(size=90), s=200.0)
    compared(lambda q: made.ev(q, AT_Y), AT_X)


@pytest.mark.parametrize("degree", [None, 2])
@pytest.mark.parametrize("kernel", KERNELS)
def test_radial_functions(kernel, degree):
    settings = {"kernel": kernel, "degree": degree, "epsilon": 0.8}
    made = theirs.RBFInterpolator(PLACES, VALUES, **settings)
    compared(lambda q: made(q), QUERIES)
    compared(lambda d: theirs.RBFInterpolator(PLACES, d, **settings)(QUERIES), VALUES)
    compared(lambda y: theirs.RBFInterpolator(y, VALUES, smoothing=0.3, **settings)(QUERIES), PLACES)
    compared(lambda s: theirs.RBFInterpolator(PLACES, VALUES, smoothing=s, **settings)(QUERIES), np.full(9, 0.3))
    np.testing.assert_allclose(ours.RBFInterpolator(PLACES, VALUES, **settings)(PLACES), VALUES, atol=1e-7)
    compared(lambda q: ours.RBFInterpolator(PLACES, VALUES, **{**settings, "epsilon": q})(QUERIES), np.array(0.7))


def test_errors():
    t = ad.tensor(Z, requires_grad=True)
    with pytest.raises(ad.ShapeError, match=r"z \(m, n\)"):
        ours.RectBivariateSpline(Y, X, t)
    with pytest.raises(ad.NotSupportedError, match="s=0"):
        ours.RectBivariateSpline(X, Y, t, s=1.0)
    with pytest.raises(ad.ArgumentError, match="epsilon"):
        ours.RBFInterpolator(PLACES, VALUES, kernel="gaussian")
    with pytest.raises(ad.ArgumentError, match="kernel is one of"):
        ours.RBFInterpolator(PLACES, VALUES, kernel="round")
    with pytest.raises(ad.NotSupportedError, match="neighbors=None"):
        ours.RBFInterpolator(PLACES, VALUES, neighbors=3)
    with pytest.raises(ad.ShapeError, match=r"\(q, 2\)"):
        ours.RBFInterpolator(PLACES, VALUES)(np.zeros(2))
