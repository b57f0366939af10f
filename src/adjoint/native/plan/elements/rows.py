"""Arrays of many rows and short axes, written out: ``(rows, 12, 3)`` becomes 36 values of shape ``(rows,)``.

If many small problems are solved at once (one Jacobian for each of many points, for example), the arrays are long along
one axis and short along the others. Kernels over such arrays move every value through memory, and compute with the
zeros and ones of unit vectors. Written out, the elements of a row are numbers of one kernel, whose vectors run along
the rows. Then joining and splitting arrays moves nothing, and products with 0 and 1 are not computed.

The product of a constant 0 and a number is 0 only if the number is finite. `RowProgram.finite` checks this for the
numbers that were left out. The sign of a zero may differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import NamedTuple

import numpy as np

from adjoint.core.registry import op_named
from adjoint.core.types import Index
from adjoint.graph.node import Node, call, constant, in_order, is_ordered
from adjoint.graph.rewriting.driver import reshaped, with_args
from adjoint.native.lower import table as lowering
from adjoint.native.plan.elements.folding import RowElements
from adjoint.native.plan.layout.indexing import expanded
from adjoint.native.plan.layout.piecewise import ASSEMBLE
from adjoint.native.plan.layout.regions import Region
from adjoint.ops.indexing.index import is_basic
from adjoint.ops.reductions.sums import axes_of

ROWS = 256  # at least so many
SHORT = 72  # places of a row, at most
SUMMED = 8  # elements of a sum along a short axis
MIXED, WORTH = 4, 2  # so many operations that put rows together, which move so many times what is read and written
MOST = 1500  # operations on values of rows

MOVED = frozenset(("reshape", "transpose", "matrix_transpose", "swapaxes", "moveaxis", "squeeze", "expand_dims",
                   "broadcast_to"))  # fmt: skip
TOGETHER = {"reduce_sum": "add", "reduce_max": "maximum", "reduce_min": "minimum"}
_ZERO = float(np.add.reduce(np.array([-0.0])))  # what NumPy begins a sum with

NodeGrid = np.ndarray  # of nodes, and None for what is zero; as long as the array, but 1 along the rows


class RowProgram(NamedTuple):
    """A program with short axes written out.

    Attributes:
        outputs: its outputs.
        finite: whether these are right: what is multiplied by 0 is finite. None if nothing is.
        nodes: what is computed for each row.
    """

    outputs: list[Node]
    finite: Node | None
    nodes: frozenset[Node]


def written_out(outputs: Sequence[Node]) -> RowProgram | None:
    """The same values, computed row by row in one kernel; None where that is not worth while."""
    nodes = in_order(outputs)
    if any(is_ordered(node) for node in nodes):
        return None
    mixing: Counter[int] = Counter()
    for node in nodes:
        if node.op is not None and (node.op.name in ("pile", "join", "scatter_add", "pad_zeros", *TOGETHER)):
            mixing.update({n for one in (node, *node.args) if (n := _rows(one))})
    for rows, count in mixing.most_common(1):
        if count >= MIXED:
            return _RowWriter(rows).written(nodes, outputs)
    return None


def _rows(node: Node) -> int:
    """How many rows an array has whose other axes are short; 0 for others."""
    shape = node.shape
    if not isinstance(shape, tuple) or not shape or isinstance(shape[0], tuple) or node.dtype is None:
        return 0
    longest = max(shape)
    fits = longest >= ROWS and 0 < prod(shape) // longest <= SHORT and 0 not in shape
    return longest if fits and node.dtype.char in "fd?" else 0


class _RowWriter(RowElements):
    """Writes a program out, for arrays of so many rows."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.whole: dict[Node, Node] = {}  # by the old node: what takes its place
        self.cells: dict[Node, NodeGrid] = {}  # by the old node: its elements
        self.moved = 0  # numbers a row that operations move
        self.read: set[Node] = set()
        self.assembled = 0

    def written(self, nodes: Sequence[Node], outputs: Sequence[Node]) -> RowProgram | None:
        for node in nodes:
            cells = self._written(node) if node.op is not None and self._fits(node) else None
            if node.op is not None and (known := _known(node, [self.whole.get(arg) for arg in node.args])) is not None:
                self.whole[node] = known
            elif cells is not None:
                self.cells[node] = cells
            else:
                self.whole[node] = with_args(node, tuple(map(self._whole, node.args)))
            if len(self.made) > MOST:
                return None
        found = [self._whole(node) for node in outputs]
        if self.moved < WORTH * (len(self.read) + self.assembled):
            return None
        return RowProgram(found, self.finite(), frozenset(self.made))

    def _fits(self, node: Node) -> bool:
        return _rows(node) == self.rows and node.shape.count(self.rows) == 1

    # -- Between arrays and their elements --------------------------------------------------------------

    def _whole(self, node: Node) -> Node:
        """The array itself; put together, if it is written out."""
        if node not in self.whole:
            cells, shape = self.cells[node], node.shape
            if prod(shape) == self.rows and isinstance(cells.flat[0], Node) and cells.flat[0].shape:
                self.whole[node] = reshaped(cells.flat[0], shape)
                return self.whole[node]
            axis, ones = shape.index(self.rows), (1,) * len(shape)
            regions = []
            for at in np.ndindex(*cells.shape):
                length = tuple(self.rows if a == axis else 1 for a in range(len(shape)))
                regions.append(Region(at, length, ones, (axis,)))
            values = tuple(self._node(cell, node) for cell in cells.flat)
            values = tuple(_spread(x, self.rows) for x in values)
            settings = {"below": False, "regions": tuple(regions), "adds": (False,) * len(regions)}
            self.whole[node] = Node(ASSEMBLE, values, settings, shape, node.dtype, None, node.place)
            self.assembled += len(values)
        return self.whole[node]

    def _node(self, cell: Node | None, like: Node) -> Node:
        return constant(np.zeros((), like.dtype)) if cell is None else cell

    def _cells(self, node: Node) -> NodeGrid | None:
        """The elements of an array; None if it has too many."""
        if node in self.cells:
            return self.cells[node]
        new, shape = self.whole[node], node.shape
        if not isinstance(shape, tuple) or node.dtype is None or (shape and isinstance(shape[0], tuple)):
            return None
        fits = self._fits(node)
        lengths = tuple(1 if fits and n == self.rows else n for n in shape)
        if prod(lengths) > SHORT:
            return None
        cells = np.empty(lengths, object)
        for at in np.ndindex(*lengths):
            cells[at] = self._cell(new, at, fits)
        self.cells[node] = cells
        return cells

    def _cell(self, new: Node, at: tuple[int, ...], rows: bool) -> Node:
        """The element `at` of an array, or that of each row."""
        if new.kind == "constant":
            value = np.asarray(new.value)
            row = value[
                tuple(slice(None) if rows and n == self.rows else i for i, n in zip(at, value.shape, strict=True))
            ]
            if not new.shape:
                return new
            if not rows or not any(row.strides) or (row == row[0]).all():
                return constant(row[0] if rows else row)
            return constant(np.ascontiguousarray(row))
        if not new.shape or new.shape == (self.rows,):
            self.read.add(new)
            return new
        index = tuple(slice(None) if rows and n == self.rows else i for i, n in zip(at, new.shape, strict=True))
        op = op_named("getitem")
        cell = call(op, (new,), {**op.settings, "index": index}, (self.rows,) if rows else (), new.dtype,
                    lambda: new.place)  # fmt: skip
        self.read.add(cell)
        return cell

    # -- Operations ------------------------------------------------------------------------------------

    def _written(self, node: Node) -> NodeGrid | None:
        """The elements of what an operation makes; None if it is computed as a whole."""
        assert node.op is not None
        name = node.op.name
        if name in MOVED:
            return self._moved(node)
        if name == "getitem":
            return self._named(node)
        if name in ("pile", "join"):
            return self._joined(node)
        if name in TOGETHER:
            return self._summed(node)
        if name in ("scatter_add", "pad_zeros"):
            return self._placed(node)
        each = node.op.kind == "elementwise" or isinstance(node.op.forward, np.ufunc) or name in lowering.TABLE
        if not (each or name == "astype") or not lowering.lowered(node).function:
            return None
        if (args := self._of_args(node)) is None:
            return None
        one = tuple(1 if n == self.rows else n for n in node.shape)
        spread = [np.broadcast_to(cells, one) for cells in args]
        made = np.empty(one, object)
        for at in np.ndindex(*one):
            own: list[Node | None] = [cells.item(at) for cells in spread]
            made[at] = self.called(node, own)
        return made

    def _of_args(self, node: Node) -> list[NodeGrid] | None:
        args = [self._cells(arg) for arg in node.args]
        found = [cells for cells in args if cells is not None]
        return found if len(found) == len(args) else None

    def _row_axis(self, node: Node) -> int:
        return int(node.shape.index(self.rows))

    def _moved(self, node: Node) -> NodeGrid | None:
        (x,) = node.args
        assert node.op is not None
        if not self._fits(x):
            if node.op.name != "broadcast_to" or (cells := self._cells(x)) is None:
                return None
            return np.broadcast_to(cells, tuple(1 if n == self.rows else n for n in node.shape))
        cells, name = self._cells(x), node.op.name
        if cells is None:
            return None
        one = tuple(1 if n == self.rows else n for n in node.shape)
        if name == "broadcast_to":
            return np.broadcast_to(cells, one)
        if name in ("reshape", "squeeze", "expand_dims"):
            before, after = (prod(y.shape[: self._row_axis(y)]) for y in (x, node))
            return cells.reshape(one) if before == after and node.settings.get("order", "C") == "C" else None
        found = node.op.forward(cells, **node.settings)
        return found if found.shape == one else None

    def _index(self, node: Node, index: Index, shape: tuple[int, ...]) -> tuple[Index, ...] | None:
        """The index of elements that names what `index` names of arrays; None if it names some rows only."""
        if not is_basic(index):
            return None
        parts = expanded(index if isinstance(index, tuple) else (index,), len(shape))
        if parts is None:
            return None
        axis, found = 0, []
        for part in parts:
            if part is not None:
                if shape[axis] == self.rows:
                    if not isinstance(part, slice) or part.indices(self.rows) != (0, self.rows, 1):
                        return None
                    part = slice(None)
                axis += 1
            found.append(part)
        return (*found, ...)

    def _named(self, node: Node) -> NodeGrid | None:
        (x,) = node.args
        index = self._index(node, node.settings["index"], x.shape) if self._fits(x) else None
        cells = self._cells(x) if index is not None else None
        if cells is None:
            return None
        found = cells[index]
        return found if found.shape == tuple(1 if n == self.rows else n for n in node.shape) else None

    def _joined(self, node: Node) -> NodeGrid | None:
        assert node.op is not None
        axis = node.settings["axis"] % len(node.shape)
        if node.shape[axis] == self.rows or not all(map(self._fits, node.args)):
            return None
        if any(arg.dtype != node.dtype for arg in node.args):
            return None
        if (args := self._of_args(node)) is None:
            return None
        self.moved += 2 * prod(node.shape) // self.rows
        return np.stack(args, axis) if node.op.name == "pile" else np.concatenate(args, axis)

    def _placed(self, node: Node) -> NodeGrid | None:
        assert node.op is not None
        x, settings = node.args[0], node.settings
        if len(node.args) != 1 or not self._fits(x) or settings.get("path") or x.dtype != node.dtype:
            return None
        if node.op.name == "pad_zeros":
            widths = np.broadcast_to(np.asarray(settings["widths"]), (len(node.shape), 2)).tolist()
            given: Index = tuple(slice(b, b + n) for (b, _), n in zip(widths, x.shape, strict=True))
        else:
            given = settings["index"]
        index, cells = self._index(node, given, node.shape), self._cells(x)
        if index is None or cells is None:
            return None
        made = np.full(tuple(1 if n == self.rows else n for n in node.shape), None, object)
        if made[index].shape != cells.shape:
            return None
        made[index] = cells
        self.moved += (prod(node.shape) + prod(x.shape)) // self.rows
        return made

    def _summed(self, node: Node) -> NodeGrid | None:
        assert node.op is not None
        x, name = node.args[0], node.op.name
        if len(node.args) != 1 or not self._fits(x) or x.dtype != node.dtype or node.dtype.char not in "fd":
            return None
        axes = sorted(axes_of(node.settings.get("axis"), len(x.shape)))
        count = prod(x.shape[a] for a in axes)
        if node.settings.get("where", True) is not True or self._row_axis(x) in axes or not 0 < count <= SUMMED:
            return None
        cells = self._cells(x)
        if cells is None:
            return None
        rest = [a for a in range(len(x.shape)) if a not in axes]
        terms = cells.transpose(*rest, *axes).reshape(*(cells.shape[a] for a in rest), count)
        made = np.empty(terms.shape[:-1], object)
        op, first = op_named(TOGETHER[name]), constant(np.zeros((), node.dtype))
        begins = name == "reduce_sum" and not np.signbit(_ZERO)
        for at in np.ndindex(*made.shape):
            own = [cell for cell in terms[at] if cell is not None or name != "reduce_sum"]
            if own and begins:
                own = [first, *own]
            made[at] = reduce(lambda a, b: self.both(op, a, b, node), own) if own else None
        self.moved += prod(x.shape) // self.rows
        return made.reshape(tuple(1 if n == self.rows else n for n in node.shape))


def _spread(x: Node, rows: int) -> Node:
    if x.shape:
        return x
    op = op_named("broadcast_to")
    return call(op, (x,), {**op.settings, "shape": (rows,)}, (rows,), x.dtype, lambda: x.place)


def _known(node: Node, args: list[Node | None]) -> Node | None:
    """What a view shows of a small constant."""
    assert node.op is not None
    if node.op.name not in (*MOVED, "getitem") or len(args) != 1 or args[0] is None or args[0].kind != "constant":
        return None
    value = args[0].value
    if not isinstance(value, np.ndarray) or value.size > SHORT or prod(node.shape) > SHORT:
        return None
    return constant(np.ascontiguousarray(node.op.forward(value, **node.settings)).reshape(node.shape))
