"""The gamma function of `scipy.special` and its family: digamma, zeta, and quotients of gamma functions.

Derivatives: NIST Digital Library of Mathematical Functions, 5.5, 5.7, 5.12 and 25.11. At the whole numbers up to 0,
where gamma has poles, quotients of gamma functions are finite; there the reflection formula (5.5.3) gives their slopes.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from adjoint.core.backend import as_array, maybe_any
from adjoint.core.constructors import elementwise
from adjoint.core.op import Op, call
from adjoint.core.types import Array, DType, Function
from adjoint.ops.special.forms import BY_SHAPE, defined, narrowed, of_ufunc, where


def _zeta(x: Array, q: Array) -> Array:
    """Hurwitz's zeta, in the dtype of its arguments: SciPy's is written in Python, and gives float64."""
    return as_array(special.zeta(x, q)).astype(_floating(np.result_type(x, q)), copy=False)[()]


def _floating(dtype: DType) -> Array:
    return np.result_type(dtype, np.float32) if dtype.kind in "fc" else np.dtype(float)


zeta: Op = elementwise(
    _zeta,
    name="zeta",
    inputs=("x", "q"),
    answers=(special.zeta,),
    partials=(BY_SHAPE, lambda x, q: -x * zeta(x + 1, q)),
    samples=lambda r: [call(2.0, r(3, 4, low=0.5, high=3)), call(3.5, r(low=0.5, high=3))],
)
digamma = of_ufunc(
    special.digamma, partials=(defined(lambda x: zeta(2.0, x), "x"),), name="digamma", domain=(0.5, 3), flags=("real",)
)
gammaln = of_ufunc(special.gammaln, partial=lambda x: digamma(x), domain=(0.5, 3))
loggamma = of_ufunc(special.loggamma, partials=(defined(lambda x: digamma(x), "x"),), domain=(0.5, 3))
gamma = of_ufunc(special.gamma, partial=lambda x, out: out * digamma(x), domain=(0.5, 3))


def _rgamma_slope(x: Array, out: Array) -> Array:
    """The derivative of 1 / gamma(x); left of 1/2, of gamma(1 - x) sin(pi x) / pi, which has no pole."""
    left = np.less(np.real(x), 0.5)
    mirrored, turn = where(left, 1 - x, x), math.pi * where(left, x, 0.5)
    reflected = gamma(where(left, mirrored, 1.0)) * (np.cos(turn) - np.sin(turn) / math.pi * digamma(mirrored))
    return where(left, reflected, -out * digamma(mirrored))


rgamma = of_ufunc(special.rgamma, partials=(defined(_rgamma_slope, "x"),), domain=(0.5, 3))


def _pole(x: Array) -> Array:
    """Where gamma has a pole: at the whole numbers up to 0."""
    return np.logical_and(np.less_equal(x, 0), np.equal(x, np.floor(x)))


def _rise(x: Array, step: Array) -> Array:
    """digamma(x + step) - digamma(x); left of 1/2, for a whole step, from the right side, where no poles cancel."""
    mirrored = np.equal(step, np.floor(step)) & np.less(x, 0.5) & np.less(x + step, 0.5)
    low, high = where(mirrored, 1 - x, x), where(mirrored, 1 - (x + step), x + step)
    return digamma(high) - digamma(low)


def _at_zeros(slope: Array, x: Array, top: Array, factor: Function, rate: Array) -> Array:
    """The `slope` of ``factor / gamma(x)``; where x is at a pole and `top` is not, by the rule of products.

    Args:
        rate: the logarithmic slope of ``factor()``, times that of x.
    """
    zero = np.logical_and(_pole(x), np.logical_not(_pole(top)))
    if not maybe_any(zero):
        return slope
    return where(zero, factor() * (_rgamma_slope(x, rgamma(x)) + rgamma(x) * rate), slope)


def _beta_by_x(x: Array, y: Array, out: Array) -> Array:
    return _at_zeros(-out * _rise(x, y), x + y, x, lambda: gamma(x) * gamma(y), digamma(x))


def _poch_by_x(x: Array, y: Array, out: Array) -> Array:
    return _at_zeros(out * _rise(x, y), x, x + y, lambda: gamma(x + y), digamma(x + y))


def _binom_by_x(x: Array, y: Array, out: Array) -> Array:
    return _at_zeros(-out * _rise(x + 1, -y), x - y + 1, x + 1, lambda: gamma(x + 1) * rgamma(y + 1), digamma(x + 1))


def _binom_by_y(x: Array, y: Array, out: Array) -> Array:
    low, high, top = y + 1, x - y + 1, x + 1
    slope = out * (digamma(high) - digamma(low))
    slope = _at_zeros(slope, low, top, lambda: gamma(top) * rgamma(high), digamma(high))
    return -_at_zeros(-slope, high, top, lambda: gamma(top) * rgamma(low), digamma(low))


def _both(by_x: Function, by_y: Function) -> tuple[Array, Array]:
    return defined(narrowed(by_x), "x"), defined(narrowed(by_y), "y")


betaln = of_ufunc(
    special.betaln,
    partials=_both(lambda x, y: -_rise(x, y), lambda x, y: -_rise(y, x)),
    domain=(0.5, 3),
    flags=("commutative",),
)
beta = of_ufunc(
    special.beta,
    partials=_both(_beta_by_x, lambda x, y, out: _beta_by_x(y, x, out)),
    domain=(0.5, 3),
    flags=("commutative",),
)
poch = of_ufunc(special.poch, partials=_both(_poch_by_x, lambda x, y, out: out * digamma(x + y)), domain=(0.5, 3))
binom = of_ufunc(special.binom, partials=_both(_binom_by_x, _binom_by_y), domain=((2.2, 4), (0.3, 2)))
