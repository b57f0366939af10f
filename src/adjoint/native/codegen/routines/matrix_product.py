"""Products of matrices in native code: C = A B, tile by tile, with the fused operations on each element of C.

A tile is some rows and some vectors of C, which stay in registers during the sum: for each step,
vectors of B are loaded and numbers of A broadcast. Tiles of a column of C, and then the columns, follow one another;
the remainders at the ends are smaller tiles by the same code, the last vector under a mask. Sizes and strides are
read at run time, so one kernel serves all shapes that are cut alike.

An element of C is one sum along the inner axis, in order, whatever the tile and the thread.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.llvm_text import REGISTER, IRValue
from adjoint.native.codegen.loops.loop_nest import Expression
from adjoint.native.codegen.loops.masked import align_of
from adjoint.native.codegen.loops.memory import addresses
from adjoint.native.codegen.loops.nests import Nest
from adjoint.native.codegen.machine import Vectors


class Read(NamedTuple):
    """An array that is read where C is written: its dtype, and whether it differs along the rows."""

    dtype: str
    along: bool


class After(NamedTuple):
    """The code after a product, for each element of C: values are numbered, C's first, `reads`, `expressions`.

    `stores` are the numbers of the values that are stored, each with its dtype.
    """

    reads: tuple[Read, ...]
    expressions: tuple[Expression, ...]
    stores: tuple[tuple[int, str], ...]


class Tiles(NamedTuple):
    """How C is cut.

    Attributes:
        dtype: of A, B and the sums.
        rows: rows of a tile; `rows_left`, of the last one, if that is smaller, or 0.
        columns: vectors of a tile; `columns_left`, of the last one, or 0.
        masked: whether the last vector is not full.
        by_columns: whether numbers of a column of A lie side by side within a tile, not those of a row.
        resumes: whether the sum begins with what is in C.
        scattered: whether a table says where each step along the inner axis finds its row of B.
        apart: whether the vectors of a tile lie apart, one row of B's and C's places each; all are masked alike then.
        levels: how many axes of places there are besides the stack, a row, and what a tile's columns go along.
    """

    dtype: str
    rows: int
    rows_left: int
    columns: int
    columns_left: int
    masked: bool
    by_columns: bool
    resumes: bool = False
    scattered: bool = False
    apart: bool = False
    levels: int = 0


NUMBERS = ("first", "last", "blocks", "block", "tiles", "slivers", "inner", "lanes",
           "a_row", "a_inner", "a_stack", "b_sliver", "b_inner", "b_stack")  # fmt: skip
_AHEAD = 4  # steps along the inner axis, by which B is fetched before it is needed
_AHEAD_LEFT = 16  # the same of A, if its numbers lie by columns
_LINE = 64  # bytes of the processor's cache


def write(tiles: Tiles, vectors: Vectors, after: After | None = None) -> FunctionText:
    """The code for tiles cut so. Called with A, B, the table if there is one, what `after` reads and stores, NUMBERS.

    A block of rows of one matrix of a stack is a unit, and units from `first` to before `last` are computed: a matrix
    has so many `blocks`, each of `block` full tiles (the last block: what is left of `tiles`). There are so many full
    `slivers`, columns of tiles, and `lanes` in the last vector. Strides are bytes. Then comes, if vectors lie `apart`,
    how far they do so in B; for each level its length, and the strides of A and B; and for each array that `after`
    reads or stores, the bytes from row to row, from matrix to matrix, from vector to vector if these lie apart, and
    along each level.
    """
    return _ProductWriter(tiles, vectors, after or After((), (), ((0, tiles.dtype),))).written()


class _OutputStrides(NamedTuple):
    """The strides of an array at C, in the code."""

    row: str
    stack: str
    vector: str
    levels: list[str]


class _ProductWriter(Nest):
    def __init__(self, tiles: Tiles, vectors: Vectors, after: After) -> None:
        self.tiles, self.vectors, self.after = tiles, vectors, after
        self.size = int(tiles.dtype[1])
        super().__init__(vectors.bytes // self.size)
        self.kind = self.code.type_of(tiles.dtype)
        self.arrays = len(after.reads) + len(after.stores)

    def written(self) -> FunctionText:
        code, tiles = self.code, self.tiles
        count = 2 + tiles.scattered + self.arrays
        self.starts = addresses(code, count)
        numbers = iter(range(2 * count, 1 << 20))

        def some(n: int) -> list[str]:
            return [self.number(next(numbers)) for _ in range(n)]

        self.n = dict(zip(NUMBERS, some(len(NUMBERS)), strict=True))
        self.b_vector = some(1)[0] if tiles.apart else ""
        self.levels = [some(3) for _ in range(tiles.levels)]
        self.steps: list[_OutputStrides] = []
        for _ in range(self.arrays):
            row, stack = some(2)
            vector = some(1)[0] if tiles.apart else ""
            self.steps.append(_OutputStrides(row, stack, vector, some(tiles.levels)))
        self.table = self.starts.pop(2) if tiles.scattered else ""
        self.mask, self.sums = "", ""
        if self.after.reads or self.after.expressions or len(self.after.stores) > 1:
            self.sums = code.name(f"alloca [{tiles.rows * tiles.columns} x {self.kind}], align 64")
        if tiles.masked:
            self.mask = self.lanes(self.n["lanes"])
        n = self.n
        self.loop("unit", n["first"], n["last"], self._unit)
        code.line("ret void")
        return FunctionText("define void @{name}(ptr %b, ptr %p) nounwind", code.lines, code.declared)

    def _unit(self, unit: str) -> None:
        code, n, tiles = self.code, self.n, self.tiles
        matrix = code.name(f"sdiv i64 {unit}, {n['blocks']}")
        block = code.name(f"srem i64 {unit}, {n['blocks']}")
        first = code.name(f"mul nsw i64 {block}, {n['block']}")
        beyond = code.name(f"add nsw i64 {first}, {n['block']}")
        last = code.least(n["tiles"], beyond)
        a, b, *others = self.starts
        a, b = self.moved(a, (matrix, n["a_stack"])), self.moved(b, (matrix, n["b_stack"]))
        others = [self.moved(p, (matrix, steps.stack)) for p, steps in zip(others, self.steps, strict=True)]
        ends = ""
        if tiles.rows_left:
            follow = code.name(f"add nsw i64 {block}, 1")
            ends = code.name(f"icmp eq i64 {follow}, {n['blocks']}")
        self._places(0, a, b, others, (first, last, ends))

    def _places(self, level: int, a: str, b: str, others: list[str], rows: tuple[str, str, str]) -> None:
        """The loops over the levels, and inside them one over columns of tiles."""
        if level < self.tiles.levels:
            length, a_step, b_step = self.levels[level]

            def place(i: str) -> None:
                here = [self.moved(p, (i, steps.levels[level])) for p, steps in zip(others, self.steps, strict=True)]
                self._places(level + 1, self.moved(a, (i, a_step)), self.moved(b, (i, b_step)), here, rows)

            self.loop("place", "0", length, place)
            return
        code, n, tiles, (first, last, ends) = self.code, self.n, self.tiles, rows

        def column(sliver: str, vectors: int, masked: bool) -> None:
            panel = self.moved(b, (sliver, n["b_sliver"]))
            here = [self.moved(p, *self._across(k, sliver)) for k, p in enumerate(others)]
            self.loop("tile", first, last, lambda tile: self._tile(tile, a, panel, here, tiles.rows, vectors, masked))
            if tiles.rows_left:
                label = code.fresh("rest")[1:]
                code.line(f"br i1 {ends}, label %do.{label}, label %out.{label}")
                code.label(f"do.{label}")
                with code.inner():
                    self._tile(n["tiles"], a, panel, here, tiles.rows_left, vectors, masked)
                code.line(f"br label %out.{label}")
                code.label(f"out.{label}")

        if not tiles.columns_left:
            self.loop("sliver", "0", n["slivers"], lambda sliver: column(sliver, tiles.columns, tiles.masked))
            return
        masked = tiles.masked and tiles.apart
        self.loop("sliver", "0", n["slivers"], lambda sliver: column(sliver, tiles.columns, masked))
        column(n["slivers"], tiles.columns_left, tiles.masked)

    def _across(self, k: int, sliver: str) -> list[tuple[str, str]]:
        """Where array `k` at C continues in a column of tiles."""
        columns, reads = self.tiles.columns, self.after.reads
        if self.tiles.apart:
            wide = self.code.name(f"mul nsw i64 {self.steps[k].vector}, {columns}")
            return [(sliver, wide)]
        if k < len(reads):
            size = align_of(reads[k].dtype) if reads[k].along else 0
        else:
            size = align_of(self.after.stores[k - len(reads)][1])
        return [(sliver, str(columns * self.width * size))] if size else []

    def _tile(self, tile: str, a: str, b: str, others: list[str], rows: int, vectors: int, masked: bool) -> None:
        """One tile: the sum along the inner axis in registers, and what follows it."""
        code, n, kind, dtype = self.code, self.n, self.kind, self.tiles.dtype
        masks = [self.mask if masked and (self.tiles.apart or v == vectors - 1) else "" for v in range(vectors)]
        row = code.name(f"mul nsw i64 {tile}, {self.tiles.rows}")
        a = self.moved(a, (row, n["a_row"]))
        others = [self.moved(p, (row, steps.row)) for p, steps in zip(others, self.steps, strict=True)]
        each = [(r, v) for r in range(rows) for v in range(vectors)]
        starts = dict.fromkeys(each, "zeroinitializer")
        lines = a if self.tiles.by_columns else ""
        if not lines:
            down = [a]
            for _ in range(rows - 1):
                down.append(code.name(f"getelementptr i8, ptr {down[-1]}, i64 {n['a_row']}"))
        if self.tiles.resumes:
            c = self._down(others[len(self.after.reads)], rows, self.steps[len(self.after.reads)].row)
            starts = {(r, v): self.load(c[r], v, dtype, masks[v]).name for r, v in each}
        x = code.fresh("x")[1:]
        ahead = "" if self.tiles.scattered else code.name(f"mul nsw i64 {n['b_inner']}, {_AHEAD}")
        ahead_left = code.name(f"mul nsw i64 {n['a_inner']}, {_AHEAD_LEFT}") if lines else ""
        far = self._far(self.b_vector, vectors)
        self._awaited(others, rows, vectors)
        code.line(f"br label %from.{x}")
        code.label(f"from.{x}")
        code.line(f"br label %sum.{x}")
        code.label(f"sum.{x}")
        code.line(f"%k.{x} = phi i64 [ 0, %from.{x} ], [ %next.{x}, %sum.{x} ]")
        if not self.tiles.scattered:
            code.line(f"%pb.{x} = phi ptr [ {b}, %from.{x} ], [ %nb.{x}, %sum.{x} ]")
        if lines:
            code.line(f"%pa.{x} = phi ptr [ {a}, %from.{x} ], [ %na.{x}, %sum.{x} ]")
        for r, v in each:
            code.line(f"%c.{x}.{r}.{v} = phi {kind} [ {starts[r, v]}, %from.{x} ], [ %d.{x}.{r}.{v}, %sum.{x} ]")
        if self.tiles.scattered:
            at = code.name(f"getelementptr i64, ptr {self.table}, i64 %k.{x}")
            code.line(f"%pb.{x} = getelementptr i8, ptr {b}, i64 {code.name(f'load i64, ptr {at}')}")
        right = [self._vector(f"%pb.{x}", v, far, dtype, mask, f"%b.{x}.{v}").name for v, mask in enumerate(masks)]
        one = REGISTER[dtype]
        for r in range(rows):
            at = f"ptr %pa.{x}, i64 {r}" if lines else f"ptr {down[r]}, i64 %k.{x}"
            at = code.name(f"getelementptr {one}, {at}")
            left = self.spread(code.name(f"load {one}, ptr {at}, align {self.size}"), dtype)
            for v in range(vectors):
                self._fused(f"%d.{x}.{r}.{v}", left, right[v], f"%c.{x}.{r}.{v}")
        if not self.tiles.scattered:
            self._fetched(f"%pb.{x}", ahead, vectors)
            code.line(f"%nb.{x} = getelementptr i8, ptr %pb.{x}, i64 {n['b_inner']}")
        if lines:
            self.fetch(code.name(f"getelementptr i8, ptr %pa.{x}, i64 {ahead_left}"))
            code.line(f"%na.{x} = getelementptr i8, ptr %pa.{x}, i64 {n['a_inner']}")
        code.line(f"%next.{x} = add nuw nsw i64 %k.{x}, 1")
        code.line(f"%more.{x} = icmp ult i64 %next.{x}, {n['inner']}")
        code.line(f"br i1 %more.{x}, label %sum.{x}, label %out.{x}")
        code.label(f"out.{x}")
        self._finish({at: f"%d.{x}.{at[0]}.{at[1]}" for at in each}, others, rows, masks)

    def _far(self, step: str, vectors: int) -> list[str]:
        """How far each vector of a tile is from the first one, if they lie apart."""
        return [self.code.name(f"mul nsw i64 {step}, {v}") for v in range(vectors)] if self.tiles.apart else []

    def _vector(self, pointer: str, v: int, far: list[str], dtype: str, mask: str, name: str = "") -> IRValue:
        if not far:
            return self.load(pointer, v, dtype, mask, name)
        return self.load(self.code.name(f"getelementptr i8, ptr {pointer}, i64 {far[v]}"), 0, dtype, mask, name)

    def _fetched(self, pointer: str, ahead: str, vectors: int) -> None:
        """Ask for what will be read some steps later."""
        self._line_fetched(
            self.code.name(f"getelementptr i8, ptr {pointer}, i64 {ahead}"), vectors * self.vectors.bytes
        )

    def _awaited(self, at: list[str], rows: int, vectors: int) -> None:
        """Ask for what is read or written beside the sums, which takes the time of the sums to come."""
        if self.tiles.apart or not self.sums:
            return
        reads = self.after.reads
        kinds = [*((read.dtype, read.along, False) for read in reads), *((d, True, True) for _, d in self.after.stores)]
        for (dtype, along, written), pointer, steps in zip(kinds, at, self.steps, strict=True):
            if along:
                for here in self._down(pointer, rows, steps.row):
                    self._line_fetched(here, vectors * self.width * align_of(dtype), written)

    def _line_fetched(self, pointer: str, size: int, written: bool = False) -> None:
        """Ask for the lines of so many bytes."""
        for far in range(0, size, _LINE):
            self.fetch(self.code.name(f"getelementptr i8, ptr {pointer}, i64 {far}"), written)

    def _fused(self, name: str, x: str, y: str, z: str) -> None:
        code, kind = self.code, self.kind
        if not self.vectors.fused:
            code.line(f"{name}.p = fmul {kind} {x}, {y}")
            code.line(f"{name} = fadd {kind} {z}, {name}.p")
            return
        word = f"llvm.fma.v{self.width}{'f32' if self.size == 4 else 'f64'}"
        code.declare(word, kind, [kind] * 3)
        code.line(f"{name} = call {kind} @{word}({kind} {x}, {kind} {y}, {kind} {z})")

    def _down(self, pointer: str, rows: int, step: str) -> list[str]:
        found = [pointer]
        for _ in range(rows - 1):
            found.append(self.code.name(f"getelementptr i8, ptr {found[-1]}, i64 {step}"))
        return found

    def _finish(self, sums: dict[tuple[int, int], str], at: list[str], rows: int, masks: list[str]) -> None:
        """Store the sums of a tile, or, row by row, the values that are computed from them."""
        code, kind, width, vectors = self.code, self.kind, self.vectors.bytes, len(masks)
        if not self.sums:
            down, far = self._down(at[0], rows, self.steps[0].row), self._far(self.steps[0].vector, vectors)
            for (r, v), name in sums.items():
                self._stored(IRValue(code, name, self.tiles.dtype), down[r], v, far, masks[v])
            return
        for (r, v), name in sums.items():
            here = code.name(f"getelementptr i8, ptr {self.sums}, i64 {(r * vectors + v) * width}")
            code.line(f"store {kind} {name}, ptr {here}, align {width}")

        def row(r: str) -> None:
            start = code.name(f"mul nsw i64 {r}, {vectors * width}")
            start = code.name(f"getelementptr i8, ptr {self.sums}, i64 {start}")
            here = [self.moved(p, (r, steps.row)) for p, steps in zip(at, self.steps, strict=True)]
            for v, mask in enumerate(masks):
                with code.inner():
                    self._computed(start, here, v, mask)

        self.loop("row", "0", str(rows), row)

    def _computed(self, sums: str, at: list[str], v: int, mask: str) -> None:
        """One vector of a row: its sums, what is read beside them, and what of these is stored."""
        code, after, reads = self.code, self.after, len(self.after.reads)
        values = [self.load(sums, v, self.tiles.dtype)]
        fars = [self._far(steps.vector, v + 1) for steps in self.steps]
        for k, read in enumerate(after.reads):
            values.append(self._read(read, at[k], v, fars[k], mask))
        for expression in after.expressions:
            assert expression.function is not None
            values.append(expression.function(code, *(values[i] for i in expression.args)))
        for k, (i, dtype) in enumerate(after.stores):
            self._stored(values[i].to(dtype), at[reads + k], v, fars[reads + k], mask)

    def _stored(self, value: IRValue, pointer: str, v: int, far: list[str], mask: str) -> None:
        if far:
            pointer, v = self.code.name(f"getelementptr i8, ptr {pointer}, i64 {far[v]}"), 0
        self.store(value, pointer, v, mask)

    def _read(self, read: Read, pointer: str, v: int, far: list[str], mask: str) -> IRValue:
        if read.along:
            return self._vector(pointer, v, far, read.dtype, mask)
        if far:
            pointer = self.code.name(f"getelementptr i8, ptr {pointer}, i64 {far[v]}")
        code, kind = self.code, "i8" if read.dtype == "b1" else REGISTER[read.dtype]
        name = code.name(f"load {kind}, ptr {pointer}, align {align_of(read.dtype)}")
        if read.dtype == "b1":
            name = code.name(f"trunc i8 {name} to i1")
        return IRValue(code, self.spread(name, read.dtype), read.dtype)
