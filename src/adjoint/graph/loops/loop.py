"""`Loop`: a body that runs many times, as one operation of a graph.

A body takes, in this order: values that are *carried* from turn to turn, *slices* of arrays that are only read,
*windows* of arrays that it writes by turn (`buffers`), and values that are the same in each turn. It returns the next
carried values, the new contents of written windows, a row for each *stack*, and values of which only the last is used.

A loop may end by a condition. Its body then returns one more value, the last: whether this turn takes place. If
not, the turn is dropped and the loop is over; so it may have no turns. The loop then returns one more result, the
number of turns. The loop of its backward pass gets this number as its last argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np

from adjoint.core.op import Op, Rule
from adjoint.core.types import Array, Function, Value
from adjoint.graph.graph import Graph
from adjoint.graph.node import Node

_MANY = 50  # turns, from which on a function of a body is written


class Window(NamedTuple):
    """A row of an array, or `width` rows, which begin at ``start + step * turn``.

    If the number of turns is an argument, a `start` below 0 counts from that number.
    """

    start: int
    step: int
    width: int | None = None

    def at(self, turn: int, turns: int = 0) -> int | slice:
        """The index of it in this turn, of so many `turns`."""
        first = self.start + self.step * turn + (turns if self.start < 0 else 0)
        return first if self.width is None else slice(first, first + self.width)

    def shape(self, whole: tuple[int, ...]) -> tuple[int, ...]:
        """Its shape in an array of shape `whole`."""
        return whole[1:] if self.width is None else (self.width, *whole[1:])

    def meets(self, other: Window, count: int) -> np.ndarray:
        """In which of `count` turns the two share a row."""
        ahead = other.start - self.start + (other.step - self.step) * np.arange(count)
        return np.flatnonzero((ahead < (self.width or 1)) & (-ahead < (other.width or 1)))


class BufferWindow(NamedTuple):
    """A window of a buffer, by its number, and whether the body writes there."""

    buffer: int
    window: Window
    written: bool


class Loop:
    """A program that is run again and again, with its inputs and outputs; the module's text gives their order.

    Attributes:
        body: the program of one turn.
        count: how many turns there are, or may be at most.
        carried: how many values go from turn to turn.
        slices: a window for each array that is read by turn.
        buffers: how many arrays are written by turn.
        places: the windows of these.
        stacks: how many values are kept of every turn.
        backwards: how many of these, the last ones, are written from their end.
        native: what native code knows of it.
        function: the body as a function, if it was run often.
        reverses: how cotangents go back, for each choice of inputs and outputs that have one.
        reverse: how cotangents go back (`adjoint.graph.loops.gradient`), if it is to be differentiated.
        samples: a value for each input of the body, where it is known.
        site: the loop of the user's that it is, if it is one.
        abreast: how many turns of that loop one of its turns is.
        ends: ``"by a condition"``; or ``"when told"``, if the number of turns is its last argument; else empty.
        ran: how many turns NumPy has run.
        room: of a loop that ends by a condition: for how many turns there is room in stacks, if it gets any.
        lean: the loop without what is the same in each turn, and that (`adjoint.graph.loops.invariant`); None if not
            known.
    """

    __slots__ = (
        *("abreast", "backwards", "body", "buffers", "carried", "count", "native", "places", "reverse", "samples"),
        *("ends", "function", "lean", "ran", "reverses", "room", "site", "slices", "stacks"),
    )

    def __init__(
        self, body: Graph, count: int, carried: int, slices: Sequence[Window], buffers: int,
        places: Sequence[BufferWindow], stacks: int, backwards: int = 0,
    ) -> None:  # fmt: skip
        self.body, self.count, self.carried = body, count, carried
        self.slices, self.buffers, self.places, self.stacks = tuple(slices), buffers, tuple(places), stacks
        self.backwards = backwards
        self.native: Value = None
        self.function: Value = None
        self.reverse: Value = None
        self.reverses: dict[Value, Value] = {}
        self.samples: Sequence[Value] = ()
        self.site: Value = None
        self.abreast = 1
        self.ends = ""
        self.room = self.ran = 0
        self.lean: Value = None

    @property
    def asks(self) -> bool:
        """Whether it ends by a condition."""
        return self.ends == "by a condition"

    def turns(self, xs: Sequence[Array]) -> int:
        """How many turns there are at most, for these arguments."""
        return min(self.count, int(xs[-1])) if self.ends == "when told" else self.count

    @property
    def written(self) -> list[BufferWindow]:
        """The windows that the body writes."""
        return [place for place in self.places if place.written]

    @property
    def first_row(self) -> int:
        """Which output of the body is the first that is kept of every turn."""
        return self.carried + len(self.written)

    def kinds(self, args: Sequence[Node]) -> list[tuple[tuple[int, ...], Value]]:
        """Shapes and dtypes of the results, for these arguments."""
        start, outputs = self.carried + len(self.slices), self.body.outputs
        buffers = [(node.shape, node.dtype) for node in args[start : start + self.buffers]]
        first, last = self.first_row, self.first_row + self.stacks
        stacked = [((self.count, *node.shape), node.dtype) for node in outputs[first:last]]
        single = [[(node.shape, node.dtype) for node in nodes] for nodes in (outputs[: self.carried], outputs[last:])]
        if self.asks:
            single[1] = [((), np.dtype(np.int64))]
        return [*single[0], *buffers, *stacked, *single[1]]

    def __repr__(self) -> str:
        if self.ends:
            return f"<loop that ends {self.ends}, of {len(self.body)} nodes>"
        return f"<loop: {self.count} turns of {len(self.body)} nodes>"


# What knows the results of loops that ran before, while a function is recorded (`results.py`).
RESULTS: ContextVar[Value] = ContextVar("RESULTS", default=None)


def repeated(*xs: Array, loop: Loop) -> tuple[Array, ...]:
    """The results of a loop; see `run_turns`."""
    known = RESULTS.get()
    if known is None:
        return run_turns(*xs, loop=loop)
    token = RESULTS.set(None)  # loops within its turns run with it
    try:
        found: tuple[Array, ...] = known.of(run_turns, xs, loop)
    finally:
        RESULTS.reset(token)
    return found


def run_turns(*xs: Array, loop: Loop) -> tuple[Array, ...]:
    """Run a loop, turn by turn: what it means, in NumPy.

    Args:
        xs: first values of what is carried, arrays that are read by turn, arrays that are written by turn, and what is
            the same in each turn.
        loop: what is run.

    Returns:
        The last carried values, the written arrays, the stacks, and the last turn's other values; of a loop that ends
        by a condition, how many turns there were.
    """
    counts = loop.carried, len(loop.slices), loop.buffers
    a, b, c = counts[0], sum(counts[:2]), sum(counts)
    state, read, fixed = list(xs[:a]), xs[a:b], xs[c:]
    buffers = [np.array(x) for x in xs[b:c]]
    first, last = loop.first_row, loop.first_row + loop.stacks
    new = np.zeros if loop.ends else np.empty
    stacks = [new((loop.count, *n.shape), n.dtype) for n in loop.body.outputs[first:last]]
    given, turns, written = list[Value](), loop.turns(xs), loop.written
    run: Function = loop.body.run  # which looks at the shapes: they are the same in later turns
    if loop.function is None and max(turns, loop.ran) > _MANY:
        loop.function = loop.body.schedule.function()
    again = loop.function or loop.body.schedule.interpreted
    run, loop.ran = again if loop.ran else run, loop.ran + turns
    for turn in range(turns):
        rows = [x[window.at(turn, turns * bool(loop.ends))] for x, window in zip(read, loop.slices, strict=True)]
        shown = [buffers[p.buffer][p.window.at(turn)].copy() for p in loop.places]
        found = run([*state, *rows, *shown, *fixed])
        assert found is not None  # its checks raise
        given, run = found, again
        if loop.asks and not given[-1]:
            turns = turn
            break
        state = given[:a]
        if not written and not stacks:
            continue
        for place, value in zip(written, given[a:first], strict=True):
            buffers[place.buffer][place.window.at(turn)] = value
        for k, (stack, value) in enumerate(zip(stacks, given[first:last], strict=True), loop.backwards - loop.stacks):
            stack[turn if k < 0 else turns - 1 - turn] = value
    return (*state, *buffers, *stacks, *([np.int64(turns)] if loop.asks else given[last:]))


def _rule(g: object, xs: object, out: object, loop: Loop, needs: object) -> list[Value]:
    """The cotangents of a loop's arguments: another loop's results."""
    found: list[Value] = loop.reverse.pulled(g, xs, out, loop, needs)
    return found


LOOP = Op("loop", repeated, ("*xs",), (Rule(_rule, ("g", "xs", "out", "loop", "needs")),), settings={"loop": None},
          kind="general", joint=True, multiple=True)  # fmt: skip
