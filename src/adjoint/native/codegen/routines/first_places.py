"""Rows' largest or smallest elements, and the places of the first of each, without a comparison for each element.

A few vectors at a time are one step: the extreme of each lane is compared with that of the steps before, and its step
is kept beside it. Then the element is looked for in the first step that has it. A row with nan is gone through again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.llvm_text import REGISTER, IRValue
from adjoint.native.codegen.loops.loop_nest import Spec, Split, collapsed
from adjoint.native.codegen.loops.masked import align_of
from adjoint.native.codegen.loops.memory import Operand, addresses
from adjoint.native.codegen.loops.nests import Nest
from adjoint.native.codegen.machine import vectors

VECTORS = 4  # of a step
_TIME = 0.1  # nanoseconds for an element, about


class RowExtremes(NamedTuple):
    """What is found in rows whose elements lie side by side.

    Attributes:
        dtype: of the elements.
        is_max: whether the largest ones are looked for.
        least: what no element is beyond, on the other side.
        lengths: of the axes, the last one along the rows.
        operands: the elements, their numbers along the row, the extremes, and their numbers.
        strides: of each operand along each axis, in elements.
    """

    dtype: str
    is_max: bool
    least: float
    lengths: list[int]
    operands: list[Operand]
    strides: list[list[int]]

    def numbers(self) -> list[int]:
        """Lengths, and strides in bytes along all axes but the last one."""
        steps = [[s * align_of(o.dtype) for s in own[:-1]] for o, own in zip(self.operands, self.strides, strict=True)]
        return [*self.lengths, *(s for own in steps for s in own)]

    def split(self) -> Split | None:
        """It may be cut between rows."""
        if len(self.lengths) < 2:
            return None
        shifts = tuple(own[0] * align_of(o.dtype) for o, own in zip(self.operands, self.strides, strict=True))
        return Split(self.lengths[0], 1, (0,), shifts, _TIME * math.prod(self.lengths))


def rows_of(spec: Spec) -> RowExtremes | None:
    """`spec` as a search in rows, if it is one."""
    reductions = [reduction for _, _, reduction in spec.stores]
    if len(reductions) != 2 or not reductions[1] or not reductions[1].passes or spec.expressions or spec.in_turn:
        return None
    first, operands = reductions[0], [*spec.reads, *(operand for _, operand, _ in spec.stores)]
    values = [value for value, _, _ in spec.stores]
    if first is None or len(operands) != 4 or len({o.place for o in operands}) != 4 or values != [0, 1]:
        return None
    lengths, reduced, (elements, numbers), results = collapsed(spec)
    along = bool(lengths) and reduced == [False] * (len(lengths) - 1) + [True] and elements[-1] == numbers[-1] == 1
    dtype, kinds = operands[0].dtype, (operands[1].dtype, operands[3].dtype)
    size = align_of(dtype)
    plain = size in (4, 8) and kinds == (f"i{size}", "i8") and all(o.block is None for o in operands)
    if not along or not plain or lengths[-1] < VECTORS * vectors().bytes // size:
        return None
    return RowExtremes(
        dtype, first.key == ("extreme", True), first.identity, lengths, operands, [elements, numbers, *results]
    )


def write(rows: RowExtremes) -> FunctionText:
    """The code for rows of elements of this dtype."""
    return _ExtremesWriter(rows).written()


class _ExtremesWriter(Nest):
    def __init__(self, rows: RowExtremes) -> None:
        self.dtype, self.is_max, self.rank = rows.dtype, rows.is_max, len(rows.lengths)
        self.size = align_of(self.dtype)
        super().__init__(vectors().bytes // self.size)
        self.step = VECTORS * self.width
        self.whole = f"i{self.size}"  # the dtype of numbers of steps
        self.least = self.code.constant(rows.least, self.dtype)

    def written(self) -> FunctionText:
        code, outer = self.code, self.rank - 1
        starts = addresses(code, 4)
        numbers = [self.number(8 + i) for i in range(self.rank + 4 * outer)]
        self.length, steps = numbers[outer], numbers[self.rank :]
        self.times = code.name(f"udiv i64 {self.length}, {self.step}")
        self.there = code.name(f"mul i64 {self.times}, {self.step}")
        self.has_rest = code.name(f"icmp ult i64 {self.there}, {self.length}")
        left = code.name(f"sub i64 {self.length}, {self.there}")
        self.rest = [self.lanes(left, v * self.width) for v in range(VECTORS)]

        def around(axis: int, at: list[str]) -> None:
            if axis == outer:
                self.row(at)
                return

            def turn(i: str) -> None:
                around(axis + 1, [self.moved(place, (i, steps[k * outer + axis])) for k, place in enumerate(at)])

            self.loop("o", "0", numbers[axis], turn)

        around(0, starts)
        code.line("ret void")
        return FunctionText("define void @{name}(ptr %b, ptr %p) nounwind", code.lines, code.declared)

    def row(self, at: list[str]) -> None:
        """One row: its extreme, and the place of that."""
        code, width = self.code, self.width

        def of_step(number: str, before: list[str], masks: list[str]) -> list[str]:
            return self.stepped(self.elements(at[0], number, masks), before)

        found = self.carried("s", "0", self.times, self._start(), lambda i, x: of_step(i, x, []), self._kinds())
        rest = code.name(f"zext i1 {self.has_rest} to i64")
        found = self.carried("t", "0", rest, found, lambda _, x: of_step(self.times, x, self.rest), self._kinds())
        best, step = IRValue(code, found[0], self.dtype), IRValue(code, found[2], self.whole)
        top = code.in_pairs(self._more_extreme, best)
        code.width = width
        here = best.compare("eq", code.spread(top))
        steps = code.select(here, step, np.iinfo(self.whole).max)
        first = code.in_pairs(lambda x, y: code.select(x < y, x, y), steps).to("i8")
        code.width = width
        if self.dtype[0] == "f":
            top, first = self.of_nans(at[0], IRValue(code, found[3], self.whole), top, first)
        self.place(at, top, first)

    def _start(self) -> list[str]:
        return [self.least.name, "zeroinitializer", "zeroinitializer", "zeroinitializer"][: 3 + (self.dtype[0] == "f")]

    def _kinds(self) -> list[str]:
        """The types of what a step passes on: extremes, its number, those of the extremes, and where a nan is."""
        code = self.code
        return [code.type_of(self.dtype), *[code.type_of(self.whole)] * (2 + (self.dtype[0] == "f"))]

    def _more_extreme(self, x: IRValue, y: IRValue) -> IRValue:
        return x.code.select(x > y if self.is_max else x < y, x, y)

    def elements(self, row: str, step: str, masks: list[str]) -> list[IRValue]:
        """The vectors of a step; where masks are false, what changes nothing."""
        code = self.code
        at = self.moved(row, (step, str(self.step * self.size)))
        found = [self.load(at, v, self.dtype, masks[v] if masks else "") for v in range(VECTORS)]
        lanes = [IRValue(code, mask, "b1") for mask in masks]
        return [code.select(mask, x, self.least) for mask, x in zip(lanes, found, strict=True)] if masks else found

    def stepped(self, x: list[IRValue], before: list[str]) -> list[str]:
        """What a step of these elements passes on."""
        code = self.code
        best, number, kept = (
            IRValue(code, name, d) for name, d in zip(before, (self.dtype, *[self.whole] * 2), strict=False)
        )
        pairs = [self._more_extreme(a, b) for a, b in zip(x[::2], x[1::2], strict=True)]
        new = self._more_extreme(*pairs)
        passes = new > best if self.is_max else new < best
        made = [code.select(passes, new, best), number + 1, code.select(passes, number, kept)]
        if self.dtype[0] == "f":
            some = self.unordered(x[0], x[1]) | self.unordered(x[2], x[3])
            made.append(IRValue(code, before[3], self.whole) | code.convert("sext", some, self.whole))
        return [value.name for value in made]

    def unordered(self, x: IRValue, y: IRValue) -> IRValue:
        """Whether one of both is nan."""
        return self.code.put(f"fcmp uno {x.type} {x.name}, {y.name}", "b1")

    def bits(self, lanes: IRValue) -> str:
        """The lanes of a truth value as the bits of a number."""
        one = self.code.name(f"bitcast {lanes.type} {lanes.name} to i{self.width}")
        return self.code.name(f"zext i{self.width} {one} to i64") if self.width < 64 else one

    def of_nans(self, row: str, seen: IRValue, top: IRValue, first: IRValue) -> tuple[IRValue, IRValue]:
        """The extreme of a row and its step, or nan and the first step with one."""
        code, n = self.code, self.code.fresh("n")[1:]
        some = code.name(f"icmp ne i64 {self.bits(seen < 0)}, 0")
        code.line(f"br label %asked{n}")
        code.label(f"asked{n}")
        code.line(f"br i1 {some}, label %some{n}, label %known{n}")
        code.label(f"some{n}")

        def of_step(number: str, found: list[str]) -> list[str]:
            x = self.elements(row, number, [])
            there = self.bits(self.unordered(x[0], x[1]) | self.unordered(x[2], x[3]))
            is_first = code.name(f"icmp ult i64 {number}, {found[0]}")
            has = code.name(f"and i1 {is_first}, {code.name(f'icmp ne i64 {there}, 0')}")
            return [code.name(f"select i1 {has}, i64 {number}, i64 {found[0]}")]

        with code.inner():  # if no whole step has one, it is in the rest
            (step,) = self.carried("nan", "0", self.times, [self.times], of_step, "i64")
        code.line(f"br label %found{n}")
        code.label(f"found{n}")
        code.line(f"br label %known{n}")
        code.label(f"known{n}")
        kind, one = REGISTER[self.dtype], IRValue(code, f"%step{n}", "i8")
        nan = "0x7FF8000000000000"
        code.line(f"%top{n} = phi {kind} [ {top.name}, %asked{n} ], [ {nan}, %found{n} ]")
        code.line(f"%step{n} = phi i64 [ {first.name}, %asked{n} ], [ {step}, %found{n} ]")
        return IRValue(code, f"%top{n}", self.dtype), one

    def place(self, at: list[str], top: IRValue, step: IRValue) -> None:
        """Find the extreme in its step, and write both."""
        code, n = self.code, self.code.fresh("n")[1:]
        everywhere = code.spread(top)
        whole = code.name(f"icmp ult i64 {step.name}, {self.times}")
        code.line(f"br i1 {whole}, label %whole{n}, label %rest{n}")
        names = []
        for label, masks in (("whole", []), ("rest", self.rest)):
            code.label(f"{label}{n}")
            with code.inner():
                bits = "0"
                for v, x in enumerate(self.elements(at[0], step.name, masks)):
                    here = x.compare("eq", everywhere)
                    here = here | x.is_nan() if self.dtype[0] == "f" else here
                    moved = code.name(f"shl i64 {self.bits(here)}, {v * self.width}")
                    bits = code.name(f"or i64 {bits}, {moved}")
            names.append(bits)
            code.line(f"br label %{label}.end{n}")
            code.label(f"{label}.end{n}")
            code.line(f"br label %placed{n}")
        code.label(f"placed{n}")
        bits = code.name(f"phi i64 [ {names[0]}, %whole.end{n} ], [ {names[1]}, %rest.end{n} ]")
        code.declare("llvm.cttz.i64", "i64", ["i64", "i1"])
        lane = code.name(f"call i64 @llvm.cttz.i64(i64 {bits}, i1 true)")
        before = code.name(f"mul i64 {step.name}, {self.step}")
        number = code.name(f"add i64 {before}, {lane}")
        one = f"i{8 * self.size}"
        start = code.name(f"load {one}, ptr {at[1]}, align {self.size}")
        start = code.name(f"sext {one} {start} to i64") if self.size < 8 else start
        code.line(f"store {REGISTER[self.dtype]} {top.name}, ptr {at[2]}, align {self.size}")
        code.line(f"store i64 {code.name(f'add i64 {start}, {number}')}, ptr {at[3]}, align 8")
