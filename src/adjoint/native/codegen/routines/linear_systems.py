"""Small matrices factored, and equations solved with the factors: elimination row by row, in vectors along rows.

Rows are exchanged as in LAPACK: the largest element of the column comes up, the first of equal ones. Nothing is
raised: if a matrix is singular except for rounding, a flag says so. Sizes and strides are read at run time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.llvm_text import REGISTER, IRValue, float_text
from adjoint.native.codegen.loops.masked import align_of
from adjoint.native.codegen.loops.memory import addresses
from adjoint.native.codegen.loops.nests import Nest
from adjoint.native.codegen.machine import Vectors

SystemKind = Literal["lu", "cholesky", "solve", "transposed", "lower", "unit lower", "upper", "unit upper"]

# What the code is told: matrices from `first` to before `last`, rows of a matrix, columns of a right side, strides in
# bytes of what is read, of the factors and of what is written.
NUMBERS = (
    "first",
    "last",
    "rows",
    "columns",
    "a_row",
    "a_column",
    "a_stack",
    "f_row",
    "f_column",
    "f_stack",
    "x_stack",
)


def write(kind: SystemKind, dtype: str, vectors: Vectors) -> FunctionText:
    """The code for one of these, called with arrays and NUMBERS.

    - "lu": a matrix, and its packed factors. After them come the exchanges of rows, as real numbers, and a number that
      is 1 where nothing but rounding may be left of a column.
    - "cholesky": a matrix, of which the lower triangle is read, and the transposed factor.
    - "solve", "transposed": a right side, what "lu" gave, and the solution for the matrix or its transpose.
    - The others: a right side, a matrix of which one triangle is read, with ones on its diagonal or its own numbers
      there, and the solution.
    """
    return _Systems(kind, dtype, vectors).written()


class _Systems(Nest):
    def __init__(self, kind: SystemKind, dtype: str, vectors: Vectors) -> None:
        super().__init__(vectors.bytes // align_of(dtype))
        self.kind, self.dtype, self.size, self.one = kind, dtype, align_of(dtype), REGISTER[dtype]

    def written(self) -> FunctionText:
        code, factors = self.code, self.kind in ("lu", "cholesky")
        places = addresses(code, 2 if factors else 3)
        self.n = {word: self.number(2 * len(places) + i) for i, word in enumerate(NUMBERS)}
        self.best, self.at = code.name(f"alloca {self.one}"), code.name("alloca i64")
        self.row = code.name(f"mul i64 {self.n['rows' if factors else 'columns']}, {self.size}")

        def unit(i: str) -> None:
            here = [self.moved(place, (i, self.n[step])) for place, step in zip(places, steps, strict=True)]
            work(*here)

        steps = ("a_stack", "f_stack") if factors else ("a_stack", "f_stack", "x_stack")
        work = {"lu": self._eliminated, "cholesky": self._cholesky}.get(self.kind, self._solved)
        self.loop("unit", self.n["first"], self.n["last"], unit)
        code.line("ret void")
        return FunctionText("define void @{name}(ptr %b, ptr %p) nounwind", code.lines, code.declared)

    # -- Numbers and rows -----------------------------------------------------------------------------

    def _read(self, at: str) -> str:
        return self.code.name(f"load {self.one}, ptr {at}, align {self.size}")

    def _write(self, name: str, at: str) -> None:
        self.code.line(f"store {self.one} {name}, ptr {at}, align {self.size}")

    def _place(self) -> str:
        return self.code.name(f"load i64, ptr {self.at}")

    def _along(self, pointers: list[str], first: str, last: str, body: Callable[[list[str], str], None]) -> None:
        """`body` of vectors of rows, from one column to before another, with the mask for the lanes there are."""
        code = self.code
        count = code.name(f"sub nsw i64 {last}, {first}")
        more = code.name(f"add nsw i64 {count}, {self.width - 1}")
        vectors = code.name(f"sdiv i64 {more}, {self.width}")
        begin = [self.moved(pointer, (first, str(self.size))) for pointer in pointers]

        def vector(v: str) -> None:
            done = code.name(f"mul nsw i64 {v}, {self.width}")
            left = code.name(f"sub nsw i64 {count}, {done}")
            lanes = self.lanes(left)
            body([self.moved(at, (done, str(self.size))) for at in begin], lanes)

        self.loop("vector", "0", vectors, vector)

    def _number(self, name: str) -> IRValue:
        """One number in all lanes."""
        return IRValue(self.code, self.spread(name, self.dtype), self.dtype)

    def _divided(self, row: str, by: str, first: str, last: str) -> None:
        """Divide a row by a number, from one column to before another."""
        many = self._number(by)

        def some(at: list[str], lanes: str) -> None:
            self.store(self.load(at[0], 0, self.dtype, lanes) / many, at[0], 0, lanes)

        self._along([row], first, last, some)

    def _exchanged(self, x: str, y: str, width: str) -> None:
        """Exchange two rows."""

        def both(at: list[str], lanes: str) -> None:
            first, second = (self.load(pointer, 0, self.dtype, lanes) for pointer in at)
            self.store(second, at[0], 0, lanes)
            self.store(first, at[1], 0, lanes)

        self._along([x, y], "0", width, both)

    def _less(self, target: str, source: str, factor: str, first: str, last: str) -> None:
        """Subtract a multiple of one row from another, from one column to before another."""
        many = self._number(factor)

        def some(at: list[str], lanes: str) -> None:
            before, share = (self.load(pointer, 0, self.dtype, lanes) for pointer in at)
            self.store(before - share * many, at[0], 0, lanes)

        self._along([target, source], first, last, some)

    # -- Factors --------------------------------------------------------------------------------------

    def _copied(self, a: str, f: str, turned: bool) -> None:
        n = self.n
        across, down = (n["a_row"], n["a_column"]) if turned else (n["a_column"], n["a_row"])

        def row(i: str) -> None:
            def element(j: str) -> None:
                self._write(self._read(self.moved(a, (i, down), (j, across))),
                            self.moved(f, (i, self.row), (j, str(self.size))))  # fmt: skip

            self.loop("c", "0", n["rows"], element)

        self.loop("r", "0", n["rows"], row)

    def _eliminated(self, a: str, f: str) -> None:
        code, rows, kind = self.code, self.n["rows"], self.one
        self._copied(a, f, False)
        exchanges = self.moved(f, (rows, self.row))
        noted = self.moved(exchanges, (rows, str(self.size)))
        self._write("0.0", noted)
        near = code.name(f"uitofp i64 {rows} to {kind}")
        near = code.name(f"fmul {kind} {near}, {float_text(8 * float(np.finfo(self.dtype).eps), self.dtype)}")
        code.declare(f"llvm.fabs.{_suffix(kind)}", kind, [kind])

        def absolute(at: str) -> str:
            return code.name(f"call {kind} @llvm.fabs.{_suffix(kind)}({kind} {self._read(at)})")

        def larger(at: str) -> str:
            value, before = absolute(at), self._read(self.best)
            found = code.name(f"fcmp ogt {kind} {value}, {before}")
            self._write(code.name(f"select i1 {found}, {kind} {value}, {kind} {before}"), self.best)
            return found

        def column(k: str) -> None:
            mine = self.moved(f, (k, self.row))
            top = self.moved(mine, (k, str(self.size)))
            self._write("0.0", self.best)

            def in_matrix(i: str) -> None:
                larger(self.moved(a, (i, self.n["a_row"]), (k, self.n["a_column"])))

            self.loop("i", "0", rows, in_matrix)
            least = code.name(f"fmul {kind} {near}, {self._read(self.best)}")
            self._write(absolute(top), self.best)
            code.line(f"store i64 {k}, ptr {self.at}")
            after = code.name(f"add nsw i64 {k}, 1")

            def candidate(i: str) -> None:
                is_larger, at = larger(self.moved(f, (i, self.row), (k, str(self.size)))), self._place()
                code.line(f"store i64 {code.name(f'select i1 {is_larger}, i64 {i}, i64 {at}')}, ptr {self.at}")

            self.loop("i", after, rows, candidate)
            chosen = self._place()
            rest, before = self._read(self.best), self._read(noted)
            lost = code.name(f"fcmp ule {kind} {rest}, {least}")
            self._write(code.name(f"select i1 {lost}, {kind} 1.0, {kind} {before}"), noted)
            self._write(code.name(f"sitofp i64 {chosen} to {kind}"), self.moved(exchanges, (k, str(self.size))))
            self._exchanged(mine, self.moved(f, (chosen, self.row)), rows)
            pivot = self._read(top)
            none = code.name(f"fcmp oeq {kind} {pivot}, 0.0")

            def below(i: str) -> None:
                row = self.moved(f, (i, self.row))
                at = self.moved(row, (k, str(self.size)))
                element = self._read(at)
                quotient = code.name(f"fdiv {kind} {element}, {pivot}")
                factor = code.name(f"select i1 {none}, {kind} {element}, {kind} {quotient}")
                self._write(factor, at)
                self._less(row, mine, factor, after, rows)

            self.loop("i", after, rows, below)

        self.loop("k", "0", rows, column)

    def _cholesky(self, a: str, f: str) -> None:
        code, rows, kind = self.code, self.n["rows"], self.one
        self._copied(a, f, True)
        code.declare(f"llvm.sqrt.{_suffix(kind)}", kind, [kind])

        def column(k: str) -> None:
            mine = self.moved(f, (k, self.row))
            top = self.moved(mine, (k, str(self.size)))
            root = code.name(f"call {kind} @llvm.sqrt.{_suffix(kind)}({kind} {self._read(top)})")
            self._write(root, top)
            after = code.name(f"add nsw i64 {k}, 1")
            self._divided(mine, root, after, rows)

            def below(i: str) -> None:
                row = self.moved(f, (i, self.row))
                self._write("0.0", self.moved(row, (k, str(self.size))))
                self._less(row, mine, self._read(self.moved(mine, (i, str(self.size)))), i, rows)

            self.loop("i", after, rows, below)

        self.loop("k", "0", rows, column)

    # -- Solutions ------------------------------------------------------------------------------------

    def _solved(self, b: str, f: str, x: str) -> None:
        n, size = self.n, str(self.size)

        def row(i: str) -> None:
            def element(j: str) -> None:
                self._write(self._read(self.moved(b, (i, n["a_row"]), (j, n["a_column"]))),
                            self.moved(x, (i, self.row), (j, size)))  # fmt: skip

            self.loop("c", "0", n["columns"], element)

        self.loop("r", "0", n["rows"], row)
        if self.kind.endswith(("lower", "upper")):
            self._triangle(f, x, (n["f_row"], n["f_column"]), self.kind.endswith("lower"), self.kind.startswith("unit"))
            return
        line = self.code.name(f"mul i64 {n['rows']}, {size}")
        exchanges = self.moved(f, (n["rows"], line))
        if self.kind == "solve":
            self._in_order(x, exchanges, False)
            self._triangle(f, x, (line, size), True, True)
            self._triangle(f, x, (line, size), False, False)
        else:
            self._triangle(f, x, (size, line), True, False)
            self._triangle(f, x, (size, line), False, True)
            self._in_order(x, exchanges, True)

    def _in_order(self, x: str, exchanges: str, back: bool) -> None:
        """Exchange rows as the matrix's were, or back."""
        code = self.code

        def one(i: str) -> None:
            i = self._from_end(i) if back else i
            number = self._read(self.moved(exchanges, (i, str(self.size))))
            other = code.name(f"fptosi {self.one} {number} to i64")
            self._exchanged(self.moved(x, (i, self.row)), self.moved(x, (other, self.row)), self.n["columns"])

        self.loop("e", "0", self.n["rows"], one)

    def _from_end(self, i: str) -> str:
        last = self.code.name(f"sub nsw i64 {self.n['rows']}, 1")
        return self.code.name(f"sub nsw i64 {last}, {i}")

    def _triangle(self, f: str, x: str, steps: tuple[str, str], down: bool, unit: bool) -> None:
        """Solve with a triangle, from its first row `down` or from its last one up; `steps` lead to rows, and along."""
        across, along = steps

        def place(i: str) -> str:
            return i if down else self._from_end(i)

        def row(i: str) -> None:
            mine = place(i)
            target, line = self.moved(x, (mine, self.row)), self.moved(f, (mine, across))

            def known(j: str) -> None:
                other = place(j)
                factor = self._read(self.moved(line, (other, along)))
                self._less(target, self.moved(x, (other, self.row)), factor, "0", self.n["columns"])

            self.loop("j", "0", i, known)
            if not unit:
                self._divided(target, self._read(self.moved(line, (mine, along))), "0", self.n["columns"])

        self.loop("i", "0", self.n["rows"], row)


def _suffix(kind: str) -> str:
    return {"float": "f32", "double": "f64"}[kind]
