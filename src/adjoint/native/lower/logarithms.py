"""Logarithms, powers and roots in code."""

from __future__ import annotations

import math

from adjoint.native.codegen.llvm_text import Code, Value
from adjoint.native.lower import coefficients as c
from adjoint.native.lower.exponentials import exp
from adjoint.native.lower.reals import FORMATS, Pair, exact_sum, fabs, fast_sum, product, signed, wide, wide_by


def _split(e: Code, x: Value) -> tuple[Value, Value]:
    """x = 2**k m with m between sqrt(1/2) and sqrt(2), for x > 0: m, and k as a floating-point number."""
    form = FORMATS[x.dtype]
    small = x < form.normal
    scale = 2.0 ** (form.mantissa + 2)
    bits = e.select(small, x * scale, x).bits()
    root = e.constant(math.sqrt(0.5), x.dtype).bits()
    k = (bits - root) >> form.mantissa
    m = (bits - (k << form.mantissa)).as_float()
    # An integer as a number, by its place in the bits of a large one.
    magic = e.constant(form.magic, x.dtype)
    number = (k + magic.bits()).as_float() - magic
    return m, number - e.select(small, e.constant(form.mantissa + 2, x.dtype), 0.0)


def _log_ends(e: Code, x: Value, found: Value) -> Value:
    """What logarithms are at 0, infinity, below 0 and for nan."""
    found = e.select(x.compare("eq", 0.0), e.constant(-math.inf, x.dtype), found)
    found = e.select(x < math.inf, found, x)  # infinity and nan
    return e.select(x < 0.0, e.constant(math.nan, x.dtype), found)


def _log_near_one(e: Code, f: Value) -> tuple[Value, Value]:
    """log(1 + f) = f - (half - s * (half + R)): half, and what is taken from it."""
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    # s z R(z) = s (R' z): and 2 s = f - s f
    return half, s * (half + z * e.polynomial(z, c.LOG[f.dtype]))


def log(e: Code, x: Value) -> Value:
    m, k = _split(e, x)
    f = m - 1.0
    half, part = _log_near_one(e, f)
    high, low = c.LN2[x.dtype]
    found = e.fma(k, high, f - (half - e.fma(k, low, part)))
    return _log_ends(e, x, found)


def log1p(e: Code, x: Value) -> Value:
    one = e.constant(1.0, x.dtype)
    u, rest = exact_sum(one, x)
    m, k = _split(e, u)
    f = m - 1.0
    half, part = _log_near_one(e, f)
    # What rounding 1 + x lost, in the scale of m.
    lost = rest / u
    high, low = c.LN2[x.dtype]
    tail = e.fma(k, low, part) + lost
    found = e.fma(k, high, f - (half - tail))
    found = e.select(fabs(e, x) < FORMATS[x.dtype].normal * 2.0**60, x, found)
    found = e.select(x.compare("eq", -1.0), e.constant(-math.inf, x.dtype), found)
    found = e.select(x < math.inf, found, x)
    return e.select(x < -1.0, e.constant(math.nan, x.dtype), found)


def _log_pair(e: Code, x: Value) -> tuple[Value, Pair]:
    """x = 2**k m: k, and log(m) as a pair, good to 2**-64 of itself."""
    m, k = _split(e, x)
    f = m - 1.0
    d = f + 2.0
    s = f / d
    s_low = (e.fma(-s, d, f) - s * (f - (d - 2.0))) / d
    z = s * s
    z_low = e.fma(s, s, -z) + 2.0 * s * s_low
    third, third_low = c.THIRD["f8"][:2]
    u = z * third
    u_low = e.fma(z, third, -u) + e.fma(z, third_low, z_low * third)
    v = z * z * e.fma(z, e.polynomial(z, c.LOG_TAIL["f8"]), 0.2)
    w = fast_sum(u, v)
    double = s * 2.0
    t = double * w.high
    t_low = e.fma(double, w.high, -t) + double * (w.low + u_low) + 2.0 * s_low * (1.0 + w.high)
    head = fast_sum(double, t)
    return k, Pair(head.high, head.low + t_low)


@wide_by(lambda e, x: log(e, x) * math.log2(math.e))
def log2(e: Code, x: Value) -> Value:
    k, (high, low) = _log_pair(e, x)
    scale, scale_low = c.LOG2_E["f8"][:2]
    p = product(e, high, e.constant(scale, x.dtype))
    tail = p.low + e.fma(low, scale, high * scale_low)
    head = fast_sum(k, p.high)
    return _log_ends(e, x, head.high + (head.low + tail))


@wide_by(lambda e, x: log(e, x) * math.log10(math.e))
def log10(e: Code, x: Value) -> Value:
    k, (high, low) = _log_pair(e, x)
    scale, scale_low = c.LOG10_E["f8"][:2]
    two, two_low = c.LOG10_2["f8"][:2]
    p = product(e, high, e.constant(scale, x.dtype))
    q = product(e, k, e.constant(two, x.dtype))
    head = fast_sum(q.high, p.high)
    tail = p.low + e.fma(low, scale, high * scale_low) + q.low + k * two_low
    return _log_ends(e, x, head.high + (head.low + tail))


def _short_power(e: Code, x: Value, y: Value) -> Value:
    return _signed_power(e, exp(e, y * log(e, fabs(e, x))), x, y)


@wide_by(_short_power)
def power(e: Code, x: Value, y: Value) -> Value:
    a = fabs(e, x)
    k, (high, low) = _log_pair(e, a)
    ln2, ln2_low = c.LN2["f8"]
    head = fast_sum(k * ln2, high)
    low = head.low + e.fma(k, ln2_low, low)
    head_high = e.select(a.compare("eq", 0.0), e.constant(-math.inf, "f8"), e.select(a < math.inf, head.high, a))
    p = y * head_high
    p_low = e.fma(y, head_high, -p) + y * low
    far = fabs(e, p) < 800.0
    p_low = e.select(far, p_low, 0.0)
    return _signed_power(e, exp(e, p, p_low), x, y)


def _signed_power(e: Code, found: Value, x: Value, y: Value) -> Value:
    """x**y, whose absolute value is `found`. Below 0 only whole powers exist; odd ones have x's sign."""
    half = y * 0.5
    whole = e.intrinsic("roundeven", y).compare("eq", y)
    odd = whole & e.intrinsic("roundeven", half).compare("ne", half) & (fabs(e, y) < 2.0**53)
    found = e.select(odd, signed(e, found, x), found)
    invalid = (x < 0.0) & ~whole & (fabs(e, x) < math.inf)
    found = e.select(invalid, e.constant(math.nan, "f8"), found)
    found = e.select(x.is_nan() | y.is_nan(), e.constant(math.nan, "f8"), found)
    one = fabs(e, x).compare("eq", 1.0) & fabs(e, y).compare("eq", math.inf)
    one = one | x.compare("eq", 1.0) | y.compare("eq", 0.0)
    return e.select(one, e.constant(1.0, "f8"), found)


@wide
def logaddexp(e: Code, x: Value, y: Value) -> Value:
    larger = e.select(x > y, x, y)
    apart = -fabs(e, x - y)
    found = larger + log1p(e, exp(e, apart))
    found = e.select(x.compare("eq", y), x + math.log(2), found)
    return e.select(x.is_nan() | y.is_nan(), x + y, found)


def _cube_root(e: Code, a: Value) -> Value:
    """The cube root of a > 0, all but its last digits."""
    return exp(e, log(e, a) * (1 / 3))


def _as_root(e: Code, y: Value, x: Value) -> Value:
    """The cube root of `x`, whose absolute value is `y` where it is not 0 or infinite."""
    a = fabs(e, x)
    return e.select((a > 0.0) & (a < math.inf), signed(e, y, x), x)


@wide_by(lambda e, x: _as_root(e, _cube_root(e, fabs(e, x)), x))
def cbrt(e: Code, x: Value) -> Value:
    a = fabs(e, x)
    small = a < 2.0**-900
    a = e.select(small, a * 2.0**300, a)
    y = _cube_root(e, a)
    # One of Newton's steps, its rest exact.
    square = product(e, y, y)
    cube = product(e, square.high, y)
    rest = (cube.high - a) + (cube.low + square.low * y)
    y = y - rest / (3.0 * square.high)
    return _as_root(e, e.select(small, y * 2.0**-100, y), x)


def _length_ends(e: Code, found: Value, x: Value, y: Value) -> Value:
    far = fabs(e, x).compare("eq", math.inf) | fabs(e, y).compare("eq", math.inf)
    return e.select(far, e.constant(math.inf, "f8"), e.select(x.is_nan() | y.is_nan(), x + y, found))


def _short_hypot(e: Code, x: Value, y: Value) -> Value:
    return _length_ends(e, e.intrinsic("sqrt", e.fma(x, x, y * y)), x, y)


@wide_by(_short_hypot)
def hypot(e: Code, x: Value, y: Value) -> Value:
    a, b = fabs(e, x), fabs(e, y)
    large, small = e.select(a > b, a, b), e.select(a > b, b, a)
    middle = e.select(large < 2.0**-500, e.constant(2.0**600, "f8"), 1.0)
    scale = e.select(large > 2.0**500, e.constant(2.0**-600, "f8"), middle)
    back = 1.0 / scale
    u, v = large * scale, small * scale
    found = e.intrinsic("sqrt", e.fma(u, u, v * v)) * back
    return _length_ends(e, found, x, y)


_LARGE = 2.0**28  # from here on, the square of a number swallows 1


@wide
def arcsinh(e: Code, x: Value) -> Value:
    a = fabs(e, x)
    # log(a + sqrt(a**2 + 1)), as what is added to 1.
    square = e.select(a < _LARGE, a * a, e.constant(0.0, "f8"))
    u = exact_sum(a, square / (1.0 + e.intrinsic("sqrt", square + 1.0)))
    near = log1p(e, u.high) + u.low / (1.0 + u.high)
    far = log(e, a) + math.log(2)
    return e.select(x.is_nan(), x, signed(e, e.select(a < _LARGE, near, far), x))


@wide
def arccosh(e: Code, x: Value) -> Value:
    # log(1 + t + sqrt(t * (t + 2))), with t = x - 1, which is exact where it is small.
    t = x - 1.0
    t = e.select(x < _LARGE, t, e.constant(0.0, "f8"))
    u = exact_sum(t, e.intrinsic("sqrt", e.fma(t, t, t + t)))
    near = log1p(e, u.high) + u.low / (1.0 + u.high)
    far = log(e, x) + math.log(2)
    found = e.select(x < 1.0, e.constant(math.nan, "f8"), e.select(x < _LARGE, near, far))
    return e.select(x.is_nan(), x, found)


@wide
def arctanh(e: Code, x: Value) -> Value:
    a = fabs(e, x)
    # log((1 + a) / (1 - a)) / 2, as what is added to 1; 1 - a is exact from 1/2 on.
    twice, rest = a + a, 1.0 - a
    u = exact_sum(twice, e.select(a < 0.5, twice * a / rest, e.constant(0.0, "f8")))
    near = log1p(e, u.high) + u.low / (1.0 + u.high)
    far = log1p(e, twice / rest)
    return signed(e, e.select(a < 0.5, near, far) * 0.5, x)
