"""What the door does with Python's own functions."""

from __future__ import annotations

import functools
import itertools
import operator
import types
from abc import ABCMeta
from collections.abc import Iterator

import numpy as np

from adjoint.compiler.trace.door.attributes import is_of_door
from adjoint.compiler.trace.door.items import trees
from adjoint.compiler.trace.door.items.containers import MAPPINGS, SEQUENCES
from adjoint.compiler.trace.door.items.copies import COPIES
from adjoint.compiler.trace.door.items.iterators import ITERATORS
from adjoint.compiler.trace.door.known.histories import has_history
from adjoint.compiler.trace.door.known.library_calls import LIBRARY
from adjoint.compiler.trace.door.known.tools import TOOLS
from adjoint.compiler.trace.door.objects import PURE, TEXTS, Objects
from adjoint.compiler.trace.loops.state.elements import extreme
from adjoint.compiler.trace.outside import (
    MISSING,
    BoundMethod,
    Closed,
    DictView,
    Ours,
    Outside,
    Super,
    Unsaid,
    is_users,
    root_of,
)
from adjoint.core.box import Box
from adjoint.core.objects import trees as core_trees
from adjoint.core.types import Array, Function, Value
from adjoint.graph.captures.drawing import Drawing
from adjoint.graph.symbol import Number, Symbol, symbol_of
from adjoint.ops.elementwise.complex import join_parts
from adjoint.tape.tensor import Tensor
from adjoint.twin.follow import follow
from adjoint.twin.standins.of_python.builtin import has, kind_of


class Pythons(Objects):
    """Python's functions that only compute, or only read their arguments."""

    def sort(self, xs: Value, key: Value = None, reverse: object = False) -> list[Value]:
        values = self.items(xs)
        keys = values if key is None else [self.call(key, (x,), {}) for x in values]
        if not all(map(self.is_plain, keys)):
            raise self.refuse("it sorts objects")
        order = self.native(sorted, (range(len(values)),), {"key": keys.__getitem__, "reverse": self.truth(reverse)})
        return [values[i] for i in order]

    def _sum(self, values: Iterator[Value], total: Value) -> Value:
        """The sum; Python's own of the numbers that come first: from 3.12 on, it makes up for rounding."""
        first: list[Value] = []
        for x in values:
            if not {type(x), type(total)} <= {int, float, complex}:
                plus = functools.partial(self.op, "add")
                return functools.reduce(plus, values, plus(sum(first, total), x))
            first.append(x)
        return sum(first, total)

    def pure(self, g: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """A function of Python's that only computes."""
        if g is bool:
            return self.truth(args[0]) if args else False
        if g is sum:
            start = args[1] if len(args) > 1 else kwargs.get("start", 0)
            if isinstance(start, str | bytes | bytearray):
                raise self.refuse("it sums texts")
            return self._sum(self.lazy(args[0]), start)
        if g in (any, all):
            return g(self.truth(x) for x in self.lazy(args[0]))
        if g is sorted:
            return self.sort(*args, **kwargs)
        if g in (min, max):
            return self._extreme(g, args, **kwargs)
        if g in (pow, divmod) and len(args) == 2:
            if g is pow:
                return self.op("pow", *args)
            if any(isinstance(x, Closed) or self.is_made(x) for x in args):
                return self._dunder("divmod", *args)
            return self.op("floordiv", *args), self.op("mod", *args)
        if args and (isinstance(args[0], Closed) or self.is_made(args[0])):
            return self._pure_of_object(g, args, kwargs)
        if g in TEXTS and args and isinstance(args[0], Exception):
            self.hold_kinds(args[0])
        elif g in TEXTS and args:
            args = (self.shown(args[0]), *args[1:])
        values = tuple(map(self.val, args))
        if not all(map(self.is_plain, values)):
            raise self.refuse(f"it calls {g.__name__} of objects")
        stand_in = self.stands_for(g, values)
        if stand_in is not None:
            return self.native(stand_in, values, {k: self.val(v) for k, v in kwargs.items()})
        if g is float and type(values[0] if values else 0) is Number and type(values[0].value) is float:
            return values[0]
        if g is float and values and _is_single(number := _without_history(values[0])):
            return number.item()
        if g is complex and len(values) == 2 and any(map(_is_real, values)) and all(map(_is_part, values)):
            found = join_parts(*(x.astype(float) if type(x) is Symbol else x for x in values))
            return symbol_of(complex(found.value), found.node)
        x = values[0] if values else None
        if g is round and isinstance(x, Symbol) and (x.dtype.kind == "c" or isinstance(x.value, np.ndarray)):
            return self.native(g, (x.value, *values[1:]), {})  # which raises
        found = self.native(g, values, {k: self.val(v) for k, v in kwargs.items()})
        if g is abs and type(values[0]) is Number and type(found) is Symbol:
            return symbol_of(found.value.item(), found.node)
        return found

    def _pure_of_object(self, g: Value, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        x = args[0]
        if g in TEXTS:
            self.hold_kinds(x)
        plain = self.as_plain(x)
        if plain is not x and self.is_plain(self.val(plain)):
            plain = self.shown(plain) if g in TEXTS else self.val(plain)
            return self.native(g, (plain, *args[1:]), kwargs)
        kind = self.kind_of(x)
        name = {float: "__float__", int: "__int__", abs: "__abs__", round: "__round__", complex: "__complex__",
                repr: "__repr__", str: "__str__"}.get(g)  # fmt: skip
        if name is not None and is_users(kind):
            found = self.static(kind, name)
            if isinstance(found, types.FunctionType):
                return self.asked(x, name, found, args[1:], kwargs)
        raise self.refuse(f"it calls {g.__name__} of a {kind.__name__}")

    def _extreme(self, g: Function, args: tuple[object, ...], key: object = None, default: object = MISSING) -> object:
        values = self.items(args[0]) if len(args) == 1 else list(args)
        if not values:
            if default is not MISSING:
                return default
            raise self.genuine(ValueError(Unsaid()))
        if key is None and self.light is not None:
            chosen = extreme([self.val(x) for x in values], g is min)
            if chosen is not None:
                return chosen
        keys = values if key is None else [self.call(key, (x,), {}) for x in values]
        best = 0
        for i in range(1, len(values)):
            if self.truth(self.compare("lt" if g is min else "gt", keys[i], keys[best])):
                best = i
        return values[best]

    def super_(self, kind: Value, of: Outside) -> Super:
        """``super()``"""
        return Super(kind.o, of)


def _is_real(x: Array) -> bool:
    """Whether `x` is a real number that the program computes."""
    return isinstance(x, Symbol) and x.dtype.kind == "f" and not np.ndim(x.value)


def _is_part(x: Array) -> bool:
    return type(x) in (int, float) or _is_real(x)


def _length(door: Pythons, x: Value) -> object:
    if isinstance(x, Outside) and (type(x.o) in SEQUENCES or type(x.o) in MAPPINGS or type(x.o) is set):
        if type(x.o) in MAPPINGS and not x.changed:
            door._sized(x)
            return len(x.o)
        return len(door.items(x))
    if isinstance(x, DictView):
        return len(door.items(x))
    if (isinstance(x, Outside) and is_users(type(x.o))) or door.is_made(x):
        kind = door.kind_of(x)
        found = door.static(kind, "__len__")
        if not isinstance(found, types.FunctionType):
            raise door.refuse(f"it takes the length of a {kind.__name__}")
        return door.asked(x, "__len__", found)
    if isinstance(x, Closed):
        raise door.refuse(f"it takes the length of a {x.what}")
    return door.native(len, (x,), {})


def _type(door: Pythons, x: object, *more: object) -> Value:
    if door.light is not None and isinstance(x, Box):
        raise door.light.off("it asks what kind of array there is")
    if more:
        raise door.refuse("it makes a class")
    if isinstance(x, Drawing):
        return door.pinned(np.random.Generator)
    if isinstance(x, BoundMethod):
        return door.pinned(types.MethodType)
    if _stands_in(door, x):
        raise door.refuse("it asks for the class of an iterator")
    if isinstance(x, Outside) and x.path is None and is_users(type(x.o)) and not isinstance(x.o, type):
        door.stays(x.o, type(x.o))
    return door.pinned(door.type_of(x) if door.histories and has_history(x) else door.kind_of(x))


def _isinstance(door: Pythons, x: Value, kinds: Value) -> bool:
    if door.light is not None and isinstance(x, Box):
        answers = {_is_subclass(door, kind, kinds) for kind in _stands_for(x)} if _is_common(kinds) else ()
        if len(answers) != 1:
            raise door.light.off("it asks what kind of array there is")
        return True in answers
    if isinstance(x, Box) and door.histories and has_history(x):
        return any(_is_boxs(door, x, kinds))
    if isinstance(x, Box) and (door.ours or not isinstance(x, Symbol | Tensor)):
        return isinstance(x, door.val(kinds))
    if _stands_in(door, x):
        answers = {_is_subclass(door, kind, kinds) for kind in _ITERATORS}
        if len(answers) == 2:
            raise door.refuse("it asks for the class of an iterator")
        return True in answers
    kind = _type(door, x).o
    return _is_subclass(door, kind, kinds)


#: What goes through things: the door makes such an iterator in place of another one.
_ITERATORS: tuple[type, ...] = (
    map,
    filter,
    reversed,
    types.GeneratorType,
    type(iter([])),
    type(iter(())),
    itertools.chain,
)


def _stands_in(door: Pythons, x: Value) -> bool:
    """Whether an iterator may be of another class in the plain function; generators of the user's are their own."""
    if door.is_tool(x):
        raise door.refuse("it asks for the class of a partial function, or of a getter")
    if isinstance(x, types.GeneratorType):
        return is_of_door(x.gi_code) and x.gi_code is not Objects._resumed.__code__
    return type(x) in _ITERATORS


def _stands_for(x: Array) -> tuple[type, ...]:
    """What an array within a turn that is recorded for itself may be in the plain program: of subclasses, the base."""
    return kind_of(x), Tensor


def _is_common(kinds: object) -> bool:
    """Whether these are classes of Python's and NumPy's, of which no array's class of the user's inherits."""
    if isinstance(kinds, tuple):
        return all(map(_is_common, kinds))
    return isinstance(kinds, Outside) and isinstance(kinds.o, type) and kinds.o.__module__ in ("builtins", "numpy")


def _is_boxs(door: Pythons, x: Array, kinds: object) -> Iterator[bool]:
    """Whether a box is an instance of each class: by what it is, or by the plain value in its place."""
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        if isinstance(kind, tuple):
            yield from _is_boxs(door, x, kind)
        elif isinstance(kind, Outside) and isinstance(kind.o, type) and issubclass(kind.o, Box):
            yield isinstance(x, kind.o)
        else:
            yield _is_subclass(door, kind_of(x), kind)


def _is_subclass(door: Pythons, kind: Value, kinds: object) -> bool:
    if isinstance(kinds, tuple):
        return any(_is_subclass(door, kind, k) for k in kinds)
    if isinstance(kinds, types.UnionType):
        return any(_is_subclass(door, kind, door.pinned(k)) for k in kinds.__args__)
    if isinstance(kinds, Outside) and isinstance(kinds.o, types.UnionType):
        return any(_is_subclass(door, kind, door.pinned(k)) for k in kinds.o.__args__)
    if not isinstance(kinds, Outside) or not isinstance(kinds.o, type):
        raise door.refuse("it asks isinstance of something that is no class")
    other = kinds.o
    ask = type(other).__instancecheck__
    if ask is not type.__instancecheck__ and root_of(other) not in ("numbers", "collections", "typing", "abc", "enum"):
        hooks = any(isinstance(vars(cls).get("__subclasshook__"), classmethod) for cls in other.__mro__)
        if type(other).__module__ != "enum" and (ask is not ABCMeta.__instancecheck__ or hooks):
            raise door.refuse(f"{other.__name__} says itself what is one of it")
    kind = kind.o if isinstance(kind, Outside) else kind
    found = issubclass(kind, other)
    if isinstance(other, ABCMeta) and is_users(kind):  # which may be registered later
        door.guards.text(
            ("is a", id(kind), id(other)),
            lambda name_of: f"{name_of(issubclass)}({name_of(kind)}, {name_of(other)}) is {found}",
        )
    return found


def _getattr(door: Pythons, o: object, name: str, *default: object) -> object:
    name = door.value(name)
    if default and door.histories and has_history(o) and not has(o, name):
        return default[0]
    try:
        return door.attr(o, name)
    except AttributeError as error:
        door.check(error)
        if default:
            return default[0]
        raise door.genuine(error) from None


def _hasattr(door: Pythons, o: object, name: str) -> bool:
    if door.light is not None and isinstance(o, Box):
        if all(hasattr(kind, door.value(name)) for kind in _stands_for(o)):
            return True
        raise door.light.off("it asks what an array has")
    if door.histories and has_history(o):
        return has(o, door.value(name))
    return _getattr(door, o, name, MISSING) is not MISSING


def _setattr(door: Pythons, o: object, name: Value, value: object) -> None:
    door.setattr(o, door.value(name), value)


def _without_history(x: Value) -> Value:
    """The value of a tensor that has no history; anything else as it is."""
    return x.held if isinstance(x, Tensor) and not x.level and x.node is None else x


def _is_single(x: Value) -> bool:
    """Whether it is a real number that the program computes, which goes on as one of Python's."""
    return type(x) is Symbol and x.dtype.kind == "f" and np.ndim(x.value) == 0


def _vars(door: Pythons, o: Outside) -> object:
    return door.attr(o, "__dict__")


def _id(door: Pythons, o: object) -> int:
    if isinstance(o, Outside) and o.path is None:
        return id(o.o)
    live = door.inputs.live.get(id(o))
    if isinstance(o, Tensor) and live is not None and not isinstance(live, int):
        return id(live)
    raise door.refuse("it asks for the id of a value")


def _range(door: Pythons, *args: Array) -> object:
    values = tuple(operator.index(door.value(a)) if not isinstance(a, Closed) else a for a in args)
    return door.native(range, values, {})


def _map(door: Pythons, f: Outside, *xs: object) -> Iterator[object]:
    return (door.call(f, each, {}) for each in zip(*map(door.lazy, xs), strict=False))


def _filter(door: Pythons, f: object, xs: object) -> object:
    return (x for x in door.lazy(xs) if door.truth(x if f is None else door.call(f, (x,), {})))


def _zip(door: Pythons, *xs: object, strict: bool = False) -> object:
    return zip(*map(door.lazy, xs), strict=door.truth(strict))


def _enumerate(door: Pythons, xs: Array, start: Value = 0) -> object:
    return enumerate(door.lazy(xs), door.value(start))


def _next(door: Pythons, xs: object, *default: object) -> Array | None:
    if isinstance(xs, Closed):
        raise door.refuse(f"it calls next of a {xs.what}, which gives something else at each call")
    return door.native(next, (xs, *default), {})


def _callable(door: Pythons, x: object) -> bool:
    return callable(x.o) if isinstance(x, Outside) else isinstance(x, BoundMethod | Ours) or callable(x)


def _reduce(door: Pythons, f: Outside, xs: Array, *first: object) -> Array:
    return functools.reduce(lambda a, b: door.call(f, (a, b), {}), door.lazy(xs), *first)


def _wraps(door: Pythons, *_: object, **__: object) -> object:
    return door.made(lambda f: f)


def _follow(door: Pythons, f: object, *_: object) -> object:
    """What a transform, or a module, calls in place of a function of the user's."""
    return door.made(lambda *args, **kwargs: door.with_twin(f, args, kwargs))


def _hash(door: Pythons, x: object) -> int:
    return hash(door.key(x))


def _pure(g: Function) -> Function:
    return lambda door, *args, **kwargs: door.pure(g, args, kwargs)


SPECIAL: dict[Value, Value] = {
    len: _length, type: _type, isinstance: _isinstance, issubclass: _is_subclass, getattr: _getattr, hasattr: _hasattr,
    setattr: _setattr, vars: _vars, id: _id, range: _range, map: _map, filter: _filter, zip: _zip,
    enumerate: _enumerate, reversed: lambda door, x: door.backwards(x), next: _next,
    iter: lambda door, x: iter(door.lazy(x)),
    callable: _callable, slice: lambda door, *args: slice(*args), functools.reduce: _reduce, functools.wraps: _wraps,
    core_trees.flatten: trees.flatten, core_trees.is_leaf: trees.is_leaf,
    follow: _follow, hash: _hash, delattr: lambda door, o, name: door.delattr(o, name),
    **{g: _pure(g) for g in PURE}, **ITERATORS, **TOOLS, **COPIES, **LIBRARY,
    np.shape: lambda door, x: door.native(np.shape, (door.val(x),), {}),
}  # fmt: skip
