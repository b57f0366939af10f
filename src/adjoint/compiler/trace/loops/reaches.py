"""Bounds of whole numbers: Python's are unlimited, and a program has 64 bits for each."""

from __future__ import annotations

import math
from collections.abc import Container
from typing import TYPE_CHECKING

from adjoint.core.types import Array
from adjoint.graph.loops.loop import LOOP, Loop
from adjoint.graph.node import Node
from adjoint.graph.python_numbers import as_python
from adjoint.graph.symbol import Symbol

if TYPE_CHECKING:
    from adjoint.graph.symbol import Number


LARGEST = 1 << 31  # what is given to a program as an input is smaller
END = 1 << 63


class Reaches:
    """Bounds of the absolute values of what is computed with whole numbers that are inputs."""

    def __init__(self) -> None:
        self._known: dict[Node, int] = {}

    def stays(self, name: str, a: Number, b: Array) -> bool:
        """Whether the sum, difference or product of two whole numbers, and the like, is always inside."""
        if name == "mul":
            return self._of(a) * self._of(b) < END
        return name not in ("add", "sub") or self._of(a) + self._of(b) < END

    def _of(self, x: Array) -> int:
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
            return abs(int(node.value)) if type(node.value) in (int, bool) else LARGEST
        parts = [self._known[arg] for arg in node.args]
        if node.label in ("add", "subtract"):
            return sum(parts)
        if node.label == "multiply":
            return math.prod(parts)
        if node.label == "remainder":
            return parts[1]
        return max(parts, default=LARGEST)


def growth(node: Node, before: Container[Node]) -> int:
    """By how much a whole number differs at most from what it was `before` a turn, or from 0; `END` if nobody knows."""
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
