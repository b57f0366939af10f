"""Classes for patterns such as ``case float(y):``, for which a tensor counts as the value that it holds."""

from __future__ import annotations

import builtins
from abc import ABCMeta
from functools import cache

import numpy as np

from adjoint.core.box import Box, raw
from adjoint.core.types import Array, Value
from adjoint.twin.standins import TextsOfSamples, find
from adjoint.twin.subclasses.base import class_of

# In patterns, these take the object itself as their first part.
_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


class _Kind(ABCMeta):
    asked: type

    def __instancecheck__(cls, x: Array) -> bool:
        is_instance: Value = find(builtins.isinstance) or isinstance
        return bool(is_instance(x, cls.asked)) if isinstance(x, Box) else isinstance(x, cls.asked)


@cache
def kind(cls: type) -> type:
    """A class of which `x` is an instance if ``isinstance(x, cls)`` would say so in the plain program."""
    if not isinstance(cls, type) or cls is bool:  # of bool there are no others
        return cls
    bases = (cls,) if cls in _WHOLE else ()
    scope = {} if bases or not hasattr(cls, "__match_args__") else {"__match_args__": cls.__match_args__}
    made: Value = _Kind(cls.__name__, bases, scope)
    made.asked = cls
    return made  # type: ignore[no-any-return]  # a class, made here


def types_of(x: Array) -> tuple[type, ...]:
    """What ``type(x)`` may be in the plain program: of a number that is being recorded, Python's or NumPy's."""
    if not isinstance(x, Box):
        return (str if type(x) is TextsOfSamples else class_of(x),)
    kinds: Value = find(type) or type
    found = kinds(x)
    if not isinstance(raw(x), Box):
        return (found,)
    return (found, float) if found is np.float64 else (found, complex) if found is np.complex128 else (found,)


def is_of(x: Array, cls: type) -> bool:
    """``type(x) is cls``."""
    return any(found is cls for found in types_of(x))


def is_one_of(x: object, classes: Value) -> bool:
    """``type(x) in classes``."""
    return any(found in classes for found in types_of(x))
