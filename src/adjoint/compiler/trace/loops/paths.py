"""Joins the paths that a turn of a loop may take: a truth value for each path, and choices between two values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.compiler.trace.loops.numbers.reaches import LARGEST
from adjoint.core.box import Box
from adjoint.core.registry import op_named
from adjoint.core.types import Array
from adjoint.graph.loops.agree import plain
from adjoint.graph.node import Node, constant
from adjoint.graph.python_numbers import as_numpy, as_python, is_number
from adjoint.graph.rewriting.driver import made_call


def all_are(nodes: Sequence[Node], answers: Sequence[bool]) -> Node:
    """Whether each of these, as a truth value, is as said."""
    found: Node | None = None
    for node, answer in zip(nodes, answers, strict=True):
        if node.dtype != bool:
            node = made_call(op_named("not_equal"), (node, constant(np.zeros((), node.dtype)[()])))
        this = node if answer else made_call(op_named("logical_not"), (node,))
        found = this if found is None else made_call(op_named("logical_and"), (found, this))
    assert found is not None
    return found


def is_small(node: Node) -> Node:
    """Whether a whole number is so small that what a turn computes of it has 64 bits."""
    return made_call(op_named("less"), (made_call(op_named("absolute"), (node,)), constant(np.int64(LARGEST))))


def either(this: Node, x: Node, y: Node) -> Node:
    """One of two values; what has no axes stays a number, of which np.where makes an array."""
    found = made_call(op_named("choose_either"), (this, x, y))
    return found if found.shape else made_call(as_numpy, (found,))


def bare(node: Node) -> Node:
    """One of Python's numbers as NumPy's."""
    while node.op is as_python:
        node = node.args[0]
    return constant(np.asarray(node.value)[()]) if node.kind == "constant" and is_number(node) else node


def as_argument(x: Array) -> Array:
    """`x` as an argument of a loop."""
    return plain(x) if isinstance(x, Box) else np.asarray(x)[()]


def first_uses(outputs: Sequence[Node]) -> dict[Node, int]:
    """Where each node is first met on a walk from `outputs` through arguments."""
    found, pending = dict[Node, int](), [*outputs][::-1]
    while pending:
        node = pending.pop()
        if node not in found:
            found[node] = len(found)
            pending += node.args[::-1]
    return found
