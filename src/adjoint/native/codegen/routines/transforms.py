"""Fourier transforms of a power of 2 points: two passes over a line as a table, each in whole vectors.

A line of n = r c points is a table of r rows. The columns are transformed, multiplied by the roots of 1 that come
between, and turned; then the columns of that table are transformed, which gives the result in order. Each lane is a
column of its own, so a transform of up to 64 points is written out, in registers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.llvm_text import REGISTER, Code, IRValue
from adjoint.native.codegen.loops.columns import PAIR, ColumnTable, read, turned
from adjoint.native.codegen.loops.columns import write as mix
from adjoint.native.codegen.loops.memory import addresses
from adjoint.native.codegen.loops.nests import Nest

LONGEST = 64  # points that are written out


class ComplexText(NamedTuple):
    """A complex number."""

    re: IRValue
    im: IRValue

    def __add__(self, other: ComplexText) -> ComplexText:  # type: ignore[override]  # no tuple is added to it
        return ComplexText(self.re + other.re, self.im + other.im)

    def __sub__(self, other: ComplexText) -> ComplexText:
        return ComplexText(self.re - other.re, self.im - other.im)

    @property
    def turned(self) -> ComplexText:
        """-i times it."""
        return ComplexText(self.im, -self.re)


def table_of(n: int, dtype: str) -> tuple[int, int] | None:
    """Rows and columns of the table; None if a line of n points is not taken so."""
    rows = 1 << (n.bit_length() - 1) // 2
    columns = n // rows
    whole = rows * columns == n and not n & (n - 1) and rows * int(dtype[1]) >= 64 and columns <= LONGEST
    return (rows, columns) if whole else None


def roots(n: int, dtype: str) -> np.ndarray:
    """The roots of 1 between the passes: by row and column of the table, real parts and imaginary ones."""
    shape = table_of(n, dtype)
    assert shape is not None
    quarters, rest = np.divmod(4 * np.multiply.outer(*(np.arange(count) for count in shape)), n)
    angle = 2 * np.pi * (rest / (4 * n))
    parts = np.array([np.cos(angle), -np.sin(angle), -np.cos(angle), np.sin(angle)])  # a quarter turn is exact
    return np.stack([np.choose((k + quarters) % 4, parts) for k in (0, 1)]).astype(dtype)


Otherwise = Callable[[Code], Callable[[str, str], None]]


def write(n: int, dtype: str, inverse: bool, scale: float, otherwise: Otherwise) -> FunctionText:
    """The code that transforms lines; a result with a number that is not finite is computed `otherwise`.

    It gets the places of the lines, the results, and `roots`; then 0, how many lines there are, and how many bytes
    further the next one begins and its result.
    """
    shape = table_of(n, dtype)
    assert shape is not None
    (rows, columns), one, lanes = shape, REGISTER[dtype], 64 // int(dtype[1])
    nest = Nest(lanes)
    code, kind = nest.code, nest.code.type_of(dtype)
    code.contracts = True
    source, target, factors = addresses(code, 3)
    lines, near, far = (nest.number(7 + k) for k in range(3))
    between = [code.name(f"alloca [{n} x {one}], align 64") for _ in range(2)]
    wrong, instead = code.name(f"alloca {kind}, align 64"), otherwise(code)

    def at(place: str, index: str, by: int, more: int = 0) -> str:
        """`index` times `by` elements, and some more, from a place."""
        moved = code.name(f"mul i64 {index}, {by}")
        moved = code.name(f"add i64 {moved}, {more}") if more else moved
        return code.name(f"getelementptr {one}, ptr {place}, i64 {moved}")

    def given(place: str) -> ComplexText:
        names = read(code, ColumnTable(place, PAIR, dtype, PAIR, True))
        return ComplexText(*(IRValue(code, name, dtype) for name in (names[::-1] if inverse else names)))

    def line(i: str) -> None:
        start, end = nest.moved(source, (i, near)), nest.moved(target, (i, far))
        code.line(f"store {kind} zeroinitializer, ptr {wrong}, align 64")

        def first(c: str) -> None:
            found = transformed([given(at(start, c, 2 * lanes, 2 * columns * j)) for j in range(rows)])
            for k in range(1, rows):
                root = (nest.load(at(factors, c, lanes, columns * k + n * part), 0, dtype) for part in (0, 1))
                found[k] = _times(found[k], *root)
            for b in range(0, rows, lanes):
                for place, names in zip(between, zip(*((x.re.name, x.im.name) for x in found[b : b + lanes]),
                                                     strict=True), strict=True):  # fmt: skip
                    for j, name in enumerate(turned(code, names, kind)):
                        code.line(f"store {kind} {name}, ptr {at(place, c, lanes * rows, j * rows + b)}, align 64")

        def second(c: str) -> None:
            parts = ([nest.load(at(place, c, lanes, rows * j), 0, dtype) for j in range(columns)] for place in between)
            found = transformed([ComplexText(*pair) for pair in zip(*parts, strict=True)])
            total = nest.load(wrong, 0, dtype)
            for k, x in enumerate(found):
                pair = ComplexText(x.re * scale, x.im * scale) if scale != 1.0 else x
                total = total + pair.re * 0.0 + pair.im * 0.0  # nan from here on, if one is not finite
                names = [v.name for v in (pair[::-1] if inverse else pair)]
                mix(code, ColumnTable(at(end, c, 2 * lanes, 2 * rows * k), PAIR, dtype, PAIR, True), names)
            code.line(f"store {kind} {total.name}, ptr {wrong}, align 64")

        nest.loop("column", "0", str(columns // lanes), first)
        nest.loop("row", "0", str(rows // lanes), second)
        total = nest.load(wrong, 0, dtype)
        bits = code.name(f"bitcast <{lanes} x i1> {total.is_nan().name} to i{lanes}")
        odd, n_ = code.name(f"icmp ne i{lanes} {bits}, 0"), code.fresh("odd")[1:]
        code.line(f"br i1 {odd}, label %{n_}, label %{n_}.done")
        code.label(n_)
        instead(start, end)
        code.line(f"br label %{n_}.done")
        code.label(f"{n_}.done")

    nest.loop("line", "0", lines, line)
    code.line("ret void")
    return FunctionText("define void @{name}(ptr %b, ptr %p) nounwind", code.lines, code.declared)


def transformed(xs: Sequence[ComplexText]) -> list[ComplexText]:
    """The transform of a power of 2 numbers, by those of every fourth one."""
    n = len(xs)
    if n == 1:
        return [*xs]
    if n == 2:
        return [xs[0] + xs[1], xs[0] - xs[1]]
    quarter, found = n // 4, [*xs]
    parts = [transformed(xs[k::4]) for k in range(4)]
    for k in range(quarter):
        a, b, c, d = (_turned_by(part[k], k * j, n) for j, part in enumerate(parts))
        even, odd, sums, rests = a + c, a - c, b + d, (b - d).turned
        found[k], found[k + quarter] = even + sums, odd + rests
        found[k + 2 * quarter], found[k + 3 * quarter] = even - sums, odd - rests
    return found


def _turned_by(x: ComplexText, k: int, n: int) -> ComplexText:
    """x exp(-2 pi i k / n)."""
    quarters, k = divmod(4 * k, n)
    for _ in range(quarters % 4):
        x = x.turned
    if not k:
        return x
    if 2 * k == n:
        half = math.sqrt(0.5)
        return ComplexText((x.re + x.im) * half, (x.im - x.re) * half)
    angle = -2 * math.pi * k / (4 * n)
    return _times(x, math.cos(angle), math.sin(angle))


def _times(x: ComplexText, re: IRValue | float, im: IRValue | float) -> ComplexText:
    return ComplexText(x.re * re - x.im * im, x.re * im + x.im * re)
