"""Ranges whose ends depend on the counters of outer loops: ``for j in range(i + 1, n)`` in a turn of ``for i``.

The number of turns of such a loop is computed in each turn of the outer loop. There is room for the largest number of
turns. It is known beforehand, because the outer loops' ranges bound each end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adjoint.core.registry import op_named
from adjoint.core.types import Value
from adjoint.graph.node import Node, constant
from adjoint.graph.python_numbers import as_numpy, as_python, is_number
from adjoint.graph.rewriting.driver import made_call
from adjoint.graph.symbol import LEVEL, Number, Symbol, symbol_of

if TYPE_CHECKING:
    from adjoint.compiler.trace.loops.light import Light

Bounds = tuple[int, int]


class Affine(NamedTuple):
    """A sum of numbers that loops go through, each times a factor, and of one more number."""

    factors: dict[Node, int]
    more: int

    def plus(self, other: Affine, factor: int) -> Affine:
        """``self + factor * other``"""
        factors = dict(self.factors)
        for node, each in other.factors.items():
            factors[node] = factors.get(node, 0) + factor * each
        return Affine({node: each for node, each in factors.items() if each}, self.more + factor * other.more)


class Span:
    """A range of which an end is a number of the program.

    Attributes:
        start, stop: its ends, numbers of Python's or of the program.
        ends: the least and the largest number, in terms of what loops around go through; None where that is not known.
        is_known: whether it is known between which numbers its ends are.
        numbers: what it is in the turn around that is recorded.
        bounds: between which numbers all of its numbers are.
        most: how many these are at most.
        count: how many they are, as a number of the program.
    """

    def __init__(self, light: Light, start: Value, stop: Value, step: int) -> None:
        self.start, self.stop = (light.entered(x) if type(x) is Number else x for x in (start, stop))
        begins, ends_at = (x.value if type(x) is Number else x for x in (start, stop))
        self.numbers = range(begins, ends_at, step)
        sign = 1 if step > 0 else -1
        nodes = [numpys(x.layers[1]) if type(x) is Number else constant(np.int64(x)) for x in (start, stop)]
        ahead = made_call(op_named("subtract"), tuple(nodes[::-sign]))
        ends, lengths = [bounds(light, node) for node in nodes], bounds(light, ahead)
        self.is_known = lengths is not None and None not in ends
        if lengths is None or ends[0] is None or ends[1] is None:
            return
        if abs(step) > 1:
            more = made_call(op_named("add"), (ahead, constant(np.int64(abs(step) - 1))))
            ahead = made_call(op_named("floor_divide"), (more, constant(np.int64(abs(step)))))
        count = made_call(op_named("maximum"), (ahead, constant(np.int64(0))))
        self.count = Symbol.of((np.int64(len(self.numbers)), count), LEVEL)
        self.most = max(0, -(-lengths[1] // abs(step)))
        low, high = (ends[0][0], ends[1][1] - 1) if step > 0 else (ends[1][0] + 1, ends[0][1])
        self.bounds = low, max(low, high)
        begin, end = affine(light, nodes[0]), affine(light, nodes[1])
        last = None if end is None else end._replace(more=end.more - sign)
        self.ends = (begin, last) if step > 0 else (last, begin)

    def each(self) -> Iterator[Value]:
        """Its numbers; the first is `start`."""
        for k, x in enumerate(self.numbers):
            yield symbol_of(x, constant(x)) if k or type(self.start) is int else self.start

    def example(self) -> Symbol:
        """A number within the bounds, for a turn that does not take place."""
        x = min(max(self.numbers.start, self.bounds[0]), self.bounds[1])
        return symbol_of(x, constant(x))


def span_of(light: Light | None, args: tuple[Value, ...]) -> Span | None:
    """``range(*args)``, if that is a range whose ends depend on the loops around."""
    if light is None or not 0 < len(args) < 4 or not any(type(x) is Number for x in args):
        return None
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    if type(step) is not int or not step:
        return None
    if any(type(x.value if type(x) is Number else x) is not int for x in (start, stop)):
        return None
    if any(type(x) is Number and bounds(light, x.layers[1]) is None for x in (start, stop)):
        return None
    found = Span(light, start, stop, step)
    return found if found.is_known and found.most else None


def bounds(light: Light | None, node: Node) -> Bounds | None:
    """Between which numbers a whole number is, if that is known from the ranges that loops go through."""
    terms, around = affine(light, node), light
    if terms is None:
        return _by_parts(light, node)
    low = high = terms
    while around is not None:
        counter = around.counter_node
        if counter is not None:
            low, high = _without(low, counter, around, False), _without(high, counter, around, True)
        around = around.outer
    if low.factors or high.factors:
        return None
    return low.more, max(low.more, high.more)


def _without(terms: Affine, counter: Node, light: Light, most: bool) -> Affine:
    """A bound of `terms` without the loop's counter: from below, or (`most`) from above."""
    factor = terms.factors.get(counter, 0)
    if not factor:
        return terms
    end = light.counter_ends[most == (factor > 0)]
    if end is None:
        end = Affine({}, light.counter_bounds[most == (factor > 0)])
    rest = Affine({node: each for node, each in terms.factors.items() if node is not counter}, terms.more)
    return rest.plus(end, factor)


def affine(light: Light | None, node: Node) -> Affine | None:
    """A whole number as a sum of those that loops go through, if it is one."""
    around = light
    while around is not None:
        if node is around.counter_node:
            return Affine({node: 1}, 0)
        around = around.outer
    if node.kind == "constant" and not node.args:
        is_whole = np.ndim(node.value) == 0 and np.asarray(node.value).dtype.kind in "iu"
        return Affine({}, int(node.value)) if is_whole else None
    name = node.op.name if node.op is not None else ""
    if node.op is as_python or name == "as_numpy":
        return affine(light, node.args[0])
    if name not in ("add", "subtract", "multiply", "negative") or node.dtype != np.int64:  # narrower ones wrap round
        return None
    found = [affine(light, arg) for arg in node.args]
    a, b = found[0], found[-1]
    if a is None or b is None:
        return None
    if name == "negative":
        return Affine({}, 0).plus(a, -1)
    if name != "multiply":
        return a.plus(b, 1 if name == "add" else -1)
    if a.factors and b.factors:
        return None
    return Affine({}, 0).plus(a, b.more) if a.factors else Affine({}, 0).plus(b, a.more)


def _by_parts(light: Light | None, node: Node) -> Bounds | None:
    name = node.op.name if node.op is not None else ""
    if node.op is as_python or name == "as_numpy":
        return bounds(light, node.args[0])
    if name not in ("add", "subtract", "multiply", "remainder", "floor_divide", "negative") or node.dtype != np.int64:
        return None
    found = [bounds(light, arg) for arg in node.args]
    if name == "remainder" and found[1] is not None and found[1][0] == found[1][1] > 0:
        return 0, found[1][0] - 1
    if any(each is None for each in found):
        return None
    return _combined(name, [each for each in found if each is not None])


def _combined(name: str, found: list[Bounds]) -> Bounds | None:
    a, b = found[0]
    if name == "negative":
        return -b, -a
    c, d = found[1]
    if name == "add":
        return a + c, b + d
    if name == "subtract":
        return a - d, b - c
    if name == "multiply":
        ends = [a * c, a * d, b * c, b * d]
        return min(ends), max(ends)
    if name == "floor_divide" and c == d > 0:
        return a // c, b // c
    return None


def numpys(node: Node) -> Node:
    """One of Python's numbers as NumPy's."""
    if not is_number(node):
        return node
    if node.kind == "constant" and not node.args:
        return constant(np.asarray(node.value)[()])
    return made_call(as_numpy, (node,))
