"""Elements of arrays at places that a program computes: reading one, writing one, and adding to one.

A place is one whole number, which counts elements in C order. The program checks beforehand whether it is inside the
array. Here a place outside is replaced by the nearest one inside, because turns that are skipped compute their places
too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from adjoint.core.op import Op, Rule
from adjoint.core.registry import op_named
from adjoint.core.types import Array, Value
from adjoint.graph.node import Node, call, constant, in_order
from adjoint.graph.rewriting.driver import made_call, with_args
from adjoint.tape.zeros.selected import bare

WrittenElements = tuple[
    Node, tuple[tuple[Node, Node], ...]
]  # an array before writes, and for each its place and its value

FINITE = frozenset({"finite", "still"})
NOTHING = Rule(0.0)  # a place is a whole number: one that a loop gives may have a history, and no cotangent


def _inside(at: Array, size: int) -> int:
    place = int(at)
    return place if 0 <= place < size else 0 if place < 0 else size - 1


def _read(x: Array, at: Array) -> Value:
    return x.reshape(-1)[_inside(at, x.size)]


def _written(x: Array, at: Array, value: Array) -> np.ndarray:
    found = np.array(x, order="C")
    found.reshape(-1)[_inside(at, x.size)] = value
    return found


def _added(x: Array, at: Array, value: Array) -> np.ndarray:
    found = np.array(x, order="C")
    found.reshape(-1)[_inside(at, x.size)] += value
    return found


def _back_to_all(g: Array, x_shape: tuple[int, ...], at: Array) -> Value:
    return ADDED(np.zeros(x_shape, g.dtype), at, bare(g))


def _without(g: Array, at: Array) -> Value:
    return WRITTEN(bare(g), at, np.zeros((), g.dtype)[()])


def _at(g: Array, at: Array) -> Value:
    return ELEMENT(bare(g), at)


ELEMENT = Op("element", _read, ("x", "at"), (Rule(_back_to_all, ("g", "x_shape", "at")), NOTHING), kind="general",
             flags=FINITE)  # fmt: skip
WRITTEN = Op("with_element", _written, ("x", "at", "value"),
             (Rule(_without, ("g", "at")), NOTHING, Rule(_at, ("g", "at"))), kind="general", flags=FINITE)  # fmt: skip
ADDED = Op("with_added", _added, ("x", "at", "value"), (Rule(1.0), NOTHING, Rule(_at, ("g", "at"))), kind="general",
           flags=FINITE)  # fmt: skip
ELEMENTS = (ELEMENT, WRITTEN, ADDED)


def read(x: Node, at: Node) -> Node:
    """The element of `x` at this place."""
    return call(ELEMENT, (x, at), {}, (), x.dtype)


def write(x: Node, at: Node, value: Node) -> Node:
    """`x` with another element."""
    return call(WRITTEN, (x, at, value), {}, x.shape, x.dtype)


def add(x: Node, at: Node, value: Node) -> Node:
    """`x` with something added to an element."""
    return call(ADDED, (x, at, value), {}, x.shape, x.dtype)


class ElementWrites:
    """The elements that a turn writes one after another, with what is read of them expressed by the array before.

    Attributes:
        done: for each node what stands for it.
    """

    def __init__(self, outputs: Sequence[Node]) -> None:
        self.done: dict[Node, Node] = {}
        self._written: dict[Node, WrittenElements] = {}
        for node in in_order(outputs):
            self.done[node] = self._made(node) if node.args else node

    def of(self, node: Node) -> WrittenElements:
        """The array before the writes, and for each write its place and its value."""
        return self._written.get(node, (self.done.get(node, node), ()))

    def _made(self, node: Node) -> Node:
        if node.op is WRITTEN:
            array, (at, value) = node.args[0], (self.done[arg] for arg in node.args[1:])
            first, earlier = self.of(array)
            if earlier and earlier[-1][0] is at:
                earlier = earlier[:-1]
            self._written[node] = first, (*earlier, (at, value))
            return node
        if node.op is ELEMENT:
            at = self.done[node.args[1]]
            first, earlier = self.of(node.args[0])
            found = read(first, at)
            for place, value in earlier:
                found = either_at(at, place, value, found)
            return found
        args = tuple([self._whole(arg) for arg in node.args])
        return with_args(node, args)

    def _whole(self, node: Node) -> Node:
        return _with(*self.of(node))


def _with(array: Node, writes: Iterable[tuple[Node, Node]]) -> Node:
    for at, value in writes:
        array = write(array, at, value)
    return array


def written_on_paths(paths: Sequence[WrittenElements], taken: Sequence[Node]) -> Node:
    """The array that the first `taken` one of several paths leaves; each path is the array before, and writes."""
    array = paths[0][0]
    if any(first is not array for first, _ in paths):  # a loop in one of them writes into it
        array = _with(*paths[-1])
        for path, this in zip(paths[-2::-1], taken[-2::-1], strict=True):
            array = made_call(op_named("choose_either"), (this, _with(*path), array))
        return array
    places = {tuple(at for at, _ in writes) for _, writes in paths}
    if len(places) == 1:
        for each in zip(*(writes for _, writes in paths), strict=True):
            (at, value), *others = each[::-1]
            for (_, x), this in zip(others, taken[-2::-1], strict=True):
                value = x if x is value else made_call(op_named("choose_either"), (this, x, value))
            array = write(array, at, value)
        return array
    none: Node | None = None  # whether none of the paths before is taken
    for (_, writes), this in zip(paths, taken, strict=True):
        here = this if none is None else made_call(op_named("logical_and"), (none, this))
        for at, value in writes:
            array = write(array, at, made_call(op_named("choose_either"), (here, value, read(array, at))))
        other = made_call(op_named("logical_not"), (this,))
        none = other if none is None else made_call(op_named("logical_and"), (none, other))
    return array


def either_at(at: Node, place: Node, value: Node, other: Node) -> Node:
    """`value` if two places are the same, else `other`."""
    if at is place:
        return value
    if at.kind == place.kind == "constant":
        return value if at.value == place.value else other
    return made_call(op_named("choose_either"), (made_call(op_named("equal"), (at, place)), value, other))


def added_in_place(outputs: Sequence[Node]) -> list[Node]:
    """The same values, where an array of zeros with one element is not made to be added to another array."""
    made: dict[Node, Node] = {}
    for node in in_order(outputs):
        if not node.args:
            continue
        args = tuple([made.get(arg, arg) for arg in node.args])
        made[node] = _added_to(node, args) or with_args(node, args)
    return [made.get(node, node) for node in outputs]


def _added_to(node: Node, args: tuple[Node, ...]) -> Node | None:
    if node.op is None or node.op.name != "add" or not node.shape or any(arg.shape != node.shape for arg in args):
        return None
    for x, other in (args[::-1], args):
        terms = list[tuple[Node, Node]]()
        while x.op is ADDED and x.dtype == node.dtype == other.dtype:
            terms.append((x.args[1], x.args[2]))
            x = x.args[0]
        if terms and x.kind == "constant" and not np.any(x.value):
            for at, value in reversed(terms):
                other = add(other, at, value)
            return other
    return None


def uses_elements(nodes: Iterable[Node]) -> bool:
    """Whether some of these nodes read or write single elements, perhaps within loops."""
    for node in nodes:
        if node.op in ELEMENTS:
            return True
        loop = node.settings.get("loop") if node.op is not None and node.op.name == "loop" else None
        if loop is not None and uses_elements(in_order(loop.body.outputs)):
            return True
    return False


__all__ = ["ADDED", "ELEMENT", "WRITTEN", "ElementWrites", "add", "added_in_place", "constant", "read", "uses_elements"]
