"""A `for` over whole numbers whose turns ask for values, recorded as a `while` with a counter.

The counter is a number of the program, which grows from turn to turn. The first question of each turn is whether the
counter is still in the range. Rows that are read by that number (`x[t]`, `x[t - 1, 0]`) are inputs of the turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adjoint.compiler.trace.loops.ending import PATHS, Ending
from adjoint.compiler.trace.loops.exploring import Exploring
from adjoint.compiler.trace.loops.numbers.moving import moving
from adjoint.compiler.trace.loops.numbers.spans import Span
from adjoint.compiler.trace.loops.state.carried import base, symbol
from adjoint.compiler.trace.loops.state.elements import Held
from adjoint.compiler.trace.outside import Again
from adjoint.core.registry import op_named
from adjoint.core.types import Value
from adjoint.graph.captures.record import Guard
from adjoint.graph.loops.agree import TurnRow
from adjoint.graph.node import constant
from adjoint.graph.rewriting.driver import made_call
from adjoint.graph.symbol import Number, Symbol, symbol_of
from adjoint.tape.observers.lines import users_place

if TYPE_CHECKING:
    from adjoint.compiler.trace.loops.turns import RunningLoop


SEEN = 2  # turns that are recorded and compared, before one more, where all paths are known


class Counted(Ending):
    """The turns of a loop over a range."""

    def __init__(self, turns: RunningLoop, first: int) -> None:
        super().__init__(turns, first)
        (self.target,) = turns.targets
        turns.targets = frozenset()  # it is carried, like other names
        assert turns.numbers is not None
        self.promoted.add(self.target)
        self.numbers, self.span = turns.numbers, turns.span
        self.stop: Value = self.numbers.stop
        if self.span is None:
            self.most = len(self.numbers) - first
            self.first_number = self.numbers[first]
            self.last_number = self.numbers[-1]
        else:
            self.most, self.stop = self.span.most, self.span.stop
            self.first_number = self.numbers.start
            self.last_number = self.first_number + (self.most - 1) * self.numbers.step
        self._absent = False  # whether the only turn does not take place
        self._begun_as: list[Value] = []  # the carried values before the first turn
        self._broken = False  # whether a turn ends the loop
        self._rows: dict[str, Value] = {}  # what the turn gets, if the loop goes through rows
        self.exploring = Exploring(self)

    # -- One turn -------------------------------------------------------------------------------------

    def open(self, space: dict[str, Value]) -> list[Value]:
        space = self.exploring.before(space)
        held = self.held
        made: list[Value] = [*super().open(space)]
        turns = self.turns
        if self.held or self.span is not None:
            self.exploring.begin(space, held or [Held(each.array, each.array) for each in self.held])
        self.counter_node = self.counter.layers[1]
        ends = self.first_number, self.last_number
        self.counter_bounds = min(ends), max(ends)
        if self.span is not None:
            self.counter_bounds, self.counter_ends = self.span.bounds, self.span.ends
            self._begin_span(self.span)
        self._rows = turns.rows(self.counter)
        return self._shown(made, self._rows)

    def first_question(self, names: list[Value]) -> None:
        self.counter: Value = names[self.turns.names.index(self.target)]
        self._ask(self.counter, True)

    def _shown(self, values: list[Value], rows: dict[str, Value]) -> list[Value]:
        """What the user's names are: of a loop through rows, these, and not the number of the turn."""
        if not self.turns.is_numbered:
            return values
        return [rows.get(name, x) for name, x in zip(self.turns.names[:-1], values, strict=False)]

    def _begin_span(self, span: Span) -> None:
        """Note the values with which the first turn begins, if it takes place."""
        k = next(k for k, own in enumerate(self._own) if own is self.counter)
        if not self._begun_as:
            begins = span.start.layers[1] if type(span.start) is Number else constant(span.start)
            first = symbol_of(span.numbers.start, begins)
            self.start[k] = first
            self._begun_as = [symbol_of(own.value, own.layers[1]) for own in self._own]
            self._begun_as[k] = first

    def absent(self, span: Span) -> Value:
        """The target's value in a sample turn, for a loop that has no turns."""
        self._absent = True
        return span.example()

    def close(self, space: dict[str, Value]) -> None:
        if any(base(x) is not x.layers[1] for x in self.read.values()):
            raise self.off("it writes into a row that it reads")
        space = {**space, **self._rows, self.target: self.counter + self.numbers.step}
        if not self.exploring.forced:
            super().close(space)
            return
        self.exploring.end()
        count, final = self.count, self._final
        super().close(space)
        self.count, self._final = count, final

    def explores(self) -> bool:
        """Whether the turn that has ended is run once more, on a path that no turn has taken."""
        return (bool(self.held) or self.span is not None) and self.exploring.next(PATHS)

    def off(self, why: str) -> Again:
        if self.exploring.forced:
            self.exploring.end()
            self.door.loops.unexplored.add(self.turns.site)
            return Again()
        if self.span is not None and self.outer is not None and self.outer.turns.at == 0:
            return self.outer.later(why)  # the first turn around it may differ from those that follow
        return super().off(why)

    def differ(self, why: str, at: int | None = None, every: bool = False) -> Again:
        return self.off(why) if self.exploring.forced or self.span else super().differ(why, at, every)

    def _ask(self, counter: Value, answer: bool) -> None:
        """Note the question whether the counter is in the range, and its `answer`."""
        name = "less" if self.numbers.step > 0 else "greater"
        stop = self.stop
        if type(stop) is Number:
            stop = self.entered(stop) if self.door.light is self else stop
        than = stop.layers[1] if type(stop) is Number else constant(stop)
        node = made_call(op_named(name), (counter.layers[1], than))
        self.door.notes.guards.append(Guard(node, "bool", answer, users_place()))

    def row(self, x: Value, key: Value) -> Value:
        """``x[key]``, if it is a row that goes by turn; else None."""
        parts = key if type(key) is tuple else (key,)
        places = [axis for axis, part in enumerate(parts) if type(part) is Number]
        if self.held and self.outer is not None and len(parts) == len(getattr(x, "shape", ())):
            if all(type(part) in (int, Number) for part in parts):
                return None  # one more element: its cotangent is added where it belongs
        if self.writes and any(type(part) is Symbol for part in parts):
            return None  # an element
        if len(places) != 1 or not isinstance(x, Symbol | np.ndarray) or len(parts) > len(x.shape):
            return None
        if isinstance(x, np.ndarray) and x.dtype.kind not in "biuf":
            return None
        node = x.layers[1] if isinstance(x, Symbol) else constant(x)
        if node not in self.boxes and node.kind != "constant":
            return None
        before = parts[: places[0]]
        if any(type(part) not in (int, slice) for part in before) or any(part != slice(None) for part in before):
            return None
        found = moving(parts[places[0]].layers[1], self.counter.layers[1])
        if found is None or not found.factor:
            return None
        axis = places[0]
        if self.span is not None and type(self.span.start) is not int:
            return None
        ends = [found.at(n) for n in (self.first_number, self.last_number)]
        length = x.shape[axis]
        if all(-length <= end < 0 for end in ends):
            ends = [end + length for end in ends]
        if not all(0 <= end < length for end in ends):
            return None
        row = TurnRow(node, axis, ends[0], found.factor * self.numbers.step)
        if row not in self.read:
            value = np.take(x.value if isinstance(x, Symbol) else x, parts[axis].value, axis)
            made = symbol(np.ascontiguousarray(value) if np.shape(value) else value, "row")
            self.own(made)
            self.read[row] = made
        rest = (slice(None),) * axis + parts[axis + 1 :]
        made = self.read[row]
        return made[rest] if any(part != slice(None) for part in rest) else made

    # -- The end ----------------------------------------------------------------------------------------

    def finish(self, space: dict[str, Value]) -> list[Value]:
        """The values of the names where a turn begins that belongs to the loop; its number is in the range."""
        values: list[Value] = [*super().finish(space)]
        number = values[self.turns.names.index(self.target)]
        if not self.is_counted:
            self._ask(number, True)
        return self._shown(values, self.turns.rows(self.turns.at if self.is_counted else number))

    @property
    def told(self) -> list[Value]:
        if self.span is None:
            return []
        return [np.int64(self.count) if self.left_out else self.span.count]

    @property
    def is_settled(self) -> bool:
        """Whether the turns that follow do what those before did: all paths are known, and the state stays the same."""
        turns = self.turns
        if self.count < SEEN or not self.is_counted or self._absent or any(at > turns.at for at in turns.breaks):
            return False
        self.left_out = len(self.numbers) - turns.at - 1
        return True

    @property
    def is_counted(self) -> bool:
        if self.bounded or self._broken:
            return False
        return sum(0.5 ** (len(key) - 1) for key in self.paths) == 1.0

    def _finished(self, space: dict[str, Value]) -> tuple[list[Value], list[Value], Value]:
        if self._absent:
            self.count, self._final = 0, (self._begun_as, [], self._shape)
        return super()._finished(space)

    def ended(self, space: dict[str, Value]) -> list[Value]:
        if not self.turns.over:
            if self._absent:
                raise self.off("a turn that does not take place leaves the loop")
            if self.exploring.forced:
                raise self.off("a path leaves the loop")
            self._broken = True
            return self._shown([*super().ended({**space, **self._rows, self.target: self.counter})], {})
        self.close(space)  # the last turn took place
        found, _, _ = self._finished(space)
        values: list[Value] = [*found]
        at = self.turns.names.index(self.target)
        if not self.is_counted:
            self._ask(values[at], False)
        values[at] = values[at] - self.numbers.step
        return self._shown(values, {})
