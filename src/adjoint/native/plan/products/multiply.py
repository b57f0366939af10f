"""How a product of matrices is computed: by tiles of native code, whose shape suits the sizes, or by BLAS.

Both sides get one form: a stack of matrices, described by the distances between rows, columns and matrices.
A side without such a form is copied first. B is copied to panels if it lies by columns, or if tiles read it so
often that it pays. Long sums are cut, so that their data stay in the cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from adjoint.graph.node import Node
from adjoint.native.codegen import machine
from adjoint.native.codegen.loops.loop_nest import contiguous
from adjoint.native.codegen.machine import Vectors
from adjoint.native.codegen.routines import panels
from adjoint.native.codegen.routines.matrix_product import Tiles
from adjoint.native.plan.layout.indexing import SLIDE
from adjoint.native.plan.layout.views import StridedView, plain

LONGEST = 768  # steps of a sum at a time; twice as many are not worth a second time
CACHE = 1 << 18  # bytes of A at a time, which stay in the second cache; twice as many are not worth a second time
WHOLE = 8  # rows of a tile, at most
UNIT = 1 << 21  # products that a unit should have at least: about 20 microseconds
FEW = 4  # tiles that a unit should have at least, which read the same panel one after another
LARGE = 1 << 30  # products of a matrix, from which on BLAS is as fast, and has threads of its own
PAGE = 1 << 12  # bytes: rows that lie so far apart share a place in the first cache
OFTEN = 12  # tiles that read a panel, from which on it pays to copy it
SMALL = 1 << 14  # bytes of B that a tile reads which stay in the first cache however they lie


class Sides(NamedTuple):
    """A stack of products: sizes, and distances in elements from row to row, column to column, matrix to matrix.

    With `merged`, all rows of A's stack are those of one matrix.
    """

    stack: int
    rows: int
    columns: int
    inner: int
    a: tuple[int, int, int]  # row, inner, stack
    b: tuple[int, int, int]  # inner, column, stack
    merged: bool


def sides(x: StridedView, y: StridedView, out: tuple[int, ...], merge: bool = True) -> Sides | list[int]:
    """``x @ y`` as a stack of products; or which of the two must be copied first.

    With `merge`, all rows of a stack that one matrix is multiplied by are those of one matrix, where they lie so.
    """
    xs, ys = _matrices(x, True), _matrices(y, False)
    lead = out[: max(len(x.shape), len(y.shape), 2) - 2]
    left, right = stacked(xs, lead), stacked(ys, lead)
    (rows, inner), columns = xs.shape[-2:], ys.shape[-1]
    a, b = xs.strides[-2:], ys.strides[-2:]
    a = (a[0] if rows > 1 else inner, a[1] if inner > 1 else 1)
    b = (b[0] if inner > 1 else columns, b[1] if columns > 1 else 1)
    wrong = [0] * (left is None or (1 not in a and rows > 1) or (rows == 1 and a[1] != 1))
    wrong += [1] * (right is None or 1 not in b or (b[1] != 1 and inner < panels.LEAST))
    if wrong or left is None or right is None:
        return wrong
    stack = 1
    for n in lead:
        stack *= n
    merged = merge and stack > 1 and right == 0 and (left == rows * a[0] or rows == 1) and a[1] == 1
    if merged:
        a = (left if rows == 1 else a[0], a[1])
        stack, rows = 1, rows * stack
    return Sides(stack, rows, columns, inner, (*a, left), (*b, right), merged)


def _matrices(view: StridedView, row: bool) -> StridedView:
    if len(view.shape) > 1:
        return view
    (n,), (s,) = view.shape, view.strides
    return view._replace(shape=(1, n) if row else (n, 1), strides=(n, s) if row else (s, 1))


def stacked(view: StridedView, lead: tuple[int, ...]) -> int | None:
    """How far the matrices of a stack lie apart; None if that differs."""
    shape = view.shape[:-2]
    missing = len(lead) - len(shape)
    return apart((0,) * missing + tuple(0 if n == 1 else s for n, s in zip(shape, view.strides, strict=False)), lead)


def apart(strides: tuple[int, ...], lengths: tuple[int, ...]) -> int | None:
    """The distance from place to place, counted over axes of these lengths in order; None if that differs."""
    step, size = None, 1
    for n, stride in zip(reversed(lengths), reversed(strides), strict=True):
        if n == 1:
            continue
        if step is None:
            step = stride
        elif stride != step * size:
            return None
        size *= n
    return step or 0


class Cut(NamedTuple):
    """How a product is cut: into tiles, of how many rows at once (in tiles), and sums of how many steps at once.

    With `packed`, B is copied first: to ``"panels"``, or ``"rows"`` of whole vectors, which are as good while they are
    few. With `packed_left`, A is copied to panels.
    """

    tiles: Tiles
    block: int
    steps: int
    packed: Literal["", "rows", "panels"]
    packed_left: bool


@lru_cache(1024)
def cut(found: Sides, dtype: str, vectors: Vectors) -> Cut:
    """How these products are cut on a processor with these vectors."""
    size = int(dtype[1])
    width = vectors.bytes // size
    large = found.rows * found.inner * size > 2 * CACHE
    rows, columns = tile(found.rows, found.columns, width, vectors.registers, WHOLE if large else 1)
    full, left = divmod(found.columns, columns * width)
    wide = 0 if not full else -(-left // width)
    times = -(-found.rows // rows)
    turned = found.b[1] != 1
    wide_rows = turned or abs(found.b[0]) * size > columns * vectors.bytes * 3 // 2
    deep = wide_rows and columns * vectors.bytes * min(found.inner, LONGEST) > SMALL
    steps = found.inner if found.inner <= 2 * LONGEST else -(-found.inner // -(-found.inner // LONGEST))
    # Without masks of its own, a processor loads part of a vector number by number.
    parts = left % width != 0 and vectors.bytes == panels.QUARTER
    packed: Literal["", "rows", "panels"] = "panels" if deep and (turned or times >= OFTEN) else ""
    if (turned or parts) and not packed:
        packed = "rows"
    odd = found.a[1] != 1 or found.a[0] * size % PAGE == 0
    packed_left = large and odd and rows == WHOLE and full >= 4 and found.inner >= panels.LEAST
    tiles = Tiles(dtype, rows, found.rows % rows, columns, wide, left % width != 0, packed_left or found.a[1] != 1)
    block = max(1, CACHE // (steps * size * rows)) if large else found.rows
    apart = found.stack * found.rows * found.columns * found.inner // (UNIT * found.stack)
    if apart > 1:  # so that several threads have something to do; how many there are is not asked
        block = min(block, max(FEW, -(-(found.rows // rows) // apart)))
    return Cut(tiles, block, steps, packed, packed_left)


def tile(m: int, n: int, width: int, registers: int, least: int = 1) -> tuple[int, int]:
    """Rows, not fewer than `least` if there are as many, and vectors of a tile for which C takes the least time."""
    vectors = -(-n // width)

    def time(rows: int, columns: int) -> float:
        down, along = [(m // rows, rows), (1, m % rows)], [(vectors // columns, columns), (1, vectors % columns)]
        return sum(p * q * _time(r, c) for p, r in down for q, c in along if r and c)

    most = min(4 if m >= WHOLE else WHOLE, vectors)
    choices = [(r, c) for r in range(min(least, m), min(WHOLE, m) + 1) for c in range(1, most + 1)
               if r * c + c + 1 <= registers]  # fmt: skip
    return min(choices, key=lambda choice: (time(*choice), -choice[0] * choice[1]))


def _time(rows: int, columns: int) -> float:
    """Cycles that a step of a tile takes: two products or two loads a cycle, and four until a sum is there."""
    return max(rows * columns / 2, (rows + columns) * 0.55, 4) + 0.9


def by_blas(x: StridedView, y: StridedView) -> bool:
    """Whether ``x @ y`` is not computed by tiles.

    With a vector on one side, there are other loops. BLAS is faster, as measured, for many rows and few columns, which
    are a small part of a vector of ours, and for very large matrices.
    """
    if len(x.shape) == 1 or len(y.shape) == 1 or x.shape[-2] == 1 or y.shape[-1] == 1:
        return True
    (rows, inner), columns = x.shape[-2:], y.shape[-1]
    return (columns < 4 and rows >= 64 and y.strides[-1] == 1) or rows * inner * columns >= LARGE


def fits(product: Node, others: Sequence[Node], views: Mapping[Node, StridedView]) -> bool:
    """Whether our code computes `product`, and what is computed of its elements and those of `others` with it."""
    x, y, *shown = (views.get(arg) or plain(arg) for arg in (*product.args, *others))
    if product.op is SLIDE:
        return all(
            (views.get(arg) or plain(arg)).read(arg.dtype, product.shape).strides[-1] in (0, 1) for arg in others
        )
    if by_blas(x, y) or x.shape[-1] > 2 * LONGEST:
        return False
    shown = [views.get(arg) or plain(arg) for arg in others]
    return (
        arranged(x, y, product.shape, [view.read(view.base.dtype, product.shape).strides for view in shown]) is not None
    )


def arranged(
    x: StridedView, y: StridedView, out: tuple[int, ...], others: Sequence[tuple[int, ...]]
) -> tuple[Sides, list[tuple[int, int, int]]] | None:
    """``x @ y`` in a form in which arrays of these strides lie as C does, and their distances; None if none is."""
    for merge in (True, False):
        found = sides(x, y, out, merge)
        if isinstance(found, list):
            x, y = (_in_rows(view, out) if k in found else view for k, view in enumerate((x, y)))
            found = sides(x, y, out, merge)
        assert isinstance(found, Sides), (x, y)
        places = [placed(strides, found, out) for strides in others]
        if None not in places:
            return found, places  # type: ignore[return-value]  # none is None
    return None


def copied(view: StridedView, out: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a side of a product that is put in order: one matrix for each of C."""
    return (*out[: len(out) - 2], *view.shape[-2:]) if view.shape[1:] else view.shape


def _in_rows(view: StridedView, out: tuple[int, ...]) -> StridedView:
    shape = copied(view, out)
    return view._replace(shape=shape, strides=contiguous(shape), offset=0)


def placed(strides: tuple[int, ...], found: Sides, domain: tuple[int, ...]) -> tuple[int, int, int] | None:
    """An array's distances from row to row, column to column and matrix to matrix of C; None if it lies otherwise."""
    *lead, _, _ = domain
    if strides[-1] not in (0, 1):
        return None
    if found.merged:
        row = apart(strides[:-1], domain[:-1])
        return None if row is None else (row, strides[-1], 0)
    stack = apart(strides[:-2], tuple(lead))
    return None if stack is None else (strides[-2], strides[-1], stack)


def numbers(found: Sides, how: Cut, part: tuple[int, int]) -> list[int]:
    """The kernel's numbers for so many steps of the sum."""
    width, size = machine.vectors().bytes, int(how.tiles.dtype[1])
    tiles, columns = how.tiles, how.tiles.columns * width
    (a_row, a_inner, a_stack), (b_inner, _, b_stack) = found.a, found.b
    a = [size if tiles.by_columns else a_row * size, a_inner * size, a_stack * size]
    if how.packed_left:
        panel = (part[1] - part[0]) * tiles.rows * size
        a = [(part[1] - part[0]) * size, tiles.rows * size, -(-found.rows // tiles.rows) * panel * (a_stack != 0)]
    b = [columns, b_inner * size, b_stack * size]
    if how.packed:
        line = line_bytes(found, how)
        b = [
            found.inner * columns if how.packed == "panels" else columns,
            line,
            packed_bytes(found, how) * (b_stack != 0),
        ]
    full = found.rows // tiles.rows
    units = units_of(found, how)
    return [0, found.stack * units, units, min(how.block, full), full, max(1, found.columns * size // columns),
            part[1] - part[0], found.columns % (width // size), *a, *b]  # fmt: skip


def units_of(found: Sides, how: Cut) -> int:
    """How many blocks of rows a matrix has."""
    return max(1, -(-(found.rows // how.tiles.rows) // how.block))


def line_bytes(found: Sides, how: Cut) -> int:
    """From one step along the inner axis to the next, where B has been copied to."""
    width = machine.vectors().bytes
    if how.packed == "panels":
        return how.tiles.columns * width
    return -(-found.columns * int(how.tiles.dtype[1]) // width) * width


def packed_bytes(found: Sides, how: Cut) -> int:
    """The bytes of a copied matrix."""
    line, size = line_bytes(found, how), int(how.tiles.dtype[1])
    return line * found.inner * (-(-found.columns * size // line))


def left_packing(found: Sides, how: Cut, part: tuple[int, int]) -> list[int]:
    """The numbers of the code that makes panels of so many steps of A."""
    size, rows, steps = int(how.tiles.dtype[1]), how.tiles.rows, part[1] - part[0]
    (row, inner, stack), count = found.a, -(-found.rows // rows)
    line, panel = rows * size, steps * rows * size
    return [0, count * (found.stack if stack else 1), count, steps, found.rows, row * size, inner * size, stack * size,
            panel, line, count * panel]  # fmt: skip


def packing(found: Sides, how: Cut) -> tuple[int, list[int]]:
    """How many vectors the code that copies B takes at once, and its numbers."""
    size, line = int(how.tiles.dtype[1]), line_bytes(found, how)
    width, columns = machine.vectors().bytes, how.tiles.columns if how.packed == "panels" else 1
    (b_inner, b_column, b_stack), turned = found.b, found.b[1] != 1
    count = -(-found.columns * size // (width if turned else columns * width))
    matrices = found.stack if b_stack else 1
    step = found.inner * line if how.packed == "panels" else width
    told = [0, matrices * count, count, found.inner, found.columns, b_column * size, b_inner * size, b_stack * size,
            step, line, packed_bytes(found, how)]  # fmt: skip
    return columns, told
