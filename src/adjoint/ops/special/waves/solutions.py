"""Solutions of wave equations in `scipy.special`: Airy, Kelvin, Hankel, Struve, Lambert, Mathieu, spheroidal.

Many come as a pair, a function and its slope; the slope of the slope then follows from the differential
equation. Equations: NIST Digital Library of Mathematical Functions, 9.2 (Airy), 10.61 (Kelvin), 11.4 (Struve), 12.2
(parabolic cylinder), 13.3 (Tricomi), 28.2 and 28.20 (Mathieu), 30.2 (spheroidal).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from adjoint.core.constants import not_differentiable
from adjoint.core.op import Rule
from adjoint.core.rules.pullbacks import NotDifferentiable
from adjoint.core.types import Array, Function, Value
from adjoint.ops.special.forms import BY_ORDER, BY_SHAPE, SamplePlace, function_of, real, where
from adjoint.ops.special.gamma import rgamma

# -- Airy ------------------------------------------------------------------------------------------------

airy = function_of("x", special.airy, lambda x, out: (out[1], x * out[0], out[3], x * out[2]), at=((-2.0, 2.0),))


def _scaled_airy(x: Array, out: Array) -> tuple[Array, Array, Array, Array]:
    """Ai comes times exp(2/3 x^(3/2)), Bi times its inverse; below 0, Bi is not scaled and Ai is nan."""
    root = np.sqrt(np.maximum(real(x, "airye"), 0.0))
    a, da, b, db = out
    return da + root * a, x * a + root * da, db - root * b, x * b - root * db


airye = function_of("x", special.airye, _scaled_airy, at=((0.3, 2.0),))

# -- Kelvin ----------------------------------------------------------------------------------------------


def share(slope: Array, x: Array, at_zero: complex) -> Array:
    """slope / x, and its limit where x is 0."""
    zero = np.equal(x, 0)
    return where(zero, at_zero, slope / where(zero, 1.0, x))


ber = function_of("x", special.ber, lambda x: berp(x), at=((-3.0, 3.0),))
bei = function_of("x", special.bei, lambda x: beip(x), at=((-3.0, 3.0),))
berp: Value = function_of("x", special.berp, lambda x, out: -bei(x) - share(out, x, 0.0), at=((-3.0, 3.0),))
beip: Value = function_of("x", special.beip, lambda x, out: ber(x) - share(out, x, 0.5), at=((-3.0, 3.0),))
ker = function_of("x", special.ker, lambda x: kerp(x), at=((0.5, 3.0),))
kei = function_of("x", special.kei, lambda x: keip(x), at=((0.5, 3.0),))
kerp: Value = function_of("x", special.kerp, lambda x, out: -kei(x) - out / x, at=((0.5, 3.0),))
keip: Value = function_of("x", special.keip, lambda x, out: ker(x) - out / x, at=((0.5, 3.0),))
kelvin = function_of(
    "x",
    special.kelvin,
    lambda x, out: (out[2], out[3], 1j * out[0] - share(out[2], x, 0.5j), 1j * out[1] - out[3] / x),
    at=((0.5, 3.0),),
)

# -- Hankel, and Bessel functions with a scale -----------------------------------------------------------


def _of_order(ufunc: object, slope: object, x: SamplePlace = (0.5, 4.0)) -> Array:
    return function_of("v x", ufunc, BY_ORDER, slope, at=(1.5, x))


hankel1: Value = _of_order(special.hankel1, lambda v, x: 0.5 * (hankel1(v - 1, x) - hankel1(v + 1, x)))
hankel2: Value = _of_order(special.hankel2, lambda v, x: 0.5 * (hankel2(v - 1, x) - hankel2(v + 1, x)))
hankel1e: Value = _of_order(
    special.hankel1e, lambda v, x, out: 0.5 * (hankel1e(v - 1, x) - hankel1e(v + 1, x)) - 1j * out
)
hankel2e: Value = _of_order(
    special.hankel2e, lambda v, x, out: 0.5 * (hankel2e(v - 1, x) - hankel2e(v + 1, x)) + 1j * out
)
jve: Value = _of_order(special.jve, lambda v, x: 0.5 * (jve(v - 1, real(x, "jve")) - jve(v + 1, x)))
yve: Value = _of_order(special.yve, lambda v, x: 0.5 * (yve(v - 1, real(x, "yve")) - yve(v + 1, x)))

# -- Struve, Tricomi, Wright -----------------------------------------------------------------------------


def _struve_source(v: Array, x: Array) -> Array:
    return (x / 2) ** v * rgamma(v + 1.5) / (2 * math.sqrt(math.pi))


def _struve_slope(function: Value, sign: int, v: Array, x: Array) -> Array:
    """Of the function with this `sign` in the recurrence. The order -1 is a number and the order 1: 11.2(ii)."""
    mirrored = np.equal(v, -1)
    order = where(mirrored, 1.0, v)
    slope = 0.5 * (function(order - 1, x) + sign * function(order + 1, x)) + _struve_source(order, x)
    return where(mirrored, sign, 1) * slope


struve: Value = _of_order(special.struve, lambda v, x: _struve_slope(struve, -1, v, x))
modstruve: Value = _of_order(special.modstruve, lambda v, x: _struve_slope(modstruve, 1, v, x))


def _tricomi_slope(a: Array, b: Array, x: Array) -> Array:
    none = np.equal(a, 0)
    return where(none, 0.0, -a * hyperu(where(none, 1.0, a + 1), b + 1, x))


hyperu: Value = function_of("a b x", special.hyperu, BY_SHAPE, BY_SHAPE, _tricomi_slope, at=(0.5, 1.5, (0.5, 3.0)))
wright_bessel: Value = function_of(
    "a b x",
    special.wright_bessel,
    BY_SHAPE,
    BY_SHAPE,
    lambda a, b, x: wright_bessel(a, a + b, x),
    at=(0.5, 1.5, (0.5, 2.0)),
)
log_wright_bessel: Value = function_of(
    "a b x",
    special.log_wright_bessel,
    BY_SHAPE,
    BY_SHAPE,
    lambda a, b, x, out: np.exp(log_wright_bessel(a, a + b, x) - out),
    at=(0.5, 1.5, (0.5, 2.0)),
)

# SciPy's function `lambertw` hands tensors on to this ufunc.
lambertw = function_of(
    "z k tol",
    special._ufuncs._lambertw,
    lambda z, out: 1 / (z + np.exp(out)),
    NotDifferentiable("it numbers a branch"),
    NotDifferentiable("it is a tolerance"),
    at=((0.3, 3.0), 0, 1e-10),
    name="lambertw",
)

# -- Pairs of a function and its slope -------------------------------------------------------------------


def _pair(
    names: str, ufunc: object, second: Function, *fixed: float, x: SamplePlace, unit: float = 1.0, double: bool = False
) -> Array:
    """A function and its slope; `second` gives the slope's slope, of the constants, x, and the pair itself.

    `unit`: what one unit of x is in the slope's.
    """

    def slopes(*values: Array) -> tuple[Array, Array]:
        *constants, x, (y, dy) = values
        return dy * unit, second(*constants, x, y, dy) * unit

    rule = Rule(slopes, (*names.split(), "x", "out"))
    return function_of(f"{names} x", ufunc, *(BY_SHAPE,) * len(fixed), rule, at=(*fixed, x), double=double)


pbdv = _pair("v", special.pbdv, lambda v, x, y, dy: (x * x / 4 - v - 0.5) * y, 1.5, x=(-2.0, 2.0))
pbvv = _pair("v", special.pbvv, lambda v, x, y, dy: (x * x / 4 - v - 0.5) * y, 1.5, x=(0.2, 2.0))
pbwa = _pair("a", special.pbwa, lambda a, x, y, dy: (a - x * x / 4) * y, 0.5, x=(-2.0, 2.0))

_DEGREE = math.pi / 180


def _mathieu(ufunc: object, characteristic: Value) -> Array:
    """The angular functions: x in degrees, the slope by radians."""
    return _pair(
        "m q",
        ufunc,
        lambda m, q, x, y, dy: (2 * q * np.cos(2 * _DEGREE * x) - characteristic(m, q)) * y,
        2,
        1.5,
        x=(-80.0, 80.0),
        unit=_DEGREE,
        double=True,
    )


def _modified_mathieu(ufunc: object, characteristic: Value) -> Array:
    return _pair(
        "m q",
        ufunc,
        lambda m, q, x, y, dy: (characteristic(m, q) - 2 * q * np.cosh(2 * x)) * y,
        2,
        1.5,
        x=(0.2, 1.0),
        double=True,
    )


mathieu_cem = _mathieu(special.mathieu_cem, special.mathieu_a)
mathieu_sem = _mathieu(special.mathieu_sem, special.mathieu_b)
mathieu_modcem1 = _modified_mathieu(special.mathieu_modcem1, special.mathieu_a)
mathieu_modcem2 = _modified_mathieu(special.mathieu_modcem2, special.mathieu_a)
mathieu_modsem1 = _modified_mathieu(special.mathieu_modsem1, special.mathieu_b)
mathieu_modsem2 = _modified_mathieu(special.mathieu_modsem2, special.mathieu_b)


def _spheroidal(ufunc: object, given: object, of: Value, kind: int, radial: bool, x: SamplePlace) -> None:
    """A spheroidal function, and its form `given` a characteristic value. `kind`: 1 prolate, -1 oblate."""

    def second(m: Array, n: Array, c: Array, value: Array, x: Array, y: Array, dy: Array) -> Array:
        if radial and kind < 0:  # the angular equation at an imaginary argument
            return ((value - c * c * x * x - m * m / (1 + x * x)) * y - 2 * x * dy) / (1 + x * x)
        return (2 * x * dy - (value - kind * c * c * x * x - m * m / (1 - x * x)) * y) / (1 - x * x)

    _pair("m n c", ufunc, lambda m, n, c, *rest: second(m, n, c, of(m, n, c), *rest), 1, 2, 1.5, x=x)
    _pair("m n c cv", given, second, 1, 2, 1.5, float(of(1, 2, 1.5)), x=x, double=True)


_spheroidal(special.pro_ang1, special.pro_ang1_cv, special.pro_cv, 1, False, (-0.8, 0.8))
_spheroidal(special.pro_rad1, special.pro_rad1_cv, special.pro_cv, 1, True, (1.2, 3.0))
_spheroidal(special.obl_ang1, special.obl_ang1_cv, special.obl_cv, -1, False, (-0.8, 0.8))
_spheroidal(special.obl_rad1, special.obl_rad1_cv, special.obl_cv, -1, True, (0.5, 3.0))

for _function in (special.pro_rad2, special.pro_rad2_cv, special.obl_rad2, special.obl_rad2_cv):
    not_differentiable(_function, "SciPy's values of it and of its slope do not agree with each other near the origin")
for _function in (special.mathieu_a, special.mathieu_b, special.pro_cv, special.obl_cv):
    not_differentiable(_function, "a characteristic value has no derivative in closed form")
