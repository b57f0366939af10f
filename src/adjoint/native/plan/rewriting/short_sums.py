"""Sums along a short axis of elementwise values, written out: ``sum((x[:, None] - c[None])**2, axis=-1)``.

The three squares are then values of the result's shape, added in NumPy's order. So nothing with the short axis is
stored, and later operations are fused with the sum. This is done if broadcasting makes the large array:
the inputs are much smaller than the terms of the sum.
"""

from __future__ import annotations

from math import prod

import numpy as np

from adjoint.core.registry import op_named
from adjoint.graph.node import Node, call, constant
from adjoint.native.plan.layout.assembly import is_number
from adjoint.native.plan.rewriting.again import is_light
from adjoint.ops.reductions.sums import axes_of

LONGEST = 4  # elements of a sum
LARGE = 1 << 12  # places of what is added up
MOST = 4  # operations that compute an element
SMALLER = 4  # how many times smaller the array that is read must be
_ZERO = float(np.add.reduce(np.array([-0.0])))  # what NumPy begins a sum with


def written_out(node: Node, x: Node) -> Node | None:
    """The sum `node` of `x` as sums of elements; None if it stays a reduction."""
    assert node.op is not None
    if node.op.name != "reduce_sum" or node.settings.get("where", True) is not True or x.dtype != node.dtype:
        return None
    axes = axes_of(node.settings.get("axis"), len(x.shape)) if x.shape else ()
    if len(axes) != 1 or not 1 < x.shape[axes[0]] <= LONGEST or prod(x.shape) < LARGE or node.dtype.char not in "fd":
        return None
    cone = _cone(x)
    if not cone or sum(_size(arg) for one in cone for arg in one.args if arg not in cone) * SMALLER > prod(x.shape):
        return None
    axis = axes[0] - len(x.shape)
    total = _element(x, axis, 0, cone)
    if np.signbit(_ZERO) == 0:
        total = _added(constant(np.asarray(0.0, x.dtype)), total)
    for k in range(1, x.shape[axis]):
        total = _added(total, _element(x, axis, k, cone))
    if total.shape == node.shape:
        return total
    op = op_named("reshape")
    return call(op, (total,), {**op.settings, "shape": node.shape}, node.shape, node.dtype, lambda: node.place)


def _cone(x: Node) -> dict[Node, None]:
    """The light operations that compute `x`; none, if others or too many do."""
    cone: dict[Node, None] = {}
    stack = [x]
    while stack:
        one = stack.pop()
        if is_light(one) and len(one.shape) == len(x.shape) and 1 not in one.shape:
            cone[one] = None
            stack += [arg for arg in one.args if arg not in cone]
    return cone if x in cone and len(cone) <= MOST else {}


def _size(x: Node) -> int:
    return 0 if is_number(x) else prod(x.shape)


def _element(x: Node, axis: int, k: int, cone: dict[Node, None]) -> Node:
    """The element of `x` at place `k` of an axis, which is counted from the end."""
    if x in cone and x.op is not None:
        args = tuple(_element(arg, axis, k, cone) for arg in x.args)
        shape = tuple(n for i, n in enumerate(x.shape) if i != len(x.shape) + axis)
        return call(x.op, args, x.settings, shape, x.dtype, lambda: x.place)
    if len(x.shape) < -axis:
        return x
    index = (..., k if x.shape[axis] > 1 else 0, *(slice(None),) * (-axis - 1))
    op, place = op_named("getitem"), len(x.shape) + axis
    shape = x.shape[:place] + x.shape[place + 1 :]
    return call(op, (x,), {**op.settings, "index": index}, shape, x.dtype, lambda: x.place)


def _added(x: Node, y: Node) -> Node:
    op = op_named("add")
    return call(op, (x, y), op.settings, y.shape, y.dtype, lambda: y.place)
