"""Functions of real numbers in code without branches, which vectors take as well as single numbers.

The usual way: an argument is reduced to a short interval, a polynomial (see scripts/native_coefficients.py) gives the
function there, and exact steps lead back. Sums whose rounding would show are kept as two numbers, high and low. Errors
are at most 2 units in the last place; nan, infinities and signed zeros come out as NumPy gives them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from adjoint.native import coefficients as c
from adjoint.native.emit import REGISTER, Code, Value

NAMES = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "power", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "arctan2", "sinh", "cosh", "tanh", "erf", "erfc", "ndtr", "cbrt", "hypot", "logaddexp",
)  # fmt: skip


class Format(NamedTuple):
    """What a floating-point format is made of."""

    integer: str
    mantissa: int
    bias: int
    magic: float  # added to a number, it leaves the nearest whole number in the lowest bits
    normal: float  # the smallest number of full precision


FORMATS = {
    "f4": Format("i4", 23, 127, 1.5 * 2.0**23, 2.0**-126),
    "f8": Format("i8", 52, 1023, 1.5 * 2.0**52, 2.0**-1022),
}


class Pair(NamedTuple):
    """A sum of two numbers, which is not rounded."""

    high: Value
    low: Value


def _fast_sum(a: Value, b: Value) -> Pair:
    """a + b exactly, for a that is 0 or not smaller than b."""
    total = a + b
    return Pair(total, b - (total - a))


def _sum(a: Value, b: Value) -> Pair:
    """a + b exactly."""
    total = a + b
    other = total - a
    return Pair(total, (a - (total - other)) + (b - other))


def _product(e: Code, a: Value, b: Value) -> Pair:
    """a * b exactly."""
    total = a * b
    return Pair(total, e.fma(a, b, -total))


def _nearest(e: Code, x: Value, scale: float) -> tuple[Value, Value]:
    """The whole number nearest to x * scale: as a floating-point number, and as an integer."""
    form = FORMATS[x.dtype]
    shifted = e.fma(x, scale, form.magic)
    magic = e.constant(form.magic, x.dtype)
    return shifted - magic, shifted.bits() - magic.bits()


def _scaled(x: Value, k: Value) -> Value:
    """x * 2**k for an integer k, which may be twice as far out as exponents go."""
    form = FORMATS[x.dtype]
    half = k >> 1
    first = ((half + form.bias) << form.mantissa).as_float()
    second = ((k - half + form.bias) << form.mantissa).as_float()
    return x * first * second


def _clamped(e: Code, x: Value, low: float, high: float) -> Value:
    """x between two bounds; nan stays."""
    x = e.select(x < low, e.constant(low, x.dtype), x)
    return e.select(x > high, e.constant(high, x.dtype), x)


def _fabs(e: Code, x: Value) -> Value:
    return e.intrinsic("fabs", x)


def _signed(e: Code, x: Value, sign: Value) -> Value:
    return e.intrinsic("copysign", x, sign)


def _wide(function: Callable[..., Value]) -> Callable[..., Value]:
    """`function`, which float32 goes through in float64."""

    def either(e: Code, *xs: Value) -> Value:
        if xs[0].dtype == "f8":
            return function(e, *xs)
        return function(e, *(x.to("f8") for x in xs)).to("f4")

    return either


# -- Exponentials -------------------------------------------------------------------------------------


def _exp_reduced(e: Code, x: Value) -> tuple[Value, Value]:
    """x = k log(2) + r: r, and k as an integer."""
    k, integer = _nearest(e, x, 1 / math.log(2))
    high, low = c.LN2[x.dtype]
    return e.fma(-k, low, e.fma(-k, high, x)), integer


def _exp_minus_one(e: Code, r: Value) -> Value:
    """exp(r) - 1 for r of an interval around 0."""
    return e.fma(r * r, e.polynomial(r, c.EXP[r.dtype]), r)


def _limits(dtype: str) -> tuple[float, float]:
    return (-104.0, 89.0) if dtype == "f4" else (-746.0, 710.0)


def exp(e: Code, x: Value, low: Value | None = None) -> Value:
    """e**x, or e**(x + low)."""
    r, k = _exp_reduced(e, _clamped(e, x, *_limits(x.dtype)))
    if low is not None:
        r = r + low
    return _scaled(_exp_minus_one(e, r) + 1.0, k)


def exp2(e: Code, x: Value) -> Value:
    x = _clamped(e, x, *((-151.0, 129.0) if x.dtype == "f4" else (-1076.0, 1025.0)))
    k, integer = _nearest(e, x, 1.0)
    high, low = c.WHOLE_LN2[x.dtype][:2]
    f = x - k
    r = f * high
    p = _exp_minus_one(e, r) + e.fma(f, high, -r) + f * low
    return _scaled(p + 1.0, integer)


def expm1(e: Code, x: Value) -> Value:
    bounds = (-20.0, 89.0) if x.dtype == "f4" else (-40.0, 710.0)
    r, k = _exp_reduced(e, _clamped(e, x, *bounds))
    form = FORMATS[x.dtype]
    # 2**k (exp(r) - 1) + (2**k - 1); with half the power, which is finite.
    power = ((k - 1 + form.bias) << form.mantissa).as_float()
    rest = r * r * e.polynomial(r, c.EXP[x.dtype])
    base = power - 0.5
    head = _sum(base, power * r)
    found = (head.high + e.fma(power, rest, head.low)) * 2.0
    return e.select(_fabs(e, x) < form.normal * 2.0**60, x, found)


# -- Logarithms ---------------------------------------------------------------------------------------


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
    u, rest = _sum(one, x)
    m, k = _split(e, u)
    f = m - 1.0
    half, part = _log_near_one(e, f)
    # What rounding 1 + x lost, in the scale of m.
    lost = rest / u
    high, low = c.LN2[x.dtype]
    tail = e.fma(k, low, part) + lost
    found = e.fma(k, high, f - (half - tail))
    found = e.select(_fabs(e, x) < FORMATS[x.dtype].normal * 2.0**60, x, found)
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
    w = _fast_sum(u, v)
    double = s * 2.0
    t = double * w.high
    t_low = e.fma(double, w.high, -t) + double * (w.low + u_low) + 2.0 * s_low * (1.0 + w.high)
    head = _fast_sum(double, t)
    return k, Pair(head.high, head.low + t_low)


@_wide
def log2(e: Code, x: Value) -> Value:
    k, (high, low) = _log_pair(e, x)
    scale, scale_low = c.LOG2_E["f8"][:2]
    p = _product(e, high, e.constant(scale, x.dtype))
    tail = p.low + e.fma(low, scale, high * scale_low)
    head = _fast_sum(k, p.high)
    return _log_ends(e, x, head.high + (head.low + tail))


@_wide
def log10(e: Code, x: Value) -> Value:
    k, (high, low) = _log_pair(e, x)
    scale, scale_low = c.LOG10_E["f8"][:2]
    two, two_low = c.LOG10_2["f8"][:2]
    p = _product(e, high, e.constant(scale, x.dtype))
    q = _product(e, k, e.constant(two, x.dtype))
    head = _fast_sum(q.high, p.high)
    tail = p.low + e.fma(low, scale, high * scale_low) + q.low + k * two_low
    return _log_ends(e, x, head.high + (head.low + tail))


@_wide
def power(e: Code, x: Value, y: Value) -> Value:
    a = _fabs(e, x)
    k, (high, low) = _log_pair(e, a)
    ln2, ln2_low = c.LN2["f8"]
    head = _fast_sum(k * ln2, high)
    low = head.low + e.fma(k, ln2_low, low)
    head_high = e.select(a.compare("eq", 0.0), e.constant(-math.inf, "f8"), e.select(a < math.inf, head.high, a))
    p = y * head_high
    p_low = e.fma(y, head_high, -p) + y * low
    far = _fabs(e, p) < 800.0
    p_low = e.select(far, p_low, 0.0)
    found = exp(e, p, p_low)
    # Below 0 only whole powers are numbers, and odd ones have the sign of x.
    half = y * 0.5
    whole = e.intrinsic("roundeven", y).compare("eq", y)
    odd = whole & e.intrinsic("roundeven", half).compare("ne", half) & (_fabs(e, y) < 2.0**53)
    found = e.select(odd, _signed(e, found, x), found)
    invalid = (x < 0.0) & ~whole & (a < math.inf)
    found = e.select(invalid, e.constant(math.nan, "f8"), found)
    found = e.select(x.is_nan() | y.is_nan(), e.constant(math.nan, "f8"), found)
    one = a.compare("eq", 1.0) & _fabs(e, y).compare("eq", math.inf)
    one = one | x.compare("eq", 1.0) | y.compare("eq", 0.0)
    return e.select(one, e.constant(1.0, "f8"), found)


@_wide
def logaddexp(e: Code, x: Value, y: Value) -> Value:
    larger = e.select(x > y, x, y)
    apart = -_fabs(e, x - y)
    found = larger + log1p(e, exp(e, apart))
    found = e.select(x.compare("eq", y), x + math.log(2), found)
    return e.select(x.is_nan() | y.is_nan(), x + y, found)


# -- Circular functions -------------------------------------------------------------------------------


def _quarter(e: Code, x: Value) -> tuple[Value, Pair]:
    """x = k pi/2 + r: k as an integer, and r as a pair. For x up to 2**30 (2**17 in float32)."""
    k, integer = _nearest(e, x, 2 / math.pi)
    first, second, third = c.HALF_PI[x.dtype]
    r = e.fma(-k, first, x)  # exact
    p = _product(e, k, e.constant(second, x.dtype))
    s = _sum(r, -p.high)
    return integer, Pair(s.high, s.low - e.fma(k, third, p.low))


def _sine(e: Code, r: Pair) -> Value:
    z = r.high * r.high
    return r.high + e.fma(r.high * z, e.polynomial(z, c.SIN[z.dtype]), r.low)


def _cosine(e: Code, r: Pair) -> Value:
    z = r.high * r.high
    half = z * 0.5
    head = 1.0 - half
    lost = (1.0 - head) - half
    return head + (lost + e.fma(z * z, e.polynomial(z, c.COS[z.dtype]), -(r.high * r.low)))


def _circular(name: str, turn: int) -> Callable[[Code, Value], Value]:
    def function(e: Code, x: Value) -> Value:
        k, r = _quarter(e, x)
        k = k + turn
        found = e.select((k & 1).compare("eq", 0), _sine(e, r), _cosine(e, r))
        found = e.select((k & 2).compare("eq", 0), found, -found)
        if turn == 0:
            found = e.select(x.compare("eq", 0.0), x, found)
        return _far(e, x, found, name, 2.0**30 if x.dtype == "f8" else 2.0**17)

    return function


sin = _circular("sin", 0)
cos = _circular("cos", 1)


def _far(e: Code, x: Value, found: Value, name: str, limit: float) -> Value:
    """`found`, and the C library's value for the few x beyond `limit`."""
    far = (_fabs(e, x) >= limit) & (_fabs(e, x) < math.inf)
    any_far = far.name
    if e.width > 1:
        bits = e.name(f"bitcast {far.type} {far.name} to i{e.width}")
        any_far = e.name(f"icmp ne i{e.width} {bits}, 0")
    n = e.fresh("n")[1:]
    one, function = REGISTER[x.dtype], name + ("f" if x.dtype == "f4" else "")
    e.declare(function, one, [one])
    e.line(f"br label %pa{n}")
    e.label(f"pa{n}")
    e.line(f"br i1 {any_far}, label %fa{n}, label %na{n}")
    e.label(f"fa{n}")
    with e.inner():
        near = e.select(far, x, e.constant(0.0, x.dtype))
        by_library = e.each(near, lambda alone: e.name(f"call {one} @{function}({one} {alone})"))
        chosen = e.select(far, by_library, found)
    e.line(f"br label %na{n}")
    e.label(f"na{n}")
    return Value(e, e.name(f"phi {x.type} [ {found.name}, %pa{n} ], [ {chosen.name}, %fa{n} ]"), x.dtype)


@_wide
def tan(e: Code, x: Value) -> Value:
    k, r = _quarter(e, x)
    z = r.high * r.high
    sine = _fast_sum(r.high, e.fma(r.high * z, e.polynomial(z, c.SIN["f8"]), r.low))
    half = z * 0.5
    head = 1.0 - half
    rest = ((1.0 - head) - half) + e.fma(z * z, e.polynomial(z, c.COS["f8"]), -(r.high * r.low))
    cosine = _fast_sum(head, rest)
    odd = (k & 1).compare("ne", 0)
    top = Pair(e.select(odd, -cosine.high, sine.high), e.select(odd, -cosine.low, sine.low))
    bottom = Pair(e.select(odd, sine.high, cosine.high), e.select(odd, sine.low, cosine.low))
    q = top.high / bottom.high
    found = q + (e.fma(-q, bottom.high, top.high) + top.low - q * bottom.low) / bottom.high
    found = e.select(x.compare("eq", 0.0), x, found)
    return _far(e, x, found, "tan", 2.0**30)


def _arc_series(e: Code, t: Value, coefficients: dict[str, list[float]]) -> Value:
    """arctan(t) - t, or arcsin(t) - t."""
    z = t * t
    return t * z * e.polynomial(z, coefficients["f8"])


def _angle(e: Code, over: Value, under: Value) -> Pair:
    """arctan(over / under) for numbers that are not negative, not both 0 and not both infinite."""
    half_pi, half_pi_low = c.HALF_PI["f8"][:2]
    steep, middle = over > under * 2.4142135623730950, over > under * 0.41421356237309503
    top = e.select(steep, -under, e.select(middle, over - under, over))
    # The sum of two numbers is not exact; what it lacks matters where there is no larger term beside it, so not here.
    bottom = e.select(steep, over, e.select(middle, over + under, under))
    t = top / bottom
    lost = e.select(middle | steep, e.constant(0.0, "f8"), e.fma(-t, bottom, top) / bottom)
    lost = e.select(_fabs(e, lost) < 1.0, lost, 0.0)
    base = e.select(steep, e.constant(half_pi, "f8"), e.select(middle, e.constant(half_pi / 2, "f8"), 0.0))
    base_low = e.select(steep, e.constant(half_pi_low, "f8"), e.select(middle, e.constant(half_pi_low / 2, "f8"), 0.0))
    rest = _arc_series(e, t, c.ATAN) + (lost + base_low)
    head = _fast_sum(base, t)
    head = Pair(e.select(middle, head.high, t), e.select(middle, head.low, 0.0))
    return Pair(head.high, head.low + rest)


@_wide
def arctan(e: Code, x: Value) -> Value:
    high, low = _angle(e, _fabs(e, x), e.constant(1.0, "f8"))
    return e.select(x.is_nan(), x, _signed(e, high + low, x))


@_wide
def arctan2(e: Code, y: Value, x: Value) -> Value:
    a, b = _fabs(e, y), _fabs(e, x)
    both_far = a.compare("eq", math.inf) & b.compare("eq", math.inf)
    both_zero = a.compare("eq", 0.0) & b.compare("eq", 0.0)
    # The same quotient, away from where numbers end.
    scale = e.select((a > 2.0**900) | (b > 2.0**900), e.constant(2.0**-200, "f8"),
                     e.select((a < 2.0**-900) & (b < 2.0**-700), e.constant(2.0**200, "f8"), 1.0))  # fmt: skip
    over = e.select(both_far, e.constant(1.0, "f8"), a * scale)
    under = e.select(both_far | both_zero, e.constant(1.0, "f8"), b * scale)
    high, low = _angle(e, over, under)
    pi, pi_low = 2 * c.HALF_PI["f8"][0], 2 * c.HALF_PI["f8"][1]
    behind = x.bits() < 0
    turned = pi - high
    found = e.select(behind, turned + ((pi - turned - high) + (pi_low - low)), high + low)
    return e.select(x.is_nan() | y.is_nan(), x + y, _signed(e, found, y))


def _arcsin_parts(e: Code, x: Value) -> tuple[Value, Pair, Value]:
    """For |x| <= 1/2: arcsin(x) - x. For others: sqrt((1 - |x|) / 2) as a pair, and arcsin of that less it."""
    a = _fabs(e, x)
    z = (1.0 - a) * 0.5
    s = e.intrinsic("sqrt", z)
    s_low = e.select(s > 0.0, e.fma(-s, s, z) / (s + s), e.constant(0.0, "f8"))
    t = e.select(a > 0.5, s, x)
    w = e.select(a > 0.5, z, x * x)
    more = t * w * e.polynomial(w, c.ASIN["f8"])
    return more, Pair(s, s_low), more


@_wide
def arcsin(e: Code, x: Value) -> Value:
    near, s, more = _arcsin_parts(e, x)
    half_pi, half_pi_low = c.HALF_PI["f8"][:2]
    head = half_pi - s.high * 2.0
    lost = (half_pi - head) - s.high * 2.0
    far = head + (lost + (half_pi_low - 2.0 * (s.low + more)))
    found = e.select(_fabs(e, x) > 0.5, _signed(e, far, x), x + near)
    return e.select(x.compare("eq", 0.0), x, found)


@_wide
def arccos(e: Code, x: Value) -> Value:
    near, s, more = _arcsin_parts(e, x)
    half_pi, half_pi_low = c.HALF_PI["f8"][:2]
    head = half_pi - x
    middle = head + ((half_pi - head) - x + (half_pi_low - near))
    right = 2.0 * (s.high + (s.low + more))
    turned = 2 * half_pi - 2.0 * s.high
    lost = (2 * half_pi - turned) - 2.0 * s.high
    left = turned + (lost + 2.0 * (half_pi_low - (s.low + more)))
    return e.select(x > 0.5, right, e.select(x < -0.5, left, middle))


# -- Hyperbolic functions -----------------------------------------------------------------------------


def _half_exp(e: Code, a: Value) -> Value:
    """exp(a) / 2, which is finite for somewhat larger a than exp(a)."""
    r, k = _exp_reduced(e, _clamped(e, a, -1.0, 90.0 if a.dtype == "f4" else 711.0))
    return _scaled(_exp_minus_one(e, r) + 1.0, k - 1)


def sinh(e: Code, x: Value) -> Value:
    a, z = _fabs(e, x), x * x
    half = _half_exp(e, a)
    far = _signed(e, half - 0.25 / half, x)
    return e.select(a < 1.0, e.fma(x * z, e.polynomial(z, c.SINH[x.dtype]), x), far)


def cosh(e: Code, x: Value) -> Value:
    half = _half_exp(e, _fabs(e, x))
    return half + 0.25 / half


def tanh(e: Code, x: Value) -> Value:
    a, z = _fabs(e, x), x * x
    far = 1.0 - 2.0 / (exp(e, _clamped(e, a + a, 0.0, 50.0)) + 1.0)
    near = e.fma(x * z, e.polynomial(z, c.TANH[x.dtype]), x)
    return _signed(e, e.select(a < 0.625, near, e.select(x.is_nan(), x, far)), x)


# -- The error function -------------------------------------------------------------------------------


def _erfc_far(e: Code, a: Value, low: Value | None = None) -> Value:
    """erfc(a + low) for a of at least 0.84."""
    a = _clamped(e, a, 0.5, 30.0)
    square = _product(e, a, a)
    # exp(a**2) erfc(a) falls by about 1 / (a + 1/2) of itself.
    square_low = square.low if low is None else e.fma(a * 2.0 + 1.0 / (a + 0.5), low, square.low)
    t = (a - 2.0) / (a + 2.0)
    under = _fast_sum(a * 2.0, e.constant(1.0, "f8"))
    first, *others = c.ERFC["f8"]
    over = _fast_sum(e.constant(first, "f8"), e.fma(t, e.polynomial(t, others), c.ERFC_REST))
    q = over.high / under.high
    q_low = (e.fma(-q, under.high, over.high) + over.low - q * under.low) / under.high
    r, k = _exp_reduced(e, _clamped(e, -square.high, -800.0, 0.0))
    return _scaled(q + e.fma(q, _exp_minus_one(e, r - square_low), q_low), k)


@_wide
def erf(e: Code, x: Value) -> Value:
    a, z = _fabs(e, x), x * x
    near = e.fma(x, e.polynomial(z, c.ERF["f8"]), x)
    found = e.select(a < 0.84, near, _signed(e, 1.0 - _erfc_far(e, a), x))
    return e.select(x.is_nan(), x, found)


def _erfc(e: Code, x: Value, low: Value | None = None) -> Value:
    a, z = _fabs(e, x), x * x
    far = _erfc_far(e, a, None if low is None else e.select(x < 0.0, -low, low))
    rest = x * e.polynomial(z, c.ERF["f8"])
    if low is not None:  # erfc's slope, -2 / sqrt(pi) exp(-z)
        rest = e.fma(low, e.polynomial(z, [1.1283791671, -1.1283791671, 0.56418958, -0.18806319]), rest)
    near = (1.0 - x) - rest
    found = e.select(a < 0.84, near, e.select(x < 0.0, 2.0 - far, far))
    return e.select(x.is_nan(), x, found)


@_wide
def erfc(e: Code, x: Value) -> Value:
    return _erfc(e, x)


@_wide
def ndtr(e: Code, x: Value) -> Value:
    """The normal distribution's cdf, as half of erfc(-x / sqrt(2))."""
    root, root_low = c.HALF_ROOT["f8"][:2]
    p = _product(e, x, e.constant(-root, "f8"))
    low = e.fma(x, -root_low, p.low)
    return _erfc(e, p.high, e.select(_fabs(e, low) < 1.0, low, 0.0)) * 0.5


# -- Roots --------------------------------------------------------------------------------------------


@_wide
def cbrt(e: Code, x: Value) -> Value:
    a = _fabs(e, x)
    small = a < 2.0**-900
    a = e.select(small, a * 2.0**300, a)
    y = exp(e, log(e, a) * (1 / 3))
    # One of Newton's steps, its rest exact.
    square = _product(e, y, y)
    cube = _product(e, square.high, y)
    rest = (cube.high - a) + (cube.low + square.low * y)
    y = y - rest / (3.0 * square.high)
    y = e.select(small, y * 2.0**-100, y)
    fixed = (a > 0.0) & (a < math.inf)
    return e.select(fixed, _signed(e, y, x), x)


@_wide
def hypot(e: Code, x: Value, y: Value) -> Value:
    a, b = _fabs(e, x), _fabs(e, y)
    large, small = e.select(a > b, a, b), e.select(a > b, b, a)
    middle = e.select(large < 2.0**-500, e.constant(2.0**600, "f8"), 1.0)
    scale = e.select(large > 2.0**500, e.constant(2.0**-600, "f8"), middle)
    back = 1.0 / scale
    u, v = large * scale, small * scale
    found = e.intrinsic("sqrt", e.fma(u, u, v * v)) * back
    far = a.compare("eq", math.inf) | b.compare("eq", math.inf)
    return e.select(far, e.constant(math.inf, "f8"), e.select(x.is_nan() | y.is_nan(), x + y, found))
