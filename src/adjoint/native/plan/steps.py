"""What a plan is made of: steps, copies, and the values that lie in no arena."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from adjoint.core.types import DType, Value
from adjoint.graph.node import Node
from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.loops.loop_nest import Split
from adjoint.native.plan.loops.body import Inner
from adjoint.native.plan.memory.arena import Arena, StepUse


class PlanStep(NamedTuple):
    """One native call: its code, the values that it reads and writes with their offsets, and numbers.

    `nodes` are what it computes, in so many nested `loops`; `label` says it in words. `read` and `written` count bytes;
    `use` is what it does to memory; `inner`, what a loop runs in each turn; `by`, what computes: a kernel, a product of
    matrices by our own tiles or by BLAS, or a check; `sizes` are a product's rows, columns, and steps of its sums;
    `split`, how it may be cut.
    """

    function: FunctionText
    operands: list[tuple[Value, int]]
    numbers: list[int]
    nodes: tuple[Node, ...]
    label: str
    loops: int
    read: int
    written: int
    use: StepUse
    inner: Inner | None = None
    by: Literal["kernel", "product", "BLAS", "check"] = "kernel"
    sizes: tuple[int, ...] = ()
    split: Split | None = None


class Plan(NamedTuple):
    """What a segment does.

    Attributes:
        steps: what is done, in order.
        constants: what these read besides arguments.
        arena: where values in between lie.
        targets: arguments that are written.
        direct: values that lie where a target does, by the value.
        final: the number of the first step that writes a target.
        again: values that are not kept, but computed by each step that reads them.
        turned: values that lie where a result does that shows them with their axes in another order; its number.
    """

    steps: list[PlanStep]
    constants: list[Node]
    arena: Arena
    targets: list[Node]
    direct: dict[Value, Node]
    final: int
    again: tuple[Node, ...] = ()
    turned: Mapping[Node, int] = MappingProxyType({})


class Copy(NamedTuple):
    """Stands for a value that is a copy of another: a view that an output shows, or one that needs its own memory."""

    of: Node  # of the same dtype
    shape: tuple[int, ...]
    number: int

    @property
    def dtype(self) -> DType:
        return self.of.dtype


def bytes_of(value: Value) -> int:
    """How many bytes a value takes that a step writes: a node's, or a copy's."""
    return int(math.prod(value.shape) * value.dtype.itemsize)


def slots_of(plan: Plan, inputs: Sequence[Node], outputs: Sequence[Node]) -> dict[object, int]:
    """Numbers for the values that lie in no arena: inputs, what comes out, constants."""
    count = len(inputs) + len(outputs)
    slots: dict[Value, int] = {node: i for i, node in enumerate(inputs)}
    slots |= {value: slots[target] for value, target in plan.direct.items()}
    slots |= {node: count + i for i, node in enumerate(plan.constants)}
    results: dict[Value, int] = {node: i for i, node in reversed(list(enumerate(outputs)))} | dict(plan.turned)
    for value in (value for step in plan.steps for value in step.use.writes):
        if value not in plan.arena.places and value not in slots:
            slots[value] = len(inputs) + (value.number if isinstance(value, Copy) else results[value])
    return slots


def functions_of(plan: Plan) -> Iterator[FunctionText]:
    """The code of all steps, those in loops too."""
    for step in plan.steps:
        yield step.function
        if step.inner is not None:
            yield from functions_of(step.inner.plan)
