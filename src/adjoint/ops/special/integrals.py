"""Functions of `scipy.special` that are integrals of a simpler one, which is then their derivative."""

from __future__ import annotations

import cmath
import math

import numpy as np
from scipy import special

from adjoint.core.types import Array, Value
from adjoint.ops.special.forms import BY_ORDER, BY_SHAPE, function_of, where
from adjoint.ops.special.waves.bessel import i0, j0, k0, y0
from adjoint.ops.special.waves.solutions import airy, modstruve, share, struve

_SQRT_PI = math.sqrt(math.pi)
_EIGHTH = cmath.exp(1j * math.pi / 4)


def _from_series(near: Value, far: Value, x: Array) -> Array:
    """``far(x)``, a quotient by x, which loses its digits where x is small; there the even series `near`."""
    small = np.less(np.abs(x), 1)
    terms = sum(term * np.square(where(small, x, 0.0)) ** k for k, term in enumerate(near))
    return where(small, terms, far(where(small, 1.0, x)))


_FACTORIALS = [4.0**-k / math.factorial(k) ** 2 for k in range(1, 11)]  # of i0(x) - 1, by x^2
_ALTERNATING = [term * (-1) ** k for k, term in enumerate(_FACTORIALS)]
_STRUVE = [2 / math.pi * (-1) ** k / math.prod(range(1, 2 * k + 2, 2)) ** 2 for k in range(12)]

sici = function_of("x", special.sici, lambda x: (np.sinc(x / math.pi), share(np.cos(x), x, np.inf)), at=((0.3, 4.0),))
shichi = function_of(
    "x", special.shichi, lambda x: (share(np.sinh(x), x, 1.0), share(np.cosh(x), x, np.inf)), at=((0.3, 2.0),)
)
fresnel = function_of(
    "x", special.fresnel, lambda x: (np.sin(math.pi / 2 * x * x), np.cos(math.pi / 2 * x * x)), at=((-2.0, 2.0),)
)
# The derivatives hold everywhere; SciPy's imaginary parts of the integrals themselves do not, below 0.
modfresnelp = function_of(
    "x",
    special.modfresnelp,
    lambda x, out: (-np.exp(1j * x * x), -2j * x * out[1] - _EIGHTH.conjugate() / _SQRT_PI),
    at=((0.3, 1.5),),
)
modfresnelm = function_of(
    "x",
    special.modfresnelm,
    lambda x, out: (-np.exp(-1j * x * x), 2j * x * out[1] - _EIGHTH / _SQRT_PI),
    at=((0.3, 1.5),),
)

itj0y0 = function_of("x", special.itj0y0, lambda x: (j0(x), y0(x)), at=((0.5, 4.0),))
iti0k0 = function_of("x", special.iti0k0, lambda x: (i0(x), k0(x)), at=((0.5, 4.0),))
it2j0y0 = function_of(
    "x",
    special.it2j0y0,
    lambda x: (x * _from_series(_ALTERNATING, lambda x: (1 - j0(x)) / x**2, x), -y0(x) / x),
    at=((0.5, 4.0),),
)
it2i0k0 = function_of(
    "x",
    special.it2i0k0,
    lambda x: (x * _from_series(_FACTORIALS, lambda x: (i0(x) - 1) / x**2, x), -k0(x) / x),
    at=((0.5, 4.0),),
)
itstruve0 = function_of("x", special.itstruve0, lambda x: struve(0.0, x), at=((0.5, 4.0),))
it2struve0 = function_of(
    "x", special.it2struve0, lambda x: -_from_series(_STRUVE, lambda x: struve(0.0, x) / x, x), at=((0.5, 4.0),)
)
itmodstruve0 = function_of("x", special.itmodstruve0, lambda x: modstruve(0.0, x), at=((0.5, 4.0),))


def _airy_both_ways(x: Array) -> tuple[Array, Array, Array, Array]:
    ahead, back = airy(x), airy(-x)
    return ahead[0], ahead[2], back[0], back[2]


itairy = function_of("x", special.itairy, _airy_both_ways, at=((0.2, 0.6),))  # SciPy's has 7 digits beyond

besselpoly: Value = function_of(
    "a lmb nu",
    special.besselpoly,
    lambda a, lmb, nu: besselpoly(a, lmb + 1, nu - 1) - besselpoly(a, lmb + 1, nu + 1),
    BY_SHAPE,
    BY_ORDER,
    at=((0.5, 2.0), 1.5, 2.5),
)
