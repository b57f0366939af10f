"""Columns of a table, side by side in each row: vectors of them are read and written by rows, transposed in registers.

A vector that gathers or scatters its lanes accesses memory once for each lane. Eight rows of eight columns are eight
vectors in memory, and 24 shuffles transpose them. If a table has only two columns (as the parts of complex
numbers), these lie without gaps: a vector of each column is two vectors in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from adjoint.native.codegen.llvm_text import REGISTER, Code

if TYPE_CHECKING:
    from adjoint.native.codegen.loops.loop_nest import Spec
    from adjoint.native.codegen.loops.memory import Access, Operand

FEWEST = 3  # columns, below which gathering is as fast
MOST = 16  # lanes
PAIR = 2  # columns of a table that has no others
REGISTER_BYTES = 64


class ColumnTable(NamedTuple):
    """Columns: the address of the first element, how many elements further the next row is, and how many there are.

    If they are `dense`, there are no others.
    """

    at: str
    step: object
    dtype: str
    columns: int
    dense: bool


def tables(ks: Sequence[int], access: Access, strides: Sequence[Sequence[int]], width: int) -> list[tuple[int, ...]]:
    """Of the operands `ks`, those that are columns of one table: side by side, with elements apart in a vector."""
    if width == 1:
        return []
    operands = access.operands
    tables: list[list[int]] = []
    ends: dict[int, tuple[Hashable, int]] = {}
    steps = {k: strides[k][access.vector] for k in ks}
    chosen = [k for k in ks if _is_column(operands[k], steps[k]) and (width <= MOST or steps[k] == PAIR)]
    for k in sorted(chosen, key=lambda k: operands[k].within):
        operand = operands[k]
        key = operand.place, operand.dtype, tuple(strides[k])
        last = next((i for i, end in ends.items() if end == (key, operand.within) and len(tables[i]) < width), None)
        if last is None:
            last = len(tables)
            tables.append([])
        tables[last].append(k)
        ends[last] = key, operand.within + int(operand.dtype[1])
    return [tuple(t) for t in tables if is_dense(steps[t[0]], len(t)) or (len(t) >= FEWEST and width <= MOST)]


def is_dense(step: object, columns: int) -> bool:
    """Whether two columns are the whole table."""
    return step == columns == PAIR


def in_pairs(spec: Spec) -> Spec:
    """The kernel, told where two arrays that it reads, or two that it writes, are the columns of a table.

    This is a fact about memory: one begins right after the other's first element, and their strides are equal. Written
    ones may be stored together if the kernel does nothing else with their memory.
    """
    reads = _paired(spec.reads)
    plain = [k for k, (_, _, reduction) in enumerate(spec.stores) if reduction is None]
    touched = Counter(operand.buffer for operand in spec.operands)
    alone = [k for k in plain if touched[spec.stores[k][1].buffer] == PAIR]
    written = dict(zip(alone, _paired([spec.stores[k][1] for k in alone]), strict=True))
    stores = [(value, written.get(k, operand), reduction) for k, (value, operand, reduction) in enumerate(spec.stores)]
    return spec._replace(reads=reads, stores=stores)


def _paired(operands: Sequence[Operand]) -> list[Operand]:
    """The same operands; where two lie side by side, each says so."""
    found = list(operands)
    places = {
        operand: k
        for k, operand in enumerate(operands)
        if operand.block is None and operand.positions is None and not operand.adds and PAIR in operand.strides
    }
    for operand, k in places.items():
        size = int(operand.dtype[1])
        other = places.get(operand._replace(offset=operand.offset + size))
        if other is not None and found[k].block is None and found[other].block is None:
            found[k] = operand._replace(block=operand.buffer)
            found[other] = operand._replace(block=operand.buffer, within=size)
    return found


def _is_column(operand: Operand, step: int) -> bool:
    plain = operand.block is not None and operand.positions is None and not operand.adds
    return plain and operand.dtype in ("f4", "f8") and step > 1


def read(code: Code, table: ColumnTable, lanes: str = "") -> list[str]:
    """A vector of each column; of dense ones, if `lanes` is given, only these rows."""
    kind, rows = code.memory_type(table.dtype), list[str]()
    if table.dense:
        return _separated(code, table, lanes)
    for at in _rows(code, table):
        rows.append(_load(code, table, at, code.width, "" if table.columns == code.width else _first(code, table)))
    return turned(code, rows, kind)[: table.columns]


def write(code: Code, table: ColumnTable, values: Sequence[str], lanes: str = "") -> None:
    """Write a vector to each column; of dense ones, if `lanes` is given, only these rows."""
    kind = code.memory_type(table.dtype)
    if table.dense:
        _mixed(code, table, values, lanes)
        return
    rows = turned(code, [*values, *["poison"] * (code.width - table.columns)], kind)
    for at, row in zip(_rows(code, table), rows, strict=True):
        _store(code, table, row, at, code.width, "" if table.columns == code.width else _first(code, table))


def _load(code: Code, table: ColumnTable, at: str, width: int, mask: str) -> str:
    """So many elements side by side; under a mask, if one is given."""
    kind, align = f"<{width} x {REGISTER[table.dtype]}>", table.dtype[1]
    if not mask:
        return code.name(f"load {kind}, ptr {at}, align {align}")
    word, lanes = f"llvm.masked.load.v{width}f{8 * int(align)}.p0", f"<{width} x i1>"
    code.declare(word, kind, ["ptr", "i32", lanes, kind])
    return code.name(f"call {kind} @{word}(ptr {at}, i32 {align}, {lanes} {mask}, {kind} zeroinitializer)")


def _store(code: Code, table: ColumnTable, value: str, at: str, width: int, mask: str) -> None:
    """Write so many elements side by side; under a mask, if one is given."""
    kind, align = f"<{width} x {REGISTER[table.dtype]}>", table.dtype[1]
    if not mask:
        code.line(f"store {kind} {value}, ptr {at}, align {align}")
        return
    word, lanes = f"llvm.masked.store.v{width}f{8 * int(align)}.p0", f"<{width} x i1>"
    code.declare(word, "void", [kind, "ptr", "i32", lanes])
    code.line(f"call void @{word}({kind} {value}, ptr {at}, i32 {align}, {lanes} {mask})")


def _separated(code: Code, table: ColumnTable, lanes: str) -> list[str]:
    """The two columns of a dense table: register by register, so that each takes two shuffles."""
    at, some, one = table.at, _register(code, table), REGISTER[table.dtype]
    parts: list[list[str]] = [[], []]
    for first in range(0, code.width, some):
        here = code.name(f"getelementptr {one}, ptr {at}, i64 {2 * first}") if first else at
        both = _load(code, table, here, 2 * some, lanes and _twice(code, lanes, first, some))
        for k, part in enumerate(parts):
            part.append(shuffled(code, f"<{2 * some} x {one}>", both, "poison", range(k, 2 * some, 2)))
    return [_joined(code, part, some, one) for part in parts]


def _mixed(code: Code, table: ColumnTable, values: Sequence[str], lanes: str) -> None:
    """Write the two columns of a dense table, one register after another.

    LLVM keeps the order of stores that are `volatile`. In another one, a line of memory is written twice.
    """
    some, one, kind = _register(code, table), REGISTER[table.dtype], code.memory_type(table.dtype)
    lines = max(some // 2, 1)
    for first in range(0, code.width, some if lanes else lines):
        here = code.name(f"getelementptr {one}, ptr {table.at}, i64 {2 * first}") if first else table.at
        order = [k * code.width + i for i in range(first, first + (some if lanes else lines)) for k in (0, 1)]
        both = shuffled(code, kind, values[0], values[1], order)
        if lanes:
            _store(code, table, both, here, 2 * some, _twice(code, lanes, first, some))
        else:
            code.line(f"store volatile <{2 * lines} x {one}> {both}, ptr {here}, align {table.dtype[1]}")


def _register(code: Code, table: ColumnTable) -> int:
    """How many rows are taken at once: as many elements as fill a register."""
    return min(code.width, REGISTER_BYTES // int(table.dtype[1]))


def _joined(code: Code, parts: list[str], size: int, one: str) -> str:
    """Vectors one after another as one."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [shuffled(code, f"<{size} x {one}>", x, y, range(2 * size)) for x, y in pairs]
        size *= 2
    return parts[0]


def _twice(code: Code, lanes: str, first: int, count: int) -> str:
    """Some lanes of a mask, each twice."""
    order = [i for i in range(first, first + count) for _ in (0, 1)]
    return shuffled(code, f"<{code.width} x i1>", lanes, "poison", order)


def shuffled(code: Code, kind: str, x: str, y: str, lanes: Sequence[int]) -> str:
    """These lanes of two vectors."""
    mask = ", ".join(f"i32 {i}" for i in lanes)
    return code.name(f"shufflevector {kind} {x}, {kind} {y}, <{len(lanes)} x i32> <{mask}>")


def _rows(code: Code, table: ColumnTable) -> list[str]:
    """The address of each row."""
    found = [table.at]
    for _ in range(1, code.width):
        found.append(code.name(f"getelementptr {REGISTER[table.dtype]}, ptr {found[-1]}, i64 {table.step}"))
    return found


def _first(code: Code, table: ColumnTable) -> str:
    """A mask of as many lanes as there are columns."""
    return f"<{', '.join(f'i1 {int(i < table.columns)}' for i in range(code.width))}>"


def turned(code: Code, rows: Sequence[str], kind: str) -> list[str]:
    """Vectors whose lane i of number j is lane j of number i: bit by bit, these numbers change places."""
    now, width, bit = list(rows), code.width, 1
    while bit < width:
        for i in (i for i in range(width) if not i & bit):
            low = [j if not j & bit else width + j - bit for j in range(width)]
            high = [j + bit if not j & bit else width + j for j in range(width)]
            now[i], now[i + bit] = (shuffled(code, kind, now[i], now[i + bit], lanes) for lanes in (low, high))
        bit *= 2
    return now
