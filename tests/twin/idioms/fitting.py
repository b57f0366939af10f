"""Interpolants and cosine transforms of SciPy's, and NumPy's polynomials, made and called with values that vary."""

import numpy as np
import numpy.polynomial as npp
import scipy.fft
import scipy.fftpack
import scipy.interpolate as si
from numpy.polynomial import Chebyshev, Polynomial

_K = np.arange(4.0)
_SPLINE = si.CubicSpline(_K, np.sin(_K))
_Y = (0.3, 0.7, 1.2, 0.9)
_Q = (0.3, 1.2, 2.6)


def cosine_transforms(x=_Y):
    return scipy.fft.dct(x) + scipy.fft.idct(x, type=3, norm="ortho") + scipy.fft.dct(x, 1) * scipy.fft.dct(x, 4)


def sine_transforms(x=_Y):
    return scipy.fft.dst(x, norm="ortho") * scipy.fft.idst(x, 1) + scipy.fft.dst(x, 3, n=4) ** 2


def transforms_of_fftpack(x=_Y):
    packed = scipy.fftpack.rfft(x) * scipy.fftpack.idct(scipy.fftpack.dct(x, norm="ortho"), 2)
    return scipy.fftpack.irfft(packed) + scipy.fftpack.diff(x, 2) * scipy.fftpack.shift(x, x[0]) ** 2


def transforms_of_given_sizes(x=_Y):
    square = np.reshape(x, (2, 2))
    return np.abs(scipy.fft.fftn(square, (3, 3))) + scipy.fft.irfftn(scipy.fft.rfftn(square), s=(3, 3)) ** 2


def cosine_transform_in_two_dimensions(x=_Y):
    return scipy.fft.dctn(np.reshape(x, (2, 2)), s=(3, 2)).sum(1) ** 2


def spline_through_values(x=_Y):
    return si.CubicSpline(_K, x)(1.3) * si.CubicSpline(_K, x, bc_type="natural").derivative()(0.4)


def spline_at_places(x=_Q):
    return _SPLINE(x) + _SPLINE(x, 1) * _SPLINE.derivative(2)(x) + _SPLINE.integrate(0.2, x[1])


def spline_between_places(x=_Y):
    return si.CubicSpline(np.cumsum(x), _K**2)(1.3)


def monotone_and_akima(x=_Y):
    places = np.array([0.0, 1.0, 2.5, 3.0])
    return si.PchipInterpolator(places, x)(1.3) + si.Akima1DInterpolator(places, x)(np.array([0.4, 1.3])) ** 2


def interpolation_of_all_kinds(x=_Y):
    return sum(si.interp1d(_K, x, kind=kind)(1.3) ** 2 for kind in ("linear", "cubic", "quadratic", "previous", 1))


def interpolation_at_places(x=_Q):
    return si.interp1d(_K, _K**3, kind="cubic")(x) + si.interp1d(_K, _K**3, fill_value="extrapolate")(x + 1.0)


def b_spline_through_values(x=_Y):
    return si.make_interp_spline(_K, x)(1.3) * si.make_interp_spline(_K, x, k=2).derivative()(0.4)


def b_spline_of_coefficients(x=_Y):
    knots = np.array([0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 2.0])
    return si.BSpline(knots, x, 3)(x) + si.BSpline(knots, x, 3).integrate(0.1, x[1])


def b_spline_at_places(x=_Q):
    made = si.make_interp_spline(_K, np.sin(_K))
    return made(x) * made.derivative()(x)


def univariate_spline(x=_Q):
    return si.UnivariateSpline(_K, np.sin(_K), s=0)(x) + si.InterpolatedUnivariateSpline(_K, np.cos(_K), k=2)(x)


def univariate_spline_through_values(x=_Y):
    return si.InterpolatedUnivariateSpline(_K, x)(1.3) * si.splev(0.4, si.splrep(_K, x), der=1)


def spline_by_functions(x=_Q):
    return si.splev(x, si.splrep(_K, np.sin(_K))) ** 2


def grid_of_values(x=_Y):
    f = si.RegularGridInterpolator((_K[:2], _K[:2]), np.reshape(x, (2, 2)))
    return f(np.array([[0.3, 0.4], [0.6, 0.1]])) ** 2


def grid_at_places(x=_Y):
    return si.RegularGridInterpolator((_K, _K), np.outer(_K, _K**2))(np.reshape(x, (2, 2)))


def polynomial_through_values(x=_Y):
    return si.BarycentricInterpolator(_K, x)(1.3) * si.KroghInterpolator(_K, x)(0.4)


def piecewise_polynomial(x=_Y):
    return si.PPoly(np.reshape(x, (2, 2)), _K[:3])(x[:2]) ** 2


def polynomial_of_coefficients(x=_Y):
    p = Polynomial(x)
    return (p.deriv() * p - 2.0 * p + 1.0).integ()(x[0]) + (p // Polynomial([1.0, 2.0]))(0.4)


def polynomial_of_a_polynomial(x=_Y):
    return Polynomial(x[:3])(Polynomial([1.0, 2.0]))(1.2) + Polynomial([0.5, 1.0])(Polynomial(x))(0.3)


def polynomial_by_its_module(x=_Y):
    return (npp.Polynomial(x) * x[1] * npp.Legendre([1.0, 2.0]).convert(kind=npp.Polynomial))(1.2)


def polynomial_of_another_basis(x=_Y):
    c = Chebyshev(x, domain=[0, 3])
    return c(1.3) + c.convert(kind=Polynomial)(0.4) ** 2 + np.sum(c.convert(domain=[-1, 1]).coef ** 2)


def polynomial_that_is_fitted(x=_Y):
    return Polynomial.fit(_K, x, 2)(1.3) * np.sum(Polynomial.fit(_K, x, 2).convert().coef ** 2)


def polynomial_at_places(x=_Q):
    return Polynomial([1.0, 2.0, 3.0])(x) + npp.chebyshev.chebval(x, [1.0, 2.0, 3.0]) + np.poly1d([1.0, 2.0])(x)
