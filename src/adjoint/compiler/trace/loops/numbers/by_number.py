"""What turns compute of the whole number that a loop goes through, and of constants alone.

In the turn with a number of the program (`settling.py`) this is a part of the graph. Its values in the turns that
follow are computed by Python and NumPy, as the user's code would compute them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from adjoint.core.op import Op
from adjoint.core.types import Value
from adjoint.graph.node import Node, in_order
from adjoint.graph.python_numbers import PYTHONS, as_numpy

#: What Python's operators give of Python's numbers; what NumPy gives of them may have another type.
_OF_PYTHON: dict[str, Callable[..., Value]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "negative": operator.neg,
    "positive": operator.pos, "absolute": operator.abs, "equal": operator.eq, "not_equal": operator.ne,
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
}  # fmt: skip
_LARGEST = 1 << 62
_NUMBERS = frozenset((int, float))


class UnfollowedError(Exception):
    """A value that is computed of the number may differ from Python's."""


class ByNumber:
    """Values of nodes that are computed of one number, an input, and of constants."""

    def __init__(self, number: Node) -> None:
        self.number = number
        self._orders: dict[Node, list[Node] | None] = {}

    def has(self, node: Node) -> bool:
        """Whether `node` is computed of the number, and of constants alone."""
        if node not in self._orders:
            order = in_order([node])
            leaves = {each for each in order if not each.args}
            known = self.number in leaves and all(x is self.number or x.kind == "constant" for x in leaves)
            self._orders[node] = order if known and all(map(_is_simple, order)) else None
        return self._orders[node] is not None

    def at(self, node: Node, numbers: Sequence[int]) -> list[Value]:
        """The values of a node that is such, where the loop goes through each of `numbers`.

        Raises:
            UnfollowedError: if they are not surely what the user's code would compute.
        """
        found: dict[Node, Sequence[Value]] = {self.number: numbers}
        with np.errstate(all="ignore"):
            for each in self._orders[node] or ():
                if each.op is None and each is not self.number:
                    found[each] = [each.value] * len(numbers)
                elif each.op is not None:
                    found[each] = _values(each, each.op, [found[arg] for arg in each.args])
        return list(found[node])


def _values(node: Node, op: Op, args: Sequence[Sequence[Value]]) -> list[Value]:
    """The values of `node` for the values of its arguments, number by number."""
    rows = zip(*args, strict=True)
    if op in PYTHONS or op is as_numpy:
        return [op.forward(*row) for row in rows]
    of_python, forward = _OF_PYTHON.get(op.name), partial(op.forward, **node.settings)
    try:
        values = [
            of_python(*row) if of_python is not None and _NUMBERS.issuperset(map(type, row)) else forward(*row)
            for row in rows
        ]
    except Exception as error:
        raise UnfollowedError from error
    if any(type(value) is int and abs(value) > _LARGEST for value in values):
        raise UnfollowedError
    return values


def _is_simple(node: Node) -> bool:
    """Whether a node gives one value of its arguments alone, element by element."""
    op = node.op
    if op is None:
        return not node.args
    return op.name in _OF_PYTHON or (op.kind == "elementwise" and not op.multiple and "random" not in op.flags)
