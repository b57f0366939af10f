"""A backward pass that ends where a part of the graph began."""

from __future__ import annotations

from heapq import heappop, heappush

from adjoint.core.rules.cotangents import Lazy
from adjoint.core.types import Array
from adjoint.tape.backward import Resumed, _prepared
from adjoint.tape.node import TapeNode
from adjoint.tape.writes import mutations


def edge(node: TapeNode, g: Array, since: int) -> dict[TapeNode, Array]:
    """The cotangents of the nodes older than the number `since` on which `node` hangs; those on the way go.

    Args:
        node: of a result.
        g: its cotangent.
        since: `next_order()` before the part of the graph was recorded.
    """
    waiting, heap, found = {node: g}, [(node.order, node)], {}
    last_write, log = mutations.latest(), mutations.MutationLog()
    while heap:
        node = heappop(heap)[1]
        g, pullback = waiting.pop(node), node.pullback
        g = g.dense() if isinstance(g, Lazy) else g
        if pullback is None or node.order > since:
            found[node] = g
            continue
        saved, parents = node.saved if node.order < last_write else log.saved(node), node.parents
        if pullback.special:
            g, saved = _prepared(node, pullback, g, saved, False, log)
        shares = pullback.run(g, saved)
        if type(shares) is Resumed:
            parents, shares = shares
        for parent, c in zip(parents, shares, strict=True):
            if c is None:
                continue
            c = c.dense() if isinstance(c, Lazy) else c
            if parent in waiting:
                waiting[parent] = waiting[parent] + c
            else:
                waiting[parent] = c
                heappush(heap, (parent.order, parent))
    return found
