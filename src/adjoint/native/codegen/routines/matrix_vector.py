"""The product of a matrix and a vector. It takes as long as reading the matrix does: each row is read once, in order.

If sums run along rows of memory, a few rows at a time are multiplied by the vector, and then lanes are added up in
pairs. If sums run across rows, the products of several rows are added up, and then to the result, for so many elements
as stay in the first cache. The order of a sum depends on its length and on the processor's vectors alone.
"""

from __future__ import annotations

from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.llvm_text import REGISTER, IRValue
from adjoint.native.codegen.loops.masked import align_of
from adjoint.native.codegen.loops.memory import addresses
from adjoint.native.codegen.loops.nests import Nest
from adjoint.native.codegen.machine import Vectors

ROWS, TOTALS = 4, 2  # rows at a time along which sums run, and vectors of sums for each
ACROSS, ELEMENTS = 8, 512  # rows at a time across which sums run, and elements of the result
NUMBERS = ("first", "last", "results", "inner", "row", "count", "next_matrix", "next_vector", "next_result")


def units(along: bool, results: int) -> int:
    """In how many parts, which do not depend on each other, so many `results` are computed."""
    return -(-results // (ROWS if along else ELEMENTS))


def write(dtype: str, along: bool, vectors: Vectors) -> FunctionText:
    """The code for sums `along` rows, or across them. Called with the matrix, the vector, the result, and NUMBERS.

    Units from `first` to before `last`; so many results, each of so many products; the bytes from `row` to row; and how
    many such products there are, and the bytes from one to the next.
    """
    return _VectorWriter(dtype, vectors).written(along)


class _VectorWriter(Nest):
    def __init__(self, dtype: str, vectors: Vectors) -> None:
        self.dtype, self.size, self.fused = dtype, align_of(dtype), vectors.fused
        super().__init__(vectors.bytes // self.size)
        self.kind, self.one = self.code.type_of(dtype), REGISTER[dtype]

    def written(self, along: bool) -> FunctionText:
        code = self.code
        starts = addresses(code, 3)
        n = self.n = {word: self.number(6 + i) for i, word in enumerate(NUMBERS)}

        def product(i: str) -> None:
            steps = n["next_matrix"], n["next_vector"], n["next_result"]
            a, x, y = (self.moved(start, (i, step)) for start, step in zip(starts, steps, strict=True))
            if along:
                self.loop("unit", n["first"], n["last"], lambda unit: self._rows(unit, a, x, y))
            else:
                self.loop("unit", n["first"], n["last"], lambda unit: self._elements(unit, a, x, y))

        self.loop("product", "0", n["count"], product)
        code.line("ret void")
        return FunctionText("define void @{name}(ptr %b, ptr %p) nounwind", code.lines, code.declared)

    def _divided(self, number: str, by: int) -> tuple[str, str]:
        """How often `by` goes into a number, and that times `by`."""
        times = self.code.name(f"sdiv i64 {number}, {by}")
        return times, self.code.name(f"mul nsw i64 {times}, {by}")

    # -- Sums along rows --------------------------------------------------------------------------------

    def _rows(self, unit: str, a: str, x: str, y: str) -> None:
        """A few rows; the last ones one by one, if fewer are left."""
        code, n = self.code, self.n
        first = code.name(f"mul nsw i64 {unit}, {ROWS}")
        end = code.name(f"add nsw i64 {first}, {ROWS}")
        all_there = code.name(f"icmp sle i64 {end}, {n['results']}")
        once = code.name(f"zext i1 {all_there} to i64")
        self.loop("rows", "0", once, lambda _: self._dots(first, ROWS, a, x, y))
        rest = code.name(f"select i1 {all_there}, i64 {first}, i64 {n['results']}")
        self.loop("row", first, rest, lambda row: self._dots(row, 1, a, x, y))

    def _dots(self, first: str, rows: int, a: str, x: str, y: str) -> None:
        code, n, step = self.code, self.n, self.width * TOTALS
        at = [self.moved(a, (first, n["row"]))]
        for _ in range(rows - 1):
            at.append(self.moved(at[-1], ("1", n["row"])))

        def added(far: str, totals: list[str], masks: list[str]) -> list[str]:
            here, made = code.name(f"getelementptr i8, ptr {x}, i64 {far}"), list[str]()
            right = [self.load(here, v, self.dtype, masks[v]).name for v in range(TOTALS)]
            for r, row in enumerate(at):
                there = code.name(f"getelementptr i8, ptr {row}, i64 {far}")
                for v in range(TOTALS):
                    left = self.load(there, v, self.dtype, masks[v]).name
                    made.append(self.added_product(totals[r * TOTALS + v], left, right[v], self.dtype, self.fused))
            return made

        def whole(i: str, totals: list[str]) -> list[str]:
            return added(code.name(f"mul nsw i64 {i}, {step * self.size}"), totals, [""] * TOTALS)

        times, there = self._divided(n["inner"], step)
        totals = self.carried("step", "0", times, ["zeroinitializer"] * (rows * TOTALS), whole, self.kind)
        left = code.name(f"sub nsw i64 {n['inner']}, {there}")
        masks = [self.lanes(left, v * self.width) for v in range(TOTALS)]
        totals = added(code.name(f"mul nsw i64 {there}, {self.size}"), totals, masks)
        for r in range(rows):
            total = self._total(totals[r * TOTALS : (r + 1) * TOTALS])
            place = code.name(f"add nsw i64 {first}, {r}") if r else first
            code.line(f"store {self.one} {total}, ptr {self.moved(y, (place, str(self.size)))}, align {self.size}")

    def _total(self, totals: list[str]) -> str:
        """The lanes of some vectors together, in pairs."""
        code, each = self.code, self.width
        while len(totals) > 1:
            pairs = zip(totals[::2], totals[1::2], strict=True)
            totals = [code.name(f"fadd {self.kind} {x}, {y}") for x, y in pairs]
        while each > 1:
            each //= 2
            pick = ", ".join(f"i32 {(k + each) % self.width}" for k in range(self.width))
            given = f"{self.kind} {totals[0]}, {self.kind} poison, <{self.width} x i32> <{pick}>"
            other = code.name(f"shufflevector {given}")
            totals = [code.name(f"fadd {self.kind} {totals[0]}, {other}")]
        return code.name(f"extractelement {self.kind} {totals[0]}, i32 0")

    # -- Sums across rows -------------------------------------------------------------------------------

    def _elements(self, unit: str, a: str, x: str, y: str) -> None:
        """Some elements of the result: first the products of several rows at a time, then those of the rows left."""
        code, n = self.code, self.n
        begin = code.name(f"mul nsw i64 {unit}, {ELEMENTS}")
        left = code.name(f"sub nsw i64 {n['results']}, {begin}")
        count = code.least(left, str(ELEMENTS))
        a, y = (self.moved(place, (begin, str(self.size))) for place in (a, y))
        times, there = self._divided(n["inner"], ACROSS)

        def several(i: str) -> None:
            row = code.name(f"mul nsw i64 {i}, {ACROSS}")
            self._across(row, ACROSS, a, x, y, count)

        self.loop("several", "0", times, several)
        self.loop("row", there, n["inner"], lambda row: self._across(row, 1, a, x, y, count))

    def _across(self, first: str, rows: int, a: str, x: str, y: str, count: str) -> None:
        code, n = self.code, self.n
        at = [self.moved(a, (first, n["row"]))]
        for _ in range(rows - 1):
            at.append(self.moved(at[-1], ("1", n["row"])))
        numbers, start = [], self.moved(x, (first, str(self.size)))
        for r in range(rows):
            place = code.name(f"getelementptr {self.one}, ptr {start}, i64 {r}")
            number = code.name(f"load {self.one}, ptr {place}, align {self.size}")
            numbers.append(self.spread(number, self.dtype))
        is_first = code.name(f"icmp eq i64 {first}, 0")

        def added(far: str, mask: str) -> None:
            here = code.name(f"getelementptr i8, ptr {y}, i64 {far}")
            before = self.load(here, 0, self.dtype, mask).name
            before = code.name(f"select i1 {is_first}, {self.kind} zeroinitializer, {self.kind} {before}")
            total = "zeroinitializer"
            for row, number in zip(at, numbers, strict=True):
                there = self.load(code.name(f"getelementptr i8, ptr {row}, i64 {far}"), 0, self.dtype, mask)
                total = self.added_product(total, there.name, number, self.dtype, self.fused)
            total = code.name(f"fadd {self.kind} {before}, {total}")
            self.store(IRValue(code, total, self.dtype), here, 0, mask)

        times, there = self._divided(count, self.width)
        self.loop("vector", "0", times, lambda i: added(code.name(f"mul nsw i64 {i}, {self.width * self.size}"), ""))
        left = code.name(f"sub nsw i64 {count}, {there}")
        added(code.name(f"mul nsw i64 {there}, {self.size}"), self.lanes(left))
