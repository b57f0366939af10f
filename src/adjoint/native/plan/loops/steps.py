"""The steps of a loop: one fills its table of addresses, one runs its turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjoint.graph.loops.elements import uses_elements
from adjoint.graph.node import Node, in_order
from adjoint.native.codegen.jit import FunctionText
from adjoint.native.codegen.loops import turns
from adjoint.native.plan.loops import registers, structured_code
from adjoint.native.plan.loops.body import LoopSteps, planned
from adjoint.native.plan.steps import PlanStep

if TYPE_CHECKING:
    from adjoint.native.plan.planner import Planner

# About so many bytes a loop moves, or computes as long, before it is asked whether the user wants to stop.
AT_ONCE = 1 << 26


def loop(planner: Planner, node: Node) -> None:
    """Two steps: the table of addresses of a loop is filled, its turns are run."""
    parts = {part.value: part for part in planner.scope.nodes if part.op is None and part.args[0] is node}
    loop = node.settings["loop"]
    if uses_elements(in_order(loop.body.outputs)):
        small: tuple[LoopSteps, FunctionText] | None = structured_code.planned(planner, node, parts)
    else:
        small = registers.planned(planner, node, parts)
    found = small[0] if small is not None else planned(planner, node, parts)
    inner, steps = found.inner, found.inner.plan.steps
    each = sum((step.read + step.written) * (1 + len(step.nodes) // 4) for step in steps) or registers.LONG
    few = max(1, AT_ONCE // max(each, 1))
    few = max(1, few // 8) if loop.ends else few  # which may not end
    few = loop.count if planner.within else few  # nothing calls it again
    numbers = [few, loop.count, 0, len(steps), *found.numbers]
    begin, turn = found.uses
    planner.steps.append(PlanStep(turns.begin(), found.begin, [-1], (), "begin a loop", 0, 0, 0, begin))
    label = f"turns {loop.ends}" if loop.ends else f"{loop.count} turns"
    nodes, run = (node, *parts.values()), turns.turn_to_end() if loop.ends else turns.turn()
    run = small[1] if small is not None else run
    planner.steps.append(PlanStep(run, found.begin[:1], numbers, nodes, label, 0, *found.moved, turn, inner))
