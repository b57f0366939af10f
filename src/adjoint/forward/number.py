"""`DualNumber`: a dual that stands for one of Python's numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.arrays.python_number import REAL, PythonNumber, as_numpy
from adjoint.core.op import Op
from adjoint.core.registry import operation
from adjoint.forward.dual import Dual
from adjoint.forward.fast import fast_path

Fits = Callable[[Any, Any], bool]


class DualNumber(PythonNumber, Dual):
    """A value of Python's, with its tangent."""

    __slots__ = ()

    @classmethod
    def standing_for(cls, box: Any) -> Any:
        primal, tangent = box.layers
        return cls.of((primal[()] if type(primal) is np.ndarray else primal, tangent), box.level)

    def as_array(self) -> Any:
        return Dual.of(self._layers, self.level)

    def process(self, op: Op, args: Sequence[Any], settings: Mapping[str, Any]) -> Any:
        return self.as_array().process(op, tuple(map(as_numpy, args)), settings)


Dual.python_kind = DualNumber


def _first_use(name: str, op: str, fits: Fits) -> Callable[[Any, Any], Any]:
    """An operator that makes its fast path when it is first used; values that do not fit go the slower one."""
    slow = getattr(PythonNumber, f"__{name}__")
    reflected = name[0] == "r"

    def first(self: Any, other: Any) -> Any:
        found: Any = operation(op)
        short = fast_path(found, DualNumber, (lambda a, b: slow(b, a)) if reflected else slow)

        def method(self: Any, other: Any) -> Any:
            kind = type(other)
            b = other._layers[0] if kind is DualNumber else other if kind is float or kind is int else None
            return short(self, other) if type(b) in REAL and fits(self._layers[0], b) else slow(self, other)

        def back(self: Any, other: Any) -> Any:
            kind, b = type(other), self._layers[0]
            fit = (kind is float or kind is int) and type(b) in REAL and fits(other, b)
            return short(other, self) if fit else slow(self, other)

        setattr(DualNumber, f"__{name}__", back if reflected else method)
        return getattr(self, f"__{name}__")(other)

    return first


def _negative(self: Any) -> Any:
    found: Any = operation("negative")
    short = fast_path(found, DualNumber, PythonNumber.__neg__)
    DualNumber.__neg__ = short  # type: ignore[method-assign]  # from now on
    return short(self)


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    plain, slow = getattr(operator, name), getattr(PythonNumber, f"__{name}__")

    def method(self: Any, other: Any) -> Any:
        kind = type(other)
        a, b = self._layers[0], other._layers[0] if kind is DualNumber else other
        if type(a) is np.float64 and type(b) in REAL and kind is not np.float64:
            return bool(plain(a, b))
        return slow(self, other)

    return method


def _all(a: Any, b: Any) -> bool:
    return True


def _divides(a: Any, b: Any) -> bool:
    return bool(b)


def _is_plain_power(a: Any, b: Any) -> bool:
    """Whether Python neither raises for ``a ** b`` nor gives a complex number."""
    if type(a) not in REAL or not -30 < b < 30:
        return False
    return bool(1e-9 < a < 1e9 or (type(b) is int and b >= 0 and -1e9 < a < 1e9))


_OPERATORS: tuple[tuple[str, str, Fits], ...] = (
    ("add", "add", _all),
    ("sub", "subtract", _all),
    ("mul", "multiply", _all),
    ("truediv", "divide", _divides),
    ("pow", "power", _is_plain_power),
)
for _name, _op, _fits in _OPERATORS:
    for _method in (_name, f"i{_name}", f"r{_name}"):
        setattr(DualNumber, f"__{_method}__", _first_use(_method, _op, _fits))
DualNumber.__neg__ = _negative  # type: ignore[method-assign]  # as above
for _name in ("lt", "le", "gt", "ge", "ne"):
    setattr(DualNumber, f"__{_name}__", _comparison(_name))
