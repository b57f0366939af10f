"""The real values that a complex one is made of: taken apart, converted, and brought to one shape."""

from __future__ import annotations

import numpy as np

from adjoint.core.registry import op_named
from adjoint.core.types import DType
from adjoint.graph.node import Node, call, constant
from adjoint.graph.rewriting.driver import converted, with_args
from adjoint.native.plan.layout.views import PART, VIEWS, StridedView, seen
from adjoint.native.plan.pairs.arithmetic import Real

REAL_OF: dict[DType, DType] = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(complex): np.dtype(float)}
_TURNS = frozenset(("transpose", "matrix_transpose", "swapaxes", "moveaxis"))  # which only change the order of axes


def parts_of(node: Node) -> tuple[Node, Node]:
    """The parts of a constant."""
    value, dtype = np.asarray(node.value), REAL_OF[node.dtype]
    if not value.ndim:
        re, im = (constant(dtype.type(x)) for x in (value.real, value.imag))
    elif not any(value.strides):  # one number, repeated
        re, im = (constant(np.broadcast_to(np.array(x), value.shape)) for x in (value.flat[0].real, value.flat[0].imag))
    else:
        re, im = (constant(np.ascontiguousarray(x)) for x in (value.real, value.imag))
    return re, im


def untransposed(node: Node) -> tuple[Node, tuple[int, ...]]:
    """The value of which a node shows all axes in another order, and for each axis of that one where it is."""
    value, steps = node, list[Node]()
    while value.op is not None and value.op.name in _TURNS:
        steps.append(value)
        value = value.args[0]
    order = StridedView(value, value.shape, tuple(range(1, len(node.shape) + 1)))
    for step in reversed(steps):
        order = seen(step.op, step.settings, order)  # type: ignore[arg-type, assignment]  # they have one, and are views
    places = {axis: i for i, axis in enumerate(order.strides)}
    return value, tuple(places[axis + 1] for axis in range(len(node.shape)))


def together(parts: list[Node]) -> list[Node]:
    """Both parts computed where one is, so that one kernel writes them."""
    seen = [x.op is PART or (x.op is not None and x.op.name in VIEWS) for x in parts]
    if seen.count(True) != 1:
        return parts
    return [Real(x, x.dtype, x.place).made("positive").node if s else x for x, s in zip(parts, seen, strict=True)]


def in_dtype(x: Node, dtype: DType) -> Node:
    """`x`, converted to this dtype where it has another."""
    if x.dtype == dtype:
        return x
    return constant(dtype.type(x.value)) if x.kind == "constant" and not x.shape else converted(x, dtype, x.place)


def shaped(x: Node, shape: tuple[int, ...]) -> Node:
    """`x` as an array of this shape."""
    if x.shape == shape:
        return x
    if x.kind == "constant" and not x.shape:
        return constant(np.full(shape, x.value))
    op = op_named("broadcast_to")
    return call(op, (x,), {**op.settings, "shape": shape}, shape, x.dtype, lambda: x.place)


def unsigned(x: Node) -> Node | None:
    """The node whose negative is `x`, or the base of the view `x`; None if there is none."""
    if x.op is None or len(x.args) != 1:
        return None
    if x.op.name == "negative":
        return x.args[0]
    inner = unsigned(x.args[0]) if x.op.name in ("reshape", "transpose", "swapaxes", "moveaxis") else None
    return None if inner is None else with_args(x, (inner,))
