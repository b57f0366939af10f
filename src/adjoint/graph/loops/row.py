"""The sequence of calls of a recorded program, as numeric codes: calls with equal codes may be one call of a loop."""

from __future__ import annotations

import numpy as np

from adjoint.core.types import Value
from adjoint.graph.graph import SEEN, Graph
from adjoint.graph.node import Node, frozen
from adjoint.graph.python_numbers import PYTHONS, is_number

FEWEST = 8  # turns
INDEXED = frozenset({"getitem", "scatter_add", "overwrite"})  # operations whose index may go with the turn
_STAYS = frozenset({"raises", "collective", "random"})


class CallRow:
    """The calls of a graph in order, as codes that are equal for calls which may be one in a loop.

    Attributes:
        calls: the nodes.
        at: the position of every node; of what turns compute again and again, that of the first.
        given: inputs and constants; the first has position -1.
        numbers: for each call the whole numbers in its index, which its code leaves open.
    """

    def __init__(self, graph: Graph) -> None:
        nodes = graph.nodes
        self.calls = [node for node in nodes if node.args]
        self.given = list(dict.fromkeys((*graph.inputs, *(node for node in nodes if not node.args))))
        self.at = {node: i for i, node in enumerate(self.calls)} | {node: ~i for i, node in enumerate(self.given)}
        self.numbers: dict[int, tuple[int, ...]] = {}
        alone = {guard.node for guard in graph.guards if guard.question in SEEN}
        sorts: dict[Value, int] = {}
        sort = {node: sorts.setdefault(_sort(node), len(sorts)) for node in self.at}
        known: dict[Value, int] = {}
        codes = []
        for i, node in enumerate(self.calls):
            found: list[int] = []
            key = (id(node.op), sort[node], *[sort[arg] for arg in node.args], _said(node, found))
            if node in alone or (node.op is not None and (node.op.multiple or node.op.ordered)):
                key = ("alone", node)
            codes.append(known.setdefault(key, len(known)))
            if found:
                self.numbers[i] = tuple(found)
        self.codes = np.array(codes, np.int64)
        self._merge(alone)
        self._args = np.array([self.at[arg] for node in self.calls for arg in node.args], np.int64)
        self._first = np.concatenate([[0], np.cumsum([len(node.args) for node in self.calls])]).astype(np.int64)

    def _merge(self, alone: set[Node]) -> None:
        """Let calls that are the same in many turns be the first of them, which is made before the loop."""
        first: dict[int, int] = {}  # by position, of calls of inputs and constants
        same: dict[Value, list[int]] = {}
        for i, node in enumerate(self.calls):
            args = [self.at[arg] for arg in node.args]
            if node not in alone and may_move(node) and all(at < 0 or at in first for at in args):
                alike = same.setdefault((node.op, *(first.get(at, at) for at in args), frozen(node.settings)), [])
                alike.append(i)
                first[i] = alike[0]
        for alike in same.values():
            if len(alike) >= FEWEST and not is_view(self.calls[alike[0]]):  # which costs nothing
                self.at.update((self.calls[i], alike[0]) for i in alike)

    def node(self, at: int) -> Node:
        """The node at a position of the row."""
        return self.calls[at] if at >= 0 else self.given[~at]

    def arguments(self, start: int, period: int, times: int) -> tuple[np.ndarray, np.ndarray]:
        """The positions of the arguments of each turn, and for each of them which call it belongs to."""
        ends = self._first[start : start + period + 1]
        found = self._args[ends[0] : self._first[start + period * times]]
        return found.reshape(times, -1), np.repeat(np.arange(period), np.diff(ends))


def may_move(node: Node) -> bool:
    """Whether a call may be made before the loop in which it stands."""
    op = node.op
    if op is None or not node.args:
        return False
    return op.kind != "constant" and not op.multiple and not op.flags & _STAYS


def is_view(node: Node) -> bool:
    """Whether a call may show its argument, and compute nothing."""
    return node.op is not None and node.op.memory.view != "never"


def _sort(node: Node) -> object:
    """The kind of a node's value, as a key. Dtypes are compared as objects: NumPy has one object for each."""
    number = (not node.args or node.op in PYTHONS) and is_number(node)
    return node.shape, id(node.dtype), number


def _said(node: Node, found: list[int]) -> Value:
    """The settings of a call as part of its code; whole numbers of an index are put into `found` instead."""
    if node.op is None:
        return node.value
    settings = node.settings
    if not settings:
        return None
    if node.op.name not in INDEXED:
        return frozen(settings)
    path = settings.get("path")
    others = settings.get("shape"), settings.get("repeats"), frozen(path) if path else None
    return _masked(settings["index"], found), others


def _masked(x: object, found: list[int]) -> object:
    if type(x) is int:
        found.append(x)
        return int
    if isinstance(x, slice):
        return (slice, *(_masked(part, found) for part in (x.start, x.stop, x.step)))
    return tuple(_masked(part, found) for part in x) if isinstance(x, tuple) else frozen(x)


def filled(x: object, numbers: Value) -> Value:
    """An index with other whole numbers, from an iterator."""
    if type(x) is int:
        return next(numbers)
    if isinstance(x, slice):
        return slice(*[filled(part, numbers) for part in (x.start, x.stop, x.step)])
    return tuple([filled(part, numbers) for part in x]) if isinstance(x, tuple) else x
