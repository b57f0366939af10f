"""One kernel: a nest of loops over a domain, in which a few expressions are computed and stored or summed up.

The innermost loop goes in vectors as wide as the processor's; its remainder is computed under a mask, by the same
code; light kernels write whole lines, and have code of their own for both ends. Lengths and strides are read when the
kernel runs, so equal expressions of other shapes are the same kernel.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import NamedTuple

from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.llvm_text import Code, IRValue
from adjoint.native.codegen.loops import columns
from adjoint.native.codegen.loops.edges import edges
from adjoint.native.codegen.loops.light import HALF, has_bits, is_light, is_small, time_of
from adjoint.native.codegen.loops.loop_nest import Spec, Split, collapsed, handed_on, spread_along, within_vectors
from adjoint.native.codegen.loops.masked import align_of
from adjoint.native.codegen.loops.memory import GATHERED, NEAR, BufferKey, Operand
from adjoint.native.codegen.loops.reducing import Reducing
from adjoint.native.codegen.machine import AVX512, vectors
from adjoint.native.codegen.routines import first_places, tiles

INLINED = 1 << 14  # with so many places, functions become part of the kernel instead of being called
_AT_ONCE = 4  # so many vectors, each with sums of its own
_QUANTUM = 1024  # so many places along the vectors are not cut
_LONG = 32  # so many vectors are worth an aligned beginning
_SHORT = 8  # so many elements of a sum are written out
_BLOCK = 256  # so many vectors are summed up before their sum is put to the others


class KernelText(NamedTuple):
    """A kernel's code and its arguments: the places of arrays, then lengths and strides."""

    function: FunctionText
    operands: list[Operand]
    places: list[tuple[BufferKey, int]]
    numbers: list[int]
    loops: int
    split: Split | None


def write(spec: Spec, known: dict[Hashable, FunctionText]) -> KernelText:
    """The code of the kernel; that of an equal one, if it is in `known`."""
    turn = tiles.turn_of(spec)
    if turn is not None:
        key: Hashable = "turn", turn.size, turn.width, len(turn.lengths), turn.down, turn.along
        if key not in known:
            known[key] = tiles.write(turn)
        places = [spec.reads[0].place, spec.stores[0][1].place]
        return KernelText(known[key], spec.operands, places, turn.numbers(), len(turn.lengths), turn.split())
    if (rows := first_places.rows_of(spec)) is not None:
        key = "places", rows.dtype, rows.is_max, len(rows.lengths)
        if key not in known:
            known[key] = first_places.write(rows)
        places = [operand.place for operand in rows.operands]
        return KernelText(known[key], rows.operands, places, rows.numbers(), len(rows.lengths), rows.split())
    writer = _KernelWriter(columns.in_pairs(spec))
    key = writer.key()
    function = known.get(key) or known.setdefault(key, writer.written())
    return KernelText(function, writer.operands, [*writer.places], writer.numbers(), len(writer.loops), writer.split())


class _KernelWriter(Reducing):
    """Writes one kernel: `written` opens the loops from outside to inside, and closes them again."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        lengths, reduced, self.reads, self.stores = collapsed(spec)
        self.operands = spec.operands
        self.places = {place: i for i, place in enumerate(dict.fromkeys(o.place for o in self.operands))}
        self.written_from = len(self.reads)  # the number of the first operand that is written
        self.spread, self.handed_on = spread_along(spec, self.reads), handed_on(spec)
        self.vector = len(lengths) - (not self._is_serial())  # the axis that goes in vectors: the last one, or none
        before = range(max(self.vector, 0))
        outer = [a for a in before if not reduced[a]]
        inner = [a for a in before if reduced[a]]
        along = [self.vector] if self.vector < len(lengths) and lengths else []
        self.reducing = any(reduction for _, _, reduction in spec.stores)
        last_reduced = bool(along) and reduced[-1]
        within = within_vectors(spec, outer, lengths, self.reads, _SHORT) if along and not self.reducing else []
        outer = [a for a in outer if a not in within]
        self.loops = outer + inner + along if last_reduced else outer + along + within + inner
        # Reductions begin anew inside so many loops.
        self.kept = len(outer) if last_reduced else len(outer) + len(along)
        # Short sums inside of vectors are written out, element after element.
        short = bool(along) and not last_reduced and math.prod(lengths[a] for a in inner) <= _SHORT
        self.written_out = {a: lengths[a] for a in within or inner} if short or within else {}
        self.lengths, self.last_reduced = lengths, last_reduced
        sizes = [int(o.dtype[1]) for o in self.operands if o.dtype[0] == "f"]
        wholes = min(4, max((int(o.dtype[1]) for o in self.operands), default=4))
        widest = max(sizes or [wholes, *(int(r.dtype[1]) for _, _, r in spec.stores if r)])
        steps = [strides[-1] for strides in (*self.reads, *self.stores)] if along else []
        apart = any(s not in (0, 1) and align_of(o.dtype) < GATHERED
                    for o, s in zip(self.operands, steps, strict=False))  # fmt: skip
        widest = max(widest, GATHERED) if apart else widest
        lanes = 64 // widest if along else 1
        self.light = not apart and bool(along) and lengths[-1] >= 2 * _AT_ONCE * lanes and is_light(spec)
        pairs = any(r and r.passes for _, _, r in spec.stores)  # which take two registers for each result
        few = pairs and vectors().registers < 32
        inlines = math.prod(spec.domain) >= INLINED
        # Long chains of operations wait for each other: two of them go side by side, if there are registers for both.
        paired = inlines and bool(along and sizes) and not self.reducing and is_small(spec) and vectors() == AVX512
        self.code = Code(lanes * _AT_ONCE // (1 + few) if self.light else lanes * (1 + paired))
        self.code.inlines = inlines
        self.is_long = self.light and lengths[-1] >= _LONG * self.code.width
        # Where much is computed, few vectors are under way at once: the next ones must be asked for.
        self.asks = not self.light and bool(along) and self.code.inlines
        self.strides, self.reduced = [*self.reads, *self.stores], reduced
        parts = (range(len(spec.reads)), range(self.written_from, len(self.operands))) if along else ()
        self.columns = [t for ks in parts for t in columns.tables(ks, self, self.strides, self.code.width)]
        self.read_so_far = 0
        self.sums, self.running = [], []
        self.in_registers = last_reduced and not inner
        self.mask: tuple[str, str, str] | None = None  # see `Access`

    def _is_serial(self) -> bool:
        """Whether nothing can go in vectors: two lanes might write to one place, or one needs the other's result."""
        spec = self.spec
        if any(operand.positions is not None and self.spread[operand.positions] for _, operand, _ in spec.stores):
            return True
        longer = [axis for axis, n in enumerate(spec.domain) if n > 1]
        return bool(longer) and longer[-1] in spec.in_turn

    # -- What the kernel is called with ---------------------------------------------------------------

    def _is_fixed(self, stride: int, axis: int) -> bool:
        """Whether a stride is part of the code."""
        return stride == 0 or (axis == self.vector and (stride == 1 or stride in NEAR))

    def numbers(self) -> list[int]:
        """Lengths and strides, in the order in which the kernel reads them."""
        found = [s for strides in self.strides for a, s in enumerate(strides) if not self._is_fixed(s, a)]
        return [*self.lengths, *found]

    def key(self) -> Hashable:
        """Equal for kernels of the same code."""
        spec = self.spec
        return (
            (self.code.width, self.is_long, self.asks, self.handed_on),
            tuple(self.reduced),
            tuple(self.written_out.items()),
            (len(spec.reads), *self.columns),
            tuple([(operand.dtype, self.places[operand.place], operand.within) for operand in self.operands]),
            tuple(s if self._is_fixed(s, a) else -1 for strides in self.strides for a, s in enumerate(strides)),
            tuple((expression.key, expression.args) for expression in spec.expressions),
            tuple(
                (value, reduction and reduction.key, operand.positions, operand.adds)
                for value, operand, reduction in spec.stores
            ),
        )

    def split(self) -> Split | None:
        """How the outermost loop may be cut; None where its places depend on each other, or share a sum."""
        axis = self.loops[0] if self.loops else None
        stores = [operand for _, operand, _ in self.spec.stores]
        apart = all(operand.positions is None and not operand.adds for operand in stores) and not self.spec.in_turn
        if axis is None or self.reduced[axis] or not apart:
            return None
        shifts: dict[tuple[BufferKey, int], int] = {}
        for operand, strides in zip(self.operands, self.strides, strict=True):
            shift = strides[axis] * int(operand.dtype[1])
            if shifts.setdefault(operand.place, shift) != shift:
                return None
        quantum = _QUANTUM if axis == self.vector else 1
        return Split(
            self.lengths[axis], quantum, (axis,), tuple(shifts.values()), time_of(self.spec) * math.prod(self.lengths)
        )

    def number(self) -> str:
        """The next of `numbers`, read when the kernel begins."""
        at = self.code.name(f"getelementptr i64, ptr %p, i64 {2 * len(self.places) + self.read_so_far}")
        self.read_so_far += 1
        return self.code.name(f"load i64, ptr {at}")

    # -- Loops ----------------------------------------------------------------------------------------

    def written(self) -> FunctionText:
        """The code."""
        code, spec = self.code, self.spec
        self.at, self.count = self.pointers(), [self.number() for _ in self.lengths]
        self.step = [
            [s if self._is_fixed(s, a) else self.number() for a, s in enumerate(strides)] for strides in self.strides
        ]
        count = len(spec.reads)
        self.level_of = [self._level(s) for s in self.reads[:count]]
        looked_up = iter(range(count, self.written_from))
        self.array_of: dict[int, int] = {}
        for k, expression in enumerate(spec.expressions, count):
            level = max((self.level_of[a] for a in expression.args), default=0)
            if expression.array:
                self.array_of[k] = next(looked_up)
                level = max(level, self._level(self.reads[self.array_of[k]]))
            self.level_of.append(level)
        self.values: dict[int, IRValue] = {}
        self.places_of_totals()
        self.open(0)
        code.line("ret void")
        half = HALF if self.light and not self.reducing and not has_bits(spec) else ""
        return FunctionText("define void @{name}(ptr %b, ptr %p) nounwind" + half, code.lines, code.declared)

    def _level(self, strides: list[int]) -> int:
        """How many loops enclose the read of an operand: those along which it varies."""
        return max((k + 1 for k, axis in enumerate(self.loops) if strides[axis]), default=0)

    def open(self, level: int) -> None:
        """Write the code inside of `level` loops."""
        if self.reducing and level == self.kept:
            self.begin()
        self.compute(level)
        if level == len(self.loops):
            self.leaf()
        elif self.loops[level] == self.vector:
            self.along(level)
        elif self.loops[level] in self.written_out:
            self.each(level)
        else:
            self.around(level)
        if self.reducing and level == self.kept:
            self.finish()

    def around(self, level: int) -> None:
        """A loop, one place after another."""
        code, axis, n = self.code, self.loops[level], self.code.fresh("n")[1:]
        start = self.alone(self.handed_on) if level + 1 == len(self.loops) and self.handed_on >= 0 else None
        sums = self.reducing and level + 1 == len(self.loops) and self.reduced[axis] and not self.written_out
        so_far = self.so_far() if sums else []
        before, saved = self._before(f"h{n}"), self.at
        code.label(f"h{n}")
        code.line(f"%i{n} = phi i64 [ 0, %{before} ], [ %j{n}, %t{n} ]")
        if sums:
            self.run(n, before, so_far)
        if start:
            code.line(f"%v{n} = phi {start.type} [ {start.name}, %{before} ], [ %u{n}, %t{n} ]")
            self.values[self.handed_on] = IRValue(code, f"%v{n}", start.dtype)
        with code.inner():
            self.at = self._all_moved(axis, f"%i{n}")
            self.open(level + 1)
            if start:
                value = self.values[self.spec.stores[0][0]].to(start.dtype)
                code.line(f"%u{n} = select i1 true, {value.type} {value.name}, {value.type} {value.name}")
        self.at = saved
        self._goto(f"t{n}")
        code.label(f"t{n}")
        code.line(f"%j{n} = add i64 %i{n}, 1")
        code.line(f"%c{n} = icmp ult i64 %j{n}, {self.count[axis]}")
        code.line(f"br i1 %c{n}, label %h{n}, label %e{n}")
        code.label(f"e{n}")
        if sums:
            self.end_run(combine=False)

    def each(self, level: int) -> None:
        """The same code for each place of a short axis."""
        axis, saved = self.loops[level], self.at
        for i in range(self.written_out[axis]):
            with self.code.inner():
                self.at = self._all_moved(axis, str(i))
                self.open(level + 1)
            self.at = saved

    def along(self, level: int) -> None:
        """The loop in vectors; a long reduction in blocks of these."""
        code, axis, n = self.code, self.loops[level], self.code.fresh("n")[1:]
        length, saved, width = self.count[axis], self.at, code.width
        blocks = self.reducing and self.last_reduced
        # Whole vectors and their remainders have code of their own.
        apart = not blocks and (self.is_long or (self.light and self.reducing))
        ends = edges(code, length, *self._line_at() if apart and not self.reducing else ())
        before = self._before(f"h{n}")
        code.label(f"h{n}")
        if blocks:
            if self.in_registers:
                self.totals_of(n, before)
            code.line(f"%k{n} = phi i64 [ 0, %{before} ], [ %l{n}, %u{n} ]")
            code.line(f"%l{n} = add i64 %k{n}, {_BLOCK * width}")
            code.line(f"%w{n} = icmp ult i64 %l{n}, {length}")
            code.line(f"%z{n} = select i1 %w{n}, i64 %l{n}, i64 {length}")
            code.line(f"br label %v{n}")
            code.label(f"v{n}")
        first, entry, end = ("v", f"h{n}", f"%z{n}") if blocks else ("h", before, length)
        code.line(f"%i{n} = phi i64 [ {f'%k{n}' if blocks else ends.begin}, %{entry} ], [ %j{n}, %t{n} ]")
        if blocks:
            self.run(n, entry)
        code.line(f"%j{n} = add i64 %i{n}, {width}")
        for label, self.mask in ends.apart(code, n) if apart else (("", ends.mask(code, f"%j{n}")),):
            if label:
                code.label(label)
            with code.inner():
                self.at = self._all_moved(axis, f"%i{n}")
                if self.asks and axis == self.loops[-1]:
                    self.ask_ahead(range(self.written_from))
                self.open(level + 1)
            self.at = saved
            self._goto(f"t{n}")
        self.mask = None
        code.label(f"t{n}")
        code.line(f"%c{n} = icmp ult i64 %j{n}, {end}")
        code.line(f"br i1 %c{n}, label %{first}{n}, label %{'x' if blocks else 'e'}{n}")
        if blocks:
            code.label(f"x{n}")
            self.end_run(combine=True)
            self._goto(f"u{n}")
            code.label(f"u{n}")
            code.line(f"br i1 %w{n}, label %h{n}, label %e{n}")
        code.label(f"e{n}")

    def _line_at(self) -> tuple[str, int] | tuple[()]:
        """Where whole vectors of the largest elements lie, if possible written ones; their size. Nothing if too few."""
        near = [(align_of(o.dtype), k) for k, o in enumerate(self.operands) if self.strides[k][self.vector] == 1]
        size, k = max(near, default=(0, 0))
        return (self.at[k], size) if near and self.is_long else ()

    def _before(self, label: str) -> str:
        """End the block that is open, before a loop; its name."""
        name = self.code.fresh("b")[1:]
        self._goto(name)
        self.code.label(name)
        self._goto(label)
        return name

    def _goto(self, label: str) -> None:
        self.code.line(f"br label %{label}")

    # -- Inside ---------------------------------------------------------------------------------------

    def compute(self, level: int) -> None:
        """Read and compute what varies inside of `level` loops, and no further."""
        count = len(self.spec.reads)
        here = [k for k in range(count) if self.level_of[k] == level and k != self.handed_on]
        whole = [k for k in here if self.lengths and self.mask and self.reads[k][self.vector]]
        for k in here:
            if k not in whole:
                self.values[k] = self.alone(k)
        self.in_vectors(whole)
        for k, expression in enumerate(self.spec.expressions, count):
            if self.level_of[k] != level:
                continue
            if expression.function:
                self.values[k] = expression.function(self.code, *(self.values[a] for a in expression.args))
            else:
                place = expression.args[0]
                self.values[k] = self.looked_up(self.array_of[k], self.values[place], self.spread[place])

    def leaf(self) -> None:
        """Store the values that are stored at each place, and reduce the others."""
        plain = list[tuple[int, IRValue]]()
        for k, (value, operand, reduction) in enumerate(self.spec.stores, self.written_from):
            if operand.positions is not None or operand.adds:
                at = None if operand.positions is None else self.values[operand.positions]
                self.placed(k, self.values[value].to(operand.dtype), at)
            elif not reduction:
                plain.append((k, self.values[value]))
        self.stored(plain)
        if self.reducing:
            self.take()
