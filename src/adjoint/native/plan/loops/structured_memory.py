"""Memory in the code of loops that write single elements: where arrays lie, reading, writing, copying and filling."""

from __future__ import annotations

from typing import NamedTuple

from adjoint.core.types import Array
from adjoint.native.codegen.llvm_text import REGISTER, Code, IRValue, key_of
from adjoint.native.codegen.loops.masked import align_of


class LoopValues(NamedTuple):
    """The results of a loop, each as a number or an address, and the number of its turns."""

    results: list[Array]
    turns: str
    unfinished: str


class LoopEntry(NamedTuple):
    """Where a loop begins: first values, arrays that are read by turn, what is the same in each; where it ends.

    Attributes:
        rows: for each array that is read by turn: its address, its stride, whether that counts from the last turn.
        stacks: for each stack its address and stride, and the latter; None for one that nobody reads.
        final: for each carried array where it lies.
    """

    first: list[Array]
    rows: list[tuple[str, int, bool]]
    fixed: list[Array]
    stacks: list[tuple[str, int, bool] | None]
    final: list[str]
    before: str
    stop: str
    limit: str


def in_memory(dtype: Array) -> str:
    """What LLVM calls a number of this dtype where it lies in an array."""
    key = key_of(dtype)
    return "i8" if key == "b1" else REGISTER[key]


class MemoryCode:
    """What code does with memory."""

    code: Code

    def word(self, place: str) -> str:
        """The whole number at an address."""
        return self.code.name(f"load i64, ptr {place}")

    def load(self, place: str, dtype: Array) -> IRValue:
        """The number at an address."""
        code, key = self.code, key_of(dtype)
        kind = "i8" if key == "b1" else REGISTER[key]
        name = code.name(f"load {kind}, ptr {place}, align {align_of(key)}")
        return IRValue(code, code.name(f"trunc i8 {name} to i1") if key == "b1" else name, key)

    def store(self, value: IRValue, place: str) -> None:
        """Write a number to an address."""
        code, kind, name = self.code, value.type, value.name
        if value.dtype == "b1":
            kind, name = "i8", code.name(f"zext i1 {name} to i8")
        code.line(f"store {kind} {name}, ptr {place}, align {align_of(value.dtype)}")

    def move(self, to: str, source: str, size: int) -> None:
        """Copy so many bytes."""
        self.code.declare("llvm.memmove.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"])
        self.code.line(f"call void @llvm.memmove.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")

    def fill(self, place: str, turns: str, row: int, size: int) -> None:
        """Zeros for the rows of a stack that no turn wrote."""
        code = self.code
        there = code.name(f"mul i64 {turns}, {row}")
        rest = code.name(f"getelementptr i8, ptr {place}, i64 {there}")
        left = code.name(f"sub i64 {size}, {there}")
        code.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
        code.line(f"call void @llvm.memset.p0.i64(ptr {rest}, i8 0, i64 {left}, i1 false)")
