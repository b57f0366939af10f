"""Numbers in code: their formats, sums and products that are not rounded, and scaling by powers of 2."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from adjoint.native.codegen.llvm_text import REGISTER, Code, IRValue
from adjoint.native.codegen.machine import AVX512, vectors

Lowering = Callable[..., IRValue]


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


class UnroundedSum(NamedTuple):
    """A sum of two numbers, which is not rounded."""

    high: IRValue
    low: IRValue


def fast_sum(a: IRValue, b: IRValue) -> UnroundedSum:
    """a + b exactly, for a that is 0 or not smaller than b."""
    total = a + b
    return UnroundedSum(total, b - (total - a))


def exact_sum(a: IRValue, b: IRValue) -> UnroundedSum:
    """a + b exactly."""
    total = a + b
    other = total - a
    return UnroundedSum(total, (a - (total - other)) + (b - other))


def product(e: Code, a: IRValue, b: IRValue) -> UnroundedSum:
    """a * b exactly."""
    total = a * b
    return UnroundedSum(total, e.fma(a, b, -total))


def nearest(e: Code, x: IRValue, scale: float) -> tuple[IRValue, IRValue]:
    """The whole number nearest to x * scale: as a floating-point number, and as an integer."""
    form = FORMATS[x.dtype]
    shifted = e.fma(x, scale, form.magic)
    magic = e.constant(form.magic, x.dtype)
    return shifted - magic, shifted.bits() - magic.bits()


def at_once(code: Code, dtype: str) -> bool:
    """Whether AVX-512 has instructions for the parts of these numbers, which fill a register, or some."""
    return code.width * int(dtype[1]) in (64, 128, 256) and vectors() == AVX512


def scaled(x: IRValue, k: IRValue | None, number: IRValue | None = None) -> IRValue:
    """x * 2**k for an integer k, which may be twice as far out as exponents go; `number` is k as x's dtype has it."""
    form = FORMATS[x.dtype]
    if number is not None and at_once(x.code, x.dtype):
        return parts_at_once("scalef", x, number)  # the same bits
    assert k is not None
    first, second = powers(k, form)
    return x * first * second


def powers(k: IRValue, form: Format) -> tuple[IRValue, IRValue]:
    """Two powers of 2 whose product is 2**k, for an integer k that may be twice as far out as exponents go."""
    half = k >> 1
    first, second = (((part + form.bias) << form.mantissa).as_float() for part in (half, k - half))
    return first, second


class NumberParts(NamedTuple):
    """A number that is neither 0, infinite nor nan: mantissa * 2**exponent, for a mantissa from 0.5 to 1."""

    is_odd: IRValue  # whether it is one of these
    mantissa: IRValue
    exponent: IRValue


def parts(e: Code, x: IRValue) -> NumberParts:
    """What a number is made of, subnormal ones too."""
    form, size = FORMATS[x.dtype], fabs(e, x)
    is_small, up = size < form.normal, form.mantissa + 2
    bits, field = e.select(is_small, x * 2.0**up, x).bits(), 2 * form.bias + 1
    exponent = ((bits >> form.mantissa) & field) - (form.bias - 1)
    mantissa = ((bits & ~(field << form.mantissa)) | (form.bias - 1 << form.mantissa)).as_float()
    zero = e.constant(0, form.integer)
    lowered = exponent - e.select(is_small, e.constant(up, form.integer), zero)
    return NumberParts(x.compare("eq", 0.0) | ~(size < math.inf), mantissa, lowered)


def exponents(e: Code, x: IRValue) -> IRValue:
    """The second result of C's ``frexp``."""
    if at_once(e, x.dtype):
        size = fabs(e, x)
        is_odd = x.compare("eq", 0.0) | ~(size < math.inf)
        return (e.select(is_odd, -1.0, parts_at_once("getexp", x)) + 1.0).to("i4")
    found = parts(e, x)
    return e.select(found.is_odd, e.constant(0, found.exponent.dtype), found.exponent)


def ldexp(e: Code, x: IRValue, n: IRValue) -> IRValue:
    """x * 2**n, rounded once."""
    form = FORMATS[x.dtype]
    far = 2 * (form.bias + form.mantissa)
    n = clamped(e, n, -far, far).to(form.integer)
    if at_once(e, x.dtype):
        return parts_at_once("scalef", x, n.to(x.dtype))
    found = parts(e, x)
    exponent = clamped(e, found.exponent + n, -(form.bias + form.mantissa + 17), form.bias + 2)
    near = clamped(e, exponent, -(form.bias - 30), form.bias - 30)  # the mantissa by this power is not rounded
    once = found.mantissa * ((near + form.bias) << form.mantissa).as_float()
    return e.select(found.is_odd, x, once * ((exponent - near + form.bias) << form.mantissa).as_float())


def about_inverse(e: Code, x: IRValue) -> IRValue:
    """1 / x, good to 2**-26, for factors of what rounding has left; nan or infinite where x is nearly 0 or infinite."""
    if not at_once(e, x.dtype):
        return 1.0 / x
    y = parts_at_once("rcp14", x)
    return e.fma(e.fma(-x, y, 1.0), y, y)


def parts_at_once(word: str, x: IRValue, *others: IRValue | int) -> IRValue:
    """What an instruction of AVX-512's gives, for one register or some."""
    code, one = x.code, REGISTER[x.dtype]
    width = 64 // int(x.dtype[1])
    kind, mask = f"<{width} x {one}>", f"i{width}"
    rounds = ["i32"] if word != "rcp14" else []  # the others are told how to round
    name = f"llvm.x86.avx512.{'mask.' if rounds else ''}{word}.p{'s' if x.dtype == 'f4' else 'd'}.512"
    code.declare(name, kind, [kind, *(kind if isinstance(o, IRValue) else "i32" for o in others), kind, mask, *rounds])
    found = []
    for first in range(0, code.width, width):
        lanes = ", ".join(f"i32 {i}" for i in range(first, first + width))
        given = []
        for v in (x, *others):
            if isinstance(v, IRValue):
                text = f"shufflevector {v.type} {v.name}, {v.type} poison, <{width} x i32> <{lanes}>"
                given.append(f"{kind} {v.name if code.width == width else code.name(text)}")
            else:
                given.append(f"i32 {v}")
        end = f"{kind} zeroinitializer, {mask} -1{', i32 4' if rounds else ''}"
        text = f"call {kind} @{name}({', '.join(given)}, {end})"
        found.append(code.put(text, x.dtype).name)
    while len(found) > 1:
        kind = f"<{width} x {one}>"
        width *= 2
        lanes = ", ".join(f"i32 {i}" for i in range(width))
        texts = [f"shufflevector {kind} {a}, {kind} {b}, <{width} x i32> <{lanes}>"
                 for a, b in zip(found[::2], found[1::2], strict=True)]  # fmt: skip
        found = [code.put(text, x.dtype).name for text in texts]
    return IRValue(code, found[0], x.dtype)


def clamped(e: Code, x: IRValue, low: float, high: float) -> IRValue:
    """x between two bounds; nan stays."""
    x = e.select(x < low, e.constant(low, x.dtype), x)
    return e.select(x > high, e.constant(high, x.dtype), x)


def fabs(e: Code, x: IRValue) -> IRValue:
    return e.intrinsic("fabs", x)


def signed(e: Code, x: IRValue, sign: IRValue) -> IRValue:
    return e.intrinsic("copysign", x, sign)


def wide_by(short: Callable[..., IRValue]) -> Callable[[Callable[..., IRValue]], Callable[..., IRValue]]:
    """Decorate a function of float64. Float32 goes in float64 through `short`, whose last digits may be wrong."""

    def decorate(function: Callable[..., IRValue]) -> Callable[..., IRValue]:
        def either(e: Code, *xs: IRValue) -> IRValue:
            if xs[0].dtype == "f8":
                return function(e, *xs)
            return short(e, *(x.to("f8") for x in xs)).to("f4")

        return either

    return decorate


def or_single(single: Lowering) -> Callable[[Lowering], Lowering]:
    """Decorate a function of float64, beside `single`, which is that of float32."""

    def decorate(function: Lowering) -> Lowering:
        return lambda e, *xs: (function if xs[0].dtype == "f8" else single)(e, *xs)

    return decorate
