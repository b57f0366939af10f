"""Loops of a graph as native code: the plan of a body, which runs turn after turn within one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adjoint.graph.graph import Graph
from adjoint.graph.loop import LOOP, Loop
from adjoint.graph.node import Node, in_order
from adjoint.graph.rules import EXACT
from adjoint.native.codegen.llvm_text import key_of
from adjoint.native.lower import table as lowering
from adjoint.native.plan import systems
from adjoint.native.plan.arena import Use
from adjoint.native.plan.decompose import primitive
from adjoint.native.plan.piecewise import followed

if TYPE_CHECKING:
    from adjoint.native.plan.planner import Planner
    from adjoint.native.plan.steps import Plan

WORD = 8  # bytes


class Native(NamedTuple):
    """A body as native code needs it: inputs, outputs and all between by primitive operations, and their kinds."""

    inputs: Sequence[Node]
    outputs: list[Node]
    nodes: list[Node]
    kinds: dict[Node, str]


class Scratch(NamedTuple):
    """Stands for memory that a step needs for itself."""

    owner: Node
    name: str
    shape: tuple[int, ...]
    dtype: Any


class Inner(NamedTuple):
    """What is run in each turn.

    Attributes:
        plan: the steps of a turn.
        slots: the place in the block of each value that lies in no arena.
        arena: the place of the arena.
    """

    plan: Plan
    slots: dict[Any, int]
    arena: int


def is_loop(node: Node) -> bool:
    """Whether `node` is a loop."""
    return node.op is LOOP


Kind = Callable[[Node], tuple[str, str]]


def refusal(loop: Loop, kind_of: Kind) -> str:
    """Why a loop has no native code; empty, if it has. `kind_of` says what a node is to the planner, and why."""
    if loop.native is None:
        loop.native = _prepared(loop.body, kind_of)
    return loop.native if isinstance(loop.native, str) else ""


def _prepared(body: Graph, kind_of: Kind) -> Native | str:
    """The body by primitive operations; or why it has no native code."""
    simple = body.rewritten(EXACT)
    outputs = followed(primitive(simple.outputs))
    nodes = in_order(outputs)
    if systems.checks(nodes):
        return "a turn reads at places that are computed, or solves with a matrix that may be singular"
    kinds: dict[Node, str] = {}
    for node in (*body.inputs, *outputs):
        if 0 in node.shape or key_of(node.dtype) not in lowering.STORED:
            return f"it computes with arrays of {node.dtype} {node.shape}"
    for node in nodes:
        if node.kind in ("call", "part"):
            kinds[node], reason = kind_of(node)
            if kinds[node] in ("numpy", "part"):
                label = node.label if node.op is not None else node.args[0].label
                return f"{label} has no native code ({reason or 'several results'})"
    return Native(body.inputs, outputs, list(kinds), kinds)


class Steps(NamedTuple):
    """The two steps of a loop: the block is filled, turns are run."""

    begin: list[tuple[Any, int]]
    block: Scratch
    numbers: list[int]
    inner: Inner
    uses: tuple[Use, Use]
    moved: tuple[int, int]


def planned(outer: Planner, node: Node, results: dict[int, Node]) -> Steps:
    """The steps of the loop `node`, which gives `results` by their number.

    Args:
        outer: the planner of what the loop stands in, which says where its arguments lie.
        node: the loop.
        results: its parts that are used.
    """
    loop: Loop = node.settings["loop"]
    found = loop.native
    assert isinstance(found, Native), found
    a, b = loop.carried, loop.carried + len(loop.slices)
    shown = found.inputs[b : b + len(loop.places)]
    first, last = loop.first_row, loop.first_row + loop.stacks
    gives = [*found.outputs[:a], *found.outputs[first:]]
    rows = [(value, shown[k]) for k, value in _written(loop, found)]
    plan, slots = outer.inner(found.nodes, found.kinds, found.inputs, gives, rows)
    places: list[tuple[Any, int]] = []
    moves: list[int] = []
    kinds = loop.kinds(node.args)

    def result(number: int) -> Any:
        shape, dtype = kinds[number]
        return results.get(number) or Scratch(node, f"result{number}", shape, dtype)

    def at(value: Any, offset: int, stride: int = 0) -> None:
        if stride:
            moves.extend((len(places), stride))
        places.append((value, offset))

    for arg in node.args[:a]:
        at(*outer.whole(arg))
    for arg, window in zip(node.args[a:b], loop.slices, strict=True):
        row = _row_bytes(arg)
        value, offset = outer.whole(arg)
        at(value, offset + window.start * row, window.step * row)
    buffers = node.args[b : b + loop.buffers]
    for k, arg in enumerate(buffers):
        outer.copy(arg, result(a + k))
    for place in loop.places:
        row = _row_bytes(buffers[place.buffer])
        at(result(a + place.buffer), place.window.start * row, place.window.step * row)
    for arg in node.args[b + loop.buffers :]:
        at(*outer.whole(arg))
    spares: list[tuple[int, Any]] = []
    for k in range(a):  # the last of `count` values comes to the result's place
        final, other = result(k), Scratch(node, f"spare{k}", *kinds[k])
        now, then = (final, other) if loop.count % 2 else (other, final)
        spares.append((len(places), then))
        at(now, 0)
    for k in range(first, last):
        at(*_first_row(result(a + loop.buffers + k - first), last - k <= loop.backwards))
    for k in range(last, len(found.outputs)):
        at(result(a + loop.buffers + k - first), 0)
    for constant in plan.constants:
        at(outer.hold(constant), 0)
    arena = len(places)
    scratch = Scratch(node, "arena", (plan.arena.size // WORD + 8,), np.dtype(np.int64))
    at(scratch, 0)
    swaps: list[int] = []
    for k, (written, then) in enumerate(spares):
        swaps += (k, written, len(places))
        at(then, 0)
    block = Scratch(node, "block", (len(places) + 1,), np.dtype(np.int64))
    read = tuple(dict.fromkeys(value for value, _ in places if not _is_own(value, node, results)))
    own = tuple(dict.fromkeys(value for value, _ in places if _is_own(value, node, results)))
    numbers = [len(places), len(moves) // 2, a, *moves, *swaps]
    uses = Use(read, (block,), {}), Use((*read, block), own, {})
    steps = plan.steps
    moved = loop.count * sum(step.read for step in steps), loop.count * sum(step.written for step in steps)
    return Steps([(block, 0), *places], block, numbers, Inner(plan, slots, arena), uses, moved)


def _is_own(value: Any, node: Node, results: dict[int, Node]) -> bool:
    return isinstance(value, Scratch) or any(value is result for result in results.values())


def _written(loop: Loop, found: Native) -> list[tuple[int, Node]]:
    """Which windows are written, by their number, and what comes there."""
    numbers = [k for k, place in enumerate(loop.places) if place.written]
    return list(zip(numbers, found.outputs[loop.carried : loop.first_row], strict=True))


def _first_row(stack: Any, backwards: bool) -> tuple[Any, int, int]:
    """Where the first turn writes into a stack, and how far on the next one does."""
    row = _row_bytes(stack)
    return (stack, (stack.shape[0] - 1) * row, -row) if backwards else (stack, 0, row)


def _row_bytes(value: Any) -> int:
    return int(np.prod(value.shape[1:], dtype=np.int64)) * int(value.dtype.itemsize)
