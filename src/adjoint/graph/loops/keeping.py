"""Values that a loop keeps of every turn for its backward pass, and sums over turns that are one matrix product."""

from __future__ import annotations

import math
from collections.abc import Sequence

from adjoint.graph.loops.loop import LOOP
from adjoint.graph.node import Node, in_order

LARGE = 64  # elements of an array whose cotangent is one product of stacks, and not summed up turn by turn


def products_of(node: Node) -> list[tuple[Node, Node]]:
    """The factors x and y of which `node` is the sum of products xᵀ y, if these are worth to be taken all at once."""
    found, pending = list[tuple[Node, Node]](), [node]
    while pending and math.prod(node.shape) >= LARGE:
        each = pending.pop()
        name = each.label
        if name == "add" and all(arg.shape == node.shape for arg in each.args):
            pending += each.args[::-1]
            continue
        if name not in ("matmul", "multiply") or each.shape != node.shape or len(node.shape) != 2:
            return []
        x, y = each.args
        if name == "matmul":
            if x.label != "transpose" or len(x.shape) != 2 or x.settings["axes"] not in (None, (1, 0)):
                return []
            found.append((x.args[0], y))
        else:
            column, row = _with_an_axis(x), _with_an_axis(y)
            if x.shape != (node.shape[0], 1) or column.shape != node.shape[:1] or row.shape != node.shape[1:]:
                return []
            found.append((column, row))
    return found if all(x.dtype == y.dtype == node.dtype for x, y in found) else []


def _with_an_axis(node: Node) -> Node:
    """The vector of which `node` is a column or a row; `node` itself, if it is none."""
    index = node.settings["index"] if node.label == "getitem" else None
    new = isinstance(index, tuple) and all(part is None or part is Ellipsis or part == slice(None) for part in index)
    return node.args[0] if new and len(node.args[0].shape) == 1 else node


def needed(results: Sequence[Node], given: Sequence[Node], values: Sequence[Node]) -> tuple[set[Node], set[Node]]:
    """Which nodes depend on what is `given`, or are made anew, as views are; and what these need of the others.

    Loops that are none of those which give `values` run again for what they keep of their turns.
    """
    depends, ordered, own = set(given), in_order(results), {*in_order(values)}
    for node in ordered:
        if any(arg in depends for arg in node.args) or (node.op is LOOP and node not in own):
            depends.add(node)
    asked = set(results)
    for node in reversed(ordered):
        if node in depends or (node in asked and _shows(node)):
            depends.add(node)
            asked.update(node.args)
    used = {arg for node in depends for arg in node.args if arg not in depends} | set(results) - depends
    return depends, {node for node in used if node.kind != "constant"}


def _shows(node: Node) -> bool:
    """Whether a node is linear in its only argument, and no smaller, as views are: it is cheap to make anew."""
    op = node.op
    if op is None or op.kind != "linear" or len(node.args) > 1:
        return False
    return bool(math.prod(node.args[0].shape) <= math.prod(node.shape))
