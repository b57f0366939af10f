"""Elements that the turns of a loop read and write at places that they compute: ``d[i, j] = d[i - 1, j] + c``.

An array whose elements are written by turns is carried, as the values of names are. A stand-in replaces it in each
turn. After the loop the final elements are written into the array, so whatever else refers to it sees them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adjoint.compiler.trace.loops.numbers.spans import Bounds, bounds, numpys
from adjoint.core.registry import op_named
from adjoint.core.types import Array, Value
from adjoint.graph.captures.record import Guard
from adjoint.graph.loops import elements
from adjoint.graph.node import Node, call, constant
from adjoint.graph.python_numbers import as_numpy, as_python
from adjoint.graph.rewriting.driver import converted, made_call
from adjoint.graph.symbol import LEVEL, Number, Symbol, symbol_of
from adjoint.tape.observers.lines import users_place
from adjoint.tape.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.compiler.trace.loops.light import Light


class Held(NamedTuple):
    """An array that turns write by elements, and what stands for it in a turn."""

    array: Value
    stand_in: Symbol


def symbol_under(x: object) -> Symbol | None:
    """The symbol of a tensor's values."""
    while isinstance(x, Tensor):
        x = x.held
    return x if isinstance(x, Symbol) else None


def is_plain(x: object) -> bool:
    """Whether the elements of an array, which is no view of another one, lie in C order, and can be written."""
    symbol = symbol_under(x)
    if symbol is None or symbol.path or symbol._base is not None:
        return False
    value = symbol.value
    return isinstance(value, np.ndarray) and bool(value.shape) and value.flags.c_contiguous and value.flags.writeable


def is_whole(part: Value) -> bool:
    """Whether a part of an index is a whole number, of Python's or NumPy's: of the program, or known."""
    if type(part) is Symbol:
        return isinstance(part.value, np.signedinteger)
    return type(part) is int or (type(part) is Number and type(part.value) is int)


class TurnElements:
    """The places of elements within the turns of a loop, and the questions whether they are inside."""

    def __init__(self, light: Light) -> None:
        self.light = light
        self.asked: set[Node] = set()  # the questions, which have no other answer that code could go on with

    def of(self, shape: tuple[int, ...], key: Value, always: bool) -> tuple[Node, int] | None:
        """The place that `key` names, as a node and as a number; None if it names no element by a computed number.

        If `always`, a key of known numbers counts, too.
        """
        parts = key if type(key) is tuple else (key,)
        if len(parts) != len(shape) or not all(map(is_whole, parts)):
            return None
        kinds = (Number, Symbol) if self.light.writes else (Number,)
        if not always and not any(type(part) in kinds for part in parts):
            return None
        numbers = [part if type(part) is int else int(part.value) for part in parts]
        if not all(-length <= number < length for number, length in zip(numbers, shape, strict=True)):
            return None  # as NumPy says
        total: Node | None = None
        fixed = place = 0
        for part, number, length in zip(parts, numbers, shape, strict=True):
            fixed, place = fixed * length, place * length + number % length
            total = None if total is None else made_call(op_named("multiply"), (total, constant(np.int64(length))))
            if type(part) is int:
                fixed += part % length
                continue
            node = self._inside(part, length)
            total = node if total is None else made_call(op_named("add"), (total, node))
        known = constant(np.int64(fixed))
        if total is None:
            return known, place
        return (made_call(op_named("add"), (total, known)) if fixed else total), place

    def _inside(self, part: Symbol, length: int) -> Node:
        """A number of an index, counted from the beginning; the program asks what is not known of it."""
        node = part.layers[1]
        low, high = self.bounds(node) or (-(1 << 62), 1 << 62)
        below = part.value < 0
        if low < 0 <= high:
            self._ask("less", node, 0, below)
        if below:
            if low < -length:
                self._ask("greater_equal", node, -length, True)
            return made_call(op_named("add"), (node, constant(np.int64(length))))
        if high >= length:
            self._ask("less", node, length, True)
        return numpys(node)

    def _ask(self, name: str, node: Node, than: int, answer: bool) -> None:
        asked = made_call(op_named(name), (node, constant(np.int64(than))))
        self.asked.add(asked)
        guards = self.light.door.notes.guards
        if not any(guard.node is asked for guard in guards[self.light.guards :]):
            guards.append(Guard(asked, "bool", answer, users_place()))

    def bounds(self, node: Node) -> Bounds | None:
        """Between which numbers a whole number is, if that is known from the ranges that loops go through."""
        return bounds(self.light, node)


def extreme(values: Sequence[Value], least: bool) -> Value:
    """The result of ``min`` or ``max`` of numbers of one kind, without a question; None for others."""
    kinds = {(type(x), np.shape(x.value), x.dtype, type(x.value)) if isinstance(x, Symbol) else None for x in values}
    if len(kinds) > 1 or None in kinds or np.shape(values[0].value) or values[0].dtype.kind not in "iuf":
        return None
    best, node = values[0], values[0].layers[1]
    for x in values[1:]:
        is_better = made_call(op_named("less" if least else "greater"), (x.layers[1], node))
        node = made_call(op_named("choose_either"), (is_better, x.layers[1], node))
        best = x if (x.value < best.value if least else x.value > best.value) else best
    kind = as_python if type(best) is Number else as_numpy
    return symbol_of(best.value, call(kind, (node,), {}, (), node.dtype))


def element(x: Array, at: tuple[Node, int]) -> Value:
    """The stand-in of an element of `x`."""
    value, node = (x.value, x.layers[1]) if isinstance(x, Symbol) else (x, constant(x))
    node, place = elements.read(node, at[0]), at[1]
    return Symbol.of((value.reshape(-1)[place], node), LEVEL)


def write(x: Symbol, at: tuple[Node, int], value: Value) -> None:
    """Write an element of `x`."""
    new = np.array(x.value)
    if isinstance(value, Symbol):
        new.reshape(-1)[at[1]], node = value.value, converted(numpys(value.layers[1]), new.dtype)
    else:
        new.reshape(-1)[at[1]] = value
        node = constant(new.reshape(-1)[at[1]])
    x._layers = new, elements.write(x.layers[1], at[0], node)


def is_one(x: Symbol, value: Value) -> bool:
    """Whether `value` is one number that `x` takes as it is, or in another precision."""
    if isinstance(value, Symbol):
        if np.shape(value.value):
            return False
        value = value.value
    if not isinstance(value, np.generic | int | float):
        return False
    return bool(np.can_cast(np.result_type(value), x.dtype, "same_kind"))
