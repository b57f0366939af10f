"""What the door does with `copy.copy` and `copy.deepcopy` of containers, arrays, and objects without slots."""

from __future__ import annotations

import copy
import copyreg
import types
from collections.abc import Callable

import numpy as np

from adjoint.compiler.trace.door.items.containers import MAPPINGS, SEQUENCES
from adjoint.compiler.trace.door.objects import Objects
from adjoint.compiler.trace.guards import PLAIN
from adjoint.compiler.trace.outside import BoundMethod, Outside, is_users, lookup
from adjoint.core.types import Function, Value
from adjoint.graph.symbol import Number, Symbol

Each = Callable[[Value], Value]
#: What a class may say about its copies; one that says any of these is refused.
_SAYS = ("__copy__", "__deepcopy__", "__getnewargs__", "__getnewargs_ex__", "__setstate__", "__slots__", "__replace__",
         "__reduce__", "__reduce_ex__", "__getstate__", "__new__", "__getattr__", "__getattribute__")  # fmt: skip
_SAME = (types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType, BoundMethod)


def _copied(door: Objects, x: Value, each: Each) -> Value:
    """A copy of `x`, whose parts are what `each` gives for its own."""
    kind = type(x)
    live = x.o if kind is Outside else x
    shape = type(live)
    if kind is Number or kind in PLAIN or isinstance(live, _SAME) or isinstance(x, np.generic):
        return x
    if kind is Symbol:
        return door.call(door.attr(x, "copy"), (), {}) if isinstance(x.value, np.ndarray) else x
    if shape is np.ndarray and kind is not Outside:
        return live.copy()
    if shape is tuple:
        return tuple(map(each, x))
    if shape in SEQUENCES or shape is set:
        if getattr(live, "maxlen", None) is not None:
            raise door.refuse("it copies a deque with a limit")
        return shape(map(each, door.items(x)))
    if shape is dict:
        return {key: each(value) for key, value in door.pairs(x).items()}
    if shape in MAPPINGS or not (is_users(shape) and (kind is Outside or door.is_made(x))):
        raise door.refuse(f"it copies a {shape.__name__}")
    return _object(door, x, shape, each)


def _object(door: Objects, x: Value, kind: type, each: Each) -> Value:
    says = any(lookup(kind, name) is not lookup(object, name) for name in _SAYS)
    if says or type(kind) is not type or kind in copyreg.dispatch_table or not all(map(is_users, kind.__mro__[:-1])):
        raise door.refuse(f"it copies a {kind.__name__}, which says itself how")
    made: Value = object.__new__(kind)
    for name in _SAYS:
        door.static(kind, name)
    door.made_objects[id(made)] = made
    for name, value in door.pairs(door.attr(x, "__dict__")).items():
        object.__setattr__(made, name, each(value))
    return made


def _copy(door: Objects, x: Value) -> Value:
    return _copied(door, x, lambda part: part)


def _deepcopy(door: Objects, x: Value, memo: Value = None) -> Value:
    if memo is not None:
        raise door.refuse("it copies with a memory of its own")
    known: dict[int, tuple[Value, Value]] = {}

    def each(part: Value) -> Value:
        if id(part) in known:
            if known[id(part)][1] is known:
                raise door.refuse("it copies what contains itself")
            return known[id(part)][1]
        known[id(part)] = part, known
        found = _copied(door, part, each)
        known[id(part)] = part, found
        return found

    return each(x)


#: What is called in place of each of them.
COPIES: dict[Value, Function] = {copy.copy: _copy, copy.deepcopy: _deepcopy}
