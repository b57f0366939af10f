"""Exponentials, hyperbolic functions and the error function in code."""

from __future__ import annotations

import math

from adjoint.native.codegen.llvm_text import Code, IRValue
from adjoint.native.lower import coefficients as c
from adjoint.native.lower.reals import (
    FORMATS,
    about_inverse,
    clamped,
    exact_sum,
    fabs,
    fast_sum,
    nearest,
    product,
    scaled,
    signed,
    wide_by,
)


def exp_reduced(e: Code, x: IRValue) -> tuple[IRValue, IRValue, IRValue]:
    """x = k log(2) + r: r, and k as an integer and as a floating-point number."""
    k, integer = nearest(e, x, 1 / math.log(2))
    high, low = c.LN2[x.dtype]
    return e.fma(-k, low, e.fma(-k, high, x)), integer, k


def exp_minus_one(e: Code, r: IRValue, precision: str = "") -> IRValue:
    """exp(r) - 1 for r of an interval around 0."""
    return e.fma(r * r, e.polynomial(r, c.EXP[precision or r.dtype]), r)


def _limits(dtype: str) -> tuple[float, float]:
    return (-104.0, 89.0) if dtype == "f4" else (-746.0, 710.0)


def exp(e: Code, x: IRValue, low: IRValue | None = None, precision: str = "") -> IRValue:
    """e**x, or e**(x + low)."""
    r, k, number = exp_reduced(e, clamped(e, x, *_limits(x.dtype)))
    if low is not None:
        r = r + low
    return scaled(exp_minus_one(e, r, precision) + 1.0, k, number)


def exp2(e: Code, x: IRValue) -> IRValue:
    x = clamped(e, x, *((-151.0, 129.0) if x.dtype == "f4" else (-1076.0, 1025.0)))
    k, integer = nearest(e, x, 1.0)
    high, low = c.WHOLE_LN2[x.dtype][:2]
    f = x - k
    r = e.fma(f, high, f * low)
    return scaled(exp_minus_one(e, r) + 1.0, integer, k)


def expm1(e: Code, x: IRValue) -> IRValue:
    bounds = (-20.0, 89.0) if x.dtype == "f4" else (-40.0, 710.0)
    r, k, _ = exp_reduced(e, clamped(e, x, *bounds))
    form = FORMATS[x.dtype]
    # 2**k (exp(r) - 1) + (2**k - 1); with half the power, which is finite.
    power = ((k - 1 + form.bias) << form.mantissa).as_float()
    rest = r * r * e.polynomial(r, c.EXP[x.dtype])
    base = power - 0.5
    head = exact_sum(base, power * r)
    found = (head.high + e.fma(power, rest, head.low)) * 2.0
    return e.select(fabs(e, x) < form.normal * 2.0**60, x, found)


def _half_exp(e: Code, a: IRValue) -> IRValue:
    """exp(a) / 2, which is finite for somewhat larger a than exp(a)."""
    r, k, number = exp_reduced(e, clamped(e, a, -1.0, 90.0 if a.dtype == "f4" else 711.0))
    return scaled(exp_minus_one(e, r) + 1.0, k - 1, number - 1.0)


def sinh(e: Code, x: IRValue) -> IRValue:
    a, z = fabs(e, x), x * x
    half = _half_exp(e, a)
    far = signed(e, half - 0.25 / half, x)
    return e.select(a < 1.0, e.fma(x * z, e.polynomial(z, c.SINH[x.dtype]), x), far)


def cosh(e: Code, x: IRValue) -> IRValue:
    half = _half_exp(e, fabs(e, x))
    return half + 0.25 / half


def tanh(e: Code, x: IRValue) -> IRValue:
    a, z = fabs(e, x), x * x
    if x.dtype == "f4":  # exp(2 a) - 1 over that and 2
        r, k, _ = exp_reduced(e, clamped(e, a + a, 0.0, 20.0))
        power = ((k + FORMATS["f4"].bias) << FORMATS["f4"].mantissa).as_float()
        above = e.fma(power, exp_minus_one(e, r), power - 1.0)
        far = above / (above + 2.0)
    else:
        far = 1.0 - 2.0 / (exp(e, clamped(e, a + a, 0.0, 50.0)) + 1.0)
    near = e.fma(x * z, e.polynomial(z, c.TANH[x.dtype]), x)
    return signed(e, e.select(a < 0.625, near, e.select(x.is_nan(), x, far)), x)


def _erfc_far(e: Code, a: IRValue, low: IRValue | None = None) -> IRValue:
    """erfc(a + low) for a of at least 0.84."""
    a = clamped(e, a, 0.5, 30.0)
    square = product(e, a, a)
    # exp(a**2) erfc(a) falls by about 1 / (a + 1/2) of itself.
    square_low = square.low if low is None else e.fma(a * 2.0 + about_inverse(e, a + 0.5), low, square.low)
    t = (a - 2.0) / (a + 2.0)
    under = fast_sum(a * 2.0, e.constant(1.0, "f8"))
    first, *others = c.ERFC["f8"]
    over = fast_sum(e.constant(first, "f8"), e.fma(t, e.polynomial(t, others), c.ERFC_REST))
    q = over.high / under.high
    q_low = (e.fma(-q, under.high, over.high) + over.low - q * under.low) * about_inverse(e, under.high)
    r, k, number = exp_reduced(e, clamped(e, -square.high, -800.0, 0.0))
    return scaled(q + e.fma(q, exp_minus_one(e, r - square_low), q_low), k, number)


def _short_erfc_far(e: Code, a: IRValue) -> IRValue:
    """erfc(a) for a of at least 0.84, for results in float32: with one division for the rational function of `a`."""
    a = clamped(e, a, 0.5, 12.0)
    over, under = a + 2.0, e.fma(a, 2.0, 1.0)
    inverse = 1.0 / (over * under)
    t = (a - 2.0) * (under * inverse)
    return e.polynomial(t, c.ERFC["short"]) * (over * inverse) * exp(e, -(a * a), precision="short")


def _short_erf(e: Code, x: IRValue) -> IRValue:
    a, z = fabs(e, x), x * x
    near = e.fma(x, e.polynomial(z, c.ERF["short"]), x)
    found = e.select(a < 0.84, near, signed(e, 1.0 - _short_erfc_far(e, a), x))
    return e.select(x.is_nan(), x, found)


def _short_erfc(e: Code, x: IRValue) -> IRValue:
    a, z = fabs(e, x), x * x
    far = _short_erfc_far(e, a)
    near = 1.0 - e.fma(x, e.polynomial(z, c.ERF["short"]), x)
    found = e.select(a < 0.84, near, e.select(x < 0.0, 2.0 - far, far))
    return e.select(x.is_nan(), x, found)


def _short_ndtr(e: Code, x: IRValue) -> IRValue:
    return _short_erfc(e, x * -c.HALF_ROOT["f8"][0]) * 0.5


@wide_by(_short_erf)
def erf(e: Code, x: IRValue) -> IRValue:
    a, z = fabs(e, x), x * x
    near = e.fma(x, e.polynomial(z, c.ERF["f8"]), x)
    found = e.select(a < 0.84, near, signed(e, 1.0 - _erfc_far(e, a), x))
    return e.select(x.is_nan(), x, found)


def _erfc(e: Code, x: IRValue, low: IRValue | None = None) -> IRValue:
    a, z = fabs(e, x), x * x
    far = _erfc_far(e, a, None if low is None else e.select(x < 0.0, -low, low))
    rest = x * e.polynomial(z, c.ERF["f8"])
    if low is not None:  # erfc's slope, -2 / sqrt(pi) exp(-z)
        rest = e.fma(low, e.polynomial(z, [1.1283791671, -1.1283791671, 0.56418958, -0.18806319]), rest)
    near = (1.0 - x) - rest
    found = e.select(a < 0.84, near, e.select(x < 0.0, 2.0 - far, far))
    return e.select(x.is_nan(), x, found)


@wide_by(_short_erfc)
def erfc(e: Code, x: IRValue) -> IRValue:
    return _erfc(e, x)


@wide_by(_short_ndtr)
def ndtr(e: Code, x: IRValue) -> IRValue:
    """The normal distribution's cdf, as half of erfc(-x / sqrt(2))."""
    root, root_low = c.HALF_ROOT["f8"][:2]
    p = product(e, x, e.constant(-root, "f8"))
    low = e.fma(x, -root_low, p.low)
    return _erfc(e, p.high, e.select(fabs(e, low) < 1.0, low, 0.0)) * 0.5
