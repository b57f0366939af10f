"""Half precision to single precision and back, by the processor's conversions, or in whole numbers where it has none.

Without them LLVM would call functions of a compiler's library, which is not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjoint.native.codegen.machine import converts_halves

if TYPE_CHECKING:
    from adjoint.native.codegen.llvm_text import Code, IRValue

_INFINITY, _SMALLEST, _BEYOND = 0x7F800000, 0x38800000, 0x47800000  # single: inf, 2^-14, 2^16


def from_half(x: IRValue) -> IRValue:
    """`x`, kept as 16 bits, in single precision: exact."""
    code = x.code
    if converts_halves():
        half = code.name(f"bitcast {x.type} {x.name} to {_half(code)}")
        return code.put(f"fpext {_half(code)} {half} to {code.type_of('f4')}", "f4")
    bits = _seen_as(x, "u2").to("u4")
    magnitude = (bits & 0x7FFF) << 13
    found = _seen_as((_seen_as(magnitude, "i4").as_float() * 2.0**112).bits(), "u4")
    found = code.select(magnitude >= 0x0F800000, found | _INFINITY, found)
    return _seen_as(found | ((bits & 0x8000) << 16), "i4").as_float()


def to_half(x: IRValue) -> IRValue:
    """`x`, in single precision, rounded to the nearest, ties to even; as 16 bits."""
    code = x.code
    if converts_halves():
        half = code.name(f"fptrunc {x.type} {x.name} to {_half(code)}")
        return code.put(f"bitcast {_half(code)} {half} to {code.type_of('f2')}", "f2")
    bits = _seen_as(x.bits(), "u4")
    size = bits & 0x7FFFFFFF
    usual = (size + 0xC8000FFF + ((size >> 13) & 1)) >> 13
    small = code.select(size < _SMALLEST, size, 0)
    # The last bit of 0.5 counts 2^-24, as that of a half below 2^-14 does: the last 16 bits of the sum are the half.
    tiny = _seen_as((_seen_as(small, "i4").as_float() + 0.5).bits(), "u4")
    nan = ((size >> 13) & 0x3FF) | 0x7E00
    beyond = code.select(size > _INFINITY, nan, 0x7C00)
    found = code.select(size < _SMALLEST, tiny, code.select(size >= _BEYOND, beyond, usual))
    return _seen_as((found | ((bits >> 16) & 0x8000)).to("u2"), "f2")


def _half(code: Code) -> str:
    return "half" if code.width == 1 else f"<{code.width} x half>"


def _seen_as(x: IRValue, dtype: str) -> IRValue:
    """The same bits as another dtype of the same register."""
    return type(x)(x.code, x.name, dtype)
