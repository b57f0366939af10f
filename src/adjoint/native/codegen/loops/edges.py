"""Where a loop in vectors begins and ends. Light loops begin a little early, so that no vector crosses a cache line.

A vector that lies in two cache lines takes twice the time.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoint.core.memory import LINE
from adjoint.native.codegen.llvm_text import Code
from adjoint.native.codegen.machine import AVX512, vectors

# Whether all lanes of a vector are there, which, and which if not all are: `lanes_of` gives these.
Mask = tuple[str, str, str]


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
        full, kind = code.name(f"icmp ule i64 {j}, {self.length}"), _kept(code)
        some = code.name(f"select i1 {full}, {kind} {_all(code)}, {kind} {self.last}")
        return full, some, self.last

    def apart(self, code: Code, n: str) -> tuple[tuple[str, Mask], tuple[str, Mask]]:
        """Go one way with the whole vector of the places %i to before %j of loop `n`, and another with parts of one.

        Gives the labels of both ways, and the masks there.
        """
        kind, part = _kept(code), self.last
        full = code.name(f"icmp ult i64 %i{n}, {self.whole}")  # not if that is less than 0
        if self.first:
            early = code.name(f"icmp slt i64 %i{n}, 0")
            part = code.name(f"select i1 {early}, {kind} {self.first}, {kind} {part}")
        code.line(f"br i1 {full}, label %whole{n}, label %part{n}")
        whole = "true", _all(code), "zeroinitializer"
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
    end, kind = code.name(f"add i64 {length}, {early}"), _kept(code)
    last = _before(code, code.name(f"and i64 {end}, {code.width - 1}"))
    outside = code.name(f"xor {kind} {_before(code, early)}, {_all(code)}")
    short = code.name(f"and {kind} {outside}, {last}")
    ends = code.name(f"icmp ult i64 {end}, {code.width}")
    first = code.name(f"select i1 {ends}, {kind} {short}, {kind} {outside}")
    return Edges(code.name(f"sub i64 0, {early}"), length, whole, first, last)


def lanes_of(code: Code, mask: str) -> str:
    """The lanes of a part of a `Mask`, for instructions of the block that is open."""
    if in_bits() or mask == "zeroinitializer":
        return mask
    if mask == _all(code):
        return "splat (i1 true)"
    return code.name(f"icmp slt {_kept(code)} {mask}, zeroinitializer")


def _before(code: Code, count: str) -> str:
    """The first `count` lanes, fewer than there are."""
    kind = _kept(code)
    if not in_bits():
        one = code.name(f"insertelement {kind} poison, i8 {code.name(f'trunc i64 {count} to i8')}, i32 0")
        same = code.name(f"shufflevector {kind} {one}, {kind} poison, <{code.width} x i32> zeroinitializer")
        numbers = ", ".join(f"i8 {i if i < 128 else i - 256}" for i in range(code.width))
        there = code.name(f"icmp ult {kind} <{numbers}>, {same}")
        return code.name(f"sext <{code.width} x i1> {there} to {kind}")
    # AVX-512's masks are numbers. Those of eight lanes are compared: where LLVM widens a mask for eight bytes, it takes
    # all 16 bits that it kept of it over a call, and the upper ones of a number may be set.
    if code.width > 8:
        bits = f"i{code.width}"
        wide = count if bits == "i64" else code.name(f"{'zext' if code.width > 64 else 'trunc'} i64 {count} to {bits}")
        missing = code.name(f"shl {bits} -1, {wide}")
        return code.name(f"bitcast {bits} {code.name(f'xor {bits} {missing}, -1')} to {kind}")
    name = f"llvm.get.active.lane.mask.v{code.width}i1.i64"
    code.declare(name, kind, ["i64", "i64"])
    return code.name(f"call {kind} @{name}(i64 0, i64 {count})")


def in_bits() -> bool:
    """Whether masks are bits. Elsewhere LLVM makes a register of each lane that leaves its block: bytes leave it."""
    return vectors() == AVX512


def _kept(code: Code) -> str:
    """What a mask is from one block to another."""
    return f"<{code.width} x {'i1' if in_bits() else 'i8'}>"


def _all(code: Code) -> str:
    """The mask of all lanes."""
    return "splat (i1 true)" if in_bits() else "splat (i8 -1)"
