"""What Python's syntax asks of objects: truths, iterators, items, texts, by the twins of their methods."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from adjoint.arrays.python_number import as_numpy
from adjoint.core.box import Box
from adjoint.core.types import Function, Index, Value
from adjoint.twin.runtime.containers import RUNNING
from adjoint.twin.runtime.natives import taken
from adjoint.twin.runtime.texts import TextsOfObjects
from adjoint.twin.standins import shown_in
from adjoint.twin.syntax.names import MISSING

if TYPE_CHECKING:
    from adjoint.twin.runtime.hooks import PolicyHooks
    from adjoint.twin.twins import Twins

#: Where the parts of a value go: for each name 0, for names in parentheses theirs.
TargetShape = tuple[Value, ...]
_OWN = frozenset({list, dict, tuple, set, str, float, int, bool, np.float64, np.ndarray, np.bool_, type(None), range})
# Their items are tuples of what other iterators give.
_PAIRING: tuple[type, ...] = (zip, enumerate, type({}.items()), itertools.product, itertools.pairwise)


class Protocols:
    """The hooks of statements and expressions that call methods of objects."""

    def __init__(self, twins: Twins, hooks: PolicyHooks) -> None:
        self._resolve, self._method, self._special = twins.resolve, twins.method, twins.special
        self._hooks, self._runs = hooks, twins.runs
        self.texts = TextsOfObjects(twins, hooks, self)
        self._known: dict[str, bool] = {}

    def table(self) -> Mapping[str, Function]:
        """The hooks, by the names that the rewriter gives them."""
        return {
            "items": self.items,
            "places": self.places,
            "iterated": self.iterated,
            "entered": self.entered,
            "contains": self.contains,
            "shown_in": self.shown_in,
            "truth": self.truth,
            "unpacked": self.unpacked,
            "rows": self.rows,
            "mapped": self.mapped,
            "deleted": self.deleted,
        }

    def truth(self, o: object) -> object:
        """`o`, whose truth is asked next; or what its class answers."""
        cls = type(o)
        if cls in _OWN or not self._special(cls):
            return o
        name = "__bool__" if hasattr(cls, "__bool__") else "__len__"
        twin = self._method(cls, name)
        if twin is None:
            return o
        found: Value = twin(o)
        if isinstance(found, Box) and as_numpy(found).dtype.kind in "fc":
            found = 0.5  # which Python refuses
        return found if isinstance(found, Box | np.bool_) else taken(bool, (name,), o, found)

    def items(self, o: object) -> Value:
        """Resolve `o`, just before an element of it is taken, set or deleted."""
        if type(o) in _OWN:
            return o
        if isinstance(o, type):
            asked = getattr(o, "__class_getitem__", None) if self._special(o) else None
            return o if asked is None or hasattr(type(o), "__getitem__") else _ItemsOfClass(self._resolve(asked))
        return _Items(o, self._method) if self._special(type(o)) else o

    def places(self, o: object) -> Value:
        """Resolve `o`, just before an element of it is set, if it may be an array that takes the numbers of objects."""
        return _Elements(o, self._resolve(np.asarray)) if isinstance(o, np.ndarray | Box) else o

    def iterated(self, o: object) -> Value:
        """Resolve `o`, just before a loop iterates over it."""
        if not self._special(type(o)):
            return o
        begin = self._method(type(o), "__iter__")
        iterator: object = o if begin is None else begin(o)
        step = self._method(type(iterator), "__next__")
        if step is not None:
            return _stepped(step, iterator)
        if begin is not None and not hasattr(type(iterator), "__next__"):
            return taken(iter, ("__iter__",), o, iterator)
        item = self._method(type(o), "__getitem__")
        return _counted(item, o) if item is not None and not hasattr(type(o), "__iter__") else iterator

    def contains(self, o: Value, item: Value) -> bool:
        """``item in o``."""
        kind, special = type(o), self._special
        if special(kind):
            if (twin := self._method(kind, "__contains__")) is not None:
                return bool(twin(o, item))
            if not hasattr(kind, "__contains__"):
                return self._found(self.iterated(o), item)
        elif kind in (list, tuple, deque) and self.compares(o, item):
            return self._found(o, item)
        return item in o

    def compares(self, o: Value, item: object) -> bool:
        """Whether looking for `item` in the list `o` may run methods of users' classes."""
        return self._special(type(item)) or any(map(self._special, set(map(type, o))))

    def same(self, x: object, item: object) -> bool:
        """Whether Python takes `x` for `item` when it looks for that."""
        return x is item or bool(self._hooks.operators["eq"](x, item))

    def _found(self, items: Value, item: object) -> bool:
        return any(self.same(x, item) for x in items)

    def runs(self, name: str) -> bool:
        """Whether a container's method of that name may run one of a user's class that would not do with tensors."""
        if (known := self._known.get(name)) is None:
            known = self._known[name] = name in RUNNING and self._runs(RUNNING[name])
        return known

    def forget(self) -> None:
        """Look at classes anew."""
        self._known.clear()

    # -- Order ----------------------------------------------------------------------------------------------

    def orders(self, several: Value) -> bool:
        """Whether objects of followed classes, or tuples that hold some, are among `several`."""
        return any(self._is_ordered(x) for x in several)

    def _is_ordered(self, x: Value) -> bool:
        kind = type(x)
        if kind is tuple or kind is list:
            return any(map(self._is_ordered, x))
        return kind not in _OWN and self._special(kind) and getattr(kind, "__lt__", None) is not _NO_ORDER

    def less(self, x: Value, y: Value) -> bool:
        """``x < y``"""
        return self._compared("lt", x, y)

    def comparable(self, key: object) -> object:
        """`key`, which is compared by the twins of methods if it is an object of a followed class."""
        return self.ordering(key) if self._is_ordered(key) else key

    def ordering(self, x: Value) -> object:
        """The key by which ``sorted`` compares objects of followed classes, and tuples of them."""
        return _Ordered(x, self._compared)

    def _compared(self, name: str, x: Value, y: Value) -> bool:
        operators = self._hooks.operators
        if type(x) is type(y) and type(x) in (list, tuple):
            for a, b in zip(x, y, strict=False):
                if a is not b and not operators["eq"](a, b):
                    return self._compared(name, a, b)
            return bool(operators[name](len(x), len(y)))
        return bool(operators[name](x, y))

    # -- Statements -----------------------------------------------------------------------------------------

    def entered(self, o: object) -> Value:
        """Resolve `o`, just before ``with`` enters it."""
        begin, end = self._method(type(o), "__enter__"), self._method(type(o), "__exit__")
        return o if begin is None or end is None else _Entered(o, begin, end)

    def unpacked(self, o: Value, parts: TargetShape) -> Value:
        """`o`, just before it is taken apart, with those of its items that are taken apart themselves."""
        o = self.iterated(o)
        if not any(parts):
            return o
        items = itertools.islice(iter(o), len(parts) + 1)  # one more: Python says that there are too many
        return [self.unpacked(x, of) if of else x for x, of in zip(items, (*parts, 0), strict=False)]

    def rows(self, o: Value, parts: TargetShape) -> Value:
        """`o`, just before a loop takes each of its items apart."""
        o = self.iterated(o)
        kind = type(o)
        if kind is np.ndarray or isinstance(o, Box) or (kind in _PAIRING and not any(parts)):
            return o
        if kind in (list, tuple) and not any(parts) and not any(map(self._special, set(map(type, o)))):
            return o
        return (self.unpacked(x, parts) for x in o)

    def mapped(self, o: Value) -> Value:
        """`o`, just before its keys and values are taken: ``{**o}``, ``f(**o)``, ``dict(o)``."""
        if isinstance(o, dict) or not self._special(type(o)) or not hasattr(o, "keys"):
            return o
        return {key: self.items(o)[key] for key in self.iterated(self._hooks.method(o, "keys")())}

    def deleted(self, o: Value, name: str) -> None:
        """``del o.name``"""
        cls = type(o)
        twin = self._method(cls, "__delattr__")
        static = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), MISSING)
        if twin is not None:
            twin(o, name)
        elif self._special(cls) and isinstance(static, property) and static.fdel is not None:
            self._resolve(static.fdel)(o)
        elif (twin := self._method(type(static), "__delete__")) is not None:
            twin(static, o)
        else:
            delattr(o, name)

    def shown_in(self, x: Value, conversion: int, spec: str) -> str:
        """A part of an f-string, ``{x!r:spec}``; a conversion is the number of its letter, or -1."""
        if type(x) not in _OWN and self._special(type(x)):
            if conversion >= 0:
                x, conversion = self._resolve(_CONVERSIONS[conversion])(x), -1
            elif (twin := self._method(type(x), "__format__")) is not None:
                x, spec = twin(x, spec), ""
            elif not spec:
                x = self._resolve(str)(x)
        return shown_in(x, conversion, spec)


_NO_ORDER: Value = getattr(object, "__lt__")  # noqa: B009 - mypy knows no order of objects
_CONVERSIONS: Mapping[int, Function] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


class _Ordered:
    """An object in whose place others are compared with it: Python asks for ``<`` and ``>``, of tuples for ``==``."""

    __slots__ = ("_compared", "_x")

    def __init__(self, x: object, compared: Function) -> None:
        self._x, self._compared = x, compared

    def __lt__(self, other: Value) -> bool:
        return self._compared("lt", self._x, _inside(other))  # type: ignore[no-any-return]  # a truth

    def __gt__(self, other: Value) -> bool:
        return self._compared("gt", self._x, _inside(other))  # type: ignore[no-any-return]  # a truth


def _inside(x: Value) -> Value:
    return x._x if isinstance(x, _Ordered) else x


class _Items:
    """An object in whose place elements are taken, set and deleted by the twins of its methods."""

    def __init__(self, o: Value, method: Callable[[type, str], Function | None]) -> None:
        self._o, self._method = o, method

    def __getitem__(self, index: Index) -> Value:
        o = self._o
        if (twin := self._method(type(o), "__getitem__")) is not None:
            return twin(o, index)
        if isinstance(o, dict) and index not in o and (twin := self._method(type(o), "__missing__")) is not None:
            return twin(o, index)
        return o[index]

    def __setitem__(self, index: Index, value: Value) -> None:
        twin = self._method(type(self._o), "__setitem__")
        if twin is None:
            self._o[index] = value
        else:
            twin(self._o, index, value)

    def __delitem__(self, index: Index) -> None:
        twin = self._method(type(self._o), "__delitem__")
        if twin is None:
            del self._o[index]
        else:
            twin(self._o, index)


_NUMBERS = (float, int, complex, str, np.generic, np.ndarray, Box)


class _Elements:
    """An array in whose place elements are set: to the numbers of objects that have some, by the twins of methods."""

    def __init__(self, o: Value, converted: Function) -> None:
        self._o, self._converted = o, converted

    def __getitem__(self, index: Index) -> Value:
        return self._o[index]

    def __setitem__(self, index: Index, value: Value) -> None:
        o = self._o
        if not isinstance(value, _NUMBERS) and o.dtype.kind not in "OV":
            value = self._converted(value, o.dtype)
        o[index] = value


class _ItemsOfClass:
    """A class in whose place ``cls[key]`` is asked of the twin of its method."""

    def __init__(self, asked: Function) -> None:
        self._asked = asked

    def __getitem__(self, key: Value) -> Value:
        return self._asked(key)


class _Entered:
    """A context manager that enters and leaves another one by the twins of its methods."""

    def __init__(self, o: Value, begin: Function, end: Function) -> None:
        self._o, self._begin, self._end = o, begin, end

    def __enter__(self) -> object:
        return self._begin(self._o)

    def __exit__(self, *error: object) -> object:
        return self._end(self._o, *error)


def _stepped(step: Function, iterator: object) -> Iterator[object]:
    while True:
        try:
            value = step(iterator)
        except StopIteration:
            return
        yield value


def _counted(item: Function, o: object) -> Iterator[object]:
    i = 0
    while True:
        try:
            value = item(o, i)
        except IndexError:
            return
        yield value
        i += 1
