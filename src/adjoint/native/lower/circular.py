"""Circular functions and their inverses in code."""

from __future__ import annotations

import math
from collections.abc import Callable

from adjoint.native.codegen.llvm_text import Code, IRValue
from adjoint.native.lower import coefficients as c
from adjoint.native.lower.external import from_c
from adjoint.native.lower.reals import (
    UnroundedSum,
    about_inverse,
    exact_sum,
    fabs,
    fast_sum,
    nearest,
    or_single,
    product,
    signed,
)


def _quarter(e: Code, x: IRValue) -> tuple[IRValue, UnroundedSum]:
    """x = k pi/2 + r: k as an integer, and r as a pair. For x up to 2**30 (2**17 in float32)."""
    k, integer = nearest(e, x, 2 / math.pi)
    first, second, third = c.HALF_PI[x.dtype]
    r = e.fma(-k, first, x)  # exact
    p = product(e, k, e.constant(second, x.dtype))
    s = exact_sum(r, -p.high)
    return integer, UnroundedSum(s.high, s.low - e.fma(k, third, p.low))


def _sine(e: Code, r: UnroundedSum) -> IRValue:
    z = r.high * r.high
    return r.high + e.fma(r.high * z, e.polynomial(z, c.SIN[z.dtype]), r.low)


def _cosine(e: Code, r: UnroundedSum) -> IRValue:
    z = r.high * r.high
    half = z * 0.5
    head = 1.0 - half
    lost = (1.0 - head) - half
    return head + (lost + e.fma(z * z, e.polynomial(z, c.COS[z.dtype]), -(r.high * r.low)))


def _circular(name: str, turn: int) -> Callable[[Code, IRValue], IRValue]:
    def anywhere(e: Code, x: IRValue) -> IRValue:
        k, r = _quarter(e, x)
        k = k + turn
        even = (k & 1).compare("eq", 0)
        if e.width > 1:
            found = e.select(even, _sine(e, r), _cosine(e, r))
        else:
            found = e.either(even, lambda: _sine(e, r), lambda: _cosine(e, r))
        found = e.select((k & 2).compare("eq", 0), found, -found)
        if turn == 0:
            found = e.select(x.compare("eq", 0.0), x, found)
        return _far(e, x, found, name, 2.0**30 if x.dtype == "f8" else 2.0**17)

    def near(e: Code, x: IRValue) -> IRValue:
        r = UnroundedSum(x, e.constant(0.0, x.dtype))
        return signed(e, _sine(e, r), x) if turn == 0 else _cosine(e, r)

    def function(e: Code, x: IRValue) -> IRValue:
        # A number alone need not wait for what it does not need: within an eighth of a turn both give the same bits.
        if e.width > 1:
            return anywhere(e, x)
        return e.either(fabs(e, x) < 0.78, lambda: near(e, x), lambda: anywhere(e, x))

    return function


sin = _circular("sin", 0)
cos = _circular("cos", 1)


def _far(e: Code, x: IRValue, found: IRValue, name: str, limit: float) -> IRValue:
    """`found`, and the C library's value for the few x beyond `limit`."""
    far = (fabs(e, x) >= limit) & (fabs(e, x) < math.inf)

    def by_library() -> IRValue:
        return e.select(far, from_c(e, name, e.select(far, x, e.constant(0.0, x.dtype))), found)

    return e.either(far, by_library, lambda: found)


def _short_tan(e: Code, x: IRValue) -> IRValue:
    k, r = _quarter(e, x)
    z = r.high * r.high
    t = fast_sum(r.high, e.fma(r.high * z, e.polynomial(z, c.TAN["f4"]), r.low))
    q = -1.0 / t.high
    turned = e.fma(q, e.fma(q, t.high, 1.0) + q * t.low, q)
    found = e.select((k & 1).compare("ne", 0), turned, t.high)
    return _far(e, x, e.select(x.compare("eq", 0.0), x, found), "tan", 2.0**17)


@or_single(_short_tan)
def tan(e: Code, x: IRValue) -> IRValue:
    k, r = _quarter(e, x)
    z = r.high * r.high
    sine = fast_sum(r.high, e.fma(r.high * z, e.polynomial(z, c.SIN["f8"]), r.low))
    half = z * 0.5
    head = 1.0 - half
    rest = ((1.0 - head) - half) + e.fma(z * z, e.polynomial(z, c.COS["f8"]), -(r.high * r.low))
    cosine = fast_sum(head, rest)
    odd = (k & 1).compare("ne", 0)
    top = UnroundedSum(e.select(odd, -cosine.high, sine.high), e.select(odd, -cosine.low, sine.low))
    bottom = UnroundedSum(e.select(odd, sine.high, cosine.high), e.select(odd, sine.low, cosine.low))
    inverse = 1.0 / bottom.high
    q = top.high * inverse
    found = q + (e.fma(-q, bottom.high, top.high) + top.low - q * bottom.low) * inverse
    found = e.select(x.compare("eq", 0.0), x, found)
    return _far(e, x, found, "tan", 2.0**30)


def _arc_series(e: Code, t: IRValue, coefficients: dict[str, list[float]]) -> IRValue:
    """arctan(t) - t, or arcsin(t) - t."""
    z = t * t
    return t * z * e.polynomial(z, coefficients["f8"])


def _angle(e: Code, over: IRValue, under: IRValue) -> UnroundedSum:
    """arctan(over / under) for numbers that are not negative, not both 0 and not both infinite."""
    half_pi, half_pi_low = c.HALF_PI["f8"][:2]
    steep, middle = over > under * 2.4142135623730950, over > under * 0.41421356237309503
    top = e.select(steep, -under, e.select(middle, over - under, over))
    # The sum of two numbers is not exact; what it lacks matters where there is no larger term beside it, so not here.
    bottom = e.select(steep, over, e.select(middle, over + under, under))
    t = top / bottom
    lost = e.select(middle | steep, e.constant(0.0, "f8"), e.fma(-t, bottom, top) * about_inverse(e, bottom))
    lost = e.select(fabs(e, lost) < 1.0, lost, 0.0)
    base = e.select(steep, e.constant(half_pi, "f8"), e.select(middle, e.constant(half_pi / 2, "f8"), 0.0))
    base_low = e.select(steep, e.constant(half_pi_low, "f8"), e.select(middle, e.constant(half_pi_low / 2, "f8"), 0.0))
    rest = _arc_series(e, t, c.ATAN) + (lost + base_low)
    head = fast_sum(base, t)
    head = UnroundedSum(e.select(middle, head.high, t), e.select(middle, head.low, 0.0))
    return UnroundedSum(head.high, head.low + rest)


def _whole_arctan(e: Code, t: IRValue) -> IRValue:
    """arctan(t) - t in single precision, for t of at most 1."""
    z = t * t
    return t * z * e.polynomial(z, c.ATAN_WHOLE["f4"])


def _short_arctan(e: Code, x: IRValue) -> IRValue:
    a = fabs(e, x)
    steep = a > 1.0
    t = e.select(steep, -1.0 / a, a)
    half_pi, half_pi_low, _ = c.HALF_PI["f4"]
    rest = _whole_arctan(e, t)
    high = e.select(steep, e.constant(half_pi, "f4"), 0.0) + (
        t + rest + e.select(steep, half_pi_low, e.constant(0.0, "f4"))
    )
    return e.select(x.is_nan(), x, signed(e, high, x))


@or_single(_short_arctan)
def arctan(e: Code, x: IRValue) -> IRValue:
    high, low = _angle(e, fabs(e, x), e.constant(1.0, "f8"))
    return e.select(x.is_nan(), x, signed(e, high + low, x))


def _short_arctan2(e: Code, y: IRValue, x: IRValue) -> IRValue:
    a, b = fabs(e, y), fabs(e, x)
    steep, behind, zero = a > b, x.bits() < 0, e.constant(0.0, "f4")
    over, under = e.select(steep, b, a), e.select(steep, a, b)
    t = e.select(under > 0.0, e.select(over < math.inf, over / under, 1.0), zero)
    half_pi, half_pi_low, _ = c.HALF_PI["f4"]
    arc = t + _whole_arctan(e, t)
    arc = e.select(steep ^ behind, -arc, arc)
    quarters = e.select(steep, e.constant(1.0, "f4"), e.select(behind, e.constant(2.0, "f4"), zero))
    found = quarters * half_pi + (arc + quarters * half_pi_low)
    return e.select(x.is_nan() | y.is_nan(), x + y, signed(e, found, y))


@or_single(_short_arctan2)
def arctan2(e: Code, y: IRValue, x: IRValue) -> IRValue:
    a, b = fabs(e, y), fabs(e, x)
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
    return e.select(x.is_nan() | y.is_nan(), x + y, signed(e, found, y))


def _short_arcs(e: Code, x: IRValue) -> tuple[IRValue, IRValue, IRValue]:
    """In single precision: whether |x| > 1/2; then s = sqrt((1 - |x|) / 2), else s = |x|; and arcsin(s) - s."""
    a = fabs(e, x)
    far = a > 0.5
    z = (1.0 - a) * 0.5
    w = e.select(far, z, a * a)
    s = e.select(far, e.intrinsic("sqrt", z), a)
    return far, s, s * w * e.polynomial(w, c.ASIN["f4"])


def _short_arcsin(e: Code, x: IRValue) -> IRValue:
    far, s, more = _short_arcs(e, x)
    half_pi, half_pi_low, _ = c.HALF_PI["f4"]
    head = half_pi - s * 2.0
    lost = (half_pi - head) - s * 2.0
    return signed(e, e.select(far, head + (lost + (half_pi_low - more * 2.0)), s + more), x)


def _short_arccos(e: Code, x: IRValue) -> IRValue:
    far, s, more = _short_arcs(e, x)
    half_pi, half_pi_low, _ = c.HALF_PI["f4"]
    arc = s + more
    twice = arc + arc
    middle = half_pi - (signed(e, arc, x) - half_pi_low)
    left = 2 * half_pi - (twice - 2 * half_pi_low)
    return e.select(far, e.select(x < 0.0, left, twice), middle)


def _arcsin_parts(e: Code, x: IRValue) -> tuple[IRValue, UnroundedSum, IRValue]:
    """For |x| <= 1/2: arcsin(x) - x. For others: sqrt((1 - |x|) / 2) as a pair, and arcsin of that less it."""
    a = fabs(e, x)
    z = (1.0 - a) * 0.5
    s = e.intrinsic("sqrt", z)
    s_low = e.select(s > 0.0, e.fma(-s, s, z) * about_inverse(e, s + s), e.constant(0.0, "f8"))
    t = e.select(a > 0.5, s, x)
    w = e.select(a > 0.5, z, x * x)
    more = t * w * e.polynomial(w, c.ASIN["f8"])
    return more, UnroundedSum(s, s_low), more


@or_single(_short_arcsin)
def arcsin(e: Code, x: IRValue) -> IRValue:
    near, s, more = _arcsin_parts(e, x)
    half_pi, half_pi_low = c.HALF_PI["f8"][:2]
    head = half_pi - s.high * 2.0
    lost = (half_pi - head) - s.high * 2.0
    far = head + (lost + (half_pi_low - 2.0 * (s.low + more)))
    found = e.select(fabs(e, x) > 0.5, signed(e, far, x), x + near)
    return e.select(x.compare("eq", 0.0), x, found)


@or_single(_short_arccos)
def arccos(e: Code, x: IRValue) -> IRValue:
    near, s, more = _arcsin_parts(e, x)
    half_pi, half_pi_low = c.HALF_PI["f8"][:2]
    head = half_pi - x
    middle = head + ((half_pi - head) - x + (half_pi_low - near))
    right = 2.0 * (s.high + (s.low + more))
    turned = 2 * half_pi - 2.0 * s.high
    lost = (2 * half_pi - turned) - 2.0 * s.high
    left = turned + (lost + 2.0 * (half_pi_low - (s.low + more)))
    return e.select(x > 0.5, right, e.select(x < -0.5, left, middle))
