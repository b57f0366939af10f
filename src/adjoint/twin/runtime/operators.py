"""Operators where followed classes define them: ``a * b`` by the twin of ``__mul__``, as Python would choose it.

For numbers, arrays and tensors a hook does the same as the operator. Lists that hold tensors are joined where NumPy
would make arrays of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import cast

import numpy as np

from adjoint.arrays.python_number import PythonNumber
from adjoint.core.box import Box
from adjoint.core.objects.foreign import overrides
from adjoint.core.types import Array, Function, Value
from adjoint.tape.number import TensorNumber
from adjoint.tape.tensor import Tensor
from adjoint.twin.standins import TextsOfSamples, find, live
from adjoint.twin.standins.values import type_of
from adjoint.twin.subclasses.array import ArrayOfClass
from adjoint.twin.subclasses.base import MET, SubclassArray, inside, of_class
from adjoint.twin.syntax.names import BINARY, COMPARISONS, UNARY

#: The twin of a method of a class that is followed; None if the class has none of that name, written in Python.
MethodOf = Callable[[type, str], Function | None]

_PLAIN = frozenset(
    (float, int, bool, complex, np.ndarray, np.float64, np.int64, np.float32, np.bool_, Tensor, TensorNumber)
)
_SWAPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def operator_hooks(method: MethodOf, lifted: Function, in_text: Function) -> Mapping[str, Function]:
    """The hooks of all operators, by the names that the rewriter gives them; ``text % values`` is by `in_text`."""
    hooks: dict[str, Function] = {}
    for name in (*BINARY.values(), *COMPARISONS.values()):
        hooks[name] = _binary(name, getattr(operator, name), method, lifted)
    hooks["divmod"] = _binary("divmod", divmod, method, lifted)
    numbers = hooks["mod"]
    hooks["mod"] = lambda x, y: in_text(x, y) if type(x) in _TEXTS else numbers(x, y)
    for name in BINARY.values():
        hooks[f"i{name}"] = _in_place(name, getattr(operator, f"i{name.rstrip('_')}"), hooks[name], method, lifted)
    for name in UNARY.values():
        hooks[name] = _unary(name, getattr(operator, name), method)
    return hooks


def _binary(name: str, plain: Function, method: MethodOf, lifted: Function) -> Function:
    middle = name.rstrip("_")
    forward, back = f"__{middle}__", f"__{_SWAPPED.get(name, 'r' + middle)}__"
    ufunc = _UFUNCS.get(name)

    def hook(x: object, y: object) -> object:
        a, b = type(x), type(y)
        if a in _PLAIN and b in _PLAIN:
            return plain(x, y)
        if MET and (issubclass(a, _ARRAYS) or issubclass(b, _ARRAYS)):
            x, y = both_lifted(x, y, lifted)
            if of_class(x) or of_class(y):
                return _of_classes(x, y, plain, method, forward, back)
            a, b = type(x), type(y)
        first, second = method(a, forward), method(b, back)
        if ufunc is not None:
            found = _asked(ufunc, method, x, y, first, second)
            if found is not NotImplemented:
                return found
        if first is None and second is None:
            return plain(*_joined(x, y))
        turns = [(first, a, forward, x, y), (second, b, back, y, x)]
        if b is not a and issubclass(b, a) and second is not None:
            if name in COMPARISONS.values() or getattr(b, back) is not getattr(
                a, back, None
            ):  # an heir's own comes first
                turns.reverse()
        for twin, kind, of_kind, one, other in turns:
            if twin is None:
                twin = None if kind in _REPEATED else getattr(kind, of_kind, None)
            result = NotImplemented if twin is None else twin(one, other)
            if result is not NotImplemented:
                return result
        return plain(x, y)  # as Python refuses it, or compares identities

    return hook


_ARRAYS = (np.ndarray, SubclassArray)
_TEXTS = (str, bytes, TextsOfSamples)
_REPEATED = frozenset((list, tuple, str, bytes, bytearray))  # Python repeats and joins them if no operand answers


def both_lifted(x: Value, y: Value, lifted: Function) -> tuple[Value, Value]:
    """Both sides; beside a box, an array of a user's class as one that can hold boxes."""
    if isinstance(y, Box) or of_class(y):
        return lifted(x), y
    return (x, lifted(y)) if isinstance(x, Box) or of_class(x) else (x, y)


def _of_classes(x: Value, y: Value, plain: Function, method: MethodOf, forward: str, back: str) -> Value:
    """An operator of two arrays, one of which is of a user's class: its own method comes before that of its base's."""
    first, second = type_of(x), type_of(y)
    turns = [(x, y, forward), (y, x, back)]
    heir = second is not first and issubclass(second, first) and getattr(second, back) is not getattr(first, back, None)
    for one, other, name in reversed(turns) if heir else turns:
        twin = method(type(one), name)
        if twin is not None:
            found = twin(one, other)
        elif isinstance(one, Box | np.ndarray | np.generic) and not isinstance(one, PythonNumber):
            found = plain(x, y)
        else:
            own = getattr(type(one), name, None)
            found = own(one, other) if isinstance(own, FunctionType) and not isinstance(one, Box) else NotImplemented
        if found is not NotImplemented:
            return found
    return plain(x, y)


_UFUNCS: Mapping[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip


def _asked(
    ufunc: np.ufunc, method: MethodOf, x: Value, y: Value, first: Function | None, second: Function | None
) -> Value:
    """What an object answers that an operator of NumPy's arrays asks by ``__array_ufunc__``; else NotImplemented."""
    for mine, other, own in ((x, y, second), (y, x, first)):
        if isinstance(mine, np.ndarray | np.generic | Box) and not isinstance(mine, PythonNumber):
            kind = type(other)
            twin = method(kind, "__array_ufunc__") if overrides(kind) else None
            if twin is not None and (mine is x or own is None):
                return twin(other, ufunc, "__call__", x, y)
    return NotImplemented


def _joined(x: object, y: object) -> tuple[object, object]:
    """Both sides; a list beside an array is an array, as NumPy has it."""
    if isinstance(x, list | tuple) and isinstance(y, np.ndarray | Box) and live(x):
        return _array(x), y
    if isinstance(y, list | tuple) and isinstance(x, np.ndarray | Box) and live(y):
        return x, _array(y)
    return x, y


def _array(x: object) -> object:
    stand_in = find(np.asarray)
    return x if stand_in is None else stand_in(x)


def _in_place(name: str, plain: Function, otherwise: Function, method: MethodOf, lifted: Function) -> Function:
    own = f"__i{name.rstrip('_')}__"

    def hook(x: Value, y: Value) -> Array | None:
        if type(x) in _PLAIN and type(y) in _PLAIN:
            return plain(x, y)
        if MET and isinstance(x, Box) and issubclass(type(y), _ARRAYS) and not cast(Value, x)._is_number():
            y = lifted(y)
            if of_class(y):
                asks = cast(Value, type(y)).__array_ufunc__ is not ArrayOfClass.__array_ufunc__
                return _UFUNCS[name](x, y, out=(x,)) if asks else plain(x, inside(y))
        twin = method(type(x), own)
        result = NotImplemented if twin is None else twin(x, y)
        if result is not NotImplemented:
            return result
        return plain(*_joined(x, y)) if hasattr(type(x), own) and twin is None else otherwise(x, y)

    return hook


def _unary(name: str, plain: Function, method: MethodOf) -> Function:
    own = f"__{name}__"

    def hook(x: Array) -> Array:
        twin = None if type(x) in _PLAIN else method(type(x), own)
        return plain(x) if twin is None else twin(x)

    return hook
