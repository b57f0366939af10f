"""Weak references that lose no interrupt: their callbacks are C functions.

Python looks for signals between its own instructions. If a signal raises in a Python callback, or in a ``__del__``, the
error is printed and lost. So callbacks here are C functions, which also get the reference.
"""

from __future__ import annotations

import weakref
from functools import partial
from typing import Generic, TypeVar

from adjoint.core.threads.locks import WRITES
from adjoint.core.types import Function, Value

K = TypeVar("K")
V = TypeVar("V")

_held: list[weakref.ref[Value]] = []
_limit = [64]  # how many references there may be before those to what is gone are dropped


def at_end(thing: object, function: Function) -> None:
    """Call `function`, which is C's and takes a reference, when `thing` goes."""
    with WRITES:
        _held.append(weakref.ref(thing, function))
        if len(_held) > _limit[0]:
            _held[:] = [reference for reference in _held if reference() is not None]
            _limit[0] = 2 * len(_held) + 64


class WeakValues(Generic[K, V]):
    """Values by key, each as long as something else refers to it."""

    __slots__ = ("_references",)

    def __init__(self) -> None:
        self._references: dict[K, weakref.ref[Value]] = {}

    def get(self, key: K) -> V | None:
        """The value of `key`; None if it is gone."""
        found = self._references.get(key)
        return None if found is None else found()

    def __setitem__(self, key: K, value: V) -> None:
        self._references[key] = weakref.ref(value, partial(self._references.pop, key))

    def __len__(self) -> int:
        return len(self._references)

    def items(self) -> list[tuple[K, V]]:
        """The keys and values that are there now."""
        pairs = [(key, reference()) for key, reference in tuple(self._references.items())]
        return [(key, value) for key, value in pairs if value is not None]


class WeakKeys(Generic[K, V]):
    """Values of objects, as long as something else refers to these."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[weakref.ref[Value], V] = {}

    def get(self, key: K) -> V | None:
        """The value of `key`; None if it has none."""
        return self._values.get(weakref.ref(key))

    def __setitem__(self, key: K, value: V) -> None:
        self._values[weakref.ref(key, self._values.pop)] = value

    def __len__(self) -> int:
        return len(self._values)

    def values(self) -> list[V]:
        """The values of the objects that still exist."""
        return list(self._values.values())


class WeakIds(Generic[K, V]):
    """Values of objects by identity, as long as something else refers to these."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[int, tuple[weakref.ref[Value], V]] = {}

    def get(self, key: K) -> V | None:
        """The value of `key`; None if it has none."""
        found = self._values.get(id(key))
        return None if found is None else found[1]

    def __contains__(self, key: K) -> bool:
        return id(key) in self._values

    def __setitem__(self, key: K, value: V) -> None:
        self._values[id(key)] = weakref.ref(key, partial(self._values.pop, id(key))), value

    def drop(self, key: K) -> None:
        """Forget the value of `key`, if it has one."""
        self._values.pop(id(key), None)

    def clear(self) -> None:
        self._values.clear()
