"""A plan as plain numbers: the contents of a segment, in this process or, read from disk, in another one.

A plan refers to nodes, which exist in one process. A recipe has no objects of the graph in it: kernels are named by
their keys, and values by their positions in the block of addresses that the steps get.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from adjoint.core.types import Value
from adjoint.graph.node import Node, is_repeated
from adjoint.native.codegen.loops.loop_nest import Split
from adjoint.native.plan.memory.arguments import FLAG
from adjoint.native.plan.pairs.splitting import COMPLEX_OF, stands_for
from adjoint.native.plan.steps import Plan, PlanStep, slots_of

# The strides of inputs that do not lie in C order, in bytes.
Lies = Mapping[Node, tuple[int, ...]]


class ArrayKind(NamedTuple):
    """What an argument or a result is: its shape and dtype, what messages call it, and how it lies in memory.

    `strides` are in bytes; None: in C order.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Value]
    label: str
    strides: tuple[int, ...] | None = None

    @property
    def reach(self) -> int:
        """How many bytes there are from its first element to the end of its last."""
        if self.strides is None:
            return prod(self.shape) * self.dtype.itemsize
        return sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) + self.dtype.itemsize


class NativeCall(NamedTuple):
    """One native call.

    Attributes:
        kernel: the key of its function.
        operands: for each, its place in the block, and how many bytes further it begins.
        numbers: the other arguments of the code.
        work: about as many bytes as could be moved meanwhile.
        unfinished: where in the arena a loop says whether more turns follow, if their number is not known beforehand.
        split: how it may be cut.
        turn: of a loop, what is run in each turn.
    """

    kernel: str
    operands: tuple[tuple[int, int], ...]
    numbers: tuple[int, ...]
    work: int
    unfinished: int | None
    split: Split | None
    turn: tuple[NativeCall, ...] | None


class Recipe(NamedTuple):
    """What a segment is made of. Its block of addresses: inputs, outputs, constants, the arena, the flag of checks.

    Attributes:
        inputs, outputs: of the call.
        tasks: what is done, in order.
        constants: arrays that these read.
        arena: how many bytes lie in between.
        targets: the numbers of the inputs that are written.
        final: the number of the first task that writes one.
    """

    inputs: tuple[ArrayKind, ...]
    outputs: tuple[ArrayKind, ...]
    tasks: tuple[NativeCall, ...]
    constants: tuple[Value, ...]
    arena: int
    targets: tuple[int, ...]
    final: int


def kind_of(node: Node, strides: tuple[int, ...] | None = None) -> ArrayKind:
    """What the value of `node` is, an array with these strides in bytes; complex, if `node` stands for such numbers."""
    if stands_for(node):
        return ArrayKind(node.shape[:-1], COMPLEX_OF[node.dtype], node.label, strides)
    return ArrayKind(node.shape, node.dtype, node.label, strides)


def recipe_of(plan: Plan, inputs: Sequence[Node], outputs: Sequence[Node], lies: Lies) -> Recipe:
    """`plan` as a recipe, for a segment that takes `inputs`, which lie so, and gives `outputs`."""
    slots = slots_of(plan, inputs, outputs)
    arena = len(inputs) + len(outputs) + len(plan.constants)
    slots[FLAG] = arena + 1
    place = {node: i for i, node in enumerate(inputs)}
    constants = (n.value if is_repeated(n) else np.ascontiguousarray(n.value) for n in plan.constants)
    return Recipe(
        tuple([kind_of(node, lies.get(node)) for node in inputs]), tuple(map(kind_of, outputs)),
        _tasks(plan, slots, arena), tuple(constants),
        plan.arena.size, tuple([place[node] for node in plan.targets]), plan.final,
    )  # fmt: skip


def _tasks(plan: Plan, slots: Mapping[object, int], arena: int) -> tuple[NativeCall, ...]:
    """The steps of a plan, whose values lie at `slots` or in the arena."""
    places, tasks = plan.arena.places, []
    for step in plan.steps:
        operands = [(arena, places[v] + offset) if v in places else (slots[v], offset) for v, offset in step.operands]
        inner = step.inner
        turn = None if inner is None else _tasks(inner.plan, inner.slots, inner.arena)
        numbers = tuple(map(int, step.numbers))
        word = None if inner is None else inner.unfinished
        unfinished = None if word is None else places[word[0]] + word[1]
        tasks.append(
            NativeCall(step.function.key, tuple(operands), numbers, work_of(step), unfinished, step.split, turn)
        )
    return tuple(tasks)


def work_of(step: PlanStep) -> int:
    """About as many bytes as could be moved while a step is run."""
    moved = step.read + step.written
    return max(moved, prod(step.sizes) // 8) if step.sizes else moved
