"""Loops whose end depends on values, recorded as loops: the number of turns is not known beforehand.

A turn follows one of a few paths, which its answers to questions decide. If the state between two turns is the same
except for arrays (`state/standing.py`), the next turn must follow one of the paths that were seen, as long as its
answers are those of that path. So the loop goes on while a turn follows a path that was seen. The first turn that
follows another one is dropped, and what the user's code did then comes after the loop.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjoint.compiler.trace.loops.light import BREAKS, Light
from adjoint.compiler.trace.loops.numbers import kinds
from adjoint.compiler.trace.loops.numbers.reaches import FEWEST_TURNS
from adjoint.compiler.trace.loops.numbers.reaches import LARGEST as LARGEST_WHOLE
from adjoint.compiler.trace.loops.paths import all_are, as_argument, bare, either, first_uses, is_small
from adjoint.compiler.trace.loops.settling import is_ours
from adjoint.compiler.trace.loops.state.carried import (
    LEAF,
    UNSET,
    Same,
    base,
    bits,
    bottom_of,
    flat,
    full,
    in_form,
    number_of,
    row_after,
    rows_of,
    without_leaves,
)
from adjoint.compiler.trace.loops.state.standing import UnknownError, is_same, standing
from adjoint.compiler.trace.outside import Again
from adjoint.core.registry import op_named
from adjoint.core.types import Array, Value
from adjoint.graph.captures.record import Guard
from adjoint.graph.graph import Graph
from adjoint.graph.loops.agree import Template, TurnRow, inlined, plain
from adjoint.graph.loops.body import RollingError
from adjoint.graph.loops.elements import ElementWrites, written_on_paths
from adjoint.graph.loops.loop import Loop, Window
from adjoint.graph.loops.vanishing import LoopError
from adjoint.graph.node import Node, constant, placeholder
from adjoint.graph.python_numbers import item
from adjoint.graph.rewriting.driver import made_call
from adjoint.graph.symbol import Symbol, symbol_of
from adjoint.tape.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.compiler.trace.loops.turns import RunningLoop

PATHS = 6  # that a turn may take
MOST = 1 << 40  # turns
LEAST_ROOM = 64  # turns
LARGEST = 1 << 28  # bytes of what is kept of all turns


class Ending(Light):
    """The turns of a loop that ends where values say."""

    def __init__(self, turns: RunningLoop, first: int) -> None:
        super().__init__(turns, first)
        self.paths: dict[tuple[bool, ...], Template] = {}
        known = (self.door.loops.promoted, self.door.loops.kinds, self.door.loops.flags)
        self.promoted, self.kinds, self.flags = (each.setdefault(turns.site, set()) for each in known)
        self.missing: set[str] = set()  # names without a value when the loop begins
        self.unset: set[str] = set()  # these, and those that each turn binds first
        self.count, self.most = 0, MOST
        self.left_out = 0  # turns that are not recorded, because those before them took all paths there are
        self.bounded: set[int] = set()  # whole numbers that a turn computes: each asks whether they are small
        self.read: dict[TurnRow, Value] = {}  # the rows that this turn has read
        self.rows: dict[tuple[bool, ...], tuple[TurnRow, ...]] = {}  # those that a path reads

    # -- One turn -------------------------------------------------------------------------------------

    def open(self, space: dict[str, object]) -> list[object]:
        if self.template is None:
            self.missing = {n for n in self.turns.names if n not in space and n not in self.turns.passing}
            self.unset = self.missing | self.turns.passing
            if self.missing & self.turns.live:
                raise self.later("a name has no value when the loop begins")
        self.read = {}
        made: list[Value] = [*super().open(self._all(space))]
        self._before = self._standing(space)
        self.first_question(made)
        count = len(self.door.notes.guards)
        made = self._pythons(made, self._shape, self.turns.reads, self.places.asked)
        self.places.asked.update(guard.node for guard in self.door.notes.guards[count:])
        self._about_kinds = len(self.door.notes.guards) - count
        return made

    def _pythons(self, made: list[Value], shape: Value, read: Container[str], asked: set[Node]) -> list[Value]:
        """What the user's code gets: for numbers whose kind is carried, one of that kind; for flags, truth values."""
        made = kinds.of_pairs(shape, made, self.door.notes, asked)
        made = kinds.of_flags(shape, made, [name in read for name in self.turns.names], self.door.loops.standing)
        return [UNSET if name in self.unset else x for name, x in zip(self.turns.names, made, strict=True)]

    def first_question(self, names: list[Value]) -> None:
        """Ask what each turn asks first, where the loop says so; its names have these values."""

    def _all(self, space: dict[str, object]) -> dict[str, Value]:
        """The values of all names; `Unset` for those that have none."""
        return {**space, **dict.fromkeys(self.unset - space.keys(), UNSET)} if self.unset else space

    def _flattened(self, space: dict[str, object]) -> tuple[list[Value], list[Value]]:
        leaves, shape = list[Value](), list[Value]()
        for name in self.turns.names:
            x = space[name]
            if name in self.unset:
                shape.append(Same(None))
            elif name in self.kinds and kinds.kind_of(x) is not None:
                leaves += kinds.as_pair(x)
                shape.append(kinds.PAIR)
            elif name in self.flags and (flag := kinds.as_flag(x, self.door.loops.standing)) is not None:
                leaves.append(flag)
                shape.append(kinds.FLAG)
            elif name in self.promoted and type(x) in (int, float):
                leaves.append(symbol_of(x, constant(x)))
                shape.append(LEAF)
            else:
                shape.append(flat(x, leaves))
        return shape, [*leaves, *(each.stand_in for each in self.held)]

    def _standing(self, space: dict[str, object]) -> Value:
        """The state when a turn begins: the values of all names, except arrays that are carried."""
        others = [v for name, v in space.items() if name not in self.turns.names and not is_ours(name, v)]
        shape, _ = self._flattened(self._all(space))
        try:
            return standing(self.door, [*others, *map(without_leaves, shape)])
        except UnknownError as error:
            raise self.off(str(error)) from None

    def close(self, space: dict[str, Value]) -> None:
        notes = self.door.notes
        if self.door.light is not self:
            raise self.off("a loop within it ends in another way")
        if any(name not in space for name in self.turns.names if name not in self.unset):
            raise self.off("a name loses its value")
        shape, leaves = self._flattened(self._all(space))
        asked = self._asked()
        if len(asked) == self._about_kinds:
            raise self.differ("no value says where it ends", every=True)
        if repr(shape) != repr(self._shape) or not all(map(kinds.is_like, leaves, self._own)):
            self._promote(shape, leaves)
            if self.turns.at > 1:  # the first turn is recorded by itself where it differs
                kinds.learn(self.kinds, kinds.of_two_kinds(self.turns.names, self._shape, self._own, shape, leaves))
            raise self.differ("a name has another kind of value", every=self.turns.at == 1)
        if not is_same(self._before, self._standing(space)):
            self._promote(shape, leaves)
            if not is_same(self._before[1:], self._standing(space)[1:]):
                raise self.off("it writes to something else than its own names")
            raise self.differ("something else than arrays changes from turn to turn")
        self._untouched(leaves, [])
        outputs = [x.layers[1] for x in leaves] + [guard.node for guard in asked]
        key = tuple([bool(guard.answer) for guard in asked])
        own = [*self._bases, *map(base, self.read.values())]
        if key not in self.paths:
            if len(self.paths) == PATHS:
                raise self.off(f"its turns take more than {PATHS} paths")
            self.paths[key], self.rows[key] = Template(outputs, own, self.since), tuple(self.read)
            self.template = self.template or self.paths[key]
            self.bounded |= self.uncounted(leaves, min(self.most, FEWEST_TURNS))
        elif self.rows[key] != tuple(self.read) or not self.paths[key].agrees(outputs, own) or self.paths[key].differs:
            raise self.off("its operations differ")
        if any(abs(leaves[k].value) >= LARGEST_WHOLE for k in self.bounded):
            raise self.off("a whole number grows faster than a counter")
        self.count, self._place = self.count + 1, asked[0].place
        self._final = leaves, [], shape
        notes.placeless = True

    def _asked(self) -> list[Guard]:
        """The questions of this turn, each whether something is true."""
        notes = self.door.notes
        asked = notes.guards[self.guards :]
        del notes.guards[self.guards :]
        if len(notes.draws) != self.draws:
            raise self.off("random numbers are drawn")
        others = [guard.question for guard in asked if guard.question != "bool"]
        if others or any(guard.node.shape != () for guard in asked):
            raise self.off(f"it asks for the {others[0]} of a value" if others else "it asks whether an array is true")
        return asked

    def _promote(self, shape: Sequence[Value], leaves: Sequence[Array]) -> None:
        """Begin again, if Python's numbers that change are to be part of the program."""
        kinds.learn(self.promoted, kinds.changed(self.turns.names, self._shape, shape, leaves))
        kinds.learn(self.flags, kinds.flipped(self.turns.names, self._shape, shape))

    # -- The end ----------------------------------------------------------------------------------------

    def finish(self, space: dict[str, object]) -> list[Array]:
        values, _, _ = self._finished(space)
        return values

    def ended(self, space: dict[str, object]) -> list[Array]:
        """The values of the names after the loop; the turn that had begun is its last one."""
        shape, leaves = self._flattened(self._all(space))
        asked = self._asked()
        if repr(shape) != repr(self._shape) or not all(map(kinds.is_like, leaves, self._own)):
            raise self.differ("its last turn gives a name another kind of value", self.turns.at)
        if not is_same(self._before, self._standing(space)):
            self._promote(shape, leaves)
            raise self.differ("its last turn does something else than to give names values", self.turns.at)
        if len(asked) == self._about_kinds:
            raise self.off("no value says where it ends")
        self._untouched(leaves, [])
        if self.uncounted(leaves, 1) - self.bounded:
            raise self.off("a whole number grows faster than a counter")
        outputs = [x.layers[1] for x in leaves] + [guard.node for guard in asked]
        last = Template(outputs, [*self._bases, *map(base, self.read.values())], self.since)
        read, turns = self.read, None
        if self.template is None:
            self.over()
            state = [as_argument(x) for x in self.start]
        else:
            _, state, turns = self._finished(space)
        try:
            if read and turns is not None and self.outer is not None:
                raise RollingError("its last turn reads a row")
            rows = [row_after(row, self.boxes, turns) for row in read]
            program = last.program(self.boxes, self._hoists)
        except RollingError as error:
            raise self.off(str(error)) from None
        fixed = [plain(self.boxes[node]) for node in program.fixed]
        found = program.graph.schedule.interpreted([*state, *rows, *fixed])
        assert found is not None
        self._agree(found[: len(leaves)], leaves)
        for guard, x in zip(asked, found[len(leaves) :], strict=True):
            while isinstance(x, Tensor):
                x = x.held
            if not isinstance(x, Symbol) or bool(x.value) is not bool(guard.answer):
                raise self.off("its last turn, run again, gives other values")
            self.door.notes.guards.append(Guard(x.node, "bool", guard.answer, guard.place))
        return self._named(shape, found, leaves)

    def _agree(self, found: Sequence[Array], leaves: Sequence[Array]) -> None:
        """Refuse values that differ from those of the user's code."""
        if any(bits(x) != bits(leaf) for x, leaf in zip(found, leaves, strict=True)):
            raise self.off("its turns, run again, give other values")

    def _named(self, shape: Sequence[Value], state: Sequence[Array], leaves: Sequence[Array]) -> list[object]:
        """The values of the names, with this state in place of the turn's."""
        whole = [number_of(x) if type(leaf.value) is int else x for x, leaf in zip(state, leaves, strict=False)]
        self.give_back(whole)
        fresh = iter([in_form(x, leaf) for x, leaf in zip(whole, leaves, strict=True)])
        made: list[Value] = [full(each, fresh) for each in shape]
        return self._pythons(made, shape, self.turns.live, (self.outer or self).places.asked)

    def _finished(self, space: dict[str, object]) -> tuple[list[object], list[object], Value]:
        """The values of the names after the turns that take place; the state, and the number of turns."""
        (leaves, _, shape), until = self._final, self.over()
        boxes, known = (*self.start, *self.boxes.values()), {**self.boxes}
        if any(n.op is item for path in self.paths.values() for n in path.nodes) and any(
            isinstance(x, Tensor) for x in boxes
        ):
            raise self.off("it makes numbers of arrays")
        try:
            *state, turns = self._run()
        except (RollingError, LoopError) as error:
            raise self.off(str(error)) from None
        self._agree(state, leaves)
        if self.left_out:
            self.count, self.left_out, self.boxes = self.count + self.left_out, 0, known
            *state, turns = self._run()
        if not self.is_counted:
            self._hold(turns)
        self.hold_sizes()
        for k in sorted(self.bounded):
            self.door.notes.guards.append(Guard(is_small(number_of(state[k]).node), "bool", True, self._place))
        self.left(until)
        return self._named(shape, state, leaves), state, number_of(turns)

    @property
    def is_counted(self) -> bool:
        """Whether each turn takes one of the known paths, whatever the values are: then turns are so many as seen."""
        return False

    @property
    def told(self) -> list[Value]:
        """The number of turns, where that is a number of the program that is known beforehand."""
        return []

    def _run(self) -> list[Array]:
        """The last carried values, and the number of turns."""
        # In an order that does not depend on which path was met first: loops within turns of another are the same then.
        self.paths, self.rows = dict(sorted(self.paths.items())), dict(sorted(self.rows.items()))
        programs = [path.program(self.boxes, self._hoists) for path in self.paths.values()]
        carried = [
            placeholder("carried", node.shape, node.dtype) for node in programs[0].graph.inputs[: len(self._own)]
        ]
        fixed: dict[Node, Node] = {}
        rows: dict[TurnRow, Node] = {}
        paths = []
        for program, read in zip(programs, self.rows.values(), strict=True):
            for row, node in zip(read, program.graph.inputs[len(carried) :], strict=False):
                rows.setdefault(row, placeholder("row", node.shape, node.dtype))
            for node in program.fixed:
                fixed.setdefault(node, placeholder("fixed", node.shape, node.dtype))
            given = [*carried, *(rows[row] for row in read), *(fixed[node] for node in program.fixed)]
            paths.append([*map(bare, inlined(program.graph, given))])
        writes = [ElementWrites(path) for path in paths]
        paths = [[each.done[node] for node in path] for each, path in zip(writes, paths, strict=True)]
        taken = [all_are(path[len(carried) :], key) for path, key in zip(paths, self.paths, strict=True)]
        found = paths[-1][: len(carried)]
        for path, this in zip(paths[-2::-1], taken[-2::-1], strict=True):
            found = [x if x is y else either(this, x, y) for x, y in zip(path, found, strict=False)]
        for k in range(len(found) - len(self.held), len(found)):
            found[k] = written_on_paths([each.of(path[k]) for each, path in zip(writes, paths, strict=True)], taken)
        goes_on = taken[0]  # of a loop that is counted, nobody asks
        for this in taken[1:]:
            goes_on = made_call(op_named("logical_or"), (goes_on, this))
        for k in sorted(self.bounded):
            goes_on = made_call(op_named("logical_and"), (goes_on, is_small(carried[k])))
        flag = [] if self.is_counted else [goes_on]
        use = first_uses([*found, *flag])  # the order of inputs does not depend on which path was met first
        rows = {row: node for row, node in sorted(rows.items(), key=lambda pair: use.get(pair[1], 0)) if node in use}
        fixed = {x: node for x, node in sorted(fixed.items(), key=lambda pair: use.get(pair[1], 0)) if node in use}
        told = self.told if self.is_counted else []
        inputs = [*carried, *rows.values(), *fixed.values(), *(placeholder("turns", (), x.dtype) for x in told)]
        body = Graph(inputs, [*found, *flag], name="turn")
        most = self.count if self.is_counted and not told else self.most
        loop = Loop(body, most, len(carried), [Window(0, 1)] * len(rows), 0, (), 0)
        loop.ends = "when told" if told else "" if self.is_counted else "by a condition"
        loop.site = self.turns.site
        loop.room = self.most if rows else min(self.most, max(LEAST_ROOM, 1 << (4 * self.count).bit_length()))
        if self.is_counted:
            loop.room = 0
        elif self.told:
            loop.room = self.most
        elif self.outer is not None and not rows:
            loop.count = loop.room = self._room()
        first, last = [as_argument(x) for x in self.start], [plain(self.boxes[node]) for node in fixed]
        read_by_turn = [rows_of(row, self.boxes, most) for row in rows]
        args = [*first, *read_by_turn, *last, *told]
        loop.samples = [bottom_of(x) for x in (*first, *(x[0] for x in read_by_turn), *last, *told)]
        if loop.room * sum(np.asarray(x).nbytes for x in loop.samples) > LARGEST:
            raise RollingError("what is kept of its turns would be large")
        results = self._run_loop(loop, args)
        if self.is_counted:
            return [*results, np.int64(self.count)]
        if int(bottom_of(results[-1])) != self.count:
            raise RollingError("its turns, run again, are others")
        return results

    @property
    def _hoists(self) -> bool:
        """Whether values that a turn computes from outside values alone are computed before the loop.

        Turns that write elements have no code for parts of arrays.
        """
        return self.outer is not None or bool(self.held)

    def _room(self) -> int:
        """The number of turns for which a loop within turns of another loop has memory, in each of these."""
        rooms, site = self.door.loops.rooms, self.turns.site
        again = site in rooms
        if 2 * self.count > rooms.setdefault(site, LEAST_ROOM):
            rooms[site] = 1 << (8 * self.count).bit_length()
            if again:
                raise Again
        room: int = rooms[site]
        return min(self.most, room)

    def _hold(self, turns: Array) -> None:
        """Add a guard that there was memory for all turns, if it is limited."""
        while isinstance(turns, Tensor):
            turns = turns.held
        loop = turns.node.args[0].settings["loop"]
        room = loop.count if loop.stacks or self.outer is not None else MOST
        if (most := min(room, self.turns_counted)) < self.most:
            within = made_call(op_named("less_equal"), (turns.node, constant(np.int64(most))))
            self.door.notes.guards.append(Guard(within, "bool", True, self._place))

    # -- Where it is no loop ----------------------------------------------------------------------------

    def off(self, why: str) -> Again:
        """The exception to raise where the number of turns has to be known."""
        loops, turns = self.door.loops, self.turns
        if self.missing and self.template is None and turns.key not in loops.breaks and turns.span is None:
            return self.later(why)
        loops.spent += 1
        loops.fixed.setdefault(turns.site, why)
        return Again()

    def later(self, why: str) -> Again:
        """The exception to raise if the turn that has begun cannot be one of them, but the next one can."""
        return self.differ(why, self.turns.at)

    def differ(self, why: str, at: int | None = None, every: bool = False) -> Again:
        loops, turns = self.door.loops, self.turns
        breaks = loops.breaks.setdefault(turns.site if every else turns.key, set())
        breaks.add(turns.at - 1 if at is None else at)
        loops.spent += 1
        if len(breaks) > BREAKS:
            loops.fixed.setdefault(turns.site, why)
        return Again()
