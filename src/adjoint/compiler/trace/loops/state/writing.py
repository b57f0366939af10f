"""What turns do with arrays whose elements they read and write at places that they compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjoint.compiler.trace.loops.numbers.reaches import ADDED, CARRIED, END, LARGEST, growth
from adjoint.compiler.trace.loops.numbers.spans import numpys
from adjoint.compiler.trace.loops.paths import is_small
from adjoint.compiler.trace.loops.state.elements import Held, TurnElements, element, is_one, is_plain, is_whole, write
from adjoint.compiler.trace.outside import Again
from adjoint.core.types import Value
from adjoint.graph.captures.record import Guard
from adjoint.graph.node import Node
from adjoint.graph.symbol import Number, Symbol
from adjoint.tape.observers.lines import users_place

if TYPE_CHECKING:
    from adjoint.compiler.trace.door.door import Door
    from adjoint.compiler.trace.loops.turns import RunningLoop


class Writing:
    """The part of `Light` that knows arrays which turns write by elements.

    Attributes:
        held: these arrays, and what stands for them in a turn.
        places: where elements are.
        space: the names when the turn began.
        pace: by how much a turn changes a counter at most.
        begun_at: the largest bound of whole numbers before the first turn; see `_begins`.
        small_at_first: whole numbers before the first turn of which the program asks whether they are small.
    """

    turns: RunningLoop
    door: Door
    outer: Writing | None
    _entered: dict[int, tuple[Value, Value, Node]]
    boxes: dict[Node, Value]
    since: int
    begun: int
    held: list[Held]
    places: TurnElements
    space: dict[str, Value]
    shared: bool
    _bases: list[Node]
    _own: list[Value]
    _nodes: list[Node]
    _walked: set[Node]
    start: list[Value]
    pace = 0
    begun_at = 0
    small_at_first: tuple[Node, ...] = ()

    def off(self, why: str) -> Again:
        """What to raise where no turn may be recorded for itself."""
        raise NotImplementedError

    def uncounted(self, leaves: Sequence[Value], turns: int) -> set[int]:
        """The whole numbers of Python's, which are unbounded, that do not change as counters do, for so many turns.

        Counters stay below what `Reaches` says of them: by where they begin, and by how much a turn adds at most.
        """
        whole = [k for k, x in enumerate(leaves) if type(x.value) is int]
        if not whole:
            return set()
        begun = {k: self._begins(k) for k in whole}
        free = [k for k in whole if max(map(abs, self.places.bounds(leaves[k].layers[1]) or (LARGEST,))) >= LARGEST]
        moves = {k: growth(leaves[k].layers[1], self._bases) for k in free}
        counting = [k for k in free if moves[k] < LARGEST]
        if len(counting) < len(whole) and self.outer is None:
            begun[whole[0]] = max(begun[whole[0]], LARGEST)  # a counter may become one of the others
        paces = [self.pace, *(moves[k] for k in counting)]
        if max(begun.values()) + turns * max(paces) > self.most_carried:
            counting = [k for k in counting if not moves[k]]
        self.pace = max(self.pace, *(moves[k] for k in counting), 0)
        self.begun_at = max(self.begun_at, *begun.values())
        return {*free} - {*counting}

    @property
    def writes(self) -> bool:
        """Whether the turns of this loop, or of one around it, write arrays by elements."""
        return bool(self.held) or (self.outer is not None and self.outer.writes)

    def is_large(self, x: Value) -> bool:
        """Whether one of Python's whole numbers that turns keep may be larger than others that they carry."""
        return type(x.value) is int and self.door.reaches.of(x) > CARRIED

    @property
    def turns_counted(self) -> int:
        """The number of turns for which counters stay within their bounds."""
        return (self.most_carried - self.begun_at) // self.pace if self.pace else END

    @property
    def most_carried(self) -> int:
        """The largest whole number that is carried; within turns of another loop, how much is added to one of that."""
        return CARRIED if self.outer is None else ADDED >> self.outer.depth

    @property
    def depth(self) -> int:
        """The number of loops of which this is one, and the others are around it."""
        return 1 if self.outer is None else 1 + self.outer.depth

    def _begins(self, k: int) -> int:
        """The bound of a whole number before the first turn, or of how much it is more than what is carried around."""
        x, reach = self.start[k], self.door.reaches.of(self.start[k])
        around = self.outer
        if reach > LARGEST and around is not None:
            bases = set[Node]()
            while around is not None:
                bases.update(around._bases)
                around = around.outer
            if (more := growth(x.layers[1], bases)) < self.most_carried:
                return more
        if reach > LARGEST:
            if abs(x.value) >= LARGEST:
                raise self.off("a whole number is large when it begins")
            self.small_at_first += (x.layers[1],) if x.layers[1] not in self.small_at_first else ()
        return min(reach, LARGEST) if self.outer is None else 0

    def hold_sizes(self, turns: int = 0) -> None:
        """Ask for what is not known of the sizes of whole numbers when the first of so many turns begins."""
        if turns > self.turns_counted:
            raise self.off("a whole number grows faster than a counter")
        for node in self.small_at_first:
            self.door.notes.guards.append(Guard(is_small(numpys(node)), "bool", True, users_place()))

    def _untouched(self, leaves: list[Value], added: list[Symbol]) -> None:
        """Refuse writes in place that others might see."""
        if any(symbol.layers[1] is not node for _, symbol, node in self._entered.values()):
            raise self.off("it writes into an array that is not its own")
        if all(x.layers[1] is node for x, node in zip(self._own, self._nodes, strict=True)):
            return
        if len({id(x.root) for x in leaves}) == len(leaves) and not added and not any(x.path for x in leaves):
            count = len(leaves) - len(self.held)
            if all(x.layers[1] is node for x, node in zip(self._own[:count], self._nodes[:count], strict=True)):
                return
        roots = [x.root for x in (*leaves, *added)]
        if self.shared or len({id(x) for x in roots}) < len(roots) or any(x.path for x in (*leaves, *added)):
            raise self.off("it writes into an array that is seen in two ways")

    def item(self, x: Value, key: Value) -> Value:
        """The stand-in of ``x[key]``, if that is an element at a place that is computed; else None."""
        is_held = any(x is each.stand_in for each in self.held)
        if not isinstance(x, Symbol | np.ndarray) or (isinstance(x, Symbol) and x.path):
            return None
        value = x.value if isinstance(x, Symbol) else x
        if not isinstance(value, np.ndarray) or not value.flags.c_contiguous or value.dtype.kind not in "biuf":
            return None
        at = self.places.of(value.shape, key, is_held)
        return None if at is None else element(x, at)

    def set_item(self, x: Value, key: Value, value: Value) -> bool:
        """Write ``x[key] = value``, if that is an element at a place that is computed; whether it is."""
        parts = key if type(key) is tuple else (key,)
        if not any(type(part) is Number for part in parts) and not all(map(is_whole, parts)):
            return False
        if any(type(part) is Symbol for part in parts) and not any(
            self._seen(x) is each.stand_in for each in self.held
        ):
            return False
        stand_in = self.stands_for(x)
        if stand_in is None:
            return False
        if not is_plain(stand_in) or not is_one(stand_in, value) or stand_in.dtype.kind not in "biuf":
            return False
        at = self.places.of(stand_in.shape, key, any(stand_in is each.stand_in for each in self.held))
        if at is None:
            return False
        write(stand_in, at, value)
        return True

    def stands_for(self, x: Value) -> Value:
        """The array into which a turn writes, where the user's code writes into `x`; None if it is not known yet.

        Raises:
            Again: if it turns out to be an array from before the loop, by which the turns are to be recorded anew.
        """
        found = self._seen(x)
        if any(found is each.stand_in for each in self.held):
            return found
        loops, site = self.door.loops, self.turns.site
        name = next((name for name in self.turns.lists if self.space.get(name) is x), None)
        if name is not None:
            known = loops.written.setdefault(site, [])
            if name in known or not is_plain(x):
                return None
            known.append(name)
            if self.turns.may_branch:
                raise self.turns.branch()
            raise Again()
        if not isinstance(x, Symbol) or any(value is x for value in self.space.values()):
            return None
        node = x.layers[1]
        return x if node.number > self.begun or node.kind == "constant" else None  # the turn made it

    def _seen(self, x: Value) -> Value:
        """`x`, or what stands for it where it is an array that turns write by elements."""
        x = x if self.outer is None else self.outer._seen(x)
        return next((each.stand_in for each in self.held if each.array is x), x)

    def _written_by_elements(self) -> list[Value]:
        """The arrays from before this loop that its turns write by elements."""
        found = list[Value]()
        for name in self.door.loops.written.get(self.turns.site, ()):
            x = self.space.get(name)
            if self.outer is not None:
                x = self.outer.stands_for_array(x)
            if not is_plain(x):
                raise self.off("it writes into an array that lies otherwise, or is seen in two ways")
            found.append(x)
        return found

    def stands_for_array(self, x: Value) -> Value:
        """The stand-in of an array into which a loop within this turn writes."""
        found = self.stands_for(x)
        return x if found is None and self.outer is not None and x is self.outer.stands_for(x) else found

    def give_back(self, state: Sequence[Value]) -> None:
        """Write the final values of arrays, the last ones of `state`, into the arrays themselves."""
        for each, x in zip(self.held, state[len(state) - len(self.held) :], strict=True):
            if type(each.array) is Symbol and type(x) is Symbol:
                each.array._layers = x.layers
            else:
                each.array[...] = x

    def _is_same(self, node: Node) -> bool:
        """Whether a node that an earlier turn made is of nothing that belongs to a turn: then each turn makes it."""
        pending, met = [node], {node}
        while pending:
            node = pending.pop()
            if node.number <= self.since:
                continue
            if not node.args and node.number in self.door.loops.owners and node not in self.boxes:
                return False
            new = [arg for arg in node.args if arg not in met and arg not in self._walked]
            met.update(new)
            pending += new
        self._walked |= met
        return True

    def _is_outer(self, node: Node) -> bool:
        """Whether it stands for an array from before a loop around this one."""
        around: Writing | None = self.outer
        while around is not None:
            if any(own is node for _, _, own in around._entered.values()):
                return True
            around = around.outer
        return False
