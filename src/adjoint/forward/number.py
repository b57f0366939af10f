"""`DualNumber`: a dual that stands for one of Python's numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from adjoint.arrays.python_number import FAST_OPERATORS, REAL, REFLECTED, PythonNumber, add_fast_comparisons, as_numpy
from adjoint.core.codegen import defined
from adjoint.core.op import Op
from adjoint.core.registry import operation
from adjoint.core.types import Array, Settings
from adjoint.forward.dual import Dual
from adjoint.forward.fast import fast_path


class DualNumber(PythonNumber, Dual):
    """A value of Python's, with its tangent."""

    __slots__ = ()

    @classmethod
    def standing_for(cls, box: Array) -> Array:
        primal, tangent = box.layers
        return cls.of((primal[()] if type(primal) is np.ndarray else primal, tangent), box.level)

    def as_array(self) -> Array:
        return Dual.of(self._layers, self.level)

    def process(self, op: Op, args: Sequence[Array], settings: Settings) -> Array:
        return self.as_array().process(op, tuple(map(as_numpy, args)), settings)


Dual.python_kind = DualNumber


def _first_use(name: str, op: str, slower: str) -> Callable[[Array, Array], Array]:
    """An operator that makes its fast path when it is first used. Where `slower` holds, the slow path is taken."""
    slow = getattr(PythonNumber, f"__{name}__")
    reflected = name in REFLECTED

    def first(self: Array, other: Array) -> Array:
        found: Array = operation(op)
        text = f"def fits(a, b): return not ({slower or 'False'})"
        fits: Callable[[Array, Array], bool] = defined(text, f"values of {name}", {"real": REAL}, "fits")
        short = fast_path(found, DualNumber, (lambda a, b: slow(b, a)) if reflected else slow)

        def method(self: Array, other: Array) -> Array:
            kind = type(other)
            b = other._layers[0] if kind is DualNumber else other if kind is float or kind is int else None
            return short(self, other) if type(b) in REAL and fits(self._layers[0], b) else slow(self, other)

        def back(self: Array, other: Array) -> Array:
            kind, b = type(other), self._layers[0]
            fit = (kind is float or kind is int) and type(b) in REAL and fits(other, b)
            return short(other, self) if fit else slow(self, other)

        setattr(DualNumber, f"__{name}__", back if reflected else method)
        return getattr(self, f"__{name}__")(other)

    return first


def _negative(self: Array) -> Array:
    found: Array = operation("negative")
    short = fast_path(found, DualNumber, PythonNumber.__neg__)
    DualNumber.__neg__ = short  # type: ignore[method-assign]  # from now on
    return short(self)


for _name, _op, _, _slower in FAST_OPERATORS:
    for _method in (_name, f"i{_name}", f"r{_name}"):
        setattr(DualNumber, f"__{_method}__", _first_use(_method, _op, _slower))
DualNumber.__neg__ = _negative  # type: ignore[method-assign]  # as above
add_fast_comparisons(DualNumber, "_layers[0]")
