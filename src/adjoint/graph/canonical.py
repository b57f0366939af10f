"""A graph as plain data that are the same in any process that records the same program.

Numbers of nodes, identities and places in the user's code are left out. Everything that may decide how a program is
compiled is included: operations with their definitions, settings, shapes, dtypes, constants bit by bit, guards, loops.

Nodes are counted as a walk from the results meets them. Their own numbers say which was made first. A node that an
earlier program of the process left behind (a constant, or a value computed from constants) was made before all others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.core.objects.plain import NotPlainError, PlainData
from adjoint.core.types import Value
from adjoint.graph.graph import Graph
from adjoint.graph.loops.loop import Loop
from adjoint.graph.node import Node, NumberName, is_ordered

# What a loop is. What else it has (see `Loop`) comes of this, or is for derivatives and reports.
PARTS_OF_A_LOOP = ("count", "carried", "slices", "buffers", "places", "stacks", "backwards", "abreast", "ends", "room")
NOT_OF_A_LOOP = ("function", "lean", "ran", "native", "reverse", "reverses", "samples", "site")


class Canonical:
    """The plain data of a graph.

    Attributes:
        constants: its constants, in the order in which they are met.
        plain: what names the generators that it draws from.
    """

    def __init__(self) -> None:
        self.constants: dict[Node, int] = {}
        self.plain = PlainData([], growing=True)
        self._ops: dict[int, Value] = {}

    def of(self, graph: Graph) -> tuple[Value, ...]:
        """The data.

        Raises:
            NotPlainError: for what another process could not find again.
        """
        known: dict[Node, tuple[Value, ...]] = {node: ("input", i) for i, node in enumerate(graph.inputs)}
        inputs = [(isinstance(n.value, NumberName), str(n.value), *self._kind(n)) for n in graph.inputs]
        calls: list[Value] = []
        ordered: list[tuple[int, int]] = []
        for node in _as_met((*graph.outputs, *(guard.node for guard in graph.guards))):
            if node in known:
                continue
            if node.kind == "call":
                known[node] = ("call", len(calls))
                if is_ordered(node):
                    ordered.append((node.number, len(calls)))
                args = tuple([known.get(arg) or self._constant(arg, known) for arg in node.args])
                calls.append((self._op(node), args, self._settings(node), *self._kind(node)))
            elif node.kind == "part":
                known[node] = ("part", known[node.args[0]], node.value)
            elif node.kind == "input":
                raise NotPlainError("an input of another program")
        outputs = tuple([known.get(node) or self._constant(node, known) for node in graph.outputs])
        guards = [(known.get(g.node) or self._constant(g.node, known), g.question, self.plain.data(g.answer))
                  for g in graph.guards]  # fmt: skip
        return tuple(inputs), tuple(calls), outputs, tuple(guards), tuple([call for _, call in sorted(ordered)])

    def _constant(self, node: Node, known: dict[Node, tuple[object, ...]]) -> tuple[object, ...]:
        self.constants.setdefault(node, len(self.constants))
        known[node] = ("constant", self.constants[node], self.plain.data(node.value))
        return known[node]

    def _op(self, node: Node) -> Value:
        op = node.op
        if id(op) not in self._ops:
            self._ops[id(op)] = self.plain.data(op)
        return self._ops[id(op)]

    def _kind(self, node: Node) -> tuple[Value, Value]:
        """The shape and the dtype, of all results if there are several."""
        return self.plain.data(node.shape), self.plain.data(node.dtype)

    def _settings(self, node: Node) -> Value:
        return tuple([(name, self._setting(node.settings[name])) for name in sorted(node.settings)])

    def _setting(self, x: object) -> object:
        return self.loop(x) if isinstance(x, Loop) else self.plain.data(x)

    def loop(self, x: Loop) -> Value:
        """The data of a loop.

        Raises:
            NotPlainError: as above.
        """
        if {*PARTS_OF_A_LOOP, *NOT_OF_A_LOOP, "body"} != set(Loop.__slots__):
            raise NotPlainError("a loop has further parts")
        return ("loop", self.of(x.body), *(_plainly(getattr(x, part)) for part in PARTS_OF_A_LOOP))


def _as_met(roots: Sequence[Node]) -> list[Node]:
    """All nodes that lead to `roots`, each after what it uses, in the order of a walk that takes arguments in turn."""
    found: dict[Node, None] = {}
    pending = list(reversed(roots))
    while pending:
        node = pending[-1]
        if node in found:
            pending.pop()
            continue
        missing = [arg for arg in reversed(node.args) if arg not in found]
        if missing:
            pending += missing
        else:
            found[pending.pop()] = None
    return list(found)


def _plainly(x: object) -> object:
    """Whole numbers and words, and sequences of them, as tuples."""
    if isinstance(x, Sequence) and not isinstance(x, str):
        return tuple(map(_plainly, x))
    if x is None or type(x) in (int, bool, str):
        return x
    if isinstance(x, np.integer):
        return int(x)
    raise NotPlainError(f"{type(x).__name__} in a loop")
