"""Writes into arguments, and the checks that come before any write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.types import Value
from adjoint.graph.node import Node, constant
from adjoint.native.codegen import guards
from adjoint.native.codegen.loops.loop_nest import contiguous
from adjoint.native.plan.fusion import Group, homes, members
from adjoint.native.plan.layout.views import StridedView
from adjoint.native.plan.memory.arena import StepUse
from adjoint.native.plan.steps import PlanStep

if TYPE_CHECKING:
    from adjoint.native.plan.planner import Planner

FLAG = "flag"  # stands for the word that is set if a check fails


def parted(planner: Planner, order: Sequence[Group | Node]) -> tuple[list[Group | Node], list[Group | Node]]:
    """What the checks need, and the rest."""
    home = homes(order)
    stack = [home[base] for node, _ in planner.checks if (base := planner.view(node).base) in home]
    needed = set(stack)
    while stack:
        for node in members(order[stack.pop()]):
            for arg in node.args:
                i = home.get(planner.scope.base(arg))
                if i is not None and i not in needed:
                    needed.add(i)
                    stack.append(i)
    return [g for i, g in enumerate(order) if i in needed], [g for i, g in enumerate(order) if i not in needed]


def check(planner: Planner) -> None:
    """Compare each value to be checked with the value that it must have."""
    for node, answer in planner.checks:
        view = planner.view(node)
        value: Value = view.base
        if not view.whole:
            value = planner.scratch(node, node.shape)
            planner.put_in_order(view, value)
        wanted = constant(np.atleast_1d(answer))
        planner.hold(value)
        planner.hold(wanted)
        operands = [(value, 0), (wanted, 0), (FLAG, 0)]
        use = StepUse((value,), (), {})
        label = f"check {node.label}"
        planner.steps.append(PlanStep(guards.write(), operands, [answer.nbytes], (), label, 0, answer.nbytes, 0, use,
                               by="check"))  # fmt: skip


def direct(planner: Planner, checked: int) -> dict[Value, Node]:
    """Values that may be computed right where their targets lie: these are read for the last time by then."""
    makers: dict[object, list[int]] = {}
    readers: dict[object, int] = {}
    for i, step in enumerate(planner.steps):
        for value in step.use.writes:
            makers.setdefault(value, []).append(i)
        for value in step.use.reads:
            readers[value] = i
    found: dict[Value, Node] = {}
    stops = (i for i, step in enumerate(planner.steps) if step.inner is not None and step.inner.unfinished is not None)
    checked = max(checked, max(stops, default=-1) + 1)  # a loop may be interrupted
    for value, target in planner.writes:
        made, last = makers.get(value, []), readers.get(target, -1)
        if value in planner.results or value in found or len(made) != 1 or made[0] < checked or last > made[0]:
            continue
        others = any(planner.view(v).base is target for v, t in planner.writes if t is not target)
        if not others and (last < made[0] or target in planner.steps[last].use.instead.get(value, ())):
            found[value] = target
    return found


def commit(planner: Planner, direct: dict[object, Node]) -> None:
    """Copy the other values to their targets, when everything is computed."""
    left = [(value, target) for value, target in planner.writes if direct.get(value) is not target]
    targets = {target for _, target in planner.writes}
    ready: list[tuple[StridedView, Node]] = []
    for value, target in left:
        view = planner.view(value)
        if view.base in targets:  # which may be overwritten before
            copy = planner.scratch(value, value.shape)
            planner.put_in_order(view, copy)
            view = StridedView(copy, value.shape, contiguous(value.shape))  # type: ignore[arg-type]  # a value all the same
        ready.append((view, target))
    for view, target in ready:
        planner.put_in_order(view, target)
