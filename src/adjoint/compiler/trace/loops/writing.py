"""What turns do with arrays whose elements they read and write at places that they compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjoint.compiler.trace.loops.elements import Elements, Held, element, is_one, is_plain, write
from adjoint.compiler.trace.loops.reaches import LARGEST, growth
from adjoint.compiler.trace.outside import Again
from adjoint.core.types import Value
from adjoint.graph.node import Node
from adjoint.graph.symbol import Number, Symbol

if TYPE_CHECKING:
    from adjoint.compiler.trace.door.door import Door
    from adjoint.compiler.trace.loops.turns import Turns


class Writing:
    """The part of `Light` that knows arrays which turns write by elements.

    Attributes:
        held: these arrays, and what stands for them in a turn.
        places: where elements are.
        space: the names when the turn began.
    """

    turns: Turns
    door: Door
    outer: Writing | None
    _entered: dict[int, tuple[Value, Value, Node]]
    begun: int
    held: list[Held]
    places: Elements
    space: dict[str, Value]
    shared: bool
    _bases: list[Node]
    _own: list[Value]
    _nodes: list[Node]

    def off(self, why: str) -> Again:
        """What to raise where no turn may be recorded for itself."""
        raise NotImplementedError

    def counts(self, x: Value) -> bool:
        """Whether one of Python's whole numbers, which have no largest one, goes on as a counter does."""
        is_small = type(x.value) is not int or growth(x.layers[1], self._bases) < LARGEST
        return is_small or max(map(abs, self.places.bounds(x.layers[1]) or (LARGEST,))) < LARGEST

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
        """What stands for ``x[key]``, if that is an element at a place that is computed; else None."""
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
        if not any(type(part) is Number for part in parts) and not all(type(part) is int for part in parts):
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
        """What a turn writes into, where the user's code writes into `x`; None if that is not known yet.

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
        """What stands for an array into which a loop within this turn writes."""
        found = self.stands_for(x)
        return x if found is None and self.outer is not None and x is self.outer.stands_for(x) else found

    def give_back(self, state: Sequence[Value]) -> None:
        """Write what the arrays are after the turns, of which the last of `state` are, into the arrays."""
        for each, x in zip(self.held, state[len(state) - len(self.held) :], strict=True):
            if type(each.array) is Symbol and type(x) is Symbol:
                each.array._layers = x.layers
            else:
                each.array[...] = x

    def _is_outer(self, node: Node) -> bool:
        """Whether it stands for an array from before a loop around this one."""
        around: Writing | None = self.outer
        while around is not None:
            if any(own is node for _, _, own in around._entered.values()):
                return True
            around = around.outer
        return False
