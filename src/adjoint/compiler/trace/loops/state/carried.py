"""Values carried from turn to turn: arrays in lists, tuples and dictionaries, and the symbols that replace them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from adjoint.arrays.python_number import as_python
from adjoint.compiler.trace.outside import Closed
from adjoint.core.box import Box
from adjoint.core.types import Array, Tree, Value
from adjoint.graph.loops.agree import TurnConstants, TurnRow, plain
from adjoint.graph.node import Node, call, placeholder
from adjoint.graph.python_numbers import as_python as as_python_op
from adjoint.graph.symbol import LEVEL, Number, Symbol, symbol_of
from adjoint.tape.tensor import Tensor


def flat(x: Array, leaves: list[Array]) -> Value:
    """The structure of lists, tuples and dictionaries; their arrays are put into `leaves`."""
    if isinstance(x, Box):
        leaves.append(x)
        return LEAF
    if type(x) in (list, tuple) and x:
        parts = [flat(part, leaves) for part in x]
        return (type(x), parts) if any(part is LEAF or type(part) is tuple for part in parts) else Same(x)
    if type(x) is dict and x:
        named = {key: flat(part, leaves) for key, part in x.items()}
        held = any(part is LEAF or type(part) is tuple for part in named.values())
        return (dict, named) if held else Same(x)
    return Same(x)


class _CarriedLeaf:
    def __repr__(self) -> str:
        return "leaf"


class Same:
    """A value that is no array; it is the same in each turn."""

    __slots__ = ("x",)

    def __init__(self, x: Value) -> None:
        self.x = x

    def __repr__(self) -> str:
        return "other"


LEAF = _CarriedLeaf()


class Unset(Closed):
    """Stands for the value of a name that has none when a turn begins."""


UNSET = Unset()


def full(shape: Tree, leaves: Iterator[object]) -> Array | None:
    """The lists, tuples and dictionaries of a structure, with other arrays."""
    if shape is LEAF:
        return next(leaves)
    if isinstance(shape, Same):
        return shape.x
    kind, parts = shape
    if kind is dict:
        return {key: full(part, leaves) for key, part in parts.items()}
    return kind([full(part, leaves) for part in parts])


def without_leaves(shape: Tree) -> object:
    """The structure of a value with what is in it, but for arrays."""
    if shape is LEAF:
        return "leaf"
    if isinstance(shape, Same):
        return shape.x
    kind, parts = shape
    if kind is dict:
        return {key: without_leaves(part) for key, part in parts.items()}
    return kind([without_leaves(part) for part in parts])


def leaves_of(shape: Tree) -> int:
    """How many arrays there are in a structure."""
    if shape is LEAF:
        return 1
    if isinstance(shape, Same):
        return 0
    return sum(map(leaves_of, shape[1].values() if shape[0] is dict else shape[1]))


def bottom(x: Array) -> Array:
    """The number or array that a box stands for; None if it is of another kind, or does not lie as arrays mostly do."""
    python = x.is_python
    while isinstance(x, Tensor):
        x = x.held
    if isinstance(x, Symbol):
        python = python or type(x) is Number
        x = x.value
    elif isinstance(x, Box):
        return None
    if isinstance(x, np.ndarray):
        if not x.shape or not x.flags.c_contiguous:
            return None
        return x
    if python:
        x = x.item() if isinstance(x, np.generic) else x
        return x if type(x) is float else None
    return x if isinstance(x, np.generic) else None


def bottom_of(x: Array) -> Array:
    """The array that a tensor or symbol stands for."""
    while isinstance(x, Tensor):
        x = x.held
    return np.asarray(x.value if isinstance(x, Symbol) else x)


def symbol(value: Array, name: str) -> Value:
    """A new input of the recording."""
    if type(value) in (int, float):
        node = placeholder(name, (), np.dtype(type(value)))
        return symbol_of(value, call(as_python_op, (node,), {}, (), node.dtype))
    return Symbol.of((value, placeholder(name, value.shape, value.dtype)), LEVEL)


def base(x: Array) -> Node:
    """The input that a symbol was made of."""
    node: Node = x.layers[1]
    while node.args:
        node = node.args[-1]
    return node


def like(x: Array, own: Array) -> bool:
    """Whether `x` may be carried to where `own` was."""
    return (type(x) is type(own) and x.shape == own.shape and x.dtype == own.dtype
            and isinstance(x.value, np.ndarray) == isinstance(own.value, np.ndarray)
            and (not isinstance(x.value, np.ndarray) or x.value.flags.c_contiguous))  # fmt: skip


def kind(x: Symbol) -> Value:
    """The properties that all rows of a stack share."""
    return type(x), x.shape, x.dtype


def is_empty(x: object) -> bool:
    """Whether there is no array in `x`."""
    return isinstance(flat(x, []), Same)


def rows_of(row: TurnRow | TurnConstants, boxes: dict[Node, Array], turns: int) -> Array:
    """The rows that turns read, one after another."""
    if isinstance(row, TurnConstants):
        return row.values
    box = boxes.get(row.of)
    whole = row.of.value if box is None else box
    if row.axis:
        whole = np.moveaxis(whole, row.axis, 0)
    stop = row.start + row.step * turns
    if (row.start, row.step, turns) == (0, 1, whole.shape[0]):
        return whole
    return whole[row.start : None if stop < 0 else stop : row.step]


def row_after(row: TurnRow, boxes: dict[Node, Array], turns: Array | None) -> Value:
    """The row that a turn would read after so many others; None stands for none."""
    box = boxes.get(row.of)
    whole = plain(row.of.value if box is None else box)
    return np.take(whole, row.start if turns is None else turns * row.step + row.start, row.axis)


def joined(stacks: list[Array], more: list[Symbol]) -> Value:
    """One stack of several, which take turns, and of the rows that follow them."""
    whole = stacks[0]
    if len(stacks) > 1:
        whole = np.stack(stacks, axis=1)
        whole = np.reshape(whole, (-1, *whole.shape[2:]))
    return np.concatenate([whole, np.stack(more)]) if more else whole


def bits(x: Array) -> bytes:
    """The bits of what `x` stands for."""
    return bytes(bottom_of(x).tobytes())


def number_of(x: Value) -> Value:
    """A whole number, which has no history, without the tensor around it."""
    while isinstance(x, Tensor):
        x = x.held
    return x


def in_form(x: Array, like: Array) -> Array:
    """`x` as one of Python's numbers, if `like` is one."""
    return pythons(x) if type(like) is Number else x


def pythons(x: Array) -> Array:
    """`x` as one of Python's numbers."""
    if isinstance(x, Symbol):
        return symbol_of(x.value.item(), call(as_python_op, (x.node,), {}, (), x.dtype))
    return as_python(x)


def _row(stack: Value, turn: int, like: object) -> object:
    return in_form(stack[turn], like)


def rows_in(w: object) -> int | None:
    """The number of rows of an array of the program; None if `w` is no array, or has no axes."""
    shape: Tree = getattr(w, "shape", ()) if isinstance(w, Symbol | Tensor) else ()
    return shape[0] if shape else None
