"""The base of all twin classes of array classes, and how their objects are told from others."""

from __future__ import annotations

import sys
from typing import TypeGuard

import numpy as np

from adjoint.core.types import Array, Value

#: The names of classes of arrays of followed packages that were met; empty in most programs.
MET: list[str] = []


class SubclassArray:
    """An array of a user's class that derives from NumPy's: it holds a box, or a plain array.

    To the user's code it is an object of the user's class; to adjoint's, of its twin class.
    """

    __slots__ = ("__dict__", "__weakref__", "_adj_held")
    #: The array inside.
    _adj_held: Array
    #: The class that the user wrote, and the twin classes of its policy.
    _adj_class: type = np.ndarray
    _adj_classes: Value = None

    @property
    def __class__(self) -> Value:
        asker = str(sys._getframe(1).f_globals.get("__name__"))
        return type(self) if asker.startswith("adjoint.") else self._adj_class

    @__class__.setter
    def __class__(self, kind: Value) -> None:
        raise TypeError(f"an array of {self._adj_class.__qualname__} keeps its class; make a view: a.view({kind!r})")


def of_class(x: object) -> TypeGuard[SubclassArray]:
    """Whether `x` is an array of a user's class with an array of any kind inside."""
    return issubclass(type(x), SubclassArray)


def users(kind: Value) -> type:
    """The class that the user wrote, where `kind` may be its twin class."""
    found: type = kind._adj_class if isinstance(kind, type) and issubclass(kind, SubclassArray) else kind
    return found


def class_of(x: object) -> type:
    """``type(x)`` in the plain program, of anything but a box."""
    return users(type(x))


def inside(x: Value, depth: int = 8) -> Value:
    """`x` with the arrays that arrays of users' classes hold in their place, also in containers."""
    kind = type(x)
    if issubclass(kind, SubclassArray):
        return x._adj_held
    if depth and (kind is list or kind is tuple):
        parts = [inside(q, depth - 1) for q in x]
        return x if all(a is b for a, b in zip(parts, x, strict=True)) else kind(parts)
    if depth and kind is dict:
        named = {name: inside(q, depth - 1) for name, q in x.items()}
        return x if all(named[name] is q for name, q in x.items()) else named
    return x


def found_in(x: Value, depth: int = 8) -> list[Value]:
    """The arrays of users' classes in `x`, in order."""
    kind = type(x)
    if issubclass(kind, SubclassArray):
        return [x]
    if depth and kind in (list, tuple):
        return [found for q in x for found in found_in(q, depth - 1)]
    if depth and kind is dict:
        return [found for q in x.values() for found in found_in(q, depth - 1)]
    return []
