"""Turns of a `for` that are not recorded, because they do what the turns before them did.

Two things determine a turn: the state in which it begins, and what the loop goes through. Suppose that several turns
leave the same state, except for arrays (`standing.py`), and that no turn asks for a value. Then turns can only differ
by what the loop goes through. They do not differ if these are the rows of an array, or of several (`zip`), or if no
turn reads the counter.
If turns read it, one turn is recorded with a symbol in place of the counter: the turn may only use it to select rows,
at positions that are affine in it. The user's code does not run for the turns that follow; NumPy runs the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adjoint.compiler.trace.loops.carried import bits, symbol, without_leaves
from adjoint.compiler.trace.loops.moving import moving
from adjoint.compiler.trace.loops.standing import UnknownError, is_same, standing
from adjoint.compiler.trace.outside import Again
from adjoint.core.box import Box
from adjoint.core.types import Array, Value
from adjoint.graph.loops.agree import TurnProgram
from adjoint.graph.loops.body import RollingError
from adjoint.graph.record import Guard
from adjoint.graph.symbol import Number, Symbol
from adjoint.tape.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.compiler.trace.loops.light import Light

SEEN = 2  # turns that are recorded and compared, before one more
LEAST = 400  # operations that would be left out, at least
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
        ahead = 0 if turns.length is None else turns.length - light.first
        self.may = (
            light.outer is None
            and turns.is_regular
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
        return self.light.turns.numbers is not None and not self.light.turns.targets.isdisjoint(self.light.turns.lists)

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
        self._before = self._standing(space)
        if light.held or any(type(own) is Number and type(own.value) is int for own in light._own):
            self.may = False
        template = light.template
        if not self.may or not self.reads_number or template is None or template.turns < SEEN:
            return names
        if any(node.op is None or node.op.name != "getitem" for node in template.numbers) or not template.numbers:
            self.may = False  # not read as the place of a row, as far as was seen
            return names
        at, (target,) = light.turns.names.index(next(iter(light.turns.targets))), light.turns.targets
        light.door.loops.tries(light.turns.site)
        self.number = symbol(space[target], "number")
        light.own(self.number)
        return [*names[:at], self.number, *names[at + 1 :]]

    def end(self, space: dict[str, Value], asked: Sequence[Guard]) -> None:
        """A turn ends, with these names, and has asked this."""
        if not self.may:
            return
        template = self.light.template
        assert template is not None
        unread = self.light.turns.numbers is not None and not self.reads_number
        differs = template.differs_in_constants or (unread and bool(template.numbers))
        now = self._standing(space)
        if asked or differs or not self.may or not is_same(self._before, now):
            self.fails()

    def fails(self) -> None:
        """The turns that follow may do something else."""
        self.may = False
        if self.left_out or self.number is not None:
            raise self.without()

    def without(self) -> Again:
        """What to raise where the turns turn out to read the number in another way: all are run."""
        self.light.door.loops.unsettled.add(self.light.turns.site)
        return Again()

    def _standing(self, space: dict[str, Value]) -> Value:
        """What stands between two turns, but for arrays that are carried, and lists to which turns only append."""
        light = self.light
        turns = light.turns
        left = {*turns.names, *(name for name in turns.appended if name in light.grown)}
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
        numbers = self.light.turns.numbers
        if found is None or numbers is None:
            return None
        length = x.shape[places[0]]
        ends = [found.at(n) for n in (numbers[self.light.first], numbers[-1])]
        if not (all(0 <= end < length for end in ends) or all(-length <= end < 0 for end in ends)):
            return None
        known = tuple([part.value if type(part) is Number else part for part in parts])
        return x[known if type(key) is tuple else known[0]]


def _plain(x: Array) -> Value:
    """The value that a tensor or symbol stands for."""
    while isinstance(x, Tensor):
        x = x.data
    return x.value if isinstance(x, Symbol) else x


def is_ours(name: str, x: object) -> bool:
    """Whether a variable is none of the user's."""
    return name in ("_R", "_F") or (name.startswith("_t") and name[2:].isdigit())
