"""Bounds of Python's whole numbers, which are unlimited, in a program that has 64 bits for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjoint.core.types import Array
from adjoint.graph.node import Node
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
        """Whether the sum or difference of two whole numbers, and the like, is always inside."""
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
        return max(parts, default=LARGEST)
