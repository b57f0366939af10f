"""Columns of a table, side by side in each row: vectors of them are read and written by rows, transposed in registers.

A vector that gathers or scatters its lanes accesses memory once for each lane. Eight rows of eight columns are eight
vectors in memory, and 24 shuffles transpose them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from adjoint.native.codegen.llvm_text import REGISTER, Code

if TYPE_CHECKING:
    from adjoint.native.codegen.memory import Access, Operand

FEWEST = 3  # columns, below which gathering is as fast
MOST = 16  # lanes


class Table(NamedTuple):
    """Columns: the address of the first element, how many elements further the next row is, and how many there are."""

    at: str
    step: object
    dtype: str
    columns: int


def tables(ks: Sequence[int], access: Access, strides: Sequence[Sequence[int]], width: int) -> list[tuple[int, ...]]:
    """Of the operands `ks`, those that are columns of one table: side by side, with elements apart in a vector."""
    if not 1 < width <= MOST:
        return []
    operands = access.operands
    tables: list[list[int]] = []
    ends: dict[int, tuple[Hashable, int]] = {}
    chosen = [k for k in ks if _is_column(operands[k], strides[k][access.vector])]
    for k in sorted(chosen, key=lambda k: operands[k].within):
        operand = operands[k]
        key = operand.place, operand.dtype, tuple(strides[k])
        last = next((i for i, end in ends.items() if end == (key, operand.within) and len(tables[i]) < width), None)
        if last is None:
            last = len(tables)
            tables.append([])
        tables[last].append(k)
        ends[last] = key, operand.within + int(operand.dtype[1])
    return [tuple(table) for table in tables if len(table) >= FEWEST]


def _is_column(operand: Operand, step: int) -> bool:
    plain = operand.block is not None and operand.positions is None and not operand.adds
    return plain and operand.dtype in ("f4", "f8") and step > 1


def read(code: Code, table: Table) -> list[str]:
    """A vector of each column."""
    kind, rows = code.memory_type(table.dtype), list[str]()
    for at in _rows(code, table):
        if table.columns == code.width:
            rows.append(code.name(f"load {kind}, ptr {at}, align {table.dtype[1]}"))
            continue
        word, lanes = f"llvm.masked.load.v{code.width}f{8 * int(table.dtype[1])}.p0", f"<{code.width} x i1>"
        code.declare(word, kind, ["ptr", "i32", lanes, kind])
        rows.append(code.name(f"call {kind} @{word}(ptr {at}, i32 {table.dtype[1]}, {_first(code, table)}, "
                              f"{kind} zeroinitializer)"))  # fmt: skip
    return turned(code, rows, kind)[: table.columns]


def write(code: Code, table: Table, values: Sequence[str]) -> None:
    """Write a vector to each column."""
    kind = code.memory_type(table.dtype)
    rows = turned(code, [*values, *["poison"] * (code.width - table.columns)], kind)
    for at, row in zip(_rows(code, table), rows, strict=True):
        if table.columns == code.width:
            code.line(f"store {kind} {row}, ptr {at}, align {table.dtype[1]}")
            continue
        word, lanes = f"llvm.masked.store.v{code.width}f{8 * int(table.dtype[1])}.p0", f"<{code.width} x i1>"
        code.declare(word, "void", [kind, "ptr", "i32", lanes])
        code.line(f"call void @{word}({kind} {row}, ptr {at}, i32 {table.dtype[1]}, {_first(code, table)})")


def _rows(code: Code, table: Table) -> list[str]:
    """The address of each row."""
    found = [table.at]
    for _ in range(1, code.width):
        found.append(code.name(f"getelementptr {REGISTER[table.dtype]}, ptr {found[-1]}, i64 {table.step}"))
    return found


def _first(code: Code, table: Table) -> str:
    """A mask of as many lanes as there are columns."""
    return f"<{code.width} x i1> <{', '.join(f'i1 {int(i < table.columns)}' for i in range(code.width))}>"


def turned(code: Code, rows: Sequence[str], kind: str) -> list[str]:
    """Vectors whose lane i of number j is lane j of number i: bit by bit, these numbers change places."""
    now, width, bit = list(rows), code.width, 1
    while bit < width:
        for i in (i for i in range(width) if not i & bit):
            pair = f"{kind} {now[i]}, {kind} {now[i + bit]}"
            low = [j if not j & bit else width + j - bit for j in range(width)]
            high = [j + bit if not j & bit else width + j for j in range(width)]
            now[i], now[i + bit] = (
                code.name(f"shufflevector {pair}, <{width} x i32> <{', '.join(f'i32 {j}' for j in lanes)}>")
                for lanes in (low, high)
            )
        bit *= 2
    return now
