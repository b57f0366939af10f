"""Loops of the user's that are recorded as loops.

The twin says where a turn begins, and where the loop is over. The first turn is recorded normally. Each later one is
recorded separately: carried values are its own inputs, and its graph is compared with that of the first such turn
(`graph/loops/agree.py`). The user's code runs in each turn, so nothing is assumed. If turns differ, the
recording begins again, and that turn is recorded by itself. At the end the user's names get the results of one node.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING

from adjoint.compiler.trace.loops.counted import Counted
from adjoint.compiler.trace.loops.ending import Ending
from adjoint.compiler.trace.loops.light import FEWEST, Light
from adjoint.compiler.trace.loops.nested import Nested
from adjoint.compiler.trace.loops.numbers.spans import Span
from adjoint.compiler.trace.loops.through import Through, bound, counts
from adjoint.compiler.trace.outside import Again
from adjoint.core.types import Array, Value
from adjoint.graph.loops import roll
from adjoint.graph.loops.loop import LOOP
from adjoint.graph.loops.vanishing import LoopError
from adjoint.graph.node import Node, in_order
from adjoint.graph.symbol import Symbol
from adjoint.graph.text.source import users_line
from adjoint.tape.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.compiler.trace.door.door import Door

NUMBER = "number of the turn"  # what has that of a loop through rows, beside the names
LEAST_NUMBERS = 4  # of a range or rows, so that its turns may have a counter
SPENT = 20  # recordings that may end for loops that end by a value
NODES = 2  # of the program for one operation, which has constants besides; more, if it is differentiated
INNER = 2000  # operations of a loop within another one, which is not one itself


class LoopFacts:
    """Facts about the loops of a function: which are recorded turn by turn, and which turns differ."""

    def __init__(self) -> None:
        self.off: dict[Value, str] = {}
        self.breaks: dict[Value, set[int]] = {}
        self.branching: set[Value] = set()  # those over a range whose turns ask for values, and differ in the answers
        self.asking: set[Value] = set()  # the loops whose turns ask for values, and may end by one
        self.fixed: dict[Value, str] = {}  # those whose number of turns is part of the program
        self.promoted: dict[Value, set[str]] = {}  # their names that have Python's numbers, which change
        self.kinds: dict[Value, set[str]] = {}  # those that have Python's floats in some turns, and NumPy's in others
        self.flags: dict[Value, set[str]] = {}  # those that have Python's truth values, which change
        self.standing: set[Node] = set()  # what stands for such a value in turns that do not read it
        self.spent = 0  # recordings that ended for one of these
        self.visits: dict[Value, int] = {}
        self.owners: dict[int, Value] = {}  # the loops of inputs that mean something in their turns alone
        self.spans: list[tuple[int, int, Value]] = []  # the numbers of nodes that turns made, which have ended
        self.sizes: dict[Value, int] = {}  # operations in the first turn of each that was seen
        self.nested = Nested()
        self.unexplored: set[Value] = set()  # the loops whose turns are not run on ways that were not seen
        self.written: dict[Value, list[str]] = {}  # for each loop the names of arrays that it writes by elements
        self.rooms: dict[Value, int] = {}  # for how many turns loops within turns of others have room
        self.unsettled: set[Value] = set()  # those all of whose turns are run
        self.trial: tuple[Value, dict[str, Value]] | None = None  # a loop in whose turn a number is tried, and all this
        self.ended = False  # whether no turn is recorded for itself any more
        self.said: list[str] = []

    def after(self, error: BaseException, light: Light | None) -> bool:
        """Whether a recording begins again that ended with `error`, perhaps within the turns of a loop."""
        if self.trial is not None and not isinstance(error, KeyboardInterrupt):
            (site, before), self.trial = self.trial, None
            vars(self).update(before)
            self.unsettled.add(site)
            return True
        if isinstance(error, LoopError):
            self.ended = True
            self.said.append(f"loops are recorded turn by turn: {error}")
            return True
        if light is None or isinstance(error, Again | KeyboardInterrupt):
            return False
        light.off(str(error))  # what stands for an array in a loop may be at fault
        return True

    def tries(self, site: Value) -> None:
        """A turn gets a number of the program: if the recording ends in it, nothing is learned of that."""
        kept = {name: x for name, x in vars(self).items() if name not in ("owners", "spans", "nested", "trial")}
        self.trial = site, deepcopy(kept)

    def hold(self, x: Array) -> None:
        """Begin again if `x` is a value of a turn that has ended: it came out in some other way than by a name."""
        while isinstance(x, Tensor):
            x = x.held
        if not isinstance(x, Symbol):
            return
        node = x.layers[1]
        for first, last, site in self.spans:
            if first < node.number <= last and node.kind != "constant" and self._belongs(node, first):
                self.off.setdefault(site, "a value of a turn is used after it")
                raise Again()

    def _belongs(self, node: Node, since: int) -> bool:
        """Whether a node that was made in turns uses what belongs to one; what does not is the same everywhere."""
        pending, met = [node], {node}
        while pending:
            node = pending.pop()
            if not node.args and node.number in self.owners:
                return True
            new = [arg for arg in node.args if arg not in met and arg.number > since]
            met.update(new)
            pending += new
        return False

    def refused(self, nodes: Sequence[Node]) -> bool:
        """Whether a program of these `nodes` can not be: what belongs to one turn is used after it, or has no code."""
        found = {self.owners[n.number]: "a value of a turn is used after it" for n in nodes if n.number in self.owners}
        rolled = [node for node in nodes if node.op is LOOP]
        if rolled:
            from adjoint.native import not_native

            loops = [node.settings["loop"] for node in rolled]
            found |= {loop.site: reason for loop in loops if (reason := not_native(loop))}
        self.off |= found
        if not found:
            self.said += [_described(node) for node in rolled]
            self.said += [
                f"{site[0]}:{site[2]}: a loop is recorded turn by turn: {why}" for site, why in self.off.items()
            ]
            self.said += [
                f"{site[0]}:{site[2]}: what each turn of a loop was asked is part of the program: {why}"
                for site, why in self.fixed.items()
                if site in self.branching
            ]
        return bool(found)


def _described(node: Node) -> str:
    """A loop in words."""
    loop = node.settings["loop"]
    body = len([n for n in in_order(loop.body.outputs) if n.args])
    counts = {"carried": loop.carried, "read by turn": len(loop.slices), "kept of every turn": loop.stacks}
    size = f"{loop.count * loop.abreast} turns of {-(-body // loop.abreast)} operations"
    if loop.ends:
        room = f" with room for {loop.count}" if loop.stacks else ""
        size = f"turns of {body} operations, which end {loop.ends}{room},"
    several = f", {loop.abreast} at a time" if loop.abreast > 1 else ""
    flows = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return f"{size} are one loop{several}: {flows}   {users_line(node) or ''}".rstrip()


class NoTurns:
    """A loop whose turns are recorded one after another, as plain code."""

    def __init__(self, each: Value) -> None:
        self.each = each

    def __iter__(self) -> Iterator[Value]:
        return self.each  # type: ignore[no-any-return]  # an iterator

    def turn(self) -> bool:
        """A turn begins; the names keep their values."""
        return False

    end = turn

    def leave(self) -> None:
        """The function returns from within the loop."""


class RunningLoop:
    """A loop that runs."""

    def __init__(
        self,
        door: Door,
        each: Value,
        length: int | None,
        site: Value,
        names: Value,  # as `loop_names` tells
        numbers: range | None,
        span: Span | None = None,
        through: Through | None = None,
    ) -> None:
        self.door, self.each, self.site = door, each, site
        self.names, targets, live, self.lists, rebound, passing, appended, self.target, self.reads = names
        self.targets, self.live, self.passing = frozenset(targets), frozenset(live), frozenset(passing)
        self.length, self.span, self.appended = length, span, dict[str, int](appended)
        few = numbers is None or len(targets) != 1 or rebound or (span is None and len(numbers) < LEAST_NUMBERS)
        self.numbers = None if few else numbers  # what it goes through, if its turns may have a counter
        found = None if rebound or (few and numbers is not None) else counts(through, self.target)
        self.is_regular = found is not None  # whether it goes through rows of arrays, or whole numbers
        self.counts = found or {}  # the names that have whole numbers by turn
        fits = through is not None and numbers is None and not rebound and through.fits(self.target)
        self.through = through if fits and (length or 0) >= LEAST_NUMBERS else None  # rows, which a counter may number
        self.is_numbered = self.through is not None and site in door.loops.branching and self._is_open
        if self.is_numbered:
            self.numbers = range(length or 0)
            self.each, self.names = iter(self.numbers), (*self.names, NUMBER)
            self.passing |= self.targets - self.live
            self.targets = frozenset((NUMBER,))
        self.over = self.done = False  # whether it went through all; whether turns with a counter have ended
        self.leaving = False  # whether the function returns from within
        self.key = site
        if self._may_end and door.light is not None:
            self.key = site, "within"
        elif self._may_end:  # each time that it runs it may begin and end in its own way
            self.key = site, door.loops.visits.get(site, 0)
            door.loops.visits[site] = self.key[1] + 1
        self.around = door.light  # the loop around it whose turns are recorded so
        self.at, self.values = -1, list[Value]()
        self.light: Light | None = None
        breaks = door.loops.breaks
        self.breaks = breaks.get(self.key, frozenset[int]()) | breaks.get(self.site, frozenset[int]())
        self.size, self._before, self._begun = 0, 0, -1
        self._guards, self._answers = len(door.notes.guards), list[bool]()
        self.ranges: dict[Value, range] = {}  # what loops within the turns go through
        self.within: RunningLoop | None = door.running
        if numbers is not None and span is None and self.within is not None:
            self.within.goes_through(site, numbers)
        door.running = self

    def goes_through(self, site: Value, numbers: range) -> None:
        """Note the range of a loop within a turn: if it is another one in each turn, it may depend on this loop."""
        other = self.ranges.setdefault(site, numbers) != numbers
        own = self.door.light is self.around or type(self.light) is Light
        if other and own and (self.length or 0) >= FEWEST and self.may_branch:
            raise self.branch()

    @property
    def others(self) -> frozenset[str]:
        """The names that are not carried: of its target, and those that each turn binds first."""
        return self.targets | self.passing

    @property
    def has_span(self) -> bool:
        """Whether the loop goes through a range whose ends are numbers of the program."""
        self.door.loops.branching.add(self.site)
        return self._may_end and not self.breaks and not self.targets & self.live and not self.door.loops.ended

    def __iter__(self) -> Iterator[Value]:
        item: Value = None
        while True:
            if self.is_numbered and self.light is None and self.at + 1 < (self.length or 0):
                item = self._item(self.at + 1)
            self._begin()  # what it goes through is read within the turn
            if isinstance(self.light, Counted) and self.light.explores():
                yield item
                continue
            if self.light is not None and self.light.is_settled:
                self.over = True
                return
            try:
                number = next(self.each)
            except StopIteration:
                if self.at >= 0 or not isinstance(self.light, Counted) or self.span is None:
                    self.over = True
                    return
                number = self.light.absent(self.span)  # no turn takes place: one shows what others do
            item = item if self.is_numbered else number  # a turn that is recorded for itself binds its row later
            yield item

    def _item(self, number: Value) -> Value:
        """What the turn of this number gets."""
        assert self.through is not None
        return self.through.at(self.door, number, self.target)

    def rows(self, number: Value) -> dict[str, Value]:
        """The names of the target in the turn of this number, if turns are numbered."""
        return bound(self.target, self._item(number)) if self.is_numbered else {}

    def _begin(self) -> None:
        """Before a turn: from now on each may be recorded for itself."""
        door, at = self.door, self.at + 1
        if self.done:
            self.door.loops.spent += 1
            self.door.loops.fixed.setdefault(self.site, "a turn that is not like others is not the last one")
            raise Again()
        if self.light is not None or self._begun == at or door.loops.ended:
            return
        if door.light is not None and at * self.size > INNER:
            raise door.light.off("a loop is in it")
        self._begun = at
        now = door.notes.applied
        if at == 1:
            self.size = door.loops.sizes.setdefault(self.site, now - self._before)
        self._before = now
        if self._may_end and self._asks(at):
            if at in self.breaks:
                return
        elif at == 0 or self.site in door.loops.off or at in self.breaks or not self._worth(at):
            return
        if door.light is self.around:
            ending = Ending if self.each is None else Counted
            self.light = door.light = (ending if self._may_end else Light)(self, at)

    def turn(self) -> bool:
        """A turn begins. True if the names get other values."""
        self._begin()
        light = self.light
        again = isinstance(light, Counted) and bool(light.exploring.asked)
        self.at += not again
        if light is None:
            self._compare_outcomes()
            return False
        space = {**sys._getframe(1).f_locals}  # from 3.13 on, not a dictionary by itself
        if self.is_numbered:
            space[NUMBER] = self.at
        if light.template is None and self.at == light.first and not again:
            if type(light) is Light and not all(name in space or name in self.passing for name in self.names):
                raise light.off("a name has no value when a turn begins")
        else:
            light.close(space)
            if self.at in self.breaks and not again:
                self.values, self.light = light.finish(space), None
                self.done = isinstance(light, Counted)
                return bool(self.names)
        self.values = light.open(space)
        return bool(self.names)

    @property
    def _may_end(self) -> bool:
        """Whether the loop may end by a value."""
        loops = self.door.loops
        branches = self.site in loops.branching and self.numbers is not None
        return (self.each is None or branches) and self._is_open

    @property
    def _is_open(self) -> bool:
        """Whether nothing is known that speaks against it."""
        loops = self.door.loops
        return self.site not in loops.fixed and self.site not in loops.off and loops.spent < SPENT

    @property
    def may_branch(self) -> bool:
        """Whether the loop may be recorded with a counter, and is not yet."""
        countable = self.numbers is not None or self.through is not None
        return countable and self._is_open and self.site not in self.door.loops.branching

    def branch(self) -> Again:
        """The exception to raise where turns ask for values: recorded again, they branch on the answers."""
        self.door.loops.branching.add(self.site)
        self.door.loops.breaks.pop(self.site, None)  # those turns differ from others only if they may not branch
        return Again()

    def _compare_outcomes(self) -> None:
        """Look whether the turn that has ended got other answers than the one before."""
        guards = self.door.notes.guards
        answers = [guard.answer for guard in guards[self._guards :] if guard.question == "bool"]
        if self.at > 1 and answers != self._answers and self.door.light is self.around and self.may_branch:
            raise self.branch()
        self._guards, self._answers = len(guards), answers

    def _asks(self, at: int) -> bool:
        """Whether its turns ask for values; its first two turns say so, and then the recording begins again."""
        loops, count = self.door.loops, len(self.door.notes.guards)
        if self.each is not None:
            return True
        if at == 0:
            self._guards = count
        elif at in (1, 2) and self.site not in loops.asking:
            if count > self._guards and self.door.light is self.around:
                loops.asking.add(self.site)
                raise Again()
            if at == 2:
                loops.fixed[self.site] = "no value says where it ends"
        return self.site in loops.asking

    def _worth(self, at: int) -> bool:
        ahead = min((turn for turn in self.breaks if turn > at), default=self.length)
        if ahead is None:
            return at >= FEWEST
        return ahead - at >= FEWEST and (self.around is not None or (ahead - at) * self.size * NODES > roll.LEAST)

    def leave(self) -> None:
        """The function returns from within the loop."""
        self.leaving = True

    def end(self) -> bool:
        """The loop is over. True if the names get other values."""
        self.door.running = self.within
        asked = len(self.door.notes.guards) > (self._guards if self.light is None else self.light.guards)
        own = self.door.light is (self.around if self.light is None else self.light)
        if asked and not self.over and self.at >= 0 and own and self.may_branch:
            raise self.branch()
        if self.light is None:
            return False
        if self.at < self.light.first:
            self.light.over()
            self.light = None
            return False
        if self.leaving:
            raise self.light.later("the function returns in it, or a break skips its else")
        space = {**sys._getframe(1).f_locals}  # from 3.13 on, not a dictionary by itself
        if isinstance(self.light, Ending):
            self.values, self.light = self.light.ended(space), None
            return bool(self.names)
        self.at += 1
        self.light.close(space)
        self.values, self.light = self.light.finish(space), None
        return bool(self.names)
