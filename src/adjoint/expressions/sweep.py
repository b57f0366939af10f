"""The reverse sweep over unique nodes: each operation's gradient rule runs once, and writes new nodes."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.core.rules.pullbacks import build
from adjoint.core.types import Value
from adjoint.expressions.functions import TRUTHS
from adjoint.expressions.nodes import ADD, ONE, ZERO, as_number, is_constant, ordered, reduced
from adjoint.expressions.quantity import Quantity
from adjoint.graph.node import Node


def cotangents(output: Node, wanted: Sequence[Node]) -> dict[Node, Node]:
    """The derivative of `output` by each node that lies between it and `wanted`, these included.

    The cost is that of the unique nodes: creation order, backwards, is an order in which every use of a node
    comes before the node itself.
    """
    output = as_number(output)
    nodes = ordered((output,))
    varying = set(wanted)
    for node in nodes:
        if node.op is not None and node.op not in TRUTHS and not varying.isdisjoint(node.args):
            varying.add(node)
    found: dict[Node, Node] = {output: ONE}
    for node in reversed(nodes):
        if node not in varying or node not in found or node.op is None:
            continue
        numbers = [i for i, arg in enumerate(node.args) if arg in varying and _slopes(node, i)]
        if not numbers:
            continue
        pullback: Value = build(node.op, tuple(numbers), False, False)
        args = [arg.value if is_constant(arg) else Quantity(arg) for arg in node.args]
        grads = pullback.run(Quantity(found[node]), pullback.save(args, Quantity(node), node.settings))
        for i, grad in zip(numbers, grads, strict=True):
            arg, share = node.args[i], as_number(grad.node)
            if share is ZERO:
                continue
            found[arg] = reduced(ADD, (share, found[arg])) if arg in found else share
    return {node: found[node] for node in found if node in varying or node is output}


def _slopes(node: Node, i: int) -> bool:
    """Whether the partial derivative by input number `i` is anything but 0 everywhere."""
    assert node.op is not None
    function = node.op.rules[i].function
    return callable(function) or function != 0


def gradient(output: Node, wanted: Sequence[Node]) -> list[Node]:
    """The derivative of `output` by each of `wanted`; 0 where it does not depend on it."""
    found = cotangents(output, wanted)
    return [found.get(node, ZERO) for node in wanted]


def hessian(output: Node, wanted: Sequence[Node]) -> list[Node]:
    """The second derivatives, row by row. Symmetric: each pair is derived once."""
    first = gradient(output, wanted)
    count = len(wanted)
    rows: list[list[Node]] = [[ZERO] * count for _ in range(count)]
    for i, node in enumerate(first):
        for j, second in enumerate(gradient(node, wanted[: i + 1])):
            rows[i][j] = rows[j][i] = second
    return [node for row in rows for node in row]
