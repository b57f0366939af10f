"""Interpolants and cosine transforms have SciPy's values, whatever is asked of them."""

import numpy as np
import pytest
import scipy.fft
import scipy.interpolate as si

import adjoint as ad
from adjoint.scipy import fft, interpolate

X = np.array([0.0, 0.7, 1.5, 2.0, 3.1, 4.0])
Y = np.stack([np.sin(X), X**2 - X]).T
Q = np.array([[-0.3, 0.0, 0.4], [2.0, 4.0, 4.5]])

MADE = {
    "akima": lambda m: m.Akima1DInterpolator(X, Y),
    "makima": lambda m: m.Akima1DInterpolator(X, Y.T, axis=1, method="makima", extrapolate=True),
    "akima of two": lambda m: m.Akima1DInterpolator(X[:2], Y[:2], extrapolate=True),
    "cubic": lambda m: m.CubicSpline(X, Y.T, axis=1),
    "cubic, inside": lambda m: m.CubicSpline(X, Y, extrapolate=False),
    "pchip": lambda m: m.PchipInterpolator(X, Y),
    "pieces": lambda m: m.PPoly(np.cos(np.arange(30.0)).reshape(3, 5, 2), X),
    "pieces, second axis": lambda m: m.PPoly(np.cos(np.arange(30.0)).reshape(2, 3, 5), X, axis=1),
    "pieces, periodic": lambda m: m.PPoly(np.cos(np.arange(15.0)).reshape(3, 5), X, extrapolate="periodic"),
    "spline of coefficients": lambda m: m.BSpline(np.r_[0, 0, 0, X, 4, 4, 4] * 1.0, np.cos(np.arange(8.0)), 3),
    "spline, inside": lambda m: m.BSpline(np.r_[0, 0, X, 4, 4] * 1.0, np.cos(np.arange(14.0)).reshape(7, 2), 2, False),
    "spline, periodic": lambda m: m.BSpline(X, np.cos(np.arange(4.0)), 1, "periodic"),
    "cubic spline": lambda m: m.make_interp_spline(X, Y),
    "quadratic spline": lambda m: m.make_interp_spline(X, Y.T, k=2, axis=1),
    "natural spline": lambda m: m.make_interp_spline(X, Y[:, 0], bc_type="natural"),
    "spline with slopes": lambda m: m.make_interp_spline(X, Y[:, 0], bc_type=([(1, 0.3)], [(2, -0.2)])),
    "nearest spline": lambda m: m.make_lsq_spline(X, Y, np.r_[0, 0, 0, 0, 1.6, 4, 4, 4, 4]),
}
KINDS = ["linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic", 3]


@pytest.mark.parametrize("make", MADE.values(), ids=MADE.keys())
@pytest.mark.parametrize("ask", [
    lambda f: f(Q), lambda f: f(1.1), lambda f: f(Q, 1), lambda f: f.derivative()(Q), lambda f: f(1.1, 5),
    lambda f: f.antiderivative()(Q), lambda f: f.integrate(0.3, 3.9),
], ids=["values", "one", "slopes", "derivative", "of high order", "antiderivative", "integral"])  # fmt: skip
def test_values_are_scipys(make, ask):
    theirs, ours = make(si), make(interpolate)
    if getattr(theirs, "extrapolate", None) == "periodic" and ask(theirs) is not None:
        ask = lambda f: f(Q)
    np.testing.assert_allclose(ask(ours), ask(theirs), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ask(interpolate.of_scipy(theirs)), ask(theirs), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_of_interp1d(kind):
    inside = np.array([0.0, 0.35, 0.5, 2.0, 3.9, 4.0])
    for options in ({}, {"fill_value": (1.0, 2.0), "bounds_error": False}):
        theirs, ours = (m.interp1d(X, Y.T, kind, **options) for m in (si, interpolate))
        queries = np.r_[-1.0, inside, 5.0] if options else inside
        np.testing.assert_allclose(ours(queries), theirs(queries), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(interpolate.of_scipy(theirs)(queries), theirs(queries), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("ext", [0, 1, 3])
def test_splines_of_fitpack(ext):
    tck = si.splrep(X, Y[:, 0])
    ours = interpolate.splrep(X, Y[:, 0])
    for der in (0, 1, 2):
        np.testing.assert_allclose(interpolate.splev(Q, ours, der, ext), si.splev(Q, tck, der, ext), atol=1e-12)
    for kind, options in ((si.InterpolatedUnivariateSpline, {"k": 4}), (si.UnivariateSpline, {"s": 0.1})):
        theirs = kind(X, Y[:, 1], ext=ext, **options)
        np.testing.assert_allclose(interpolate.of_scipy(theirs)(Q), theirs(Q), atol=1e-12)
    with pytest.raises(ValueError, match="ext=2"):
        interpolate.splev(Q, ours, 0, 2)


def test_derivatives_by_knots():
    c = np.cos(np.arange(4.0))
    f = lambda t: interpolate.BSpline(np.concatenate([np.zeros(3), t, np.full(3, 4.0)]), c, 2)(1.1)
    h = 1e-5
    assert ad.grad(f)(np.array([1.7]))[0] == pytest.approx((f([1.7 + h]) - f([1.7 - h])) / (2 * h), rel=1e-7)


@pytest.mark.parametrize("transform", [ad.grad, ad.jacfwd, ad.hessian], ids=lambda t: t.__name__)
def test_places_that_a_program_makes_are_constants(transform):
    def f(y):
        x = np.zeros(6)
        x[:] = X
        return si.make_interp_spline(x, y)(1.3) ** 2

    kept = transform(lambda y: interpolate.make_interp_spline(X, y)(1.3) ** 2)(Y[:, 0])
    np.testing.assert_allclose(transform(f)(Y[:, 0]), kept, rtol=1e-12)
    assert ad.vmap(f)(Y.T) == pytest.approx([f(y) for y in Y.T], rel=1e-12)


def test_what_has_no_rule_says_what_has():
    t = ad.tensor(Y[:, 0], requires_grad=True)
    with pytest.raises(ad.NotSupportedError, match="CubicSpline"):
        ad.grad(lambda x: interpolate.make_interp_spline(x, Y)(1.0).sum())(X)
    for call in (interpolate.splrep, interpolate.UnivariateSpline):
        with pytest.raises(ad.NotSupportedError, match="make_lsq_spline"):
            call(X, t, s=0.1)
    with pytest.raises(ad.ShapeError, match="coefficients"):
        interpolate.BSpline(X, t, 3)


def test_a_spline_that_is_made_anew_is_not_kept():
    made = []

    def f(x):
        made.append(si.CubicSpline(X, Y[:, 0]))
        return made[-1](x)

    import gc
    import weakref

    ad.grad(f)(1.1)
    gone = weakref.ref(made.pop())
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn"])
@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_cosine_and_sine_transforms(name, norm, kind):
    ours, theirs = getattr(fft, name), getattr(scipy.fft, name)
    size = {"s": (3, 5), "axes": (1, 0)} if name.endswith("n") else {"n": 5, "axis": 0}
    for options in ({}, size):
        found = ours(Y, kind, norm=norm, **options)
        np.testing.assert_allclose(found, theirs(Y, kind, norm=norm, **options), rtol=1e-12, atol=1e-12)
    out, back = ad.vjp(lambda y: ours(y, kind, norm=norm), Y)
    v, g = np.cos(np.arange(12.0)).reshape(6, 2), np.sin(np.arange(12.0)).reshape(6, 2)
    assert np.sum(back(g)[0] * v) == pytest.approx(np.sum(ours(v, kind, norm=norm) * g), rel=1e-11)
    assert out.dtype == float


def test_transforms_refuse_what_they_do_not_know():
    with pytest.raises(ad.ArgumentError, match="type is"):
        fft.dct(X, 5)
    with pytest.raises(ad.NotSupportedError, match="orthogonalize"):
        fft.dct(X, 2, orthogonalize=True)
