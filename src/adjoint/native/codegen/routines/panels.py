"""B of a product, copied in the order in which tiles read it: panels of a tile's columns, in which one step along the
inner axis follows another without a gap. So a panel stays in the cache; a matrix that lies by columns is transposed.
"""

from __future__ import annotations

from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.llvm_text import REGISTER
from adjoint.native.codegen.loops.masked import align_of
from adjoint.native.codegen.loops.memory import addresses
from adjoint.native.codegen.loops.nests import Nest
from adjoint.native.codegen.machine import Vectors

NUMBERS = (
    "first",
    "last",
    "panels",
    "inner",
    "columns",
    "b_column",
    "b_inner",
    "b_stack",
    "p_panel",
    "p_inner",
    "p_stack",
)
QUARTER = 16  # bytes: what is turned at once, the parts of a vector on all processors
LEAST = 4  # steps along the inner axis that a matrix must have to be turned


def write(dtype: str, columns: int, turned: bool, vectors: Vectors) -> FunctionText:
    """The code that copies B to panels of so many vectors. Called with B, the panels, and NUMBERS.

    Panels from `first` to before `last` are made, or if `turned` vectors of panels; a matrix has so many `panels`, or
    vectors. What a panel has beyond the matrix's columns is not set, or is some number of it. Strides are bytes.
    """
    return (_Turned if turned else _Panels)(dtype, columns, vectors).written()


class _Panels(Nest):
    def __init__(self, dtype: str, columns: int, vectors: Vectors) -> None:
        super().__init__(vectors.bytes // align_of(dtype))
        self.dtype, self.columns, self.vectors = dtype, columns, vectors
        self.size, self.kind = align_of(dtype), self.code.type_of(dtype)

    def written(self) -> FunctionText:
        code = self.code
        self.b, self.p = addresses(code, 2)
        self.n = {word: self.number(4 + i) for i, word in enumerate(NUMBERS)}
        self.loop("unit", self.n["first"], self.n["last"], self.unit)
        code.line("ret void")
        return FunctionText("define void @{name}(ptr %b, ptr %p) nounwind", code.lines, code.declared)

    def unit(self, unit: str) -> None:
        code, n = self.code, self.n
        matrix = code.name(f"sdiv i64 {unit}, {n['panels']}")
        panel = code.name(f"srem i64 {unit}, {n['panels']}")
        start = code.name(f"mul nsw i64 {panel}, {self.columns * self.width}")
        b = self.moved(self.b, (matrix, n["b_stack"]), (start, str(self.size)))
        p = self.moved(self.p, (matrix, n["p_stack"]), (panel, n["p_panel"]))
        left = code.name(f"sub nsw i64 {n['columns']}, {start}")
        full = code.name(f"icmp sge i64 {left}, {self.columns * self.width}")
        word = code.fresh("full")[1:]
        code.line(f"br i1 {full}, label %{word}, label %part.{word}")
        code.label(word)
        self._copied(b, p, [""] * self.columns)
        code.line(f"br label %done.{word}")
        code.label(f"part.{word}")
        self._copied(b, p, [self.lanes(left, v * self.width) for v in range(self.columns)])
        code.line(f"br label %done.{word}")
        code.label(f"done.{word}")

    def _copied(self, b: str, p: str, masks: list[str]) -> None:
        def step(k: str) -> None:
            there = self.moved(b, (k, self.n["b_inner"]))
            here = self.moved(p, (k, self.n["p_inner"]))
            for v, mask in enumerate(masks):
                value = self.load(there, v, self.dtype, mask)
                self.store(value, here, v, mask)

        self.loop("k", "0", self.n["inner"], step)


class _Turned(_Panels):
    """Of a matrix whose columns lie side by side: a few rows of all columns at once."""

    def unit(self, unit: str) -> None:
        code, n, size = self.code, self.n, self.size
        matrix = code.name(f"sdiv i64 {unit}, {n['panels']}")
        vector = code.name(f"srem i64 {unit}, {n['panels']}")
        panel = code.name(f"sdiv i64 {vector}, {self.columns}")
        within = code.name(f"srem i64 {vector}, {self.columns}")
        start = code.name(f"mul nsw i64 {vector}, {self.width}")
        b = self.moved(self.b, (matrix, n["b_stack"]))
        p = self.moved(self.p, (matrix, n["p_stack"]), (panel, n["p_panel"]), (within, str(self.vectors.bytes)))
        last = code.name(f"sub nsw i64 {n['columns']}, 1")
        lines = []
        for r in range(self.width):
            at = code.name(f"add nsw i64 {start}, {r}")
            lines.append(self.moved(b, (code.least(at, last), n["b_column"])))
        few = QUARTER // size
        more = code.name(f"add nsw i64 {n['inner']}, {few - 1}")
        count = code.name(f"sdiv i64 {more}, {few}")
        end = code.name(f"sub nsw i64 {n['inner']}, {few}")

        def some(k: str) -> None:
            k = code.least(code.name(f"mul nsw i64 {k}, {few}"), end)  # the last ones are turned twice
            one = REGISTER[self.dtype]
            parts = []
            for line in lines:
                at = code.name(f"getelementptr {one}, ptr {line}, i64 {k}")
                parts.append(code.name(f"load <{few} x {one}>, ptr {at}, align {size}"))
            here = self.moved(p, (k, n["p_inner"]))
            for name in self._turned(parts, few):
                code.line(f"store {self.kind} {name}, ptr {here}, align {size}")
                here = code.name(f"getelementptr i8, ptr {here}, i64 {n['p_inner']}")

        self.loop("k", "0", count, some)

    def _turned(self, parts: list[str], few: int) -> list[str]:
        """The columns of a matrix whose rows are `parts`, of `few` numbers each."""
        joined = [parts[i::few] for i in range(few)]
        width = few
        while len(joined[0]) > 1:
            both = list(range(2 * width))
            pairs = [zip(row[::2], row[1::2], strict=True) for row in joined]
            joined = [[self._shuffled(x, y, width, both) for x, y in row] for row in pairs]
            width *= 2
        rows = [row[0] for row in joined]

        def mixed(x: str, y: str, pick: list[tuple[int, int]]) -> str:
            lanes = [lane + i + (width if which else 0) for lane in range(0, width, few) for which, i in pick]
            return self._shuffled(x, y, width, lanes)

        if few == 2:
            return [mixed(rows[0], rows[1], [(0, i), (1, i)]) for i in (0, 1)]
        low = [mixed(rows[i], rows[i + 1], [(0, 0), (1, 0), (0, 1), (1, 1)]) for i in (0, 2)]
        high = [mixed(rows[i], rows[i + 1], [(0, 2), (1, 2), (0, 3), (1, 3)]) for i in (0, 2)]
        return [mixed(x, y, [(0, i), (0, i + 1), (1, i), (1, i + 1)]) for x, y in (low, high) for i in (0, 2)]

    def _shuffled(self, x: str, y: str, width: int, lanes: list[int]) -> str:
        kind, places = f"<{width} x {REGISTER[self.dtype]}>", ", ".join(f"i32 {i}" for i in lanes)
        return self.code.name(f"shufflevector {kind} {x}, {kind} {y}, <{len(lanes)} x i32> <{places}>")
