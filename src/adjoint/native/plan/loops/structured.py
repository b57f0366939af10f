"""Loops that read and write single elements at places that are computed: one function with loops within loops.

Numbers are values in registers. Arrays lie in memory. An array is written in place if nothing reads its earlier
contents; else a copy of it. A turn reads an array before it writes to it, and a turn that is skipped writes nothing.
"""

from __future__ import annotations

import heapq
import math

from adjoint.core.types import Array
from adjoint.graph.loops.elements import ADDED, ELEMENTS, WRITTEN, added_in_place, uses_elements
from adjoint.graph.loops.loop import Loop
from adjoint.graph.node import Node, in_order
from adjoint.graph.rewriting.rules import EXACT
from adjoint.native.codegen.llvm_text import key_of
from adjoint.native.lower.table import STORED
from adjoint.native.plan.layout.views import plain, through
from adjoint.native.plan.loops.body import KindOf, Native, is_loop, refusal
from adjoint.native.plan.rewriting.decompose import primitive
from adjoint.native.plan.rewriting.extremes import PLACES

MOST = 4000  # operations of a loop, with those of the loops in it


def prepared(loop: Loop, kind_of: KindOf) -> str:
    """Why a loop that reads or writes elements has no native code; empty, if it has."""
    if loop.native is None:
        simple = loop.body.rewritten(EXACT)
        outputs = primitive(added_in_place(simple.outputs))
        nodes = [node for node in in_order(outputs) if node.kind in ("call", "part")]
        loop.native = Native(loop.body.inputs, outputs, nodes, {node: _kind(node, kind_of) for node in nodes})
        loop.native = _refusal(loop, kind_of) or loop.native
    return loop.native if isinstance(loop.native, str) else ""


def _kind(node: Node, kind_of: KindOf) -> str:
    return "element" if node.op in ELEMENTS else kind_of(node)[0]


def _refusal(loop: Loop, kind_of: KindOf) -> str:
    found = loop.native
    assert isinstance(found, Native), found
    if loop.buffers:
        return "it writes windows of arrays, and elements"
    if _size(found) > MOST:
        return "it has many operations"
    for node in (*found.inputs, *found.outputs, *found.nodes):
        several = isinstance(node.shape, tuple) and node.shape and isinstance(node.shape[0], tuple)
        if not several and (node.shape is None or 0 in node.shape or key_of(node.dtype) not in STORED or
                            key_of(node.dtype) == "f2"):  # fmt: skip
            return f"it computes with arrays of {node.dtype} {node.shape}"
    for node in found.nodes:
        kind = found.kinds[node]
        if kind == "loop":
            inner: Loop = node.settings["loop"]
            why = prepared(inner, kind_of) if uses_elements(in_order(inner.body.outputs)) else refusal(inner, kind_of)
            if why or (why := _refusal(inner, kind_of)):
                return why
            if inner.native.held is not None:
                return "a loop in a turn reads at places that are computed"
        elif kind == "view":
            view = through(node, plain(node.args[0]))
            if view is None or not (view.is_contiguous or not node.shape):
                return "a turn reads a part of an array that it writes by elements"
        elif kind == "elementwise":
            if any(arg.shape != node.shape and math.prod(arg.shape) > 1 for arg in node.args):
                return "a turn repeats an array along axes, and writes elements"
        elif kind not in ("element", "result", "identity") and not (kind == "reduce" and _gives_one(node)):
            return f"a turn that writes elements computes {node.label}"
    try:
        Order(loop, found)
    except _TwistedError as error:
        return str(error)
    return ""


def _gives_one(node: Node) -> bool:
    """Whether a reduction takes all elements of an array together."""
    return is_array(node.args[0]) and math.prod(node.shape) == 1 and node.op not in PLACES


def _size(found: Native) -> int:
    inner = [node.settings["loop"].native for node in found.nodes if is_loop(node)]
    return len(found.nodes) + sum(_size(each) for each in inner if isinstance(each, Native))


class _TwistedError(Exception):
    """An array would have to be as it was, and written already."""


class Order:
    """The steps of a turn, in an order in which each array is read before it is written.

    Attributes:
        steps: nodes; or the number of an output, which is put into its stack.
        before: how many of these decide whether the turn takes place.
        in_place: the nodes that write into the array that they are given.
        copying: those that write into a copy.
    """

    def __init__(self, loop: Loop, found: Native) -> None:
        self.found = found
        self.owned = set(found.inputs[: loop.carried])
        self.copying: set[Node] = set()
        while wrong := self._ordered(loop):
            self.copying |= wrong

    def _ordered(self, loop: Loop) -> set[Node]:
        """Put the steps in order. Returns those that may not write in place: then there is no order yet.

        They would write what other steps have to read as it was, or what a turn that does not take place leaves as it
        is.
        """
        found, outputs, a = self.found, self.found.outputs, loop.carried
        writers: dict[Node, list[Node]] = {}
        readers: dict[Node, list[Array]] = {}
        self.in_place: set[tuple[Node, int]] = set()
        base = self._bases()
        for node in found.nodes:
            for k, arg in enumerate(node.args):
                if arg.shape and is_array(arg):
                    if _writes(node, k):
                        writers.setdefault(base[arg], []).append(node)
                    else:
                        readers.setdefault(base[arg], []).append(node)
        kept = {base[node] for node in outputs[:a] if is_array(node)}
        rows = [k for k in range(a, a + loop.stacks) if is_array(outputs[k])]
        for k in rows:
            readers.setdefault(base[outputs[k]], []).append(k)
        after: dict[Array, set[Array]] = {step: set() for step in (*found.nodes, *rows)}
        for node in found.nodes:
            after[node] |= {arg for arg in node.args if arg in after}
        for k in rows:
            after[k] |= {outputs[k]} & after.keys()
        for array, each in writers.items():
            own = array in found.inputs[:a] or found.kinds.get(array) in ("element", "result", "elementwise")
            last = each[-1]
            if not own or array in kept or array.kind == "constant" or last in self.copying:
                continue
            if _times(last, array, base) > 1:
                continue
            self.in_place |= {(last, k) for k, arg in enumerate(last.args)
                              if is_array(arg) and base[arg] is array and _writes(last, k)}  # fmt: skip
            after[last] |= {step for step in (*readers.get(array, ()), *each[:-1]) if step is not last}
            if any(step is last for step in readers.get(array, ())):  # a loop, which reads it besides
                return {last}
        self.steps = self._sorted(after, outputs[-1] if loop.asks else None)
        if len(self.steps) < len(after):
            stuck = {node for node, _ in self.in_place}.difference(self.steps)
            if not stuck:
                raise _TwistedError("a turn uses an array as it was before it wrote there")
            return {max(stuck, key=lambda node: node.number)}
        first = self.steps[: self.before]
        early = {node for node in first if isinstance(node, Node) for k, arg in enumerate(node.args)
                 if (node, k) in self.in_place and self._root(base[arg]) in self.owned}  # fmt: skip
        if not early and any(isinstance(node, int) for node in first):
            raise _TwistedError("whether a turn takes place depends on what it keeps")
        return early

    def _bases(self) -> dict[Node, Node]:
        """For each array the one whose memory it shows."""
        base: dict[Node, Node] = {}
        for node in (*self.found.inputs, *self.found.outputs, *self.found.nodes):
            for each in (*node.args, node):
                base.setdefault(each, each)
        for node in self.found.nodes:
            if self.found.kinds[node] in ("view", "identity") and node.shape:
                base[node] = base[node.args[0]]
        return base

    def _root(self, node: Node) -> Node:
        """The array in whose memory `node` lies."""
        while node.args:
            if node.op in (WRITTEN, ADDED) and (node, 0) in self.in_place:
                node = node.args[0]
            elif node.op is None and (node.args[0], int(node.value)) in self.in_place:
                node = node.args[0].args[int(node.value)]
            else:
                break
        return node

    def _sorted(self, after: dict[Array, set[Array]], flag: Node | None) -> list[Array]:
        first, pending = set[Array](), [flag] if flag in after else []
        while pending:
            step = pending.pop()
            if step not in first:
                first.add(step)
                pending += after[step]
        users: dict[Array, list[Array]] = {}
        for step, others in after.items():
            for other in others:
                users.setdefault(other, []).append(step)
        left = {step: len(others) for step, others in after.items()}

        def key(step: Array) -> tuple[bool, int, int]:
            return step not in first, isinstance(step, Node), step.number if isinstance(step, Node) else step

        ready = [(key(step), step) for step, count in left.items() if not count]
        heapq.heapify(ready)
        found = []
        while ready:
            _, step = heapq.heappop(ready)
            found.append(step)
            for user in users.get(step, ()):
                left[user] -= 1
                if not left[user]:
                    heapq.heappush(ready, (key(user), user))
        self.before = sum(step in first for step in found)
        return found


def is_array(node: Node) -> bool:
    return bool(node.shape) and not isinstance(node.shape[0], tuple)


def _writes(node: Node, k: int) -> bool:
    """Whether `node` gives its argument `k` with other elements."""
    if node.op in (WRITTEN, ADDED):
        return k == 0
    return is_loop(node) and k < node.settings["loop"].carried


def _times(node: Node, array: Node, base: dict[Node, Node]) -> int:
    return sum(is_array(arg) and base[arg] is array for arg in node.args)


def by_turn(user: Node, i: int) -> bool:
    """Whether a loop reads an argument turn by turn."""
    if not is_loop(user):
        return False
    loop: Loop = user.settings["loop"]
    return loop.carried <= i < loop.carried + len(loop.slices)
