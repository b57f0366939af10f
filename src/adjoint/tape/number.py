"""`TensorNumber`: a tensor that stands for one of Python's numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.arrays.python_number import REAL, PythonNumber, lessened
from adjoint.core.registry import operation
from adjoint.tape.fast import number_path
from adjoint.tape.node import Node
from adjoint.tape.tensor import Tensor, wrap


class TensorNumber(PythonNumber, Tensor):
    """A tensor of one of Python's numbers: an argument that was one, what `math` and ``float(t)`` give."""

    __slots__ = ()

    @classmethod
    def standing_for(cls, box: Any) -> Any:
        data = box.data
        return cls.of(data[()] if type(data) is np.ndarray else data, box.node, box.level)

    @classmethod
    def of(cls, data: Any, node: Node | None, level: int) -> TensorNumber:
        """The number `data` of `level`, computed by `node`."""
        number: TensorNumber = object.__new__(cls)
        number.data, number.node, number.level = data, node, level
        return number

    def as_array(self) -> Any:
        return wrap(self.data, self.node, self.level)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if len(inputs) > 1:
            inputs = tuple(lessened(x, inputs) if isinstance(x, PythonNumber) else x for x in inputs)
        return Tensor.__array_ufunc__(self, ufunc, method, *inputs, **kwargs)


Tensor.python_kind = TensorNumber


def _first_use(name: str, op: str, symbol: str | None, slower: str) -> Callable[..., Any]:
    """An operator that stands aside for its fast path, written when it is first used."""
    slow = getattr(PythonNumber, f"__{name}__")
    reflected = op == _REFLECTED.get(name)

    def otherwise(other: Any, self: Any) -> Any:
        return slow(self, other)

    def first(self: Any, *other: Any) -> Any:
        found: Any = operation(op)
        if not reflected:
            method = number_path(found, TensorNumber, slow, symbol, slower)
        else:
            short = number_path(found, TensorNumber, otherwise, symbol, slower, method=False)

            def method(self: Any, other: Any) -> Any:
                return short(other, self)

        setattr(TensorNumber, f"__{name}__", method)
        return method(self, *other)

    return first


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    plain, slow = getattr(operator, name), getattr(PythonNumber, f"__{name}__")

    def method(self: Any, other: Any) -> Any:
        a, b = self.data, other.data if type(other) is TensorNumber else other
        if type(a) is np.float64 and type(b) in REAL and type(other) is not np.float64:
            return bool(plain(a, b))
        return slow(self, other)

    return method


# Which values take the slower way: those for which Python raises, or gives a complex number.
_POWER = (
    "type(a) not in real or type(b) not in real or not -30 < b < 30 "
    "or not (1e-9 < a < 1e9 or type(b) is int and b >= 0 and -1e9 < a < 1e9)"
)
_OPERATORS = (
    ("add", "add", "+", ""),
    ("sub", "subtract", "-", ""),
    ("mul", "multiply", "*", ""),
    ("truediv", "divide", "/", "type(b) not in real or not b"),
    ("pow", "power", "**", _POWER),
)
_REFLECTED = {f"r{name}": op for name, op, _, _ in _OPERATORS}
for _name, _op, _symbol, _slower in _OPERATORS:
    for _method in (_name, f"i{_name}", f"r{_name}"):
        setattr(TensorNumber, f"__{_method}__", _first_use(_method, _op, _symbol, _slower))
TensorNumber.__neg__ = _first_use("neg", "negative", None, "")  # type: ignore[method-assign]  # as above
for _name in ("lt", "le", "gt", "ge", "ne"):
    setattr(TensorNumber, f"__{_name}__", _comparison(_name))
