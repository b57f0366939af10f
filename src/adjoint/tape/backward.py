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

from adjoint.core.box import Box
from adjoint.core.cotangents import Lazy
from adjoint.core.errors import GraphFreedError, RuleError
from adjoint.core.pulls import Pull, fit
from adjoint.tape import writes
from adjoint.tape.hooks import Packed, unpacked
from adjoint.tape.modes import recording_floor
from adjoint.tape.node import Node, next_order
from adjoint.tape.selected import Run, Selected, has_nan, recorded, selecting
from adjoint.tape.watch import check

# With so many elements, memory costs more than a cotangent's knowing where it was taken.
LARGE = 1 << 17

Rebox = Callable[[Node, tuple[Any, ...]], tuple[Any, ...]]


class Resumed(NamedTuple):
    """What a pullback gives that has just recorded the graph it stands for: nodes of that, and their cotangents."""

    nodes: tuple[Node, ...]
    cotangents: Sequence[Any]


class Way(NamedTuple):
    """What runs the rules, for a pass that is itself recorded, and the observers that are put around it."""

    rule: Run | None
    observers: Sequence[Callable[[Run], Run]]

    def refuses_nan(self) -> bool:
        """Whether an observer would raise at nan, also at one that the pass gets rid of."""
        return any(getattr(around.__self__, "refuses_nan", False) for around in self.observers)  # type: ignore[attr-defined]  # a method

    def whole(self) -> Run | None:
        """Both; None if the pass simply calls the rules."""
        run = self.rule
        for around in self.observers:
            run = around(run or _simply)
        return run


_SIMPLE = Way(None, ())


class Notes:
    """What a pass notes from its first selection on, in order to go again from there if it ends in nan.

    Attributes:
        start: the cotangents that waited then, the leaves' too; None if the pass need not go again.
        plain: whether the cotangents do not know where they were taken, as in a first attempt.
        left: nodes to be freed in the end; None if they are freed as the pass goes.
        mark: nodes with orders below were made later, and will be made again.
    """

    plain = False
    mark = 0
    start: dict[Node, Any] | None = None
    left: list[Node] | None = None

    def begin(
        self, node: Node, g: Any, waiting: dict[Node, Any], owned: set[Node], way: Way, values: Sequence[Any]
    ) -> Run | None:
        """A selection is met, which has cotangent `g`, while others wait. Gives what runs the rules from now on.

        `values` are those with which the pass began.
        """
        if (way.observers and way.refuses_nan()) or is_large(g) or any(map(is_large, node.saved)):
            return selecting(way.rule or _simply, way.observers, True)
        self.start, self.mark, self.left = {**waiting, node: g}, next_order(), []
        owned.clear()  # nothing is added to these in place any more
        if way.rule is not None or any(map(recorded, values)):
            return selecting(way.rule or _simply, way.observers, False)
        self.plain = True
        return way.whole() if way.observers else way.rule

    def stops_at_hooks(self) -> bool:
        """Whether a pass that comes to hooks, which are called once, is to go again first; if not, it never will."""
        if not self.plain:
            self.start = None
        return self.plain


def backward(
    cotangents: dict[Node, Any], *, retain_graph: bool = True, rebox: Rebox | None = None, results: Sequence[Any] = ()
) -> dict[Node, Any]:
    """Carry `cotangents` to the leaves; give each leaf that was met its own.

    A selection (`numpy.where`, an index …) leaves zeros in cotangents, and 0 times an infinite partial derivative is
    nan. Rules are linear, so a pass without nan in the end was right. If there is, the pass goes again from the first
    selection on, with cotangents that know where they were taken: see `adjoint.tape.selected`. A pass that is
    recorded computes with these at once, because a later pass, or call, will meet its zeros. So does one with large
    arrays, for which it would be dear to keep what is no longer needed.

    Args:
        cotangents: of the results to start from, by node; each of its result's shape and dtype.
        retain_graph: False frees what each node saved as soon as its rule has run, or at the end, after a selection.
        rebox: gives a node's saved values as tensors, so that the pass itself is recorded (``create_graph``).
        results: where the pass starts. If these are made of tensors or symbols, it is recorded as well.
    """
    way = _way_of_running(rebox)
    notes = Notes()
    found, owned = _passed(cotangents, retain_graph, way, notes, results)
    if notes.start is None:
        return {leaf: _finished(g, leaf, leaf in owned) for leaf, g in found.items()}
    if found is None or has_nan(found.values()):
        again = Way(selecting(way.rule or _simply, way.observers, True), ())
        found, owned = _passed(notes.start, retain_graph, again)
    for node in notes.left or ():
        node.pull, node.parents, node.saved = freed, (), ()  # type: ignore[assignment]  # a Pull
    return {leaf: _finished(g, leaf, leaf in owned) for leaf, g in found.items()}


def _passed(
    cotangents: dict[Node, Any], retain_graph: bool, way: Way, notes: Notes | None = None, results: Sequence[Any] = ()
) -> tuple[Any, set[Node]]:
    """One pass: the leaves' cotangents, and those of them that are buffers of the pass.

    Without `notes`, it goes its way through selections as well. It gives None where it is to go again at once.
    """
    run = way.whole()
    waiting, owned = dict(cotangents), set[Node]()
    heap = sorted((node.order, node) for node in waiting if node.pull is not None)
    last_write, past, seeks, left, mark = writes.latest(), writes.Past(), notes is not None, None, 0
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
            if seeks and pull.selects:
                below = [x.held for x in results if isinstance(x, Box)]
                run, seeks = notes.begin(node, g, waiting, owned, way, [*below, *cotangents.values()]), False  # type: ignore[union-attr]  # `seeks`
                left, mark = None if retain_graph else notes.left, notes.mark  # type: ignore[union-attr]  # as above
            if pull.alert:
                if pull.hooks is not None and notes is not None and notes.stops_at_hooks():
                    return None, owned
                g, saved = _prepared(node, pull, g, saved, node in owned, past)
        shares = pull(g, saved) if run is None else run(node, pull, g, saved)
        if not retain_graph:
            if left is None or node.order < mark:
                node.pull, node.parents, node.saved = freed, (), ()  # type: ignore[assignment]  # a Pull
            else:
                left.append(node)
                if type(g) is ndarray and g.size > LARGE and notes.plain:  # type: ignore[union-attr]  # `left` is the notes'
                    return None, owned
        node = None
        if len(parents) == 1 and pull.straight and shares[0] is not None and parents[0].pull is not None:
            if not heap or parents[0].order < heap[0][0]:  # it would come off the heap at once
                (node,), (g,) = parents, shares
                continue
        if pull.special and type(shares) is Resumed:
            (parents, shares), last_write, past = shares, writes.latest(), writes.Past()  # it may reuse memory
        for parent, c in zip(parents, shares):  # noqa: B905 - one share a parent; strict= costs 5 % here
            if parent in waiting:
                if parent in owned and type(total := waiting[parent]) is ndarray and type(c) is ndarray:
                    total += c
                else:
                    waiting[parent] = _added(
                        waiting[parent], c, parent, owned, pull.special and pull.consumes and c is g
                    )
            elif c is not None:
                waiting[parent] = c
                if parent.pull is not None:
                    heappush(heap, (parent.order, parent))
                else:
                    _refuse_another_shape(c, parent, pull)
                if (parent.pull is None and pull.fresh and is_own(c, g)) or (pull.special and pull.consumes and c is g):
                    owned.add(parent)
    return waiting, owned


def _refuse_another_shape(c: Any, leaf: Any, pull: Pull) -> None:
    """Raise unless the cotangent `c` that a rule gave for a leaf has its shape."""
    if c.shape != leaf.shape:
        raise RuleError(
            f"a rule of {pull.op.name} gave a cotangent of shape {c.shape} for a value of shape {leaf.shape}; a "
            f"cotangent has its value's shape"
        )


def is_large(x: Any) -> bool:
    """Whether the memory of `x` costs more than a cotangent's knowing where it was taken."""
    return type(x) is ndarray and x.size > LARGE


def _way_of_running(rebox: Rebox | None) -> Way:
    if rebox is None and type(recording_floor.raw()) is int:
        return _SIMPLE
    run: Run | None = None
    if rebox is not None:

        def run(node: Node, pull: Pull, g: Any, saved: tuple[Any, ...]) -> Sequence[Any]:
            return pull(g, rebox(node, saved))

    observers = recording_floor.observers().values()
    return Way(run, [observer.around for observer in observers if hasattr(observer, "around")])


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
    if type(g) is Selected:
        g, owned = g.value, False
    if g.dtype != leaf.dtype:
        g, owned = fit(g, leaf.shape, leaf.dtype), False
    if isinstance(g, np.ndarray | np.generic) and not owned:
        g = np.array(g)
    return leaf.saved[0](g) if leaf.saved else g


def freed(*_: Any) -> Sequence[Any]:
    """Stands where the rule of a node was whose saved values are gone."""
    raise GraphFreedError(
        "this graph was freed by an earlier backward pass or by clear_graph(). To go through it twice, keep "
        "it: loss.backward(retain_graph=True); else compute the loss again"
    )


# A Pull is a function with facts attached.
freed.names, freed.special, freed.straight = (), False, False  # type: ignore[attr-defined]  # as above


def walk(root: Node) -> list[Node]:
    """All nodes that lead to `root`, latest first."""
    seen, stack = {root}, [root]
    while stack:
        for parent in stack.pop().parents:
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(seen, key=lambda node: node.order)
