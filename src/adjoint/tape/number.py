"""`TensorNumber`: a tensor that stands for one of Python's numbers."""

from __future__ import annotations

import numpy as np

from adjoint.arrays.promotion import for_ufunc
from adjoint.arrays.python_number import FAST_OPERATORS, REFLECTED, PythonNumber, add_fast_comparisons
from adjoint.core.registry import operation
from adjoint.core.types import Array, Function, Value
from adjoint.tape.fast import number_path
from adjoint.tape.node import TapeNode
from adjoint.tape.tensor import Tensor, wrap


class TensorNumber(PythonNumber, Tensor):
    """A tensor of one of Python's numbers: an argument that was one, what `math` and ``float(t)`` give."""

    __slots__ = ()

    @classmethod
    def standing_for(cls, box: Array) -> TensorNumber:
        data = box.held
        return cls.of(data[()] if type(data) is np.ndarray else data, box.node, box.level)

    @classmethod
    def of(cls, data: Array, node: TapeNode | None, level: int) -> TensorNumber:
        """The number `data` of `level`, computed by `node`."""
        number: TensorNumber = object.__new__(cls)
        number.held, number.node, number.level = data, node, level
        return number

    def as_array(self) -> Array:
        return wrap(self.held, self.node, self.level)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Value, **kwargs: Value) -> Array:
        if len(inputs) > 1:
            inputs = tuple(for_ufunc(ufunc, method, inputs, kwargs))
        return Tensor.__array_ufunc__(self, ufunc, method, *inputs, **kwargs)


Tensor.python_kind = TensorNumber


def _first_use(name: str, op: str, symbol: str | None, slower: str) -> Function:
    """An operator that stands aside for its fast path, written when it is first used."""
    slow = getattr(PythonNumber, f"__{name}__")
    reflected = op == REFLECTED.get(name)

    def otherwise(other: Array, self: TensorNumber) -> Value:
        return slow(self, other)

    def first(self: TensorNumber, *other: Array) -> Value:
        found: Value = operation(op)
        if not reflected:
            method = number_path(found, TensorNumber, slow, symbol, slower)
        else:
            short = number_path(found, TensorNumber, otherwise, symbol, slower, method=False)

            def method(self: TensorNumber, other: Array) -> Value:
                return short(other, self)

        setattr(TensorNumber, f"__{name}__", method)
        return method(self, *other)

    return first


for _name, _op, _symbol, _slower in FAST_OPERATORS:
    for _method in (_name, f"i{_name}", f"r{_name}"):
        setattr(TensorNumber, f"__{_method}__", _first_use(_method, _op, _symbol, _slower))
TensorNumber.__neg__ = _first_use("neg", "negative", None, "")  # type: ignore[method-assign]  # as above
add_fast_comparisons(TensorNumber, "held")
