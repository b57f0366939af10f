"""Where a loop in vectors begins and ends. Light loops begin a little early, so that no vector crosses a cache line.

A vector that lies in two cache lines takes twice the time.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoint.core.memory import LINE
from adjoint.native.codegen.llvm_text import Code
from adjoint.native.codegen.machine import AVX512, vectors

Mask = tuple[str, str, str]  # whether all lanes of a vector are there, which, and which if not all are


class Edges(NamedTuple):
    """The ends of a loop in vectors.

    Attributes:
        begin: its first place: 0, or less if the first vector's first lanes are none of the array's.
        length: how many places there are.
        whole: vectors that begin at places from 0 to before this one are whole.
        first, last: which lanes there are of the first vector, if it begins early, and of the last one.
    """

    begin: str
    length: str
    whole: str
    first: str
    last: str

    def mask(self, code: Code, j: str) -> Mask:
        """Of the vector of the places up to before `j`, of a loop that does not begin early."""
        full, lanes = code.name(f"icmp ule i64 {j}, {self.length}"), _lanes(code)
        some = code.name(f"select i1 {full}, {lanes} splat (i1 true), {lanes} {self.last}")
        return full, some, self.last

    def apart(self, code: Code, n: str) -> tuple[tuple[str, Mask], tuple[str, Mask]]:
        """Go one way with the whole vector of the places %i to before %j of loop `n`, and another with parts of one.

        Gives the labels of both ways, and the masks there.
        """
        lanes, part = _lanes(code), self.last
        full = code.name(f"icmp ult i64 %i{n}, {self.whole}")  # not if that is less than 0
        if self.first:
            early = code.name(f"icmp slt i64 %i{n}, 0")
            part = code.name(f"select i1 {early}, {lanes} {self.first}, {lanes} {part}")
        code.line(f"br i1 {full}, label %whole{n}, label %part{n}")
        whole = "true", "splat (i1 true)", "zeroinitializer"
        return (f"whole{n}", whole), (f"part{n}", ("false", part, part))


def edges(code: Code, length: str, place: str = "", size: int = 1) -> Edges:
    """The ends of a loop over `length` places; with a `place`, elements of so many bytes lie from there on."""
    code.declare("llvm.usub.sat.i64", "i64", ["i64", "i64"])
    whole = code.name(f"call i64 @llvm.usub.sat.i64(i64 {length}, i64 {code.width - 1})")
    if not place:
        return Edges("0", length, whole, "", _before(code, code.name(f"and i64 {length}, {code.width - 1}")))
    address = code.name(f"ptrtoint ptr {place} to i64")
    within = code.name(f"and i64 {address}, {min(LINE, code.width * size) - 1}")
    early = code.name(f"lshr i64 {within}, {size.bit_length() - 1}")
    end, lanes = code.name(f"add i64 {length}, {early}"), _lanes(code)
    last = _before(code, code.name(f"and i64 {end}, {code.width - 1}"))
    outside = code.name(f"xor {lanes} {_before(code, early)}, splat (i1 true)")
    short = code.name(f"and {lanes} {outside}, {last}")
    ends = code.name(f"icmp ult i64 {end}, {code.width}")
    first = code.name(f"select i1 {ends}, {lanes} {short}, {lanes} {outside}")
    return Edges(code.name(f"sub i64 0, {early}"), length, whole, first, last)


def _before(code: Code, count: str) -> str:
    """The first `count` lanes, fewer than there are."""
    # AVX-512's masks are numbers. Those of eight lanes are compared: where LLVM widens a mask for eight bytes, it takes
    # all 16 bits that it kept of it over a call, and the upper ones of a number may be set.
    if vectors() == AVX512 and code.width > 8:
        kind = f"i{code.width}"
        wide = count if kind == "i64" else code.name(f"{'zext' if code.width > 64 else 'trunc'} i64 {count} to {kind}")
        missing = code.name(f"shl {kind} -1, {wide}")
        return code.name(f"bitcast {kind} {code.name(f'xor {kind} {missing}, -1')} to {_lanes(code)}")
    name = f"llvm.get.active.lane.mask.v{code.width}i1.i64"
    code.declare(name, _lanes(code), ["i64", "i64"])
    return code.name(f"call {_lanes(code)} @{name}(i64 0, i64 {count})")


def _lanes(code: Code) -> str:
    return f"<{code.width} x i1>"
