"""Induction variables: whole numbers that are a multiple of a loop's counter, plus a number."""

from __future__ import annotations

from typing import NamedTuple

from adjoint.graph.node import Node
from adjoint.graph.python_numbers import as_python


class Moving(NamedTuple):
    """``factor`` times the number that the loop goes through, and ``more``."""

    factor: int
    more: int

    def at(self, number: int) -> int:
        """Its value in the turn with this `number`."""
        return self.factor * number + self.more


def moving(node: Node, number: Node) -> Moving | None:
    """A whole number in terms of `number`, if it goes on with that, or is one of Python's that never changes."""
    if node is number:
        return Moving(1, 0)
    if node.kind == "constant" and type(node.value) is int:
        return Moving(0, node.value)
    if node.op is as_python:
        return moving(node.args[0], number)
    name = node.op.name if node.op is not None else ""
    if name not in ("add", "subtract", "multiply") or len(node.args) != 2:
        return None
    one, two = moving(node.args[0], number), moving(node.args[1], number)
    if one is None or two is None or (name == "multiply" and one.factor and two.factor):
        return None
    if name == "multiply":
        return Moving(one.factor * two.more + two.factor * one.more, one.more * two.more)
    sign = 1 if name == "add" else -1
    return Moving(one.factor + sign * two.factor, one.more + sign * two.more)
