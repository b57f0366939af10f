"""Logarithms, powers and roots in code."""

from __future__ import annotations

import math

from adjoint.native.codegen.llvm_text import Code, IRValue
from adjoint.native.lower import coefficients as c
from adjoint.native.lower.exponentials import exp, exp_minus_one
from adjoint.native.lower.reals import (
    FORMATS,
    Lowering,
    UnroundedSum,
    about_inverse,
    at_once,
    clamped,
    exact_sum,
    fabs,
    fast_sum,
    nearest,
    or_single,
    parts_at_once,
    powers,
    product,
    scaled,
    signed,
)


def _split(e: Code, x: IRValue) -> tuple[IRValue, IRValue]:
    """x = 2**k m with m from 3/4 to 3/2, for x > 0: m, and k as a floating-point number.

    Where AVX-512 does it, m is nan for x < 0, and k is infinite for 0 and infinity.
    """
    form = FORMATS[x.dtype]
    if at_once(e, x.dtype):
        m = parts_at_once("getmant", x, 15)
        return m, parts_at_once("getexp", x) - parts_at_once("getexp", m)
    small = x < form.normal
    scale = 2.0 ** (form.mantissa + 2)
    bits = e.select(small, x * scale, x).bits()
    k = (bits - e.constant(0.75, x.dtype).bits()) >> form.mantissa
    m = (bits - (k << form.mantissa)).as_float()
    # An integer as a number, by its place in the bits of a large one.
    magic = e.constant(form.magic, x.dtype)
    number = (k + magic.bits()).as_float() - magic
    return m, number - e.select(small, e.constant(form.mantissa + 2, x.dtype), 0.0)


def _log_ends(e: Code, x: IRValue, found: IRValue) -> IRValue:
    """What logarithms are at 0, infinity, below 0 and for nan. The parts that `_split` has at once lead there."""
    if at_once(e, x.dtype):
        return found
    found = e.select(x.compare("eq", 0.0), e.constant(-math.inf, x.dtype), found)
    found = e.select(x < math.inf, found, x)  # infinity and nan
    return e.select(x < 0.0, e.constant(-math.nan, x.dtype), found)


def _log_rest(e: Code, f: IRValue) -> IRValue:
    """log(1 + f) - f, for f from -1/4 to 1/2."""
    if f.dtype == "f4":
        return f * f * e.polynomial(f, c.LOG_WHOLE["f4"])
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    # s z R(z) = s (R' z): and 2 s = f - s f
    return s * (half + z * e.polynomial(z, c.LOG["f8"])) - half


def log(e: Code, x: IRValue) -> IRValue:
    m, k = _split(e, x)
    f = m - 1.0
    high, low = c.LN2[x.dtype]
    return _log_ends(e, x, e.fma(k, high, f + e.fma(k, low, _log_rest(e, f))))


def _log1p_finite(e: Code, x: IRValue, low: IRValue | None = None) -> IRValue:
    """log(1 + x), or log(1 + x + low), for finite numbers above -1; of 0.0 and -0.0, it is 0.0."""
    form, one = FORMATS[x.dtype], e.constant(1.0, x.dtype)
    near = (x + 1.0) * (2 / 3)
    # A power of 2 that takes 1 + x to 3/4 to 3/2. What is left is exact for small x, and else rounded once.
    if at_once(e, x.dtype):
        up = -1.0 - parts_at_once("getexp", near)
        scale = parts_at_once("scalef", one, up)
        f = e.fma(x, scale, scale - 1.0)
    else:
        k = form.bias - 1 - (near.bits() >> form.mantissa)
        magic = e.constant(form.magic, x.dtype)
        up = (k + magic.bits()).as_float() - magic
        first, second = powers(k, form)
        scale = first * second
        f = x * first * second + (scale - 1.0)
    rest = _log_rest(e, f)
    if low is not None:
        rest = e.fma(low * scale, 1.0 - f * (1.0 - f), rest)  # about 1 / (1 + f)
    high, short = c.LN2[x.dtype]
    return e.fma(up, -high, f + e.fma(up, -short, rest))


def log1p(e: Code, x: IRValue) -> IRValue:
    found = _log1p_finite(e, x)
    found = e.select(fabs(e, x) < FORMATS[x.dtype].normal * 2.0**60, x, found)
    found = e.select(x.compare("eq", -1.0), e.constant(-math.inf, x.dtype), found)
    found = e.select(x < math.inf, found, x)
    return e.select(x < -1.0, e.constant(-math.nan, x.dtype), found)


def _log_pair(e: Code, x: IRValue) -> tuple[IRValue, UnroundedSum]:
    """x = 2**k m: k, and log(m) as a pair, good to 2**-64 of itself."""
    m, k = _split(e, x)
    f = m - 1.0
    d = f + 2.0
    inverse = 1.0 / d
    s = f * inverse
    s_low = (e.fma(-s, d, f) - s * (f - (d - 2.0))) * inverse
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
    return k, UnroundedSum(head.high, head.low + t_low)


def _short_log(scale: list[float], two: list[float]) -> Lowering:
    """A logarithm with an error of up to a unit: log(m) in another scale, and k of what the logarithm of 2 is there."""

    def function(e: Code, x: IRValue) -> IRValue:
        m, k = _split(e, x)
        f = m - 1.0
        near = e.fma(f, scale[0], e.fma(_log_rest(e, f), scale[0], f * scale[1]))
        return _log_ends(e, x, e.fma(k, two[0], e.fma(k, two[1], near) if two[1] else near))

    return function


def log2(e: Code, x: IRValue) -> IRValue:
    return _short_log(c.LOG2_E[x.dtype], [1.0, 0.0])(e, x)


def log10(e: Code, x: IRValue) -> IRValue:
    return _short_log(c.LOG10_E[x.dtype], c.LOG10_2[x.dtype])(e, x)


def _short_positive_power(e: Code, a: IRValue, y: IRValue) -> IRValue:
    """a**y for float32. The logarithm is in float64, good to 33 bits; its fraction is not."""
    m, k = _split(e, a)
    near = (1.0 / (m + 1.0)).to("f8")
    f = m.to("f8") - 1.0
    s = f * near
    s = e.fma(e.fma(-s, f + 2.0, f), near, s)  # f / (f + 2)
    z = s * s
    found = e.fma(s * z, e.polynomial(z, c.LOG["short"]), s + s)
    p = y.to("f8") * e.fma(found, 1 / math.log(2), k.to("f8"))
    whole = e.intrinsic("roundeven", p)
    r = (p - whole).to("f4") * math.log(2)
    number = whole.to("f4")
    _, integer = nearest(e, clamped(e, number, -250.0, 250.0), 1.0)  # AVX-512 does without
    return scaled(exp_minus_one(e, r) + 1.0, integer, number)


@or_single(_short_positive_power)
def _positive_power(e: Code, a: IRValue, y: IRValue) -> IRValue:
    """a**y for a > 0, both finite."""
    k, (high, low) = _log_pair(e, a)
    ln2, ln2_low = c.LN2["f8"]
    head = fast_sum(k * ln2, high)
    low = head.low + e.fma(k, ln2_low, low)
    p = y * head.high
    p_low = e.fma(y, head.high, -p) + y * low
    return exp(e, p, e.select(fabs(e, p) < 800.0, p_low, 0.0))


def power(e: Code, x: IRValue, y: IRValue) -> IRValue:
    found = _positive_power(e, fabs(e, x), y)
    usual = (x > 0.0) & (x < math.inf) & (fabs(e, y) < math.inf)
    return e.either(~usual, lambda: _signed_power(e, found, x, y), lambda: found)


def power_by_one_exponent(e: Code, found: IRValue, x: IRValue, y: IRValue) -> IRValue:
    """x**y, which is `found`, where NumPy takes roots of all elements if y is 1/2: they differ at -0 and -infinity."""
    root = y.compare("eq", 0.5) & ~(x > 0.0)
    return e.either(root, lambda: e.select(root, e.intrinsic("sqrt", x), found), lambda: found)


def _signed_power(e: Code, found: IRValue, x: IRValue, y: IRValue) -> IRValue:
    """x**y, by the power of x's absolute value. Below 0 only whole powers exist; odd ones have x's sign."""
    a, half = fabs(e, x), y * 0.5
    zero, far = a.compare("eq", 0.0), a.compare("eq", math.inf)
    end = e.select(far ^ (y < 0.0), e.constant(math.inf, x.dtype), 0.0)
    found = e.select(zero | far, end, found)
    # An infinite power of a number other than 1.
    end = e.select((a > 1.0) ^ (y < 0.0), e.constant(math.inf, x.dtype), 0.0)
    found = e.select(fabs(e, y).compare("eq", math.inf), end, found)
    whole = e.intrinsic("roundeven", y).compare("eq", y)
    odd = whole & e.intrinsic("roundeven", half).compare("ne", half)
    found = e.select(odd, signed(e, found, x), found)
    invalid = (x < 0.0) & ~whole & (a < math.inf)
    found = e.select(invalid, e.constant(math.nan, x.dtype), found)
    found = e.select(x.is_nan() | y.is_nan(), e.constant(math.nan, x.dtype), found)
    one = a.compare("eq", 1.0) & fabs(e, y).compare("eq", math.inf)
    one = one | x.compare("eq", 1.0) | y.compare("eq", 0.0)
    return e.select(one, e.constant(1.0, x.dtype), found)


def log1p_to_one(e: Code, t: IRValue) -> IRValue:
    """log(1 + t) for t from 0 to 1."""
    far = t > 0.5
    f = e.select(far, (t - 1.0) * 0.5, t)
    high, low = c.LN2[t.dtype]
    zero = e.constant(0.0, t.dtype)
    return e.select(far, e.constant(high, t.dtype), zero) + (f + (_log_rest(e, f) + e.select(far, low, zero)))


def logaddexp(e: Code, x: IRValue, y: IRValue) -> IRValue:
    larger = e.select(x > y, x, y)
    apart = -fabs(e, x - y)
    found = larger + log1p_to_one(e, exp(e, apart))
    found = e.select(x.compare("eq", y), x + math.log(2), found)
    return e.select(x.is_nan() | y.is_nan(), x + y, found)


def cbrt(e: Code, x: IRValue) -> IRValue:
    """By a guess of 1 / cbrt(x) that takes a third of the exponent, and a step for it; the last one is exact."""
    form, a = FORMATS[x.dtype], fabs(e, x)
    small = a < form.normal * 2.0**64
    a = e.select(small, a * 2.0**96, a)
    # The upper bits of a number are about the logarithm of it: as a number, they are halved or, as here, divided by 3.
    drop = form.mantissa - 13
    magic = e.constant(form.magic, x.dtype)
    upper = ((a.bits() >> drop) + magic.bits()).as_float() - magic
    guess = e.fma(upper, -1 / 3, form.magic + round((form.bias - 0.0450) * 4 / 3 * 2.0**13))
    r = ((guess.bits() - magic.bits()) << drop).as_float()
    for terms in ([1 / 3, 2 / 9, 14 / 81], [1 / 3, 2 / 9, 14 / 81] if x.dtype == "f8" else [1 / 3, 2 / 9]):
        off = e.fma(-(a * r), r * r, 1.0)
        r = e.fma(r * off, e.polynomial(off, terms), r)
    y = a * r * r
    square = product(e, y, y)
    rest = e.fma(square.high, y, -a) + square.low * y
    y = e.fma(rest * (r * r), -1 / 3, y)
    y = e.select(small, y * 2.0**-32, y)
    return e.select((fabs(e, x) > 0.0) & (fabs(e, x) < math.inf), signed(e, y, x), x)


# By dtype, for lengths whose squares leave the format's range: below and above which one, and powers of 2 for both.
_LENGTHS = {"f4": ((-50, 90), (60, -70)), "f8": ((-500, 600), (500, -600))}


def hypot(e: Code, x: IRValue, y: IRValue) -> IRValue:
    a, b = fabs(e, x), fabs(e, y)
    large, small = e.select(a > b, a, b), e.select(a > b, b, a)
    (low, up), (high, down) = _LENGTHS[x.dtype]
    tiny, huge, one = large < 2.0**low, large > 2.0**high, e.constant(1.0, x.dtype)
    scale = e.select(tiny, 2.0**up, e.select(huge, 2.0**down, one))
    back = e.select(tiny, 2.0**-up, e.select(huge, 2.0**-down, one))
    u, v = large * scale, small * scale
    found = e.intrinsic("sqrt", e.fma(u, u, v * v)) * back
    far = a.compare("eq", math.inf) | b.compare("eq", math.inf)
    return e.select(far, e.constant(math.inf, x.dtype), e.select(x.is_nan() | y.is_nan(), x + y, found))


_LARGE = {"f4": 2.0**30, "f8": 2.0**60}  # from here on, a number swallows 1


def arcsinh(e: Code, x: IRValue) -> IRValue:
    a = fabs(e, x)
    near = a < _LARGE[x.dtype]
    # log(a + sqrt(a**2 + 1)), as what is added to 1.
    square = e.select(near, a * a, e.constant(0.0, x.dtype))
    u = fast_sum(a, square / (1.0 + e.intrinsic("sqrt", square + 1.0)))
    found = _log1p_finite(e, u.high, u.low) + e.select(near, e.constant(0.0, x.dtype), math.log(2))
    return e.select(a < math.inf, signed(e, found, x), x)


def arccosh(e: Code, x: IRValue) -> IRValue:
    # log(1 + t + sqrt(t * (t + 2))), with t = x - 1, which is exact where it is small.
    t, near = x - 1.0, x < _LARGE[x.dtype]
    square = e.fma(t, t, t + t)
    root = e.intrinsic("sqrt", square)
    u = exact_sum(t, e.select(near, root, e.constant(0.0, x.dtype)))
    low = u.low
    if x.dtype == "f4":  # what rounding the root left
        low = low + e.select(root > 0.0, e.fma(-root, root, square) * 0.5 * about_inverse(e, root), 0.0)
    found = _log1p_finite(e, u.high, e.select(near, low, 0.0)) + e.select(near, e.constant(0.0, x.dtype), math.log(2))
    return e.select(x < 1.0, e.constant(math.nan, x.dtype), e.select(x < math.inf, found, x))


def arctanh(e: Code, x: IRValue) -> IRValue:
    a = fabs(e, x)
    # log((1 + a) / (1 - a)) / 2, as what is added to 1; 1 - a is exact from 1/2 on.
    near, twice, rest = a < 0.5, a + a, 1.0 - a
    q = e.select(near, twice * a, twice) / rest
    u = fast_sum(twice, q)
    zero = e.constant(0.0, x.dtype)
    found = _log1p_finite(e, e.select(near, u.high, q), e.select(near, u.low, zero)) * 0.5
    end = e.select(a.compare("eq", 1.0), e.constant(math.inf, x.dtype), math.nan)
    return signed(e, e.select(a < 1.0, found, end), x)
