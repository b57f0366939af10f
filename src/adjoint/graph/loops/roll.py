"""`roll`: finds repeating turns in a recorded program and makes them loops.

The graph is rolled as it was recorded, including the backward pass, because rewrites would mix the turns. What a
forward loop keeps of every turn is a stack, which the loop of the backward pass reads from its end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from adjoint.core.registry import op_named
from adjoint.graph.captures.record import Guard
from adjoint.graph.graph import Graph
from adjoint.graph.loops.body import ApartError, Body, RollingError
from adjoint.graph.loops.loop import LOOP, Loop
from adjoint.graph.loops.row import FEWEST, CallRow
from adjoint.graph.loops.turns import Carried, EarlierValue, Fixed, Listed, TurnRange, stretches, turns_of, whole_turns
from adjoint.graph.node import Node, call, constant, part, size_of
from adjoint.graph.python_numbers import as_python, is_number
from adjoint.graph.rewriting.driver import made_call, with_args
from adjoint.graph.text.source import users_line

LEAST = 400  # calls that a loop saves: what is smaller is made ready soon enough as it is
BESIDE = 100  # the same, for a loop beside a larger one of as many turns: one reads what the other keeps
UNROLLED, WIDE = 1200, 1 << 17  # calls of a loop that stays unrolled, where one gives so many numbers
ASKED = {"bool": "b", "float": "f", "int": "iu", "index": "iu"}  # questions that compare the bits of these dtypes


class Rolled(NamedTuple):
    """The program, with a note on each loop in it, and on each repetition that was not rolled."""

    graph: Graph
    said: list[str]


class ValueRun(NamedTuple):
    """Values that call `j` of a loop made, in so many turns: ``turn, turn + step, …``."""

    loop: int
    j: int
    turn: int
    step: int
    times: int


def roll(graph: Graph, refused: Callable[[Loop], str]) -> Rolled | None:
    """`graph` with its loops; None if nothing in it repeats.

    Args:
        graph: as it was recorded.
        refused: why a loop cannot be run; empty if it can. Its turns then stay what they are.
    """
    row = CallRow(graph)
    found = _worthwhile(
        [stretch for stretch in stretches(row.codes, min(LEAST, BESIDE)) if not _is_wide(row, *stretch)]
    )
    if not found:
        return None
    found, abreast = whole_turns(row, found)
    said: dict[int, str] = {}
    without: set[int] = set()
    while True:
        loops, begun = list[TurnRange](), list[int]()
        waiting = found[::-1]
        while waiting:
            start, period, length = waiting.pop()
            turns = turns_of(row, start, period, length, loops, abreast) if start not in without else ""
            if isinstance(turns, TurnRange):
                loops.append(turns)
                begun.append(start)
                left = start + length - turns.stop
                waiting += [(turns.stop, period, left)] if left - period > LEAST else []
            elif turns:
                said[start] = f"{length // period} turns of {period} operations are not one loop: {turns}"
                without.add(start)
        if not loops:
            return Rolled(graph, list(said.values()))
        roller = Roller(graph, row, loops, refused)
        try:
            made = roller.rolled()
        except ApartError as error:
            turns = loops[roller.current]
            edges = [-1, *error.turns.tolist(), turns.times]
            found = [stretch for stretch in found if not stretch[0] <= turns.start < stretch[0] + stretch[2]]
            found += [(turns.start + turns.period * (a + 1), turns.period // turns.abreast, turns.period * (b - a - 1))
                      for a, b in pairwise(edges) if b - a > FEWEST]  # fmt: skip
            found.sort()
        except RollingError as error:
            turns = loops[roller.current]
            said[turns.start] = f"{turns.times} turns of {turns.period} operations are not one loop: {error}"
            without.add(begun[roller.current])
        else:
            return Rolled(made, [*said.values(), *roller.said])


def _worthwhile(found: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The stretches that save enough, and those beside them of as many turns: the forward pass of a backward one."""
    turns = [length // period for _, period, length in found if length - period > LEAST]
    return [(start, period, length) for start, period, length in found
            if length - period > LEAST or any(abs(length // period - times) <= 2 for times in turns)]  # fmt: skip


def _is_wide(row: CallRow, start: int, period: int, length: int) -> bool:
    """Whether a few turns go through large arrays: kernels of several turns at once move these less often."""
    return length <= UNROLLED and any(size_of(node) >= WIDE for node in row.calls[start : start + period])


class Roller:
    """Makes the graph anew, with `loops` in it.

    Attributes:
        current: the number of the loop that is being made.
        said: the notes on those that are made.
    """

    def __init__(self, graph: Graph, row: CallRow, loops: Sequence[TurnRange], refused: Callable[[Loop], str]) -> None:
        self.graph, self.row, self.loops, self.refused = graph, row, loops, refused
        self.current, self.said = 0, list[str]()
        self.runs: dict[tuple[int, ...], list[ValueRun | int]] = {}
        self.single, self.asked = list[Guard](), list[tuple[int, int, list[Guard]]]()
        self.stacked: list[dict[int, None]] = [{} for _ in loops]
        self.last: list[dict[int, None]] = [{} for _ in loops]
        self._made: dict[int, Node] = {}
        self._parts: dict[tuple[str, int, int], Node] = {}

    def rolled(self) -> Graph:
        """The graph.

        Raises:
            RollingError: if the loop `current` is none.
        """
        self._settle()
        at, starts = 0, {turns.start: i for i, turns in enumerate(self.loops)}
        while at < len(self.row.calls):
            if at in starts:
                self.current = starts[at]
                self._loop(self.current)
                at = self.loops[self.current].stop
                continue
            node = self.row.calls[at]
            self._made[at] = self._joined(node)
            at += 1
        outputs = self.values(self.graph.outputs)
        return self.graph.replaced(outputs, list(self._guards()))

    # -- What is needed of a loop's turns --------------------------------------------------------------

    def home(self, at: int) -> tuple[int, int, int] | None:
        """The loop, the turn and the call at a position."""
        for i, turns in enumerate(self.loops):
            found = turns.within(at)
            if found:
                return i, *found
        return None

    def _settle(self) -> None:
        """Find which calls of each loop are kept of every turn, and which of the last."""
        self._ask()
        outside: set[int] = set()
        for turns in self.loops:
            for source in (source for sources in turns.sources for source in sources):
                if isinstance(source, EarlierValue):
                    self.stacked[source.loop][source.j] = None
                elif isinstance(source, Fixed):
                    outside.add(source.at)
                elif isinstance(source, Carried):
                    outside.update(source.first)
                elif isinstance(source, Listed):
                    outside.update(self._settled(source.at))
        ends = sorted((turns.start, turns.stop) for turns in self.loops)
        place = 0
        for start, stop in [*ends, (len(self.row.calls), 0)]:
            for at in range(place, start):
                outside.update(self._used(self.row.calls[at]))
            place = stop
        outside.update(self.row.at[node] for node in self.graph.outputs)
        outside.update(self.row.at[guard.node] for guard in self.single)
        for at in outside:
            found = self.home(at)
            if found:
                i, turn, j = found
                (self.last if turn == self.loops[i].times - 1 else self.stacked)[i][j] = None

    def _used(self, node: Node) -> Sequence[int]:
        """The positions that a call outside of loops uses one by one."""
        args = [self.row.at[arg] for arg in node.args]
        joins = node.op is not None and node.op.name in ("pile", "join") and node.settings.get("axis") == 0
        return self._settled(tuple(args)) if joins and len(args) >= FEWEST else args

    def _settled(self, places: tuple[int, ...]) -> list[int]:
        """Of values that are joined, those that are needed one by one: of what loops make, their stacks are needed."""
        if places not in self.runs:
            runs: list[ValueRun | int] = []
            for at in places:
                found = self.home(at)
                if found is None:
                    runs.append(at)
                    continue
                i, turn, j = found
                before = runs[-1] if runs else None
                step = turn - (before.turn + before.step * (before.times - 1)) if isinstance(before, ValueRun) else 0
                if (
                    isinstance(before, ValueRun)
                    and before[:2] == (i, j)
                    and abs(step) == 1
                    and before.step in (0, step)
                ):
                    runs[-1] = before._replace(step=step, times=before.times + 1)
                else:
                    runs.append(ValueRun(i, j, turn, 0, 1))
            self.runs[places] = runs
            self.stacked_by(run for run in runs if isinstance(run, ValueRun))
        return [run for run in self.runs[places] if not isinstance(run, ValueRun)]

    def stacked_by(self, runs: Iterable[ValueRun]) -> None:
        """Note that loops keep what `runs` name."""
        for run in runs:
            self.stacked[run.loop][run.j] = None

    def _ask(self) -> None:
        """Separate the guards that are asked in every turn of a loop from the others."""
        asked: dict[tuple[int, int, str], dict[int, Guard]] = defaultdict(dict)
        for guard in self.graph.guards:
            found = self.home(self.row.at[guard.node])
            if found is None or guard.node.dtype.kind not in ASKED.get(guard.question, ""):
                self.single.append(guard)
            else:
                asked[found[0], found[2], guard.question][found[1]] = guard
        for (i, j, _), each in asked.items():
            if len(each) == self.loops[i].times:
                self.asked.append((i, j, [each[turn] for turn in range(len(each))]))
                self.stacked[i][j] = None
            else:
                self.single += each.values()

    def _guards(self) -> Iterator[Guard]:
        """The guards of the graph that is made: those of a loop ask for all turns at once."""
        for guard in self.single:
            yield guard._replace(node=self.value(self.row.at[guard.node]))
        for i, j, guards in self.asked:
            node = self.stack(i, j)
            answer = np.array([np.asarray(guard.answer, node.dtype) for guard in guards]).reshape(node.shape)
            yield Guard(node, "values", answer, guards[0].place)

    # -- The new nodes ------------------------------------------------------------------------------------

    def values(self, nodes: Iterable[Node]) -> tuple[Node, ...]:
        """The new nodes for nodes of the row."""
        return tuple([self.value(self.row.at[node]) for node in nodes])

    def value(self, at: int) -> Node:
        """The replacement of the value at a position."""
        if at < 0:
            return self.row.given[~at]
        if at in self._made:
            return self._made[at]
        found = self.home(at)
        assert found is not None, "a value outside of the loops is made before it is used"
        i, turn, j = found
        self.current, last = i, turn == self.loops[i].times - 1
        made = self._parts.get(("last", i, j)) if last else None
        if made is None:
            if ("stack", i, j) not in self._parts:
                raise RollingError("what an array holds in the midst of a turn is used later")
            getitem = op_named("getitem")
            made = made_call(getitem, (self._parts["stack", i, j],), {**getitem.settings, "index": turn})
        self._made[at] = made = numbered(made, self.row.calls[at])
        return made

    def stack(self, i: int, j: int) -> Node:
        """The stacked results of call `j` of loop `i`, a row for each turn."""
        return self._parts["stack", i, j]

    def table(self, places: tuple[int, ...], rows: bool = True) -> Node:
        """The values at positions as one array: as its rows, or one after another."""
        getitem, reshape, join, pile = (op_named(name) for name in ("getitem", "reshape", "join", "pile"))
        pieces: list[Node] = []
        waiting: list[Node] = []  # single ones

        def flush() -> None:
            if waiting and rows:
                constants = all(node.kind == "constant" for node in waiting)
                values = [np.asarray(node.value) for node in waiting] if constants else []
                pieces.append(constant(np.stack(values)) if constants else made_call(pile, tuple(waiting), {"axis": 0}))
            else:
                pieces.extend(waiting)
            waiting.clear()

        for run in self.runs[places]:
            if not isinstance(run, ValueRun):
                waiting.append(self.value(run))
                continue
            flush()
            stack = self.stack(run.loop, run.j)
            step = run.step or 1
            end = run.turn + step * run.times
            if (run.turn, step, run.times) != (0, 1, stack.shape[0]):
                index = slice(run.turn, None if end < 0 else end, step)
                stack = made_call(getitem, (stack,), {**getitem.settings, "index": index})
            if not rows:
                stack = made_call(reshape, (stack,), {**reshape.settings, "shape": (-1, *stack.shape[2:])})
            pieces.append(stack)
        flush()
        return pieces[0] if len(pieces) == 1 else made_call(join, tuple(pieces), {**join.settings, "axis": 0})

    def _joined(self, node: Node) -> Node:
        """The new node for a call outside of loops."""
        places = tuple([self.row.at[arg] for arg in node.args])
        joins = node.op is not None and node.op.name in ("pile", "join") and node.settings.get("axis") == 0
        if not joins or not any(isinstance(run, ValueRun) for run in self.runs.get(places, ())):
            return with_args(node, self.values(node.args))
        made = self.table(places, node.op is not None and node.op.name == "pile")
        if (made.shape, made.dtype) != (node.shape, node.dtype):
            raise RollingError("its values are joined after a conversion")
        return made

    def _loop(self, i: int) -> None:
        """Make the loop number `i`, and nodes for its results."""
        turns = self.loops[i]
        body = Body(self, turns, list(self.stacked[i]), list(self.last[i]))
        loop = body.loop
        reason = self.refused(loop)
        if reason:
            raise RollingError(reason)
        kinds = loop.kinds(body.args)
        shapes, dtypes = tuple([shape for shape, _ in kinds]), tuple([dtype for _, dtype in kinds])
        place = self.row.calls[turns.start].place
        whole = call(LOOP, tuple(body.args), {"loop": loop}, shapes, dtypes, lambda: place)
        for k, (which, j) in body.results.items():
            self._parts[which, i, j] = part(whole, k)
        line = users_line(self.row.calls[turns.start])
        size = f"{turns.times * turns.abreast} turns of {turns.period // turns.abreast} operations"
        several = f", {turns.abreast} at a time" if turns.abreast > 1 else ""
        self.said.append(f"{size} are one loop{several}: {body.text}"
                         + (f"   {line}" if line else ""))  # fmt: skip


def numbered(node: Node, like: Node) -> Node:
    """`node`, as one of Python's numbers if `like` is one."""
    if is_number(like) and not is_number(node):
        return call(as_python, (node,), {}, (), node.dtype)
    return node
