"""Numbers of Python's among what turns carry: those that change, and names that have NumPy's in some turns.

In ``total = 0.0``, ``if v > 0: total = total + v``, a turn begins with one of Python's floats until another turn has
taken the branch. Such a name is carried as two values: the number, and whether it is Python's. A turn asks which it is,
and the user's code gets that kind; so a path belongs to one kind, and nothing is assumed about others.

Python's truth values that change (``swapped = True``) are carried as NumPy's. A turn that reads such a name asks for
its value, and the user's code gets True or False; after the loop the program asks for it as well.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjoint.compiler.trace.loops.paths import bare
from adjoint.compiler.trace.loops.state.carried import LEAF, Same, bottom, bottom_of, leaves_of, like, pythons
from adjoint.compiler.trace.outside import Again
from adjoint.core.types import Array, Value
from adjoint.graph.captures.record import CaptureNotes, Guard
from adjoint.graph.node import constant
from adjoint.graph.symbol import Number, Symbol, symbol_of
from adjoint.tape.observers.lines import users_place
from adjoint.tape.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.graph.node import Node

PAIR = tuple, [LEAF, LEAF]  # the structure of a number with its kind


def _truth(leaf: list[Value]) -> tuple[Value, ...]:
    return tuple(leaf)


FLAG = _truth, [LEAF]  # the structure of one of Python's truth values, and of nothing else


def kind_of(x: Value) -> type | None:
    """`float` for one of Python's floats, `np.float64` for one of NumPy's; None for anything else."""
    if type(x) is float or (type(x) is Number and type(x.value) is float):
        return float
    if not isinstance(x, Symbol | Tensor) or type(x) is Number or x.is_python:
        return None
    return np.float64 if type(bottom(x)) is np.float64 else None


def as_pair(x: Value) -> list[Array]:
    """A number that has such a kind as NumPy's, and whether it is Python's."""
    flag = symbol_of(is_pythons := np.bool_(kind_of(x) is float), constant(is_pythons))
    if type(x) is float:
        x = symbol_of(np.float64(x), constant(np.float64(x)))
    elif type(x) is Number:
        x = symbol_of(np.float64(x.value), bare(x.node))
    return [x, flag]


def as_flag(x: Value, standing: Container[Node]) -> Symbol | None:
    """One of Python's truth values as NumPy's, or a symbol that is `standing` for one; None for anything else."""
    if type(x) is bool:
        return symbol_of(np.bool_(x), constant(np.bool_(x)))
    return x if type(x) is Symbol and x.layers[1] in standing else None


def of_pairs(shapes: Sequence[Value], values: list[Value], notes: CaptureNotes, fixed: set[Node]) -> list[Value]:
    """`values` with the number in place of each pair: its kind is a question, and no code could go on with another."""
    return [_of_pair(x, notes, fixed) if each is PAIR else x for each, x in zip(shapes, values, strict=True)]


def of_flags(shapes: Sequence[Value], values: list[Value], read: Sequence[bool], standing: set[Node]) -> list[Value]:
    """`values` with True or False for each flag that is `read`; a symbol is `standing` for any other."""
    return [_of_flag(x[0], asks, standing) if each is FLAG else x
            for each, x, asks in zip(shapes, values, read, strict=True)]  # fmt: skip


def _of_flag(flag: Value, asks: bool, standing: set[Node]) -> Value:
    while isinstance(flag, Tensor):
        flag = flag.held
    if not isinstance(flag, Symbol) or flag.layers[1].kind == "constant":
        return bool(bottom_of(flag))
    if asks:
        return bool(flag)
    standing.add(flag.layers[1])
    return flag


def _of_pair(pair: Value, notes: CaptureNotes, fixed: set[Node]) -> Array:
    x, flag = pair
    while isinstance(flag, Tensor):
        flag = flag.held
    is_pythons = bool(bottom_of(flag))
    if isinstance(flag, Symbol) and flag.node.kind != "constant":
        fixed.add(flag.node)
        notes.guards.append(Guard(flag.node, "bool", is_pythons, users_place()))
    return pythons(x) if is_pythons else x


def is_like(x: Array, own: Array) -> bool:
    """Whether `x` may be carried to where `own` was, in a loop that ends by a value."""
    return type(x) in (Symbol, Number) and like(x, own)


def learn(known: set[str], found: set[str]) -> None:
    """Begin again, if names were `found` that are not known."""
    if found - known:
        known |= found
        raise Again()


def changed(names: Sequence[str], before: Sequence[Value], now: Sequence[Value], leaves: Sequence[Array]) -> set[str]:
    """The names of Python's numbers that have become others, of the same type; `before` and `now` are structures."""
    found = set()
    for name, was, new, own in _by_name(names, before, now, leaves):
        if not isinstance(was, Same) or type(was.x) not in (int, float):
            continue
        after = own[0].value if new is LEAF and type(own[0]) is Number else getattr(new, "x", None)
        if type(after) is type(was.x) and (new is LEAF or after != was.x):
            found.add(name)
    return found


def flipped(names: Sequence[str], before: Sequence[Value], now: Sequence[Value]) -> set[str]:
    """The names whose truth value, one of Python's, has become the other."""
    each = zip(names, before, now, strict=True)
    return {name for name, *both in each if {getattr(x, "x", None) for x in both if _is_truth(x)} == {False, True}}


def _is_truth(shape: Value) -> bool:
    return isinstance(shape, Same) and type(shape.x) is bool


def of_two_kinds(
    names: Sequence[str], before: Sequence[Value], had: Sequence[Array], now: Sequence[Value], leaves: Sequence[Array]
) -> set[str]:
    """The names that had a float of Python's, and have one of NumPy's, or the other way round."""
    kinds = {name: _kind(shape, own) for name, _, shape, own in _by_name(names, before, before, had)}
    found = {name: _kind(shape, own) for name, _, shape, own in _by_name(names, now, now, leaves)}
    return {name for name in names if {kinds[name], found[name]} == {float, np.float64}}


def _kind(shape: Value, own: list[Array]) -> type | None:
    return kind_of(own[0] if shape is LEAF else getattr(shape, "x", None))


def _by_name(
    names: Sequence[str], before: Sequence[Value], now: Sequence[Value], leaves: Sequence[Array]
) -> Iterator[tuple[str, Value, Value, list[Array]]]:
    values = iter(leaves)
    for name, was, new in zip(names, before, now, strict=True):
        yield name, was, new, [next(values) for _ in range(leaves_of(new))]
