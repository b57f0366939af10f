"""Distribution functions of `scipy.special`, their inverses, and Box and Cox's transform.

The derivative of a distribution function by its variable is the density; that of an inverse is one over it.
Densities: NIST Digital Library of Mathematical Functions, 7.19 (Voigt), 8.17 and 8.22.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from adjoint.core.constants import not_differentiable, not_supported
from adjoint.core.types import Array
from adjoint.ops.special.forms import BY_COUNT, function_of, where
from adjoint.ops.special.functions import ndtri
from adjoint.ops.special.probability.by_shape import gamma_by_shape
from adjoint.ops.special.probability.incomplete import at_quantile, beta_density, gamma_density
from adjoint.ops.special.waves.bessel import exprel_slope

_SQRT_2PI, _SQRT_PI = math.sqrt(2 * math.pi), math.sqrt(math.pi)

# -- Gamma, Poisson: incomplete gamma functions ------------------------------------------------------------


def _gamma_by_rate(a: Array, b: Array, x: Array) -> Array:
    """The derivative by a of the share below a x; nothing for an x of 0, where the density may be infinite."""
    zero = np.equal(x, 0)
    return where(zero, 0.0, x * gamma_density(b, where(zero, 1.0, a * x)))


gdtr = function_of(
    "a b x",
    special.gdtr,
    lambda a, b, x: _gamma_by_rate(a, b, x),
    lambda a, b, x: gamma_by_shape(b, a * x),
    lambda a, b, x: _gamma_by_rate(x, b, a),
    at=((0.5, 2.0), (0.5, 9.0), (0.5, 2.0)),
)
gdtrc = function_of(
    "a b x",
    special.gdtrc,
    lambda a, b, x: -_gamma_by_rate(a, b, x),
    lambda a, b, x: -gamma_by_shape(b, a * x),
    lambda a, b, x: -_gamma_by_rate(x, b, a),
    at=((0.5, 2.0), (0.5, 9.0), (0.5, 2.0)),
)
gdtria = function_of(
    "p b x",
    special.gdtria,
    lambda b, x, out: 1 / (x * gamma_density(b, out * x)),
    lambda b, x, out: at_quantile(gamma_by_shape(b, out * x), x * gamma_density(b, out * x), out),
    lambda x, out: -out / x,
    at=((0.2, 0.8), (0.5, 9.0), (0.5, 2.0)),
)
gdtrix = function_of(
    "a b p",
    special.gdtrix,
    lambda a, out: -out / a,
    lambda a, b, out: at_quantile(gamma_by_shape(b, a * out), a * gamma_density(b, a * out), out),
    lambda a, b, out: 1 / (a * gamma_density(b, a * out)),
    at=((0.5, 2.0), (0.5, 9.0), (0.2, 0.8)),
)


def _poisson(k: Array, m: Array) -> Array:
    return gamma_density(np.floor(k) + 1, m)


pdtr = function_of("k m", special.pdtr, BY_COUNT, lambda k, m: -_poisson(k, m), at=(2.0, (0.5, 4.0)))
pdtrc = function_of("k m", special.pdtrc, BY_COUNT, lambda k, m: _poisson(k, m), at=(2.0, (0.5, 4.0)))
pdtri = function_of("k y", special.pdtri, BY_COUNT, lambda k, out: -1 / _poisson(np.trunc(k), out), at=(2, (0.2, 0.8)))

# -- Binomial: incomplete beta functions -----------------------------------------------------------------


def _binomial(k: Array, n: Array, p: Array) -> Array:
    k, n = np.floor(k), np.trunc(n)  # counts, as SciPy takes them
    certain = np.greater_equal(k, n)  # that there are no more successes
    return where(certain, 0.0, beta_density(k + 1, where(certain, 1.0, n - k), p))


def _negative_binomial(k: Array, n: Array, p: Array) -> Array:
    return beta_density(np.trunc(n), np.trunc(k) + 1, p)


_trials = (BY_COUNT, BY_COUNT)
bdtr = function_of(
    "k n p", special.bdtr, *_trials, lambda k, n, p: -_binomial(k, n, p), at=(2.0, 6, (0.2, 0.8)), double=True
)


def _more_successes(k: Array, n: Array, p: Array) -> Array:
    """More than a negative number of successes are certain."""
    possible = np.greater_equal(k, 0)
    return where(possible, _binomial(where(possible, k, 0.0), n, p), 0.0)


bdtrc = function_of("k n p", special.bdtrc, *_trials, _more_successes, at=(2.0, 6, (0.2, 0.8)), double=True)
bdtri = function_of(
    "k n y", special.bdtri, *_trials, lambda k, n, out: -1 / _binomial(k, n, out), at=(2.0, 6, (0.2, 0.8)), double=True
)
nbdtr = function_of(
    "k n p", special.nbdtr, *_trials, lambda k, n, p: _negative_binomial(k, n, p), at=(2, 3, (0.2, 0.8))
)
nbdtrc = function_of(
    "k n p", special.nbdtrc, *_trials, lambda k, n, p: -_negative_binomial(k, n, p), at=(2, 3, (0.2, 0.8))
)
nbdtri = function_of(
    "k n y", special.nbdtri, *_trials, lambda k, n, out: 1 / _negative_binomial(k, n, out), at=(2, 3, (0.2, 0.8))
)

# -- Normal: parameters from a probability ---------------------------------------------------------------


def _normal_slope(p: Array, z: Array) -> Array:
    """The derivative of `ndtri` at p, where z is its value."""
    return _SQRT_2PI * np.exp(0.5 * z * z)


nrdtrimn = function_of(
    "p std x",
    special.nrdtrimn,
    lambda p, std: -std * _normal_slope(p, ndtri(p)),
    lambda p: -ndtri(p),
    1,
    at=((0.2, 0.8), (0.5, 2.0), (-2.0, 2.0)),
)
nrdtrisd = function_of(
    "mn p x",
    special.nrdtrisd,
    lambda p: -1 / ndtri(p),
    lambda p, out: -out * _normal_slope(p, ndtri(p)) / ndtri(p),
    lambda p: 1 / ndtri(p),
    at=((-2.0, 0.0), (0.6, 0.8), (0.5, 2.0)),
)

# -- Kolmogorov ------------------------------------------------------------------------------------------


def _kolmogorov_density(y: Array) -> Array:
    """Minus the density, of two series that turn into each other; each converges fast on its side of 1."""
    low = where(np.less(y, 1), np.maximum(y, 0.04), 1.0)
    high = where(np.less(y, 1), 1.0, y)
    above: Array = sum((-1) ** k * 8 * k * k * high * np.exp(-2.0 * k * k * high * high) for k in range(1, 6))
    below: Array = 0.0
    for k in (1, 3, 5, 7):
        a = (k * math.pi) ** 2 / 8
        below = below - _SQRT_2PI * np.exp(-a / (low * low)) * (2 * a / low**4 - 1 / (low * low))
    return where(np.less(y, 1), below, above).astype(y.dtype)


kolmogorov = function_of("y", special.kolmogorov, lambda y: _kolmogorov_density(y), at=((0.3, 2.5),))
kolmogi = function_of("p", special.kolmogi, lambda out: 1 / _kolmogorov_density(out), at=((0.2, 0.8),))

# -- Box and Cox; Tukey ----------------------------------------------------------------------------------


def _by_lambda(log: Array, lmbda: Array) -> Array:
    """The derivative of (exp(lmbda log) - 1) / lmbda by lmbda, with its limits at 0 and where the power vanishes."""
    ended = np.logical_and(np.isinf(log), np.less(lmbda * np.sign(log), 0))
    finite, power = where(ended, 0.0, log), where(ended, lmbda, 1.0)
    return where(ended, 1 / (power * power), finite * finite * exprel_slope(lmbda * finite)).astype(lmbda.dtype)


boxcox = function_of(
    "x lmbda",
    special.boxcox,
    lambda x, lmbda: x ** (lmbda - 1),
    lambda x, lmbda: _by_lambda(np.log(x), lmbda),
    at=((0.3, 3.0), (-1.0, 1.0)),
)
boxcox1p = function_of(
    "x lmbda",
    special.boxcox1p,
    lambda x, lmbda: (1 + x) ** (lmbda - 1),
    lambda x, lmbda: _by_lambda(np.log1p(x), lmbda),
    at=((-0.5, 2.0), (-1.0, 1.0)),
)
inv_boxcox = function_of(
    "y lmbda",
    special.inv_boxcox,
    lambda lmbda, out: out ** (1 - lmbda),
    lambda lmbda, out: -_by_lambda(np.log(out), lmbda) * out ** (1 - lmbda),
    at=((-0.5, 0.8), (-0.9, 0.9)),
)
inv_boxcox1p = function_of(
    "y lmbda",
    special.inv_boxcox1p,
    lambda lmbda, out: (1 + out) ** (1 - lmbda),
    lambda lmbda, out: -_by_lambda(np.log1p(out), lmbda) * (1 + out) ** (1 - lmbda),
    at=((-0.5, 0.8), (-0.9, 0.9)),
)


def _tukey_slope(lmbda: Array, p: Array) -> Array:
    """The derivative of the quantile (p^lmbda - (1 - p)^lmbda) / lmbda."""
    return p ** (lmbda - 1) + (1 - p) ** (lmbda - 1)


def _tukey_inside(x: Array, lmbda: Array) -> Array:
    """Where the distribution has a density: all x for a `lmbda` up to 0, else those between -1/lmbda and 1/lmbda."""
    return np.less(np.abs(x) * lmbda, 1)


def _tukey_by_x(x: Array, lmbda: Array, out: Array) -> Array:
    inside = _tukey_inside(x, lmbda)
    return where(inside, 1 / _tukey_slope(lmbda, where(inside, out, 0.5)), 0.0)


def _tukey_by_lambda(x: Array, lmbda: Array, out: Array) -> Array:
    inside = _tukey_inside(x, lmbda)
    p = where(inside, out, 0.5)
    change = _by_lambda(np.log1p(-p), lmbda) - _by_lambda(np.log(p), lmbda)
    return where(inside, change / _tukey_slope(lmbda, p), 0.0)


tklmbda = function_of("x lmbda", special.tklmbda, _tukey_by_x, _tukey_by_lambda, at=((-1.0, 1.0), (0.3, 0.9)))

# -- Faddeeva and Voigt ----------------------------------------------------------------------------------

wofz = function_of("z", special.wofz, lambda z, out: 2j / _SQRT_PI - 2 * z * out, at=((-2.0, 2.0),))


_FAR = 12.0  # where terms of the asymptotic series of the Faddeeva function fall below rounding
_TERMS = tuple(math.prod(range(1, 2 * k, 2)) / 2 ** (k - 1) for k in range(1, 13))  # of its slope, in powers of 1/z^2


def _voigt_slopes(x: Array, sigma: Array, gamma: Array) -> tuple[Array, Array]:
    """The first two derivatives of w(q / (sigma sqrt 2)) / (sigma sqrt(2 pi)) by q = x + i gamma, the profile being
    its real part. Far from the centre by the series, in which nothing cancels and sigma may be 0.
    """
    q = x + 1j * gamma
    size = np.abs(q)
    far = np.greater_equal(size, _FAR * math.sqrt(2) * np.abs(sigma))
    far = (far & np.greater_equal(gamma, 0)) | np.equal(sigma, 0)
    width = where(far, 1.0, sigma) * math.sqrt(2)
    z = where(far, 0.0, q) / width
    w = wofz(z)
    first = 2j / _SQRT_PI - 2 * z * w
    second = -2 * w - 2 * z * first
    scale = 1 / (width * width * _SQRT_PI)
    away, narrow = where(far, q, 1.0), where(far, sigma, 0.0)
    u = 2 * np.square(narrow / away)
    slope = sum(term * np.power(u, k) for k, term in enumerate(_TERMS)) * (-1j / math.pi) / (away * away)
    bend = sum((k + 1) * term * np.power(u, k) for k, term in enumerate(_TERMS)) * (2j / math.pi) / (away * away * away)
    return where(far, slope, first * scale), where(far, bend, second * scale / width)


def _voigt_by_x(x: Array, sigma: Array, gamma: Array) -> Array:
    return np.real(_voigt_slopes(x, sigma, gamma)[0])


def _voigt_by_sigma(x: Array, sigma: Array, gamma: Array) -> Array:
    """By the equation of heat, which a Gaussian of variance sigma^2 obeys."""
    return sigma * np.real(_voigt_slopes(x, sigma, gamma)[1])


def _voigt_by_gamma(x: Array, sigma: Array, gamma: Array) -> Array:
    return -np.imag(_voigt_slopes(x, sigma, gamma)[0])


voigt_profile = function_of(
    "x sigma gamma",
    special.voigt_profile,
    _voigt_by_x,
    _voigt_by_sigma,
    _voigt_by_gamma,
    at=((-2.0, 2.0), (0.5, 2.0), (0.5, 2.0)),
)

# -- Angles ----------------------------------------------------------------------------------------------

_DEGREE = math.pi / 180
radian = function_of(
    "d m s", special.radian, _DEGREE, _DEGREE / 60, _DEGREE / 3600, at=((-2.0, 2.0), (-2.0, 2.0), (-2.0, 2.0))
)

# -- Without a derivative --------------------------------------------------------------------------------

for _names, _why in (
    (
        "chndtridf chndtrinc ncfdtridfd ncfdtridfn ncfdtrinc nctdtridf nctdtrinc",
        "it solves for a parameter by which the distribution function has no derivative in closed form",
    ),
    ("ncfdtr ncfdtri", "the density is a series that SciPy does not sum"),
    ("zetac", "the derivative of the zeta function has no closed form"),
):
    for _name in _names.split():
        not_differentiable(getattr(special, _name), _why)
not_supported(special.smirnov, use="scipy.special.kolmogorov(sqrt(n) * d), its limit for many samples")
not_supported(special.smirnovi, use="scipy.special.kolmogi(p) / sqrt(n), its limit for many samples")
