"""Which nodes of a graph may meet an infinity in the backward pass, where a zero that a selection left becomes nan."""

from __future__ import annotations

import math
from collections.abc import Iterable

from adjoint.tape.node import Node
from adjoint.tape.selected import is_finite, numbers


def oldest_hazard(nodes: Iterable[Node], last_write: float) -> float:
    """The order of the oldest node, among `nodes` and all that lead to them, whose partial derivatives may be infinite.

    They are finite by a finite rule whose saved values are. What was saved before `last_write` may have been other
    values. If there is no such node, the result is below every order.
    """
    found, seen = -math.inf, set(nodes)
    stack = list(seen)
    while stack:
        node = stack.pop()
        if node.pullback is None:
            continue
        if node.order > found and not _is_safe(node, last_write):
            found = node.order
        for parent in node.parents:
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return found


def _is_safe(node: Node, last_write: float) -> bool:
    pullback, saved = node.pullback, node.saved
    return (
        pullback is not None
        and pullback.finite
        and pullback.hooks is None
        and type(saved) is tuple
        and node.order < last_write
        and all(map(is_finite, numbers(saved)))
    )
