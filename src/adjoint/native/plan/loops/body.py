"""Loops of a graph as native code: the plan of a body, which runs turn after turn within one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adjoint.core.types import DType, Value
from adjoint.graph.graph import Graph
from adjoint.graph.loops.loop import LOOP, Loop, Window
from adjoint.graph.node import Node, in_order
from adjoint.graph.rewriting.rules import EXACT
from adjoint.native.codegen.llvm_text import key_of
from adjoint.native.lower import table as lowering
from adjoint.native.plan import systems
from adjoint.native.plan.layout.piecewise import followed
from adjoint.native.plan.memory.arena import StepUse
from adjoint.native.plan.pairs.splitting import split
from adjoint.native.plan.rewriting.decompose import primitive, taken_apart

if TYPE_CHECKING:
    from adjoint.native.plan.planner import Planner
    from adjoint.native.plan.steps import Plan

WORD = 8  # bytes
FEW = 16  # turns: a guess, where nobody knows


class Native(NamedTuple):
    """A body as native code needs it: inputs, outputs and all between by primitive operations, and their kinds.

    `held` says whether what a turn reads is there, and what it solves can be solved (`adjoint.native.plan.loops.held`).
    """

    inputs: Sequence[Node]
    outputs: list[Node]
    nodes: list[Node]
    kinds: dict[Node, str]
    held: Node | None = None


class Scratch(NamedTuple):
    """Stands for memory that a step needs for itself."""

    owner: Node
    name: str
    shape: tuple[int, ...]
    dtype: DType


class Inner(NamedTuple):
    """The program of one turn.

    Attributes:
        plan: the steps of a turn.
        slots: the place in the block of each value that lies in no arena.
        arena: the place of the arena.
        unfinished: the word that says whether more turns follow, if their number is not known beforehand.
    """

    plan: Plan
    slots: dict[Value, int]
    arena: int
    unfinished: tuple[Scratch, int] | None = None


def is_loop(node: Node) -> bool:
    """Whether `node` is a loop."""
    return node.op is LOOP


KindOf = Callable[[Node], tuple[str, str]]


def refusal(loop: Loop, kind_of: KindOf) -> str:
    """Why a loop has no native code; empty, if it has. `kind_of` says what a node is to the planner, and why."""
    if loop.native is None:
        loop.native = _prepared(loop.body, kind_of)
    return loop.native if isinstance(loop.native, str) else ""


def _prepared(body: Graph, kind_of: KindOf) -> Native | str:
    """The body by primitive operations; or why it has no native code."""
    simple = body.rewritten(EXACT)
    real = split(primitive(simple.outputs), body.inputs, taken_apart)
    outputs, inputs = followed(real.outputs), [real.inputs.get(node, node) for node in body.inputs]
    nodes = in_order(outputs)
    if any(is_loop(node) and kind_of(node)[0] == "loop" and node.settings["loop"].native.held for node in nodes):
        return "a loop in a turn reads at places that are computed, or solves with a matrix that may be singular"
    held = systems.checks(nodes)
    nodes = in_order([*outputs, *held])
    kinds: dict[Node, str] = {}
    for node in (*inputs, *outputs):
        if 0 in node.shape or key_of(node.dtype) not in lowering.STORED:
            return f"it computes with arrays of {node.dtype} {node.shape}"
    for node in nodes:
        if node.kind in ("call", "part"):
            kinds[node], reason = kind_of(node)
            if kinds[node] in ("numpy", "part"):
                label = node.label if node.op is not None else node.args[0].label
                return f"{label} has no native code ({reason or 'several results'})"
    return Native(inputs, outputs, list(kinds), kinds, held[0] if held else None)


class Ends:
    """For a loop that ends at a given number, or by a condition: places in the block, or -1, and the work at its ends.

    Attributes:
        flag: where a turn says whether it takes place.
        times: where the number of turns is read.
        count: where it is written.
        aims: windows that begin at the last turn, each with the bytes of a row.
        copies: for each carried value where it is, where it goes to, and its bytes.
        fills: for each stack where it begins, and the bytes of a row and of all; what turns did not write gets zeros.
    """

    def __init__(self) -> None:
        self.flag = self.times = self.count = -1
        self.aims, self.copies, self.fills = list[int](), list[int](), list[int]()

    def numbers(self) -> tuple[int, ...]:
        """The places, and the lengths of the tables."""
        lengths = len(self.aims) // 2, len(self.copies) // 3, len(self.fills) // 3
        return self.flag, self.times, self.count, *lengths


class LoopSteps(NamedTuple):
    """The two steps of a loop: the block is filled, turns are run."""

    begin: list[tuple[Value, int]]
    numbers: list[int]
    inner: Inner
    uses: tuple[StepUse, StepUse]
    moved: tuple[int, int]


class LoopBlock:
    """The places of the block of a loop, as they are given one after another.

    Attributes:
        places: a value, and an offset in bytes.
        moves: the places that go on from turn to turn, each with its stride.
        swaps: for each carried value the places where it is read, written, and written next.
    """

    def __init__(self, node: Node, results: dict[int, Node]) -> None:
        self.node, self.results = node, results
        self.loop: Loop = node.settings["loop"]
        self.kinds = self.loop.kinds(node.args)
        self.places: list[tuple[Value, int]] = []
        self.moves, self.swaps, self.ends = list[int](), list[int](), Ends()

    def result(self, number: int) -> Value:
        """The result of this number, or a placeholder if it is not used."""
        shape, dtype = self.kinds[number]
        return self.results.get(number) or Scratch(self.node, f"result{number}", shape, dtype)

    def at(self, value: object, offset: int, stride: int = 0, from_end: bool = False) -> int:
        """Give a place, whose number is returned."""
        if from_end:
            self.ends.aims += len(self.places), -stride
        if stride:
            self.moves += len(self.places), stride
        self.places.append((value, offset))
        return len(self.places) - 1

    def row(self, value: object, offset: int, window: Window) -> None:
        """Give a place to what turns read of an array, or write into it."""
        row, from_end = row_bytes(value), window.start < 0
        self.at(value, offset + (0 if from_end else window.start * row), window.step * row, from_end)

    def inputs(self, outer: Planner) -> None:
        """Give places to what the body takes; `outer` says where the loop's arguments lie."""
        node, loop = self.node, self.loop
        a, b = loop.carried, loop.carried + len(loop.slices)
        for arg in node.args[:a]:
            self.at(*outer.whole(arg))
        for arg, window in zip(node.args[a:b], loop.slices, strict=True):
            value, offset = outer.whole(arg)
            row, from_end = row_bytes(arg), window.start < 0
            self.at(value, offset + (0 if from_end else window.start * row), window.step * row, from_end)
        for k, arg in enumerate(node.args[b : b + loop.buffers]):
            outer.copy(arg, self.result(a + k))
        for place in loop.places:
            self.row(self.result(a + place.buffer), 0, place.window)
        for arg in node.args[b + loop.buffers :]:
            self.at(*outer.whole(arg))
        self.ends.times = len(self.places) - 1 if loop.ends == "when told" else -1

    def carried(self) -> list[Value]:
        """Give places to the next carried values; what is exchanged with them."""
        spares, loop = [], self.loop
        for k in range(loop.carried):  # the last of `count` values comes to the result's place
            name = "first" if loop.ends else ""  # it is copied there at the end
            final = Scratch(self.node, f"{name}{k}", *self.kinds[k]) if name else self.result(k)
            other = Scratch(self.node, f"spare{k}", *self.kinds[k])
            now, then = (final, other) if loop.count % 2 else (other, final)
            self.swaps += k, self.at(now, 0), 0
            spares.append(then)
        return spares

    def stacks(self, outputs: int) -> None:
        """Give places to a row of each stack, and to what else a turn gives; it has so many `outputs`."""
        loop, first = self.loop, self.loop.first_row
        for k in range(loop.stacks):
            stack, backwards = self.result(loop.carried + loop.buffers + k), loop.stacks - k <= loop.backwards
            if loop.ends:
                self.row(stack, 0, Window(-1, -1) if backwards else Window(0, 1))
            else:
                self.at(*_first_row(stack, backwards))
        for k in range(first + loop.stacks, outputs):
            if loop.asks:
                self.ends.flag = self.at(Scratch(self.node, "flag", (), np.dtype(bool)), 0)
            else:
                self.at(self.result(loop.carried + loop.buffers + k - first), 0)

    def finish(self) -> None:
        """Give places to the work after a loop whose length is not known beforehand."""
        loop, a = self.loop, self.loop.carried
        for k in range(a):
            self.ends.copies += k, self.at(self.result(k), 0), _bytes(self.result(k))
        for k in range(a, a + loop.stacks):
            self.ends.fills += self.at(self.result(k), 0), row_bytes(self.result(k)), _bytes(self.result(k))
        if loop.asks:
            self.ends.count = self.at(self.result(a + loop.stacks), 0)

    def steps(self, inner: Inner, numbers: list[int], each: tuple[int, int]) -> LoopSteps:
        """The two steps, which are told `numbers`; a turn reads and writes `each` so many bytes."""
        node, places = self.node, self.places
        table = Scratch(node, "block", (len(places) + 2,), np.dtype(np.int64))
        own: dict[Value, None] = {}
        read: dict[Value, None] = {}
        for value, _ in places:
            is_own = isinstance(value, Scratch) or any(value is result for result in self.results.values())
            (own if is_own else read)[value] = None
        uses = StepUse((*read,), (table,), {}), StepUse((*read, table), (*own,), {})
        turns = FEW if self.loop.asks else self.loop.count
        unfinished = (table, (len(places) + 1) * WORD) if self.loop.ends else None
        moved = turns * each[0], turns * each[1]
        return LoopSteps([(table, 0), *places], numbers, inner._replace(unfinished=unfinished), uses, moved)

    def numbers(self) -> list[int]:
        """The arguments of the code of turns, after the table of its steps."""
        loop, ends = self.loop, self.ends
        told = [len(self.places), len(self.moves) // 2, loop.carried, *(ends.numbers() if loop.ends else ())]
        return [*told, *self.moves, *self.swaps, *ends.aims, *ends.copies, *ends.fills]


def planned(outer: Planner, node: Node, results: dict[int, Node]) -> LoopSteps:
    """The steps of the loop `node`, which gives `results` by their number.

    Args:
        outer: the planner of what the loop stands in, which says where its arguments lie.
        node: the loop.
        results: its parts that are used.
    """
    block = LoopBlock(node, results)
    loop = block.loop
    found = loop.native
    assert isinstance(found, Native), found
    a, b = loop.carried, loop.carried + len(loop.slices)
    shown = found.inputs[b : b + len(loop.places)]
    gives = [*found.outputs[:a], *found.outputs[loop.first_row :]]
    rows = [(value, shown[k]) for k, value in written(loop, found)]
    plan, slots = outer.inner(found.nodes, found.kinds, found.inputs, gives, rows)
    block.inputs(outer)
    spares = block.carried()
    block.stacks(len(found.outputs))
    for constant in plan.constants:
        block.at(outer.hold(constant), 0)
    arena = block.at(Scratch(node, "arena", (plan.arena.size // WORD + 8,), np.dtype(np.int64)), 0)
    for k, then in enumerate(spares):
        block.swaps[3 * k + 2] = block.at(then, 0)
    if loop.ends:
        block.finish()
    each = sum(step.read for step in plan.steps), sum(step.written for step in plan.steps)
    return block.steps(Inner(plan, slots, arena), block.numbers(), each)


def written(loop: Loop, found: Native) -> list[tuple[int, Node]]:
    """Which windows are written, by their number, and what comes there."""
    numbers = [k for k, place in enumerate(loop.places) if place.written]
    return list(zip(numbers, found.outputs[loop.carried : loop.first_row], strict=True))


def _first_row(stack: Value, backwards: bool) -> tuple[object, int, int]:
    """The row of a stack that the first turn writes, and the distance to the row of the next turn."""
    row = row_bytes(stack)
    return (stack, (stack.shape[0] - 1) * row, -row) if backwards else (stack, 0, row)


def row_bytes(value: Value) -> int:
    return int(np.prod(value.shape[1:], dtype=np.int64)) * int(value.dtype.itemsize)


def _bytes(value: Value) -> int:
    return int(np.prod(value.shape, dtype=np.int64)) * int(value.dtype.itemsize)
