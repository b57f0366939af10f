"""What the door does where a function goes through things, forwards and backwards."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from itertools import count
from types import GeneratorType

import numpy as np

from adjoint.compiler.trace.door.items.keys import Keys
from adjoint.compiler.trace.guards import PLAIN, Binding, alike
from adjoint.compiler.trace.loops.state.carried import rows_in
from adjoint.compiler.trace.outside import MISSING, Closed, DictView, Outside, is_users, lookup
from adjoint.core.box import Box
from adjoint.core.types import Value
from adjoint.graph.symbol import Symbol

SEQUENCES, MAPPINGS = (list, deque), (dict, OrderedDict, defaultdict)

# What a program goes through by its keys.
_OF_KEYS: tuple[type, ...] = (dict, OrderedDict, defaultdict, set, frozenset, type({}.keys()))
_ITEMS: type = type({}.items())


class Walking(Keys):
    """Iteration."""

    def place_text(self, o: Outside) -> Value:
        """How a container is found, in a condition."""
        thing, path = o.o, o.path
        return lambda name_of: name_of(thing) if path is None else path

    def _child(self, o: Outside, key: Value) -> Value:
        value = o.o[key]
        return self.take(value, Binding(o.o, key)) if o.path is None else self.given(value, f"{o.path}[{key!r}]")

    def _sized(self, o: Outside) -> None:
        count, text = len(o.o), self.place_text(o)
        if o.path is None:
            self.guards.text(("len", id(o.o)), lambda name_of: f"len({text(name_of)}) == {count}")

    def _listed(self, why: str, o: Outside, known: list[Value], text: Value) -> None:
        """A container goes through these very keys, in this order; of what is equal, another type is another key."""

        def line(name_of: Value) -> str:
            there = f"[*{text(name_of)}]"
            if all(type(key) is str for key in known):
                return f"{there} == {name_of(known)}"  # many loops ask this, so it has to be quick
            return f"{name_of(alike)}({there}, {name_of(known)})"

        self.guards.text((why, id(o.o)), line)

    def items(self, w: object) -> list[Value]:
        """The elements of anything that can be gone through."""
        return list(self.lazy(w))

    def lazy(self, w: Value) -> Iterator[Value]:
        """An iterator over anything that can be gone through."""
        kind = type(w)
        if kind is Outside:
            return self._outside(w)
        if kind is DictView:
            return self._viewed(w)
        if kind in _OF_KEYS:
            return map(self.from_key, w)
        if kind is _ITEMS:
            return ((self.from_key(k), v) for k, v in w)
        if isinstance(w, Symbol) and not isinstance(w.value, np.ndarray):
            return iter(w.value)  # which says that numbers have no elements
        if self.is_made(w):
            return self._of_users(w, w)
        if self.loops is not None and (rows := rows_in(w)) is not None:
            return (self.item(w, i) for i in range(rows))
        if isinstance(w, GeneratorType | Box) or kind in PLAIN or hasattr(w, "__iter__"):
            if isinstance(w, Closed):
                raise self.refuse(f"it goes through a {w.what}")
            try:
                return iter(w)
            except TypeError as error:
                raise self.genuine(error) from None
        if isinstance(w, Closed):
            raise self.refuse(f"it goes through a {w.what}")
        raise self.genuine(TypeError(f"{kind.__name__!r} object is not iterable"))

    def _outside(self, w: Outside) -> Iterator[object]:
        x = w.o
        if type(x) in SEQUENCES:
            return self._grows(w)
        if type(x) in MAPPINGS:
            return self._walked(w)
        if type(x) is set:
            return iter(list(self.table(w)))
        members = getattr(x, "__members__", None) if isinstance(x, type) else None
        if members is not None:
            return iter([self.pinned(e) for e in dict.fromkeys(members.values())])
        if not is_users(type(x)) or isinstance(x, dict | list):
            raise self.refuse(f"it goes through a {w.what}")
        return self._of_users(w, x)

    def table(self, w: Value) -> Value:
        """What Python sees where it copies `w` into a set, or joins two: in which order sets go depends on it."""
        if isinstance(w, Outside) and type(w.o) is set:
            if not all(type(e) in PLAIN for e in w.o) or w.changed:
                raise self.refuse("it goes through a set of objects")
            self._listed("set", w, list(w.o), self.place_text(w))
            return w.o
        if isinstance(w, Outside) and type(w.o) in MAPPINGS:
            return dict.fromkeys(self.keys(w))
        if isinstance(w, DictView) and w.kind == "keys":
            return dict.fromkeys(self.keys(w.of)).keys()
        return w if type(w) in _OF_KEYS else list(map(self.key, self.lazy(w)))

    def _of_users(self, w: Value, x: object) -> Iterator[Value]:
        """What a class says itself: by `__iter__`, or by items until there is none."""
        if lookup(type(x), "__iter__") is MISSING:
            self.special(w, x, "__getitem__")
            return self._until_none(w)
        found = self.call(self.special(w, x, "__iter__"), (), {})
        if not hasattr(self.kind_of(found), "__next__"):
            raise self.refuse(f"__iter__ of a {type(x).__name__} gives no iterator")
        return self.lazy(found)

    def _until_none(self, w: Value) -> Iterator[Value]:
        for i in count():
            try:
                found = self.item(w, i)
            except (IndexError, StopIteration) as error:
                self.check(error)
                return
            yield found

    def size(self, w: Value) -> int:
        """How long a list is now."""
        if not isinstance(w, Outside):
            return len(w)
        return len(w.o) + len(w.added) if w.content is None else len(w.content)

    def _grows(self, w: Outside) -> Iterator[Value]:
        """A list, which may grow while it is gone through."""
        self._sized(w)
        i, before = 0, (w.content, len(w.added))
        while i < self.size(w):
            if w.content is not None:
                yield w.content[i]
            else:
                yield self._at(w, i) if i < len(w.o) else w.added[i - len(w.o)]
            if type(w.o) is deque and (w.content is not before[0] or len(w.added) != before[1]):
                raise self.refuse("it changes a deque while it goes through it")
            i += 1

    def backwards(self, w: Value) -> Iterator[Value]:
        """``reversed(w)``"""
        kind = self.kind_of(w)
        if self.is_made(w) or (isinstance(w, Outside) and is_users(kind)):
            if lookup(kind, "__reversed__") is not MISSING:
                return self.lazy(
                    self.call(self.special(w, w.o if isinstance(w, Outside) else w, "__reversed__"), (), {})
                )
            return (self.item(w, i) for i in reversed(range(self.call(self.pinned(len), (w,), {}))))
        if kind is list:
            return self._shrinks(w, self.size(w) - 1)
        if not hasattr(kind, "__reversed__") and not hasattr(kind, "__getitem__"):
            raise self.refuse(f"it goes backwards through a {kind.__name__}")
        return iter(self.items(w)[::-1])

    def _shrinks(self, w: Value, last: int) -> Iterator[Value]:
        """A list from its end, which may become shorter while it is gone through."""
        for i in range(last, -1, -1):
            if i >= self.size(w):
                return
            yield self.item(w, i)

    def _walked(self, w: Outside) -> Iterator[object]:
        """The keys of a dictionary, which must not grow while it is gone through."""
        keys = self.keys(w)
        for key in keys:
            yield self.from_key(key)
            if w.changed and self.keys(w) != keys:
                raise self.refuse("it changes a dictionary while it goes through it")

    def _viewed(self, w: DictView) -> Iterator[object]:
        for found in self._walked(w.of):
            key = self.key(found)
            value = None if w.kind == "keys" else self.get(w.of, key)
            yield found if w.kind == "keys" else value if w.kind == "values" else (found, value)

    # -- Of the other parts of the door -----------------------------------------------------------------

    def keys(self, o: Outside) -> list[Value]:
        """The keys of a dictionary, in order."""
        raise NotImplementedError

    def item(self, o: Value, key: object) -> Value:
        """``o[key]``"""
        raise NotImplementedError

    def _at(self, o: Outside, i: int) -> Value:
        raise NotImplementedError


__all__ = ["MAPPINGS", "SEQUENCES", "Walking"]
