"""Turns of a loop that are recorded one by one, compared with the first of them, and made one `Loop`.

Each turn is recorded on its own inputs: one for each carried value. So the results of a turn are a graph of
these. Two turns agree if their graphs are the same except for three things: the carried inputs, whole numbers in an
index, and constants. Whole numbers must be affine in the turn, and name rows of an array that is the same in each turn;
constants are listed in a table. Only these data are kept of a turn: its nodes are dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from adjoint.core.box import Box
from adjoint.core.registry import op_named
from adjoint.core.types import Array, Value
from adjoint.graph.graph import Graph
from adjoint.graph.loops.body import RollingError, _parts, _rows
from adjoint.graph.loops.row import INDEXED, _masked, filled
from adjoint.graph.loops.turns import LARGEST
from adjoint.graph.node import Node, call, constant, frozen, in_order, placeholder
from adjoint.graph.python_numbers import as_python, is_number
from adjoint.graph.rewriting.driver import made_call, with_args

NOTHING: Mapping[tuple[Node, int], Sequence[Value]] = MappingProxyType({})


class TurnRow(NamedTuple):
    """A row that a turn reads of an array which is the same in each turn: at `start` + `step` × turn, along an axis."""

    of: Node
    axis: int
    start: int
    step: int


class TurnConstants(NamedTuple):
    """A constant that is another one in each turn."""

    values: np.ndarray


class TurnProgram(NamedTuple):
    """One turn as a graph: it takes carried values, rows, and what is the same in each turn.

    Attributes:
        graph: it gives the next carried values, and what is kept of every turn.
        rows: where its rows come from.
        fixed: nodes of the recording that are the same in each turn.
    """

    graph: Graph
    carried: int
    rows: list[TurnRow | TurnConstants]
    fixed: list[Node]


class Template:
    """The first of some turns, which others are held against.

    Attributes:
        outputs: what the turn gives: the next carried values, then what is kept of every turn.
        carried: the inputs that are its own.
        turns: how many agree.
    """

    def __init__(self, outputs: Sequence[Node], carried: Sequence[Node], since: int) -> None:
        self.outputs, self.carried, self.since, self.turns = list(outputs), list(carried), since, 1
        self.nodes = [node for node in in_order(outputs) if node.args and node.number > since]
        self.leaves = {arg for node in self.nodes for arg in node.args if not (arg.args and arg.number > since)}
        self.leaves |= {node for node in outputs if not (node.args and node.number > since)}
        self.numbers: dict[Node, dict[int, tuple[int, ...]]] = {}  # of an index that goes by turn
        self._constants: dict[tuple[Node, int], dict[int, Value]] = {}
        self.by_number: dict[tuple[Node, int], Node] = {}  # constants, as computed of a loop's number

    @property
    def differs(self) -> bool:
        """Whether a turn has other numbers than the first."""
        return bool(self.numbers or self._constants)

    @property
    def constants(self) -> dict[tuple[Node, int], list[Value]]:
        """For each constant that turns have of their own its values in the turns so far."""
        return {(node, k): [seen.get(turn, node.args[k].value) for turn in range(self.turns)]
                for (node, k), seen in self._constants.items()}  # fmt: skip

    def goes_on(self, count: int, constants: Mapping[tuple[Node, int], Sequence[Value]] = NOTHING) -> None:
        """Add `count` turns, which are like those before them, with these constants; indices continue as before."""
        for at, values in constants.items():
            self._constants[at].update(enumerate(values, self.turns))
        for node, seen in self.numbers.items():
            first: list[int] = []
            _masked(node.settings["index"], first)
            step = [b - a for a, b in zip(first, seen.get(1, first), strict=True)]
            for turn in range(self.turns, self.turns + count):
                seen[turn] = tuple([a + turn * by for a, by in zip(first, step, strict=True)])
        self.turns += count

    def agrees(
        self, outputs: Sequence[Node], carried: Sequence[Node], follows: Callable[[Node], Value] | None = None
    ) -> bool:
        """Whether one more turn, with these results of these inputs, is like the first.

        `follows` gives the value of what is computed of the number that a loop goes through, in place of a constant.
        """
        if len(outputs) != len(self.outputs) or len(carried) != len(self.carried):
            return False
        found: dict[Node, Node] = dict(zip(self.carried, carried, strict=True))
        numbers: list[tuple[Node, tuple[int, ...]]] = []
        constants: list[tuple[Node, int, Value]] = []
        pending = list(zip(self.outputs, outputs, strict=True))
        while pending:
            a, b = pending.pop()
            known = found.get(a)
            if known is not None:
                if known is not b:
                    return False
                continue
            found[a] = b
            if a is b:
                continue
            if (
                a in self.leaves
                or a.op is not b.op
                or not a.args
                or not b.args
                or a.shape != b.shape
                or a.dtype != b.dtype
            ):
                return False
            if a.op is None:
                if a.kind != b.kind or a.value != b.value:
                    return False
            elif a.settings is not b.settings:
                if a.op.name in INDEXED:
                    mine, theirs = list[int](), list[int]()
                    if not _alike(a, b, mine, theirs):
                        return False
                    if mine != theirs:
                        numbers.append((a, tuple(theirs)))
                elif frozen(a.settings) != frozen(b.settings):
                    return False
            if len(a.args) != len(b.args):
                return False
            for k, (x, y) in enumerate(zip(a.args, b.args, strict=True)):
                if not x.args and x.kind == "constant":
                    if x is y:
                        continue
                    if follows is not None and y.args and (value := follows(y)) is not None:
                        self.by_number[a, k] = y
                        constants.append((a, k, value))
                        continue
                    if y.kind != "constant" or not _same_sort(x, y):
                        return False
                    constants.append((a, k, y.value))
                else:
                    pending.append((x, y))
        for node, each in numbers:
            self.numbers.setdefault(node, {})[self.turns] = each
        for node, k, value in constants:
            self._constants.setdefault((node, k), {})[self.turns] = value
        self.turns += 1
        return True

    def program(self, values: dict[Node, Array], hoists: bool = False) -> TurnProgram:
        """The turns as one graph; `values` has what is the same in each turn, and is no constant.

        If it `hoists`, what a turn computes of these alone is computed before the turns, and put into `values`.

        Raises:
            RollingError: if there is none.
        """
        made: dict[Node, Node] = {}
        carried: list[Node] = []
        for node in self.carried:
            carried.append(placeholder("carried", node.shape, node.dtype, is_number(node)))
            made[node] = carried[-1]
        fixed: dict[Node, Node] = {}

        def same(node: Node) -> Node:
            if node.kind == "constant":
                return node
            if node not in values and is_fixed(node):
                return constant(Graph([], [node], name="constant").run([])[0])
            if node not in values:
                (values[node],) = _computed([node], values)
            if node not in fixed:
                fixed[node] = placeholder("fixed", node.shape, node.dtype)
            return call(as_python, (fixed[node],), {}, (), node.dtype) if is_number(node) else fixed[node]

        for node in self.leaves:
            if node not in made and not _is_made_of(node, values):
                raise RollingError("a value of an earlier turn takes part")
        rows: dict[TurnRow | int, Node] = {}
        sources: list[TurnRow | TurnConstants] = []
        moving = self._moving()
        alike = self._once(moving, values) if hoists else set[Node]()
        for node in self.nodes:
            if node in alike:
                continue
            if node in moving:
                row, rest = self._row(node, moving[node])
                if hoists and any(type(part) is int for part in rest):
                    row, rest = self._of_fewer_axes(row, rest, values), ()
                if row not in rows:
                    shape = row.of.shape[: row.axis] + row.of.shape[row.axis + 1 :]
                    rows[row] = placeholder("row", shape, row.of.dtype)
                    sources.append(row)
                made[node] = self._part(node, rows[row], rest)
                continue
            args = []
            for k, arg in enumerate(node.args):
                if (node, k) in self._constants:
                    args.append(self._listed(node, k, sources, rows))
                else:
                    args.append(made[arg] if arg in made else same(arg))
            made[node] = with_args(node, tuple(args))
        outputs = [made[node] if node in made else same(node) for node in self.outputs]
        inputs = [*carried, *rows.values(), *fixed.values()]
        return TurnProgram(Graph(inputs, outputs, name="turn"), len(carried), sources, list(fixed))

    def _once(self, moving: Container[Node], values: dict[Node, Array]) -> set[Node]:
        """The nodes of a turn that use only values which are the same in each turn; needed ones go into `values`."""
        found: set[Node] = set()
        for node in self.nodes:
            varies = node in moving or any((node, k) in self._constants for k in range(len(node.args)))
            if varies or node.op is None or node.op.multiple:
                continue
            if all(arg in found or arg in values or (not arg.args and arg.kind == "constant") for arg in node.args):
                found.add(node)
        others = {arg for node in self.nodes if node not in found for arg in node.args} | {*self.outputs}
        wanted = [node for node in self.nodes if node in found and node in others]
        values |= zip(wanted, _computed(wanted, values), strict=True)
        return found

    @staticmethod
    def _of_fewer_axes(row: TurnRow, rest: tuple[Value, ...], values: dict[Node, Array]) -> TurnRow:
        """A row of an array that is read at a place that is the same in each turn."""
        index = (*rest[: row.axis], slice(None), *rest[row.axis :])
        getitem, probe = op_named("getitem"), np.empty(row.of.shape, bool)[index]
        node = call(getitem, (row.of,), {**getitem.settings, "index": index}, probe.shape, row.of.dtype)
        if node not in values:
            (values[node],) = _computed([node], values)
        return TurnRow(node, sum(type(part) is slice for part in rest[: row.axis]), row.start, row.step)

    def _moving(self) -> dict[Node, np.ndarray]:
        """For each node whose index goes by turn, its whole numbers in each turn."""
        found: dict[Node, np.ndarray] = {}
        for node, seen in self.numbers.items():
            first: list[int] = []
            _masked(node.settings["index"], first)
            each = np.array([seen.get(turn, first) for turn in range(self.turns)])
            if (each != each[0] + (each[1] - each[0]) * np.arange(self.turns)[:, None]).any():
                raise RollingError("an index is not affine in the turn")
            found[node] = each
        return found

    def _row(self, node: Node, each: np.ndarray) -> tuple[TurnRow, tuple[Value, ...]]:
        of = node.args[0]
        if node.op is None or node.op.name != "getitem" or of not in self.leaves or of in self.carried:
            raise RollingError("an index by turn names elements of an array that is made in the turns")
        one, two = (_parts(filled(node.settings["index"], iter(turn.tolist())), of.shape) for turn in each[:2])
        axes = [part for part in range(len(one)) if one[part] is not None]
        moved = [axis for axis, part in enumerate(axes) if one[part] != two[part]]
        if len(moved) != 1:
            raise RollingError("an index goes by turn along several axes")
        axis, part = moved[0], axes[moved[0]]
        (start, width), (then, _) = (_rows(parts[part], of.shape[axis]) for parts in (one, two))
        if width is not None:
            raise RollingError("a slice goes by turn")
        last = start + (then - start) * (self.turns - 1)
        if not (0 <= start < of.shape[axis] and 0 <= last < of.shape[axis]):
            raise RollingError("an index leaves the array")
        return TurnRow(of, axis, start, then - start), tuple(one[:part] + one[part + 1 :])

    @staticmethod
    def _part(node: Node, row: Node, rest: tuple[object, ...]) -> Node:
        if all(part == slice(None) for part in rest):
            return row
        getitem = op_named("getitem")
        return call(getitem, (row,), {**getitem.settings, "index": rest}, node.shape, node.dtype)

    def _listed(
        self, node: Node, k: int, sources: list[TurnRow | TurnConstants], rows: dict[TurnRow | int, Node]
    ) -> Node:
        first = node.args[k]
        seen = self._constants[node, k]
        if self.turns * math.prod(first.shape) > LARGEST * 4:
            raise RollingError("each turn uses constants of its own, which are large")
        table = np.array([np.asarray(seen.get(turn, first.value)) for turn in range(self.turns)], first.dtype)
        sources.append(TurnConstants(table))
        made = rows[-len(rows) - 1] = placeholder("row", first.shape, first.dtype)
        return call(as_python, (made,), {}, (), made.dtype) if is_number(first) else made


def _is_made_of(node: Node, values: Container[Node]) -> bool:
    """Whether a node is one of those with `values`, or computed of them and of constants."""
    return all(each in values or each.args or each.kind == "constant" for each in _until([node], values))


def is_fixed(node: Node) -> bool:
    """Whether a node is computed of constants alone; numbers of Python's are such constants themselves."""
    if node.kind == "constant" and not node.args:
        return True
    return not is_number(node) and all(each.args or each.kind == "constant" for each in in_order([node]))


def _computed(nodes: Sequence[Node], values: Mapping[Node, Array]) -> list[Array]:
    """The values of `nodes`, computed from the nodes that have `values`."""
    given: dict[Node, Node] = {}
    made: dict[Node, Node] = {}
    for node in _until(nodes, values):
        if node in values:
            given[node] = placeholder("fixed", node.shape, node.dtype)
            made[node] = call(as_python, (given[node],), {}, (), node.dtype) if is_number(node) else given[node]
        elif node.args:
            made[node] = with_args(node, tuple([made.get(arg, arg) for arg in node.args]))
    graph = Graph(list(given.values()), [made.get(node, node) for node in nodes], name="once")
    found = graph.schedule.interpreted([plain(values[node]) for node in given])
    assert found is not None
    return found


def _until(nodes: Sequence[Node], known: Container[Node]) -> list[Node]:
    """The nodes between those that are known and `nodes`, in order."""
    found, pending = set[Node](), [*nodes]
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending += node.args if node not in known else ()
    return sorted(found, key=lambda node: node.number)


def plain(x: Array) -> Value:
    """`x`; as NumPy's number, if it is one of Python's."""
    return x.as_array() if isinstance(x, Box) and x.is_python else x


def _same_sort(x: Node, y: Node) -> bool:
    """Whether two constants differ in their values alone."""
    if (x.shape, x.dtype) != (y.shape, y.dtype) or is_number(x) != is_number(y):
        return False
    return not is_number(x) or (type(x.value) is type(y.value) and type(x.value) in (int, float))


def _alike(a: Node, b: Node, mine: list[int], theirs: list[int]) -> bool:
    """Whether settings differ in whole numbers of the index alone, which are put into the lists."""
    if a.settings.keys() != b.settings.keys():
        return False
    for name, x in a.settings.items():
        y = b.settings[name]
        if x is y or (type(x) is slice is type(y) and x == y):
            if name == "index":
                _masked(x, mine)
                theirs += mine
        elif name == "index":
            if _masked(x, mine) != _masked(y, theirs):
                return False
        elif frozen(x) != frozen(y):
            return False
    return True


def inlined(graph: Graph, inputs: Sequence[Node]) -> list[Node]:
    """The outputs of `graph`, computed from other nodes in the places of its inputs."""
    made = dict(zip(graph.inputs, inputs, strict=True))
    for node in in_order(graph.outputs):
        if node.args:
            made[node] = with_args(node, tuple([made.get(arg, arg) for arg in node.args]))
    return [made.get(node, node) for node in graph.outputs]


def several(program: TurnProgram, count: int) -> Graph:
    """So many turns as one: the rows of each follow one another, and so does what is kept."""
    graph, a = program.graph, program.carried
    b = a + len(program.rows)
    first, fixed = list(graph.inputs[:a]), list(graph.inputs[b:])
    state, rows, kept = list[Node](first), list[Node](), list[Node]()
    for _ in range(count):
        own = [placeholder("row", node.shape, node.dtype) for node in graph.inputs[a:b]]
        rows += own
        found = inlined(graph, [*state, *own, *fixed])
        state = found[:a]
        kept += found[a:]
    return Graph([*first, *rows, *fixed], [*state, *kept], name="body")


def stacked(nodes: Sequence[Node]) -> Node:
    """Nodes as the rows of one."""
    return made_call(op_named("pile"), tuple(nodes), {"axis": 0})


__all__ = ["Template", "TurnConstants", "TurnProgram", "TurnRow", "constant", "several"]
