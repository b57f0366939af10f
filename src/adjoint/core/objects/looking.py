"""Attributes of other people's objects, looked up without running their code."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType

from adjoint.core.types import Value

_NONE: Value = object()


def looked_up(owner: object, name: str, missing: Value = None) -> Value:
    """``getattr(owner, name, missing)``; `missing` also where that would run code that is written in Python."""
    kind = type(owner)
    if isinstance(_within(kind.__mro__, "__getattribute__"), FunctionType):
        return missing
    of_kind, own = _within(kind.__mro__, name), _NONE
    if isinstance(owner, type):
        own = _within(owner.__mro__, name)
    elif type(space := _space(owner)) is dict:
        own = space.get(name, _NONE)
    if of_kind is own is _NONE or _runs(of_kind) or isinstance(of_kind, property):
        return missing
    return missing if isinstance(owner, type) and _runs(own) else getattr(owner, name, missing)


def _within(kinds: Iterable[type], name: str) -> Value:
    """What the first class that has `name` has under it, as it stands in its dictionary."""
    return next((vars(kind)[name] for kind in kinds if name in vars(kind)), _NONE)


def _space(owner: Value) -> Value:
    try:
        return object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return None


def _runs(value: object) -> bool:
    """Whether what a class has runs code where it is read: that of a descriptor, or of one in a class method."""
    if isinstance(value, classmethod):
        return not isinstance(value.__func__, FunctionType)
    return isinstance(_within(type(value).__mro__, "__get__"), FunctionType)
