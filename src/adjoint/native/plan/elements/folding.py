"""Operations on elements, one by one: products with 0 and 1, and sums with 0, are not computed.

An element is a node. It is None if a product with 0 made it zero, or if nothing was written to that part of the array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Literal, TypeAlias

import numpy as np

from adjoint.core.op import Op
from adjoint.core.registry import op_named
from adjoint.core.types import Settings
from adjoint.graph.node import Node, call, constant, in_order
from adjoint.native.plan.layout.assembly import is_number

# If one argument is not finite, the result of these is not finite.
TELLING = frozenset(("add", "subtract", "multiply", "negative", "square", "sqrt", "sin", "cos"))


class _As(Enum):
    """Says that an operation is computed as it is."""

    IT_IS = 0


_NOT = _As.IT_IS
#: The element that an operation gives, or that nothing is saved.
Folded: TypeAlias = Node | Literal[_As.IT_IS] | None


class RowElements:
    """Calls operations on values of so many rows.

    Attributes:
        made: what is computed.
        products: what is multiplied by 0.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.made: set[Node] = set()
        self.products: dict[Node, None] = {}

    def called(self, node: Node, cells: list[Node | None]) -> Node | None:
        """The element that an operation makes of these; nothing new, if one is 0 or 1."""
        assert node.op is not None
        name, fold = node.op.name, node.dtype.char in "fd"
        if fold and name in _FOLDS:
            found = _FOLDS[name](self, cells, node)
            if found is not _NOT:
                return found
        return self._call(node.op, cells, node.settings, node)

    def _call(self, op: Op, cells: Sequence[Node | None], settings: Settings, node: Node) -> Node:
        args = tuple(constant(np.zeros((), node.dtype)) if cell is None else cell for cell in cells)
        if all(map(is_number, args)) and op.kind == "elementwise":
            with np.errstate(all="ignore"):
                value = op.forward(*(arg.value for arg in args), **settings)
            return constant(np.asarray(value, node.dtype))
        shape = (self.rows,) if any(arg.shape for arg in args) else ()
        made = call(op, args, settings, shape, node.dtype, lambda: node.place)
        self.made.add(made)
        return made

    def negative(self, x: Node | None, node: Node) -> Node | None:
        return self.applied("negative", [x], node)

    def applied(self, name: str, cells: Sequence[Node | None], node: Node) -> Node | None:
        """Another operation of these elements, which gives what `node` does."""
        op = op_named(name)
        found = _FOLDS[name](self, list(cells), node)
        return self._call(op, cells, op.settings, node) if found is _NOT else found

    def both(self, op: Op, x: Node | None, y: Node | None, node: Node) -> Node | None:
        return self.applied("add", [x, y], node) if op.name == "add" else self._call(op, [x, y], op.settings, node)

    def finite(self) -> Node | None:
        """Whether what is multiplied by 0 is finite, as one truth value; None if nothing is multiplied so."""
        return _every_finite(list(self.products))


def _is(cell: Node | None, number: float) -> bool:
    return cell is not None and is_number(cell) and cell.value == number


def _product(elements: RowElements, cells: list[Node | None], node: Node) -> Folded:
    for cell, other in (cells, cells[::-1]):
        if cell is None or _is(cell, 0):
            if other is not None and not (is_number(other) and np.isfinite(other.value)):
                elements.products[other] = None
            return None
    for cell, other in (cells, cells[::-1]):
        if _is(cell, 1) and other is not None and other.dtype == node.dtype:
            return other
        if _is(cell, -1) and other is not None and other.dtype == node.dtype:
            return elements.negative(other, node)
        if (x := _turned(cell)) is not None:
            return elements.negative(elements.called(node, [x, other]), node)
    return _NOT


def _quotient(elements: RowElements, cells: list[Node | None], node: Node) -> Folded:
    x = _turned(cells[0])
    return _NOT if x is None else elements.negative(elements.called(node, [x, cells[1]]), node)


def _added(elements: RowElements, cells: list[Node | None], node: Node) -> Folded:
    for cell, other in (cells, cells[::-1]):
        if cell is None and (other is None or other.dtype == node.dtype):
            return other
        if (x := _turned(cell)) is not None and other is not None:
            return elements.applied("subtract", [other, x], node)
    return _NOT


def _subtracted(elements: RowElements, cells: list[Node | None], node: Node) -> Folded:
    x, y = cells
    if y is None and (x is None or x.dtype == node.dtype):
        return x
    if x is None and y is not None and y.dtype == node.dtype:
        return elements.negative(y, node)
    turned = _turned(y)
    return _NOT if turned is None else elements.applied("add", [x, turned], node)


def _negative(elements: RowElements, cells: list[Node | None], node: Node) -> Folded:
    return None if cells[0] is None else _NOT if (x := _turned(cells[0])) is None else x


def _same(elements: RowElements, cells: list[Node | None], node: Node) -> Folded:
    return None if cells[0] is None else _NOT


def _turned(cell: Node | None) -> Node | None:
    """The node of which `cell` is computed as the negative; None if it is computed in another way."""
    return cell.args[0] if cell is not None and cell.op is not None and cell.op.name == "negative" else None


_FOLDS: dict[str, Callable[[RowElements, list[Node | None], Node], Folded]] = {
    "multiply": _product,
    "divide": _quotient,
    "add": _added,
    "subtract": _subtracted,
    "negative": _negative,
    "astype": _same,
}


def _every_finite(values: list[Node]) -> Node | None:
    """Whether all these are finite, as one truth value: 0 times each is 0 then, and so is their sum."""
    values = _telling(values)
    if not values:
        return None
    terms = [_elementwise("multiply", constant(np.zeros((), x.dtype)), x) for x in values]
    while len(terms) > 1:
        terms = [_elementwise("add", *pair) if len(pair) == 2 else pair[0]
                 for pair in (terms[i : i + 2] for i in range(0, len(terms), 2))]  # fmt: skip
    found = terms[0]
    op = op_named("equal")
    found = call(op, (found, constant(np.zeros((), found.dtype))), op.settings, found.shape, np.dtype(bool))
    if not found.shape:
        return found
    op = op_named("all")
    return call(op, (found,), {**op.settings, "axis": None, "keepdims": False}, (), np.dtype(bool))


def _telling(values: list[Node]) -> list[Node]:
    """Those of these values that tell whether all are finite: what is computed of others by `TELLING`."""
    wanted, told = set(values), set[Node]()
    for node in reversed(in_order(values)):
        if node in wanted or node in told:
            name = "" if node.op is None else node.op.name
            grows = name == "divide" or (name == "power" and is_number(node.args[1]) and node.args[1].value > 0)
            told.update(node.args if name in TELLING else node.args[:1] if grows else ())
    return [node for node in values if node not in told]


def _elementwise(name: str, x: Node, y: Node) -> Node:
    op = op_named(name)
    return call(op, (x, y), op.settings, x.shape or y.shape, np.result_type(x.dtype, y.dtype))
