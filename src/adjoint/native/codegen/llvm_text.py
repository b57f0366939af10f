"""LLVM's language, written by Python expressions: adding or comparing two `Value`s writes the code that does it.

Code is text, because text is made fastest, and equal code is equal text. A value holds one number, or as many
as the processor takes at once: `Code.width` says which, and the same expressions write either.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TypeAlias

import numpy as np

from adjoint.core.types import DType
from adjoint.native.codegen.halves import from_half, to_half

# What a dtype is in registers; truth values are one bit there, and a byte in memory. Half precision is bits alone: as
# NumPy does, one computes in single precision, and rounds each result.
REGISTER = {
    "b1": "i1", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u1": "i8", "u2": "i16", "u4": "i32", "u8": "i64",
    "f2": "i16", "f4": "float", "f8": "double",
}  # fmt: skip
_MEMORY = {"b1": "i8"}
_BITS = {"f4": "i4", "f8": "i8"}


@cache
def key_of(dtype: DType) -> str:
    """The short name of a dtype: ``"f8"`` for float64. In the other byte order it is ``">f8"``, which no code takes."""
    name: str = np.dtype(dtype).str
    return name[1:] if np.dtype(dtype).isnative else name


def float_text(x: float, dtype: str) -> str:
    """A floating-point constant, bit for bit."""
    value = float(np.float32(x)) if dtype == "f4" else float(x)
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


Term: TypeAlias = "IRValue | float"


class IRValue:
    """A number in the code, or `Code.width` of them: its name there, and its dtype."""

    __slots__ = ("code", "dtype", "name")

    def __init__(self, code: Code, name: str, dtype: str) -> None:
        self.code, self.name, self.dtype = code, name, dtype

    @property
    def type(self) -> str:
        """The type in the code."""
        return self.code.type_of(self.dtype)

    def _two(self, word: str, other: Term, reverse: bool = False) -> IRValue:
        right = self.code.like(other, self)
        a, b = (right, self) if reverse else (self, right)
        word += " contract" if self.code.contracts and word[0] == "f" else ""
        return self.code.put(f"{word} {self.type} {a.name}, {b.name}", self.dtype)

    def _word(self, word: str) -> str:
        return f"f{word}" if self.dtype[0] == "f" else word

    def __add__(self, other: Term) -> IRValue:
        return self._two(self._word("add"), other)

    def __radd__(self, other: Term) -> IRValue:
        return self._two(self._word("add"), other, True)

    def __sub__(self, other: Term) -> IRValue:
        return self._two(self._word("sub"), other)

    def __rsub__(self, other: Term) -> IRValue:
        return self._two(self._word("sub"), other, True)

    def __mul__(self, other: Term) -> IRValue:
        return self._two(self._word("mul"), other)

    def __rmul__(self, other: Term) -> IRValue:
        return self._two(self._word("mul"), other, True)

    def __truediv__(self, other: Term) -> IRValue:
        return self._two("fdiv", other)

    def __rtruediv__(self, other: Term) -> IRValue:
        return self._two("fdiv", other, True)

    def __neg__(self) -> IRValue:
        if self.dtype[0] == "f":
            return self.code.put(f"fneg {self.type} {self.name}", self.dtype)
        return self._two("sub", 0, True)

    def __and__(self, other: Term) -> IRValue:
        return self._two("and", other)

    def __or__(self, other: Term) -> IRValue:
        return self._two("or", other)

    def __xor__(self, other: Term) -> IRValue:
        return self._two("xor", other)

    def __lshift__(self, other: Term) -> IRValue:
        return self._two("shl", other)

    def __rshift__(self, other: Term) -> IRValue:
        return self._two("ashr" if self.dtype[0] == "i" else "lshr", other)

    def __invert__(self) -> IRValue:
        return self._two("xor", True if self.dtype == "b1" else -1)

    def compare(self, how: str, other: Term) -> IRValue:
        """A comparison, ``"lt"`` say; every one but ``"ne"`` is False for nan."""
        right = self.code.like(other, self)
        if self.dtype[0] == "f":
            word = "fcmp " + ("une" if how == "ne" else "o" + how)
        elif how in ("eq", "ne"):
            word = f"icmp {how}"
        else:
            word = f"icmp {'s' if self.dtype[0] == 'i' else 'u'}{how}"
        return self.code.put(f"{word} {self.type} {self.name}, {right.name}", "b1")

    def __lt__(self, other: Term) -> IRValue:
        return self.compare("lt", other)

    def __le__(self, other: Term) -> IRValue:
        return self.compare("le", other)

    def __gt__(self, other: Term) -> IRValue:
        return self.compare("gt", other)

    def __ge__(self, other: Term) -> IRValue:
        return self.compare("ge", other)

    def is_nan(self) -> IRValue:
        """Whether it is not equal to itself."""
        return self.code.put(f"fcmp uno {self.type} {self.name}, {self.name}", "b1")

    def bits(self) -> IRValue:
        """The bits of a floating-point number, as an integer."""
        return self.code.convert("bitcast", self, _BITS[self.dtype])

    def as_float(self) -> IRValue:
        """The floating-point number of these bits."""
        return self.code.convert("bitcast", self, "f8" if self.dtype[1] == "8" else "f4")

    def to(self, dtype: str) -> IRValue:
        """Converted as NumPy's ``astype`` does."""
        return converted(self, dtype)


class Code:
    """The text of one function: its lines, and what has been computed already."""

    def __init__(self, width: int = 1) -> None:
        self.width = width
        self.inlines = False  # whether the code of functions becomes part of this one
        self.contracts = False  # whether LLVM may make one rounding of a product and a sum
        self.written_out: set[str] = set()  # the long functions whose code is part of this one
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self._known: list[dict[str, IRValue]] = [{}]
        self._count = 0

    def type_of(self, dtype: str) -> str:
        """The register type of `dtype`."""
        return REGISTER[dtype] if self.width == 1 else f"<{self.width} x {REGISTER[dtype]}>"

    def memory_type(self, dtype: str) -> str:
        """The memory type of `dtype`."""
        one = _MEMORY.get(dtype, REGISTER[dtype])
        return one if self.width == 1 else f"<{self.width} x {one}>"

    def fresh(self, stem: str = "v") -> str:
        """A name that is not yet there."""
        self._count += 1
        return f"%{stem}{self._count}"

    def line(self, text: str) -> None:
        """Write a line that gives nothing back."""
        self.lines.append(f"  {text}")

    def name(self, text: str, stem: str = "v") -> str:
        """Write an instruction; the name of its result."""
        name = self.fresh(stem)
        self.lines.append(f"  {name} = {text}")
        return name

    def least(self, a: str, b: str) -> str:
        """The name of the smaller of two lengths or positions."""
        return self.name(f"select i1 {self.name(f'icmp slt i64 {a}, {b}')}, i64 {a}, i64 {b}")

    def put(self, text: str, dtype: str) -> IRValue:
        """The value of an instruction without side effects, which is written once."""
        for known in self._known:
            found = known.get(text)
            if found is not None:  # LLVM's type says nothing of the sign
                return found if found.dtype == dtype else IRValue(self, found.name, dtype)
        value = IRValue(self, self.name(text), dtype)
        self._known[-1][text] = value
        return value

    @contextmanager
    def inner(self) -> Iterator[None]:
        """A block of code whose values cannot be used after it."""
        self._known.append({})
        try:
            yield
        finally:
            self._known.pop()

    def either(self, chosen: IRValue, one: Callable[[], IRValue], other: Callable[[], IRValue]) -> IRValue:
        """The result of `one` if `chosen` is true for any number, else the result of `other`; only that is computed."""
        some, n = chosen.name, self.fresh("n")[1:]
        if self.width > 1:
            bits = self.name(f"bitcast {chosen.type} {chosen.name} to i{self.width}")
            some = self.name(f"icmp ne i{self.width} {bits}, 0")
        self.line(f"br i1 {some}, label %one{n}, label %other{n}")
        values = []
        for label, make in (("one", one), ("other", other)):
            self.label(f"{label}{n}")
            with self.inner():
                values.append(make())
            self.line(f"br label %{label}.end{n}")
            self.label(f"{label}.end{n}")
            self.line(f"br label %either{n}")
        self.label(f"either{n}")
        a, b = values
        return IRValue(self, self.name(f"phi {a.type} [ {a.name}, %one.end{n} ], [ {b.name}, %other.end{n} ]"), a.dtype)

    def label(self, name: str) -> None:
        """Start a block."""
        self.lines.append(f"{name}:")

    def constant(self, x: float, dtype: str) -> IRValue:
        """The constant `x`."""
        if dtype == "f2":
            text = str(int(np.float16(x).view(np.uint16)))
        elif dtype[0] == "f":
            text = float_text(x, dtype)
        elif dtype == "b1":
            text = "true" if x else "false"
        else:
            text = str(int(x))
        return IRValue(self, text if self.width == 1 else f"splat ({REGISTER[dtype]} {text})", dtype)

    def like(self, x: Term, value: IRValue) -> IRValue:
        """`x`, as a constant of the dtype of `value` if it is a number."""
        return x if isinstance(x, IRValue) else self.constant(x, value.dtype)

    def convert(self, word: str, x: IRValue, dtype: str) -> IRValue:
        """A conversion instruction."""
        return self.put(f"{word} {x.type} {x.name} to {self.type_of(dtype)}", dtype)

    def select(self, condition: IRValue, x: Term, y: Term) -> IRValue:
        """`x` where `condition`, `y` elsewhere."""
        model: IRValue = next(a for a in (x, y) if isinstance(a, IRValue))
        a, b = self.like(x, model), self.like(y, model)
        return self.put(f"select {condition.type} {condition.name}, {a.type} {a.name}, {b.type} {b.name}", a.dtype)

    def intrinsic(self, word: str, *args: Term) -> IRValue:
        """A function of LLVM's that works element by element: ``"fma"``, ``"sqrt"``, ``"fabs"`` …"""
        model: IRValue = next(a for a in args if isinstance(a, IRValue))
        values = [self.like(a, model) for a in args]
        dtype = model.dtype
        one = {"f4": "f32", "f8": "f64"}.get(dtype, REGISTER[dtype])
        name = f"llvm.{word}.{one if self.width == 1 else f'v{self.width}{one}'}"
        self.declare(name, self.type_of(dtype), [v.type for v in values])
        return self.put(f"call {self.type_of(dtype)} @{name}({', '.join(f'{v.type} {v.name}' for v in values)})", dtype)

    def declare(self, name: str, result: str, arguments: Sequence[str]) -> None:
        """Announce a function that is defined elsewhere."""
        self.declared[name] = f"declare {result} @{name}({', '.join(arguments)})"

    def fma(self, x: Term, y: Term, z: Term) -> IRValue:
        """x * y + z with one rounding."""
        return self.intrinsic("fma", x, y, z)

    def polynomial(self, x: IRValue, coefficients: Sequence[float]) -> IRValue:
        """c0 + c1 x + c2 x² + …, from the inside."""
        total = self.constant(coefficients[-1], x.dtype)
        for c in reversed(coefficients[:-1]):
            total = self.fma(total, x, c)
        return total

    def in_pairs(self, combine: Callable[[IRValue, IRValue], IRValue], x: IRValue) -> IRValue:
        """The lanes of `x` combined, lower with upper half, until one is left; from here on, values have one lane."""
        while self.width > 1:
            half, kind = self.width // 2, self.type_of(x.dtype)
            lanes = [", ".join(f"i32 {i}" for i in range(start, start + half)) for start in (0, half)]
            text = f"shufflevector {kind} {x.name}, {kind} poison, <{half} x i32>"
            parts = [self.name(f"{text} <{part}>") for part in lanes]
            if half == 1:
                parts = [self.name(f"extractelement <1 x {REGISTER[x.dtype]}> {part}, i32 0") for part in parts]
            self.width = half
            low, high = (IRValue(self, part, x.dtype) for part in parts)
            x = combine(low, high)
        return x

    def spread(self, x: IRValue) -> IRValue:
        """One number in all lanes."""
        one = self.name(f"insertelement {self.type_of(x.dtype)} poison, {REGISTER[x.dtype]} {x.name}, i32 0")
        kind, lanes = self.type_of(x.dtype), f"<{self.width} x i32> zeroinitializer"
        return IRValue(self, self.name(f"shufflevector {kind} {one}, {kind} poison, {lanes}"), x.dtype)

    def each(self, function: Callable[..., str], *values: IRValue, dtype: str = "") -> IRValue:
        """One element after another through `function`, which takes and gives names of single values.

        The results have the dtype of the last of the values, or `dtype`.
        """
        dtype = dtype or values[-1].dtype
        if self.width == 1:
            return IRValue(self, function(*(x.name for x in values)), dtype)
        one, total = REGISTER[dtype], "poison"
        for i in range(self.width):
            alone = [self.name(f"extractelement {x.type} {x.name}, i32 {i}") for x in values]
            total = self.name(f"insertelement {self.type_of(dtype)} {total}, {one} {function(*alone)}, i32 {i}")
        return IRValue(self, total, dtype)


def converted(x: IRValue, dtype: str) -> IRValue:
    """`x` as `dtype`, as NumPy's ``astype`` gives it; floats out of an integer's range give what the processor does."""
    code, kind, to = x.code, x.dtype[0], dtype[0]
    if x.dtype == dtype:
        return x
    if x.dtype == "f2":
        return converted(from_half(x), dtype)
    if dtype == "f2":
        return to_half(_to_odd(x) if x.dtype == "f8" else converted(x, "f4"))
    if to == "b":
        return x.compare("ne", 0)
    if kind == "b":
        return code.convert("uitofp" if to == "f" else "zext", x, dtype)
    if kind == "f" and to == "f":
        return code.convert("fpext" if dtype == "f8" else "fptrunc", x, dtype)
    if kind == "f":
        return _to_integer(x, dtype)
    if to == "f":
        return code.convert("sitofp" if kind == "i" else "uitofp", x, dtype)
    wide, narrow = int(dtype[1]), int(x.dtype[1])
    if wide == narrow:
        return IRValue(code, x.name, dtype)
    if x.name.startswith("splat ("):  # a constant stays one, and is seen as such
        bits = 8 * min(wide, narrow)
        known = int(x.name.split()[-1][:-1]) % 2**bits
        lowest = kind if wide > narrow else to
        return code.constant(known - 2**bits if lowest == "i" and known >= 2 ** (bits - 1) else known, dtype)
    return code.convert("trunc" if wide < narrow else "sext" if kind == "i" else "zext", x, dtype)


def _to_integer(x: IRValue, dtype: str) -> IRValue:
    """As C compilers do it, by the processor's signed conversions: -1.0 is 255 as a byte, and 300.0 is 44."""
    code = x.code
    if dtype == "u8":
        far = ~(x < 2.0**63)
        near = code.convert("fptosi", code.select(far & ~x.is_nan(), x - 2.0**63, x), "i8")
        return code.select(far & ~x.is_nan(), near ^ -(2**63), near).to("u8")
    wide = {"u4": "i8", "i8": "i8"}.get(dtype, "i4")
    return converted(code.convert("fptosi", x, wide), dtype)


def _to_odd(x: IRValue) -> IRValue:
    """A double in single precision, to be rounded once more: what is not exact ends in a bit that says so."""
    code = x.code
    near = code.convert("fptrunc", x, "f4")
    back = near.to("f8")
    too_far = code.intrinsic("fabs", back) > code.intrinsic("fabs", x)
    bits = near.bits()
    down = code.select(too_far, bits - 1, bits)
    return code.select(back.compare("ne", x) & ~x.is_nan(), (down | 1).as_float(), near)
