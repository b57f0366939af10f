"""What all generated loops share: numbers from a table, loops, addresses, whole vectors and parts of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adjoint.native.codegen.llvm_text import REGISTER, Code, IRValue
from adjoint.native.codegen.loops.masked import align_of, suffix


class Nest:
    """The part of a writer that opens loops in code of so many lanes."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.code = Code(width)

    def number(self, place: int) -> str:
        """A number that the code gets."""
        at = self.code.name(f"getelementptr i64, ptr %p, i64 {place}")
        return self.code.name(f"load i64, ptr {at}")

    def loop(self, word: str, first: str, last: str, body: Callable[[str], None]) -> None:
        """A loop that runs `body` for each number from `first` to before `last`; there may be none."""

        def turn(number: str, _: list[str]) -> list[str]:
            body(number)
            return []

        self.carried(word, first, last, [], turn, "")

    def carried(
        self,
        word: str,
        first: str,
        last: str,
        values: list[str],
        body: Callable[[str, list[str]], list[str]],
        kind: str | Sequence[str],
    ) -> list[str]:
        """A loop whose turns pass `values` on: `body` takes a number and the values, and gives the next values.

        `kind` is their type, or the type of each.

        Returns:
            The names of the values after the last turn.
        """
        code, n = self.code, self.code.fresh(word)[1:]
        code.line(f"br label %from.{n}")
        code.label(f"from.{n}")
        code.line(f"br label %head.{n}")
        code.label(f"head.{n}")
        code.line(f"%{n} = phi i64 [ {first}, %from.{n} ], [ %next.{n}, %end.{n} ]")
        hole = len(code.lines)
        names = [f"%{n}.{k}" for k in range(len(values))]
        code.line(f"%more.{n} = icmp slt i64 %{n}, {last}")
        code.line(f"br i1 %more.{n}, label %do.{n}, label %out.{n}")
        code.label(f"do.{n}")
        with code.inner():
            made = body(f"%{n}", names)
        code.line(f"br label %end.{n}")
        code.label(f"end.{n}")
        code.line(f"%next.{n} = add nsw i64 %{n}, 1")
        code.line(f"br label %head.{n}")
        code.label(f"out.{n}")
        kinds = [kind] * len(values) if isinstance(kind, str) else kind
        code.lines[hole:hole] = [
            f"  {name} = phi {own} [ {value}, %from.{n} ], [ {new}, %end.{n} ]"
            for name, own, value, new in zip(names, kinds, values, made, strict=True)
        ]
        return names

    def added_product(self, total: str, x: str, y: str, dtype: str, fused: bool) -> str:
        """A vector with the product of two others added to it, rounded once if both are one instruction."""
        code, kind = self.code, self.code.type_of(dtype)
        if not fused:
            product = code.name(f"fmul {kind} {x}, {y}")
            return code.name(f"fadd {kind} {total}, {product}")
        word = f"llvm.fma.{suffix(self.width, dtype)}"
        code.declare(word, kind, [kind] * 3)
        return code.name(f"call {kind} @{word}({kind} {x}, {kind} {y}, {kind} {total})")

    def moved(self, pointer: str, *places: tuple[str, str]) -> str:
        """The address so many steps on: numbers of steps, each with their bytes."""
        for index, step in places:
            far = self.code.name(f"mul nsw i64 {index}, {step}")
            pointer = self.code.name(f"getelementptr i8, ptr {pointer}, i64 {far}")
        return pointer

    def lanes(self, left: str, before: int = 0) -> str:
        """The mask of the lanes that exist, if `left` elements are left, and `before` lanes come first."""
        name = f"llvm.get.active.lane.mask.v{self.width}i1.i64"
        self.code.declare(name, f"<{self.width} x i1>", ["i64", "i64"])
        return self.code.name(f"call <{self.width} x i1> @{name}(i64 {before}, i64 {left})")

    def spread(self, name: str, dtype: str) -> str:
        """One number in all lanes."""
        code, kind = self.code, self.code.type_of(dtype)
        one = code.name(f"insertelement {kind} poison, {REGISTER[dtype]} {name}, i32 0")
        return code.name(f"shufflevector {kind} {one}, {kind} poison, <{self.width} x i32> zeroinitializer")

    def load(self, pointer: str, v: int, dtype: str, mask: str = "", name: str = "") -> IRValue:
        """Vector `v` from `pointer` on; under a mask, if one is given."""
        code, kind, align = self.code, self.code.memory_type(dtype), align_of(dtype)
        at = code.name(f"getelementptr i8, ptr {pointer}, i64 {v * self.width * align}") if v else pointer
        text = f"load {kind}, ptr {at}, align {align}"
        if mask:
            word, lanes = f"llvm.masked.load.{suffix(self.width, dtype)}.p0", f"<{self.width} x i1>"
            code.declare(word, kind, ["ptr", "i32", lanes, kind])
            text = f"call {kind} @{word}(ptr {at}, i32 {align}, {lanes} {mask}, {kind} zeroinitializer)"
        if name:
            code.line(f"{name} = {text}")
        else:
            name = code.name(text)
        if dtype == "b1":
            name = code.name(f"trunc {kind} {name} to {code.type_of(dtype)}")
        return IRValue(code, name, dtype)

    def store(self, value: IRValue, pointer: str, v: int, mask: str = "") -> None:
        """Write vector `v` from `pointer` on; under a mask, if one is given."""
        code, dtype, name = self.code, value.dtype, value.name
        kind, align = code.memory_type(dtype), align_of(dtype)
        if dtype == "b1":
            name = code.name(f"zext {value.type} {name} to {kind}")
        at = code.name(f"getelementptr i8, ptr {pointer}, i64 {v * self.width * align}") if v else pointer
        if not mask:
            code.line(f"store {kind} {name}, ptr {at}, align {align}")
            return
        word, lanes = f"llvm.masked.store.{suffix(self.width, dtype)}.p0", f"<{self.width} x i1>"
        code.declare(word, "void", [kind, "ptr", "i32", lanes])
        code.line(f"call void @{word}({kind} {name}, ptr {at}, i32 {align}, {lanes} {mask})")

    def fetch(self, pointer: str, written: bool = False) -> None:
        """Ask for a line that will be needed some time later."""
        self.code.declare("llvm.prefetch.p0", "void", ["ptr", "i32", "i32", "i32"])
        self.code.line(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 {int(written)}, i32 3, i32 1)")
