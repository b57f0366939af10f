"""Operators of arrays of users' classes: those of NumPy's arrays, which ask an operand of higher priority first."""

from __future__ import annotations

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from adjoint.core.box import Box
from adjoint.core.types import Function, Value
from adjoint.twin.subclasses.base import of_class
from adjoint.twin.syntax.names import BINARY, COMPARISONS

_MIXIN: Value = NDArrayOperatorsMixin
_ARRAYS = (Box, np.ndarray, np.generic)
#: What NumPy takes for the priority of an object that says none.
_LEAST = -1_000_000.0


class ClassOperators(_MIXIN):  # type: ignore[misc]  # NumPy's mixin
    """What stands before ``__array_ufunc__``."""

    __slots__ = ()

    def __pow__(self, other: Value, modulus: None = None) -> Value:
        if modulus is not None or _is_above(other, self):
            return NotImplemented
        return super().__pow__(other)

    def __rpow__(self, other: Value, modulus: None = None) -> Value:
        return NotImplemented if modulus is not None else super().__rpow__(other)


def _is_above(other: Value, array: Value) -> bool:
    """Whether NumPy asks `other` before `array`: by its priority, where it has no ``__array_ufunc__``."""
    kind = type(other)
    if isinstance(other, _ARRAYS) or of_class(other) or hasattr(kind, "__array_ufunc__"):
        return False
    above: bool = getattr(other, "__array_priority__", _LEAST) > array.__array_priority__
    return above


def _leaving(name: str) -> Function:
    ours: Function = getattr(_MIXIN, name)

    def method(self: Value, other: Value) -> Value:
        return NotImplemented if _is_above(other, self) else ours(self, other)

    method.__name__ = name
    return method


for _name in (*BINARY.values(), *COMPARISONS.values(), "divmod"):
    _name = f"__{_name.rstrip('_')}__"
    if _name not in vars(ClassOperators):
        setattr(ClassOperators, _name, _leaving(_name))
