"""The backward pass.

Nodes are numbered as they are made, so an operation's number is above those of everything that it used.
The pass holds the cotangents that are waiting, and always takes the node with the highest number. By then
every later use of that value, if it leads to the result at all, has added its share. So each rule runs
once, on the whole cotangent, and what does not lead to the result is never met. Leaves wait to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from adjoint.core.cotangents import Lazy
from adjoint.core.errors import GraphFreedError
from adjoint.core.pulls import Pull, fit
from adjoint.tape import writes
from adjoint.tape.hooks import Packed, unpacked
from adjoint.tape.modes import recording_floor
from adjoint.tape.node import Node
from adjoint.tape.watch import check

# Runs the rule of a node on a cotangent and saved values.
Run = Callable[[Node, Pull, Any, tuple[Any, ...]], Sequence[Any]]


class Resumed(NamedTuple):
    """What a pullback gives that has just recorded the graph it stands for: nodes of that, and their cotangents."""

    nodes: tuple[Node, ...]
    cotangents: Sequence[Any]


def backward(
    cotangents: dict[Node, Any],
    *,
    retain_graph: bool = True,
    rebox: Callable[[Node, tuple[Any, ...]], tuple[Any, ...]] | None = None,
) -> dict[Node, Any]:
    """Carry `cotangents` to the leaves; give each leaf that was met its own.

    Args:
        cotangents: of the results to start from, by node; each of its result's shape and dtype.
        retain_graph: False frees what each node saved as soon as its rule has run.
        rebox: gives a node's saved values as tensors, so that the pass itself is recorded (``create_graph``).
    """
    waiting, owned = dict(cotangents), set[Node]()
    heap = sorted((node.order, node) for node in waiting if node.pull is not None)
    last_write, past, run = writes.latest(), writes.Past(), _way_of_running(rebox)
    node: Node | None = None
    while heap or node is not None:
        if node is None:
            node = heappop(heap)[1]
            g = waiting.pop(node)
        if type(g) is not ndarray and isinstance(g, Lazy):
            g = g.dense()
            owned.add(node)
        pull: Any = node.pull
        saved, parents = node.saved if node.order < last_write else past.saved(node), node.parents
        if pull.special:
            g, saved = _prepared(node, pull, g, saved, node in owned, past)
        shares = pull(g, saved) if run is None else run(node, pull, g, saved)
        if not retain_graph:
            node.pull, node.parents, node.saved = freed, (), ()  # type: ignore[assignment]  # a Pull
        node = None
        if len(parents) == 1 and not pull.special and shares[0] is not None and parents[0].pull is not None:
            if not heap or parents[0].order < heap[0][0]:  # it would come off the heap at once
                (node,), (g,) = parents, shares
                continue
        if pull.special and type(shares) is Resumed:
            (parents, shares), last_write, past = shares, writes.latest(), writes.Past()  # it may reuse memory
        for parent, c in zip(parents, shares):  # noqa: B905 - one share a parent; strict= costs 5 % here
            if parent in waiting:
                total = waiting[parent]
                if parent in owned and type(total) is ndarray and type(c) is ndarray:
                    total += c
                else:
                    waiting[parent] = _added(total, c, parent, owned, pull.special and c is g)
            elif c is not None:
                waiting[parent] = c
                if parent.pull is not None:
                    heappush(heap, (parent.order, parent))
                if (parent.pull is None and pull.fresh and is_own(c, g)) or (pull.special and pull.consumes and c is g):
                    owned.add(parent)
    return {leaf: _finished(g, leaf, leaf in owned) for leaf, g in waiting.items()}


def _way_of_running(rebox: Callable[[Node, tuple[Any, ...]], tuple[Any, ...]] | None) -> Run | None:
    """What runs the rules: for a pass that is itself recorded, or observed; None if the pass simply calls them."""
    if rebox is None and type(recording_floor.raw()) is int:
        return None
    run: Run | None = None
    if rebox is not None:

        def run(node: Node, pull: Pull, g: Any, saved: tuple[Any, ...]) -> Sequence[Any]:
            return pull(g, rebox(node, saved))

    for observer in recording_floor.observers().values():
        around: Callable[[Run], Run] | None = getattr(observer, "around", None)
        if around is not None:
            run = around(run or _simply)
    return run


def _simply(node: Node, pull: Pull, g: Any, saved: tuple[Any, ...]) -> Sequence[Any]:
    return pull(g, saved)


def _prepared(
    node: Node, pull: Pull, g: Any, saved: tuple[Any, ...], owned: bool, past: writes.Past
) -> tuple[Any, tuple[Any, ...]]:
    """Cotangent and saved values of a rule that writes into the one, or whose others were packed or may be written."""
    if pull.watched:
        if type(node.saved) is Packed:
            saved = past.saved(node, unpacked(node))
        check(node, saved)
    return np.array(g) if pull.consumes and type(g) is ndarray and not owned else g, saved


def is_own(c: Any, g: Any) -> bool:
    """Whether a rule made `c` anew, so that it may be added to in place."""
    return type(c) is ndarray and c is not g and c.base is None


def _added(total: Any, c: Any, node: Node, owned: set[Node], consumed: bool) -> Any:
    """`total` + `c`: in place where `total` is a buffer that this pass made, and belongs to nobody else.

    `consumed`: `c` is such a buffer, which a rule wrote into and handed on.
    """
    if c is None:
        return total
    if isinstance(total, Lazy):
        total, c = (c, total) if consumed else (total.dense(), c)
        owned.add(node)
    if isinstance(c, Lazy):
        if node in owned and isinstance(total, np.ndarray | list):
            return c.add_to(total)
        c = c.dense()
    elif node in owned and type(total) is ndarray and type(c) is ndarray:
        total += c
        return total
    total = total + c
    owned.add(node)
    return total


def _finished(g: Any, leaf: Any, owned: bool) -> Any:
    """A leaf's cotangent in its own shape and dtype, in memory that nothing else refers to; through its hooks."""
    if isinstance(g, Lazy):
        g, owned = g.dense(), True
    if g.shape != leaf.shape or g.dtype != leaf.dtype:
        g = fit(g, leaf.shape, leaf.dtype)
        owned = False
    if isinstance(g, np.ndarray | np.generic) and not owned:
        g = np.array(g)
    return leaf.saved[0](g) if leaf.saved else g


def freed(*_: Any) -> Sequence[Any]:
    """Stands where the rule of a node was whose saved values are gone."""
    raise GraphFreedError(
        "this graph was freed by an earlier backward pass or by clear_graph(). To go through it twice, keep "
        "it: loss.backward(retain_graph=True); else compute the loss again"
    )


freed.names, freed.special = (), False  # type: ignore[attr-defined]  # a Pull is a function with facts attached


def walk(root: Node) -> list[Node]:
    """All nodes that lead to `root`, latest first."""
    seen, stack = {root}, [root]
    while stack:
        for parent in stack.pop().parents:
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(seen, key=lambda node: node.order)
