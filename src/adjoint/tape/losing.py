"""The end of a reverse-mode transform: whether a value that left it contributes to its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from adjoint.core.box import Box
from adjoint.core.leaks.notes import Reach
from adjoint.core.objects.trees import flatten
from adjoint.core.types import Array
from adjoint.tape.node import TapeNode, walk


class GraphReach(Reach):
    """What `value` depends on, by the graph of `level`.

    `arguments` are the leaves of those arguments that are differentiated by, by the arguments' numbers.
    """

    def __init__(self, level: int, value: Array, arguments: Mapping[int, Iterable[TapeNode]]) -> None:
        self.level, self.value, self.arguments = level, value, arguments

    @cached_property
    def nodes(self) -> set[TapeNode]:
        """Those that lead to the result."""
        return {node for x in flatten(self.value)[0] for node in self._behind(x)}

    def is_constant(self) -> bool:
        return not self.nodes

    def missed(self, box: Array) -> str:
        behind = self._behind(box)
        for number, leaves in self.arguments.items():
            if any(leaf in behind and leaf not in self.nodes for leaf in leaves):
                return f"argument {number}"
        return ""

    def uses(self, box: Array) -> bool:
        return not (behind := self._behind(box)) or behind[0] in self.nodes

    def reached(self, node: object) -> bool:
        return node is None or node in self.nodes

    def _behind(self, box: Array) -> list[TapeNode]:
        """The nodes of this level that lead to `box`, its own first."""
        while isinstance(box, Box) and box.level > self.level:
            box = None if box.held is box else box.held
        node = getattr(box, "node", None) if isinstance(box, Box) and box.level == self.level else None
        return [] if node is None else walk(node)
