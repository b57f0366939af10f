"""Turns of a `for` that are not recorded, because they do what the turns before them did.

Two things determine a turn: the state in which it begins, and what the loop goes through. Suppose that several turns
leave the same state, except for arrays (`state/standing.py`), and that no turn asks for a value. Then turns can only
differ by what the loop goes through. They do not differ if these are the rows of an array, or of several (`zip`), or
if no turn reads the counter (of `range` or `enumerate`).
If turns read it, one turn is recorded with a symbol in place of the counter: the turn may use it to select rows, at
positions that are affine in it, and compute with it and with constants, which gives one number for each turn. The
user's code does not run for the turns that follow; NumPy runs the loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from adjoint.compiler.trace.loops.numbers.by_number import ByNumber, UnfollowedError
from adjoint.compiler.trace.loops.numbers.moving import moving
from adjoint.compiler.trace.loops.state.carried import base, bits, symbol, without_leaves
from adjoint.compiler.trace.loops.state.standing import UnknownError, is_same, standing
from adjoint.compiler.trace.outside import Again
from adjoint.core.box import Box
from adjoint.core.types import Array, Value
from adjoint.graph.captures.record import Guard
from adjoint.graph.loops.agree import Template, TurnProgram
from adjoint.graph.loops.body import RollingError
from adjoint.graph.loops.loop import LOOP
from adjoint.graph.loops.turns import LARGEST
from adjoint.graph.node import Node
from adjoint.graph.symbol import Number, Symbol
from adjoint.tape.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.compiler.trace.loops.light import Light

SEEN = 2  # turns that are recorded and compared, before one more
LEAST = 150  # operations that would be left out, at least
FAILED = 6  # loops whose turns turned out to read the number in another way, in one recording


class Settling:
    """Whether the turns that follow do what those before them did.

    Attributes:
        may: whether nothing speaks against it.
        number: what the loop goes through, as a number of the program, in the turn that shows how it is read.
        left_out: how many turns are left out.
    """

    def __init__(self, light: Light) -> None:
        self.light, turns, loops = light, light.turns, light.door.loops
        self.left_out, self.number = 0, None
        self._by_number: ByNumber | None = None
        read = [(name, numbers) for name, numbers in turns.counts.items() if name in turns.lists]
        self.counter, self.counts = read[0] if len(read) == 1 else ("", range(0))
        ahead = 0 if turns.length is None else turns.length - light.first
        self.may = (
            light.outer is None
            and turns.is_regular
            and len(read) < 2
            and turns.site not in loops.unsettled
            and len(loops.unsettled) < FAILED
            and not turns.targets & turns.live
            and not any(at > light.first for at in turns.breaks)
            and (ahead - SEEN - 1) * turns.size > LEAST
        )
        self._before: Value = None

    @property
    def reads_number(self) -> bool:
        """Whether the turns read the whole number that the loop goes through."""
        return bool(self.counts)

    @property
    def is_settled(self) -> bool:
        """Whether the turn that has ended is the last one whose code runs."""
        light = self.light
        if not self.may or light.template is None or light.template.turns < SEEN:
            return False
        if self.reads_number and self.number is None:
            return False
        assert light.turns.length is not None
        self.left_out = light.turns.length - light.turns.at - 1
        return self.left_out > 0

    def begin(self, space: dict[str, Value], names: list[Value]) -> list[Value]:
        """A turn begins with these names: what they are in it."""
        if not self.may:
            return names
        light = self.light
        if self._before is None:
            self._before = self._standing(space)
        if light.held or any(type(own) is Number and type(own.value) is int for own in light._own):
            self.may = False
        template = light.template
        if not self.may or not self.reads_number or template is None or template.turns < SEEN:
            return names
        rows = all(node.op is not None and node.op.name == "getitem" for node in template.numbers)
        if not rows or not template.differs or type(space[self.counter]) is not int:
            self.may = False  # not read as the place of a row, or as a number, as far as was seen
            return names
        if template.constants and any(node.op is LOOP for node in template.nodes):
            self.may = False  # such constants are arguments of the loop within
            return names
        at = light.turns.names.index(self.counter)
        light.door.loops.tries(light.turns.site)
        self.number = symbol(space[self.counter], "number")
        self._by_number = ByNumber(base(self.number))
        light.door.reaches.bound(base(self.number), max(map(abs, (self.counts[0], self.counts[-1]))))
        light.own(self.number)
        return [*names[:at], self.number, *names[at + 1 :]]

    def unanswered(self, asked: list[Guard]) -> list[Guard]:
        """The questions but for those about the number alone that get the same answer in each turn from now on."""
        by_number = self._by_number
        if by_number is None:
            return asked
        ahead = self.counts[self.light.turns.at - 1 :]
        return [
            guard for guard in asked
            if guard.question != "bool" or not by_number.has(guard.node)
            or any(bool(x) != guard.answer for x in self._values(guard.node, ahead))
        ]  # fmt: skip

    def _values(self, node: Node, numbers: range) -> list[Value]:
        """The values that a turn computes from the number and constants, in the turns with these numbers."""
        assert self._by_number is not None
        try:
            return self._by_number.at(node, numbers)
        except UnfollowedError:
            raise self.without() from None

    def follows(self, node: Node) -> Value:
        """The value of `node` in this turn, if it is computed from the number and constants; else None."""
        by_number = self._by_number
        if by_number is None or not by_number.has(node):
            return None
        (value,) = self._values(node, self.counts[self.light.turns.at - 1 : self.light.turns.at])
        return value

    @property
    def constants(self) -> dict[tuple[Node, int], list[Value]]:
        """The constants of the turns that are left out, which are computed of the number."""
        template = self.light.template
        assert template is not None
        ahead = self.counts[-self.left_out :] if self.left_out else range(0)
        found: dict[tuple[Node, int], list[Value]] = {}
        for at, node in template.by_number.items():
            found[at] = self._values(node, ahead)
            if not all(map(partial(_is_like, at[0].args[at[1]].value), found[at])):
                raise self.without()
        return found

    def end(self, space: dict[str, Value], asked: Sequence[Guard]) -> None:
        """A turn ends, with these names, and has asked this."""
        if not self.may:
            return
        template = self.light.template
        assert template is not None
        unread = self.light.turns.numbers is not None and not self.reads_number
        differs = self._differs_in_constants(template) or (unread and bool(template.numbers))
        now = self._standing(space)
        if asked or differs or not self.may or not is_same(self._before, now):
            self.fails()
        self._before = now  # nothing happens before the next turn begins

    def _differs_in_constants(self, template: Template) -> bool:
        """Whether the turns have constants of their own that are not computed of the number."""
        if self._by_number is None:
            if self.reads_number:
                ahead = len(self.counts) - self.light.first
                return any(ahead * math.prod(node.args[k].shape) > LARGEST for node, k in template.constants)
            return bool(template.constants)
        first = self.light.first
        seen = self.counts[first : first + template.turns]
        return template.constants.keys() != template.by_number.keys() or any(
            [*map(_bits, values)] != [*map(_bits, self._values(template.by_number[at], seen))]
            for at, values in template.constants.items()
        )

    def fails(self) -> None:
        """Note that the turns which follow may do something else."""
        self.may = False
        if self.left_out or self.number is not None:
            raise self.without()

    def without(self) -> Again:
        """The exception to raise if the turns read the number in another way; then all turns are run."""
        self.light.door.loops.unsettled.add(self.light.turns.site)
        return Again()

    def _standing(self, space: dict[str, Value]) -> Value:
        """The state between two turns, except carried arrays, and lists to which turns only append."""
        light = self.light
        turns = light.turns
        lists = {name for name, depth in turns.appended.items() if not depth or name in light.tails.names}
        left = {*turns.names, *(lists & light.grown.keys())}
        others = [x for name, x in space.items() if name not in left and not is_ours(name, x)]
        shape, _ = light._flattened(space)
        try:
            return standing(light.door, [*others, *map(without_leaves, shape)])
        except UnknownError:
            self.may = False
            return None

    def run_again(
        self,
        program: TurnProgram,
        args: tuple[list[Value], list[Value], list[Value]],
        turns: int,
        leaves: Sequence[Array],
    ) -> None:
        """Run the turns whose code was run: they give the same values.

        Raises:
            RollingError: if they do not.
        """
        state, rows, fixed = ([*map(_plain, xs)] for xs in args)
        for turn in range(turns):
            state = program.graph.run([*state, *(x[turn] for x in rows), *fixed])[: len(leaves)]
        if any(bits(x) != bits(leaf) for x, leaf in zip(state, leaves, strict=True)):
            raise RollingError("its turns, run again, give other values")

    def row(self, x: Value, key: Value) -> Value:
        """``x[key]`` in the turn with a number of the program, if `key` has it as the place of a row; else None."""
        parts = key if type(key) is tuple else (key,)
        places = [axis for axis, part in enumerate(parts) if type(part) is Number]
        if self.number is None or len(places) != 1 or not isinstance(x, Box):
            return None
        if not all(type(part) in (int, slice, Number) for part in parts) or len(parts) > len(x.shape):
            return None
        found = moving(parts[places[0]].layers[1], self.number.layers[1])
        if found is None:
            return None
        length = x.shape[places[0]]
        ends = [found.at(n) for n in (self.counts[self.light.first], self.counts[-1])]
        if not (all(0 <= end < length for end in ends) or all(-length <= end < 0 for end in ends)):
            return None
        known = tuple([part.value if type(part) is Number else part for part in parts])
        return x[known if type(key) is tuple else known[0]]


def _bits(x: Value) -> Value:
    """A key that distinguishes a constant from others."""
    return type(x), np.shape(x), np.asarray(x).tobytes()


def _is_like(x: Value, other: Value) -> bool:
    """Whether two constants are of one sort."""
    return type(x) is type(other) and np.shape(x) == np.shape(other) and np.asarray(x).dtype == np.asarray(other).dtype


def _plain(x: Array) -> Value:
    """The value that a tensor or symbol stands for."""
    while isinstance(x, Tensor):
        x = x.held
    return x.value if isinstance(x, Symbol) else x


def is_ours(name: str, x: object) -> bool:
    """Whether a variable is none of the user's."""
    return name in ("_R", "_F") or (name.startswith("_t") and name[2:].isdigit())
