"""Sums over all positions of the products of two arrays, one of them taken at each element of a window: the gradient of
a convolution for its weights.

A tile is some rows of one array and some elements of the window of the other. Its sums stay in registers, one vector
each, while the positions pass in vectors. A few samples at a time are processed for all tiles, so that they stay in the
cache. Then the lanes are added up in pairs, and the sums to the result. The order depends on shapes and vectors alone.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.llvm_text import REGISTER
from adjoint.native.codegen.loops.masked import align_of
from adjoint.native.codegen.loops.memory import addresses
from adjoint.native.codegen.loops.nests import Nest
from adjoint.native.codegen.machine import Vectors


class Sums(NamedTuple):
    """How the sums are cut.

    Attributes:
        dtype: of all arrays.
        rows: rows of a tile; `rows_left`, of the last one, if that is smaller, or 0.
        taps: elements of the window in a tile; `taps_left`, in the last one, or 0.
        whole: whether there are full vectors along a row of places; `part`, whether there is one more that is not.
        levels: how many axes of places there are besides the last one.
    """

    dtype: str
    rows: int
    rows_left: int
    taps: int
    taps_left: int
    whole: bool
    part: bool
    levels: int


NUMBERS = ("first", "last", "samples", "few", "tiles", "full", "vectors", "lanes", "y_row", "y_sample", "x_sample",
           "c_row")  # fmt: skip


def write(sums: Sums, vectors: Vectors) -> FunctionText:
    """The code for sums cut so. Called with y, x, the table of bytes for the elements of a window, C, and NUMBERS.

    A `few` of the `samples` at a time; so many full `tiles` of rows; tiles of taps from `first` to before `last`, of
    which so many are `full`, and one has what is left; so many full `vectors` along the places, and `lanes` in one
    more. Then come for each level its length, and the bytes that y and x go on by.
    """
    return _WindowWriter(sums, vectors).written()


class _WindowWriter(Nest):
    def __init__(self, sums: Sums, vectors: Vectors) -> None:
        self.sums, self.vectors, self.size = sums, vectors, align_of(sums.dtype)
        super().__init__(vectors.bytes // self.size)
        self.kind = self.code.type_of(sums.dtype)

    def written(self) -> FunctionText:
        code, sums = self.code, self.sums
        self.y, self.x, self.table, self.c = addresses(code, 4)
        self.n = {word: self.number(8 + i) for i, word in enumerate(NUMBERS)}
        start = 8 + len(NUMBERS)
        self.levels = [[self.number(start + 3 * i + k) for k in range(3)] for i in range(sums.levels)]
        self.mask = self.lanes(self.n["lanes"]) if sums.part else ""
        n = self.n
        more = code.name(f"add nsw i64 {n['samples']}, {n['few']}")
        more = code.name(f"sub nsw i64 {more}, 1")
        chunks = code.name(f"sdiv i64 {more}, {n['few']}")

        def chunk(i: str) -> None:
            begin = code.name(f"mul nsw i64 {i}, {n['few']}")
            end = code.name(f"add nsw i64 {begin}, {n['few']}")
            end = code.least(n["samples"], end)
            later = code.name(f"icmp sgt i64 {i}, 0")
            self.loop("row", "0", n["tiles"], lambda row: self._row(row, sums.rows, (begin, end, later)))
            if sums.rows_left:
                self._row(n["tiles"], sums.rows_left, (begin, end, later))

        self.loop("chunk", "0", chunks, chunk)
        code.line("ret void")
        return FunctionText("define void @{name}(ptr %b, ptr %p) nounwind", code.lines, code.declared)

    def _row(self, tile: str, rows: int, samples: tuple[str, str, str]) -> None:
        """All elements of the window, for some rows."""
        code, sums, n = self.code, self.sums, self.n
        row = code.name(f"mul nsw i64 {tile}, {sums.rows}")
        ys = [self.moved(self.y, (row, n["y_row"]))]
        for _ in range(rows - 1):
            ys.append(self.moved(ys[-1], ("1", n["y_row"])))
        c = self.moved(self.c, (row, n["c_row"]))
        if not sums.taps_left:
            self.loop("tap", n["first"], n["last"], lambda tap: self._tile(tap, sums.taps, ys, c, samples))
            return
        all_full = code.name(f"icmp sle i64 {n['last']}, {n['full']}")
        end = code.name(f"select i1 {all_full}, i64 {n['last']}, i64 {n['full']}")
        self.loop("tap", n["first"], end, lambda tap: self._tile(tap, sums.taps, ys, c, samples))
        label = code.fresh("rest")[1:]
        code.line(f"br i1 {all_full}, label %out.{label}, label %do.{label}")
        code.label(f"do.{label}")
        with code.inner():
            self._tile(n["full"], sums.taps_left, ys, c, samples)
        code.line(f"br label %out.{label}")
        code.label(f"out.{label}")

    def _tile(self, tile: str, taps: int, ys: list[str], c: str, samples: tuple[str, str, str]) -> None:
        code, n = self.code, self.n
        first = code.name(f"mul nsw i64 {tile}, {self.sums.taps}")
        at = code.name(f"getelementptr i64, ptr {self.table}, i64 {first}")
        xs = []
        for t in range(taps):
            entry = code.name(f"getelementptr i64, ptr {at}, i64 {t}")
            far = code.name(f"load i64, ptr {entry}")
            xs.append(code.name(f"getelementptr i8, ptr {self.x}, i64 {far}"))
        c = self.moved(c, (first, str(self.size)))
        begin, end, later = samples
        zeros = ["zeroinitializer"] * (len(ys) * len(xs))

        def sample(i: str, sums: list[str]) -> list[str]:
            y = code.name(f"mul nsw i64 {i}, {n['y_sample']}")
            x = code.name(f"mul nsw i64 {i}, {n['x_sample']}")
            return self._places(0, y, x, ys, xs, sums)

        with code.inner():
            self._store(self.carried("sample", begin, end, zeros, sample, self.kind), len(xs), c, later)

    def _places(self, level: int, y: str, x: str, ys: list[str], xs: list[str], sums: list[str]) -> list[str]:
        code = self.code
        if level < len(self.levels):
            length, y_step, x_step = self.levels[level]

            def place(i: str, sums: list[str]) -> list[str]:
                here = [code.name(f"mul nsw i64 {i}, {step}") for step in (y_step, x_step)]
                at, there = (code.name(f"add nsw i64 {a}, {b}") for a, b in zip((y, x), here, strict=True))
                return self._places(level + 1, at, there, ys, xs, sums)

            return self.carried("place", "0", length, sums, place, self.kind)
        if self.sums.whole:

            def vector(i: str, sums: list[str]) -> list[str]:
                far = code.name(f"mul nsw i64 {i}, {self.vectors.bytes}")
                at, there = (code.name(f"add nsw i64 {a}, {far}") for a in (y, x))
                return self._products(at, there, ys, xs, sums, "")

            sums = self.carried("vector", "0", self.n["vectors"], sums, vector, self.kind)
        if self.sums.part:
            far = code.name(f"mul nsw i64 {self.n['vectors']}, {self.vectors.bytes}")
            at, there = (code.name(f"add nsw i64 {a}, {far}") for a in (y, x))
            sums = self._products(at, there, ys, xs, sums, self.mask)
        return sums

    def _products(self, y: str, x: str, ys: list[str], xs: list[str], sums: list[str], mask: str) -> list[str]:
        code, made = self.code, []
        right = [self.load(code.name(f"getelementptr i8, ptr {p}, i64 {x}"), 0, self.sums.dtype, mask).name for p in xs]
        for r, p in enumerate(ys):
            left = self.load(code.name(f"getelementptr i8, ptr {p}, i64 {y}"), 0, self.sums.dtype, mask).name
            for t, other in enumerate(right):
                made.append(self.added_product(sums[r * len(xs) + t], left, other, self.sums.dtype, self.vectors.fused))
        return made

    def _store(self, sums: list[str], taps: int, c: str, later: str) -> None:
        """The lanes of each sum together, added to the old values except for the first samples."""
        code, one = self.code, REGISTER[self.sums.dtype]
        for start in range(0, len(sums), self.width):
            some = sums[start : start + self.width]
            totals = self._totals(some + ["zeroinitializer"] * (self.width - len(some)))
            for k in range(len(some)):
                r, t = divmod(start + k, taps)
                total = code.name(f"extractelement {self.kind} {totals}, i32 {k}")
                at = self.moved(c, (str(r), self.n["c_row"]))
                at = code.name(f"getelementptr {one}, ptr {at}, i64 {t}")
                before = code.name(f"load {one}, ptr {at}, align {self.size}")
                before = code.name(f"select i1 {later}, {one} {before}, {one} 0.0")
                code.line(f"store {one} {code.name(f'fadd {one} {before}, {total}')}, ptr {at}, align {self.size}")

    def _totals(self, sums: list[str]) -> str:
        """A vector of the totals of as many vectors, whose lanes are added in pairs: first of two vectors at once."""
        code, width, each = self.code, self.width, self.width
        while each > 1:
            # Each vector has `each` lanes for each of its totals; of two, the halves of these are added.
            lanes = [s + i for s in range(0, 2 * width, each) for i in range(each // 2)]
            made = []
            for x, y in zip(sums[::2], sums[1::2], strict=True):
                parts = []
                for far in (0, each // 2):
                    pick = ", ".join(f"i32 {i + far}" for i in lanes)
                    given = f"{self.kind} {x}, {self.kind} {y}, <{width} x i32> <{pick}>"
                    parts.append(code.name(f"shufflevector {given}"))
                made.append(code.name(f"fadd {self.kind} {parts[0]}, {parts[1]}"))
            sums, each = made, each // 2
        return sums[0]
