"""Divisions with a remainder, shifts and whole powers in code, with NumPy's values where a processor has none.

A whole number divided by 0 gives 0; the smallest one divided by -1 gives itself; a shift by more than the length gives
0 or -1. For floating-point numbers remainders are exact; where a quotient is very large, they are the C library's.
"""

from __future__ import annotations

import math

import numpy as np

from adjoint.native.codegen.llvm_text import Code, IRValue
from adjoint.native.codegen.machine import AVX2, vectors
from adjoint.native.lower.external import from_c
from adjoint.native.lower.reals import signed


def _quotient(code: Code, x: IRValue, by: IRValue, known: bool) -> IRValue:
    """x / by, rounded to 0. In vectors it is that of floating-point numbers, which processors divide at once.

    Quotients that are not whole are further from the next whole number than rounding reaches, if x has so few digits:
    16 bits in single precision, 50 in double. Larger numbers go one by one, and those over a number that is `known`.
    A divisor may be larger: the quotient is below 1 then, also after rounding.
    """

    def exact() -> IRValue:
        return code.put(f"{'u' if x.dtype[0] == 'u' else 's'}div {x.type} {x.name}, {by.name}", x.dtype)

    size = int(x.dtype[1])
    if code.width == 1 or (known and size < 8):  # LLVM multiplies in place of the division
        return exact()
    if size < 8:
        wide = "f8" if size == 4 else "f4"
        return (x.to(wide) / by.to(wide)).to(x.dtype)
    least = 2**50
    start = least if x.dtype == "i8" else 0
    far = IRValue(code, (x + start).name, "u8") > least + start
    if vectors() != AVX2:
        return code.either(far, exact, lambda: (x.to("f8") / by.to("f8")).to("i8"))

    def near() -> IRValue:
        one = _near_double(x)
        other = _known(by)
        if other is None:
            return _near_whole(one / by.to("f8"))
        # Half a number more, and no quotient is whole: it is further from whole ones than two roundings reach.
        return _near_whole((one + signed(code, code.constant(0.5, "f8"), one)) * (1.0 / other))

    return code.either(far, exact, near)


def _known(x: IRValue) -> int | None:
    """The number that is in all lanes, if it is a constant."""
    return int(x.name.split()[-1][:-1]) if x.name.startswith("splat (") else None


_SHIFT = 1.5 * 2.0**52  # with which doubles below 2^51 have whole numbers as their last bits


def _near_double(x: IRValue) -> IRValue:
    """A whole number below 2^51 as a double, by a sum: AVX2 has no such conversion."""
    return (x + int(np.float64(_SHIFT).view(np.int64))).as_float() - _SHIFT


def _near_whole(x: IRValue) -> IRValue:
    """A double below 2^51 as a whole number, rounded to 0."""
    return (x.code.intrinsic("trunc", x) + _SHIFT).bits() - int(np.float64(_SHIFT).view(np.int64))


def _whole(code: Code, x: IRValue, y: IRValue) -> tuple[IRValue, IRValue, IRValue]:
    """Quotient and remainder as the processor gives them, for y = 0 and y = -1 too; and whether y is 0."""
    letter, none = ("u" if x.dtype[0] == "u" else "s"), y.compare("eq", 0)
    special = none if letter == "u" else none | y.compare("eq", -1)
    known = _known(y)
    by = y if known not in (None, 0, -1) else code.select(special, 1, y)
    quotient = _quotient(code, x, by, known is not None)
    rest = x - quotient * by
    if letter == "s":
        quotient = code.select(y.compare("eq", -1), -x, quotient)
    return code.select(none, 0, quotient), rest, none


_WHOLE = {"f4": 2.0**22, "f8": 2.0**51}  # below these, the roundings of a quotient are less than 1/2


def _exact_rest(code: Code, x: IRValue, y: IRValue) -> IRValue:
    """C's fmod. Where the quotient is not too large, it is off by 1 at most, and what it leaves is exact."""
    a, b = code.intrinsic("fabs", x), code.intrinsic("fabs", y)
    quotient = a / b

    def near() -> IRValue:
        rest = code.fma(-code.intrinsic("trunc", quotient), b, a)
        return code.intrinsic("copysign", code.select(rest < 0, rest + b, rest), x)

    usual = (quotient < _WHOLE[x.dtype]) & (b < math.inf)
    return code.either(~usual, lambda: from_c(code, "fmod", x, y), near)


def fmod(code: Code, x: IRValue, y: IRValue) -> IRValue:
    """The remainder that has the sign of x."""
    if x.dtype[0] == "f":
        return _exact_rest(code, x, y)
    _, rest, none = _whole(code, x, y)
    return code.select(none, 0, rest)


def fraction(code: Code, x: IRValue, _: IRValue) -> IRValue:
    """The remainder of a division by 1 that has the sign of x."""
    return code.intrinsic("copysign", x - code.intrinsic("trunc", x), x)


def remainder(code: Code, x: IRValue, y: IRValue) -> IRValue:
    """The remainder that has the sign of y."""
    if x.dtype[0] == "f":
        rest = _exact_rest(code, x, y)
        other = (rest < 0) ^ (y < 0)
        found = code.select(rest.compare("eq", 0), signed(code, code.constant(0, x.dtype), y),
                            code.select(other, rest + y, rest))  # fmt: skip
        return code.select(y.compare("eq", 0) | rest.is_nan(), rest, found)
    _, rest, none = _whole(code, x, y)
    if x.dtype[0] == "i":
        rest = code.select(rest.compare("ne", 0) & ((rest ^ y) < 0), rest + y, rest)
    return code.select(none, 0, rest)


def floor_divide(code: Code, x: IRValue, y: IRValue) -> IRValue:
    """The quotient, rounded down."""
    if x.dtype[0] == "f":
        rest = _exact_rest(code, x, y)
        other = rest.compare("ne", 0) & ((rest < 0) ^ (y < 0))
        quotient = (x - rest) / y
        quotient = code.select(other, quotient - 1.0, quotient)
        down = code.intrinsic("floor", quotient)
        down = code.select(quotient - down > 0.5, down + 1.0, down)
        found = code.select(quotient.compare("eq", 0), signed(code, code.constant(0, x.dtype), x / y), down)
        return code.select(y.compare("eq", 0), x / y, found)
    quotient, rest, none = _whole(code, x, y)
    if x.dtype[0] == "u":
        return quotient
    lower = rest.compare("ne", 0) & ((rest ^ y) < 0) & ~none
    return code.select(lower, quotient - 1, quotient)


def _shifted(code: Code, x: IRValue, y: IRValue, word: str, beyond: IRValue) -> IRValue:
    bits = 8 * int(x.dtype[1])
    near = IRValue(code, y.name, f"u{y.dtype[1]}") < bits  # negative numbers are large ones then
    return code.select(near, code.put(f"{word} {x.type} {x.name}, {(y & (bits - 1)).name}", x.dtype), beyond)


def left_shift(code: Code, x: IRValue, y: IRValue) -> IRValue:
    return _shifted(code, x, y, "shl", code.constant(0, x.dtype))


def right_shift(code: Code, x: IRValue, y: IRValue) -> IRValue:
    none = code.constant(0, x.dtype)
    if x.dtype[0] == "u":
        return _shifted(code, x, y, "lshr", none)
    return _shifted(code, x, y, "ashr", code.select(x < 0, -1, none))


def whole_power(code: Code, x: IRValue, exponent: int) -> IRValue:
    """x multiplied with itself, as it wraps around."""
    found, square = code.constant(1, x.dtype), x
    while exponent:
        if exponent & 1:
            found = found * square
        square, exponent = square * square, exponent >> 1
    return found
