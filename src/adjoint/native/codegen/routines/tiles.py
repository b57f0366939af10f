"""Copies that transpose: tile by tile, each read by its columns and written by its rows, transposed in registers.

Element by element, one of the two sides would touch a line of the cache for each element.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from adjoint.core.memory import LINE
from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.llvm_text import IRValue
from adjoint.native.codegen.loops.columns import turned
from adjoint.native.codegen.loops.loop_nest import Spec, Split, collapsed
from adjoint.native.codegen.loops.memory import addresses
from adjoint.native.codegen.loops.nests import Nest
from adjoint.native.codegen.machine import vectors

FEWEST = 1 << 10  # elements, below which tiles are not worth their code
_LINE = 16  # elements of a tile's side at most
_TIME = 0.3  # nanoseconds for an element, about
_PAIR = 16  # bytes of an element that is copied as it is: a complex number of two doubles
_WHOLE = {1: "u1", 2: "u2", 4: "f4", 8: "f8", _PAIR: "f8"}  # dtypes by their bytes: bits are copied


class TransposedCopy(NamedTuple):
    """A copy that turns axes.

    Attributes:
        size: bytes of an element.
        lengths: of the axes.
        read, store: strides along them, in elements.
        down, along: the axis whose elements lie side by side where they are read; and where they are written.
    """

    size: int
    lengths: list[int]
    read: list[int]
    store: list[int]
    down: int
    along: int

    @property
    def width(self) -> int:
        """How many rows and columns a tile has."""
        if self.size == _PAIR:
            return LINE // _PAIR
        return min(_LINE, vectors().bytes // self.size)

    def numbers(self) -> list[int]:
        """Lengths, and strides in bytes."""
        return [*self.lengths, *(s * self.size for s in (*self.read, *self.store))]

    def split(self) -> Split:
        """It may be cut between the rows of tiles."""
        shifts = self.read[self.down] * self.size, self.store[self.down] * self.size
        time = _TIME * math.prod(self.lengths)
        return Split(self.lengths[self.down], self.width, (self.down,), shifts, time)


def turn_of(spec: Spec) -> TransposedCopy | None:
    """`spec` as a copy that turns axes, if it is a large one."""
    if spec.expressions or not spec.reads or not spec.stores or spec.in_turn or spec.looked_up:
        return None
    (_, store, reduction), read = spec.stores[0], spec.reads[0]
    bare = store.positions is None and not store.adds and store.block is None and read.block is None
    if reduction or not bare or read.dtype != store.dtype or math.prod(spec.domain) < FEWEST:
        return None
    lengths, _, (reads, *_), (stores, *_) = collapsed(spec)
    size = int(read.dtype[1])
    if _are_pairs(spec, size, [*reads, *stores]):
        size, reads, stores = 2 * size, [s // 2 for s in reads], [s // 2 for s in stores]
    elif len(spec.reads) + len(spec.stores) > 2:
        return None
    if len(lengths) < 2 or 1 not in stores or (1 not in reads and size < _PAIR):
        return None
    near = min(reads) if size == _PAIR else 1
    found = TransposedCopy(size, lengths, reads, stores, reads.index(near), stores.index(1))
    short = min(lengths[found.down], lengths[found.along]) < found.width
    return None if found.down == found.along or short or 0 in stores else found


def _are_pairs(spec: Spec, size: int, strides: list[int]) -> bool:
    """Whether both parts of complex numbers are copied, each beside the other."""
    if size < 4 or [(value, how) for value, _, how in spec.stores] != [(0, None), (1, None)] or len(spec.reads) != 2:
        return False
    both = (spec.reads, [operand for _, operand, _ in spec.stores])
    beside = all(y == x._replace(offset=x.offset + size) for x, y in both)
    return beside and not any(s % 2 for s in strides)


def write(turn: TransposedCopy) -> FunctionText:
    """The code for copies of elements of this size, with these axes."""
    return _TileWriter(turn).written()


class _TileWriter(Nest):
    def __init__(self, turn: TransposedCopy) -> None:
        super().__init__(turn.width)
        self.turn, self.dtype = turn, _WHOLE[turn.size]

    def written(self) -> FunctionText:
        code, rank = self.code, len(self.turn.lengths)
        starts = addresses(code, 2)
        numbers = [self.number(4 + i) for i in range(3 * rank)]
        self.lengths = numbers[:rank]
        self.steps = list(zip(numbers[rank : 2 * rank], numbers[2 * rank :], strict=True))
        self.around([axis for axis in range(rank) if axis not in (self.turn.down, self.turn.along)], starts)
        code.line("ret void")
        return FunctionText("define void @{name}(ptr %b, ptr %p) nounwind", code.lines, code.declared)

    def around(self, axes: list[int], at: list[str]) -> None:
        """Loops over axes that are neither rows nor columns of tiles, and the tiles inside."""
        if axes:
            axis, *others = axes
            self.loop("o", "0", self.lengths[axis], lambda i: self.around(others, self.on(at, axis, i)))
        else:
            self.tiles(at)

    def on(self, at: list[str], axis: int, index: str) -> list[str]:
        """The addresses so many places along an axis."""
        return [self.moved(pointer, (index, step)) for pointer, step in zip(at, self.steps[axis], strict=True)]

    def tiles(self, at: list[str]) -> None:
        down, along = self.turn.down, self.turn.along
        counts = [self._count(self.lengths[axis]) for axis in (down, along)]

        def column(pointers: list[str], i: str, j: str) -> None:
            rows, columns = (self._left(self.lengths[axis], n) for axis, n in ((down, i), (along, j)))
            self.tile(self.on(pointers, along, self._times(j)), rows, columns)

        def row(i: str) -> None:
            pointers = self.on(at, down, self._times(i))
            self.loop("c", "0", counts[1], lambda j: column(pointers, i, j))

        self.loop("r", "0", counts[0], row)

    def tile(self, at: list[str], rows: str, columns: str) -> None:
        """One tile, of which so many rows and columns are left: whole, or under masks."""
        code, n, width = self.code, self.code.fresh("n")[1:], self.width
        if self.turn.size == _PAIR:
            self.pairs(at, rows, columns)
            return
        parts = [code.name(f"icmp uge i64 {left}, {width}") for left in (rows, columns)]
        whole = code.name(f"and i1 {parts[0]}, {parts[1]}")
        code.line(f"br i1 {whole}, label %whole.{n}, label %part.{n}")
        for word in ("whole", "part"):
            code.label(f"{word}.{n}")
            lanes = [self.lanes(rows), self.lanes(columns)] if word == "part" else ["", ""]
            read, store = (self.steps[self.turn.along][0], self.steps[self.turn.down][1])
            taken = [
                self.load(place, 0, self.dtype, self._if(columns, k, lanes[0])).name
                for k, place in enumerate(self._places(at[0], read))
            ]
            found = turned(code, taken, code.memory_type(self.dtype))
            for k, (place, name) in enumerate(zip(self._places(at[1], store), found, strict=True)):
                self.store(IRValue(code, name, self.dtype), place, 0, self._if(rows, k, lanes[1]))
            code.line(f"br label %done.{n}")
        code.label(f"done.{n}")

    def pairs(self, at: list[str], rows: str, columns: str) -> None:
        """One tile of pairs, each of which is a register."""
        code, down, along = self.code, self.turn.down, self.turn.along

        def row(i: str) -> None:
            here = self.on(at, down, i)

            def column(j: str) -> None:
                source, target = self.on(here, along, j)
                both = code.name(f"load <2 x double>, ptr {source}, align 8")
                code.line(f"store <2 x double> {both}, ptr {target}, align 8")

            whole = code.name(f"icmp uge i64 {columns}, {self.width}")
            n = code.fresh("n")[1:]
            code.line(f"br i1 {whole}, label %whole.{n}, label %part.{n}")
            code.label(f"whole.{n}")
            for k in range(self.width):
                column(str(k))
            code.line(f"br label %done.{n}")
            code.label(f"part.{n}")
            self.loop("j", "0", columns, column)
            code.line(f"br label %done.{n}")
            code.label(f"done.{n}")

        self.loop("i", "0", code.least(rows, str(self.width)), row)

    def _places(self, start: str, step: str) -> list[str]:
        found = [start]
        for _ in range(1, self.width):
            found.append(self.code.name(f"getelementptr i8, ptr {found[-1]}, i64 {step}"))
        return found

    def _if(self, left: str, k: int, lanes: str) -> str:
        """The mask of row `k`: none of its lanes, if it is not one of those that are left."""
        if not lanes:
            return ""
        there = self.code.name(f"icmp ugt i64 {left}, {k}")
        kind = f"<{self.width} x i1>"
        return self.code.name(f"select i1 {there}, {kind} {lanes}, {kind} zeroinitializer")

    def _count(self, length: str) -> str:
        more = self.code.name(f"add i64 {length}, {self.width - 1}")
        return self.code.name(f"udiv i64 {more}, {self.width}")

    def _times(self, index: str) -> str:
        return self.code.name(f"mul i64 {index}, {self.width}")

    def _left(self, length: str, tile: str) -> str:
        return self.code.name(f"sub i64 {length}, {self._times(tile)}")
