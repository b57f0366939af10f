"""Bounds of whole numbers: Python's are unlimited, and a program has 64 bits for each."""

from __future__ import annotations

import math
from collections.abc import Container
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.types import Array
from adjoint.graph.loops.loop import LOOP, Loop
from adjoint.graph.node import Node
from adjoint.graph.python_numbers import as_python
from adjoint.graph.symbol import Symbol

if TYPE_CHECKING:
    from adjoint.graph.symbol import Number


LARGEST = 1 << 31  # what is given to a program as an input is smaller
END = 1 << 63
EXACT = 1 << 53  # whole numbers up to this one are floating-point numbers
# What loops carry from turn to turn is at most so large, and what loops in their turns add to it: products of two have
# 64 bits.
CARRIED, ADDED = 2_600_000_000, 400_000_000
FEWEST_TURNS = 1 << 24  # that a loop which ends by a value may take before it asks for the size of whole numbers


class Reaches:
    """Bounds of the absolute values of what is computed with whole numbers that are inputs."""

    def __init__(self) -> None:
        self._known: dict[Node, int] = {}

    def stays(self, name: str, a: Number, b: Array) -> bool:
        """Whether the sum, difference or product of two whole numbers, and the like, is always inside."""
        if name == "mul":
            return self.of(a) * self.of(b) < END
        return name not in ("add", "sub") or self.of(a) + self.of(b) < END

    def is_exact(self, x: Array) -> bool:
        """Whether a whole number is always a floating-point number, too."""
        return self.of(x) <= EXACT if isinstance(x, Symbol) else abs(x) < 1 << 1000 and float(x) == x

    def carry(self, node: Node) -> None:
        """Note that a node is a whole number which a loop carries."""
        self._known[node] = CARRIED + ADDED

    def bound(self, node: Node, most: int) -> None:
        """Note that the absolute value of an input is `most` at most."""
        self._known[node] = most

    def of(self, x: Array) -> int:
        """The bound of a whole number."""
        return self._of_node(x.node) if isinstance(x, Symbol) else abs(int(x))

    def _of_node(self, node: Node) -> int:
        stack = [node]
        while stack:
            top = stack[-1]
            unknown = [arg for arg in top.args if arg not in self._known]
            if unknown and top not in self._known:
                stack += unknown
                continue
            if stack.pop() not in self._known:
                self._known[top] = self._computed(top)
        return self._known[node]

    def _computed(self, node: Node) -> int:
        if node.kind == "constant":
            is_whole = type(node.value) in (int, bool) or isinstance(node.value, np.integer)
            return abs(int(node.value)) if is_whole else LARGEST
        if node.op is LOOP:
            return CARRIED + ADDED
        parts = [self._known[arg] for arg in node.args]
        if node.label in ("add", "subtract"):
            return sum(parts)
        if node.label == "multiply":
            return math.prod(parts)
        if node.label == "remainder":
            return parts[1]
        return max(parts, default=LARGEST)


def growth(node: Node, before: Container[Node]) -> int:
    """A bound on how much a turn adds to a whole number among `before`, or to 0; `END` if none is known."""
    while node.op is as_python:
        node = node.args[0]
    if node in before:
        return 0
    if node.kind == "constant" and not node.args:
        return abs(int(node.value))
    if node.op is None and node.args and node.args[0].op is LOOP:
        call, k = node.args[0], int(node.value)
        loop: Loop = call.settings["loop"]
        if k >= loop.carried:
            return END
        body = loop.body
        return min(END, growth(call.args[k], before) + loop.count * growth(body.outputs[k], {body.inputs[k]}))
    name = node.op.name if node.op is not None else ""
    if name in ("add", "subtract"):
        moved = [growth(arg, before) for arg in node.args]
        fixed = [arg for arg in node.args if _is_fixed(arg)]
        return min(END, sum(moved)) if fixed else END
    if name == "as_numpy":
        return growth(node.args[0], before)
    return max(growth(arg, before) for arg in node.args[1:]) if name == "choose_either" else END


def _is_fixed(node: Node) -> bool:
    while node.op is as_python:
        node = node.args[0]
    return node.kind == "constant" and not node.args
