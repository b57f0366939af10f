"""Operators of boxes: each calls its operation; for an object that is no operand it answers as NumPy does."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from numbers import Number, Rational
from types import FrameType
from typing import cast

import numpy as np

from adjoint.core.backend import backend_of
from adjoint.core.box import Box
from adjoint.core.errors import DTypeError
from adjoint.core.late import service
from adjoint.core.objects.foreign import asking, overrides
from adjoint.core.op import Op
from adjoint.core.registry import operation
from adjoint.core.types import Array, DType, Settings, Value

_SEQUENCES = (list, tuple)

_OPERANDS = (Box, np.ndarray, np.generic, int, float, complex, list, tuple)


def answers_itself(other: object, method: str) -> bool:
    """Whether `other` is no operand of ours, and has the reflected `method` that Python asks then."""
    return not isinstance(other, _OPERANDS) and hasattr(type(other), method)


def operator_of(name: str, reflected: bool = False) -> Callable[[Array, Array], Array]:
    op = operation(name)

    def method(self: Array, other: Array) -> Array:
        if not isinstance(other, _OPERANDS) and backend_of(other) is None:
            if is_scipy_sparse(type(other).__module__):
                return service("scipy").sparse.combined(name, self, other, reflected)
            kind: Value = type(other)
            if overrides(kind):  # as NumPy's arrays ask it
                ufunc: Value = op.answers[0]
                return ufunc(other, self) if reflected else ufunc(self, other)
            found = _numbers_of(other) if name not in SIDES else bound(name, self.dtype.kind, other)
            if found is NotImplemented:
                return _no_operand(name, other)
            other = found
        call = _as_python_does(name) if name in _PYTHONS and _rounds_otherwise(name, self, other) else op
        if not reflected:
            return asking(call, self, other)
        out = asking(call, other, self)
        # Python computes ``1j * np.float64(2)``, to one of its own numbers.
        return out.of_python() if type(other) is complex and self.dtype == float and self._is_number() else out

    return method


def absolute_of(x: Array) -> Array:
    """``abs(x)``: of one complex number, Python and NumPy round otherwise than of arrays."""
    single = x.dtype.kind == "c" and x._is_number()
    return (_as_python_does("absolute") if single else operation("absolute"))(x)


_PYTHONS: dict[str, Callable[..., Value]] = {
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "absolute": abs,
}


def _rounds_otherwise(name: str, x: Array, other: Array) -> bool:
    """Whether Python's operator gives other bits than the ufunc: of complex numbers, and of powers that are shorter.

    NumPy squares where it finds ``z**2``, complex numbers by another formula and truth values in another dtype. It
    multiplies and divides single complex numbers by another one than arrays.
    """
    kind = x.dtype.kind
    if name == "power":
        return kind in "cb" and type(other) in (int, float)
    dtype = getattr(other, "dtype", None)
    complex_ones = kind == "c" or type(other) is complex or (dtype is not None and dtype.kind == "c")
    return complex_ones and bool(x._is_number()) and np.ndim(other) == 0


@cache
def _as_python_does(name: str) -> Op:
    """The operation of an operator, computed by the operator."""
    op: Value = operation(name)
    python = _PYTHONS[name]

    def forward(*xs: Array) -> Array:
        out = python(*xs)
        return out if hasattr(out, "dtype") else np.asarray(out)[()]  # a number of Python's

    return op.replace(forward=forward, pullbacks={})  # type: ignore[no-any-return]  # these are operations


#: The comparisons; whether `below` or above a fraction that is no float is the number that answers it as well.
SIDES = {"less": False, "less_equal": True, "greater": True, "greater_equal": False, "equal": None, "not_equal": None}


def is_fraction(x: object) -> bool:
    """Whether `x` is a fraction or a decimal, or one of NumPy's whole numbers."""
    return isinstance(x, Rational) or type(x).__module__ in ("decimal", "_pydecimal")


def bound(name: str, kind: str, other: Array) -> Array:
    """What a comparison with a fraction or decimal becomes: Python compares exactly, and a float is rounded."""
    if kind == "c" or not is_fraction(other):
        return _numbers_of(other)
    if not isinstance(other, Rational) and not cast(Value, other).is_finite():
        return np.float64(other)
    from fractions import Fraction  # whose module takes long to load

    exact, below = Fraction(other), SIDES[name]
    if kind in "iub":
        low = math.floor(exact) if kind != "b" else min(max(math.floor(exact), -1), 2)
        return low if low == exact else np.float64(np.nan) if below is None else low if below else low + 1
    try:
        found = float(exact)
    except OverflowError:
        found = math.inf if exact > 0 else -math.inf
    if math.isfinite(found) and Fraction(found) == exact:
        return np.float64(found)
    if below is None:
        return np.float64(np.nan)  # which equals nothing
    if below == (found == math.inf or (found != -math.inf and Fraction(found) > exact)):
        found = math.nextafter(found, -math.inf if below else math.inf)
    return np.float64(found)


def _numbers_of(other: Array) -> Array:
    """A fraction as a float, a table or series of pandas as an array; anything else is no operand."""
    if isinstance(other, Rational):
        return float(other)
    return np.asarray(other) if hasattr(type(other), "__pandas_priority__") else NotImplemented


_ANSWERS_NONE = (str, bytes, dict, set, frozenset, type(None))

_REFLECTED = {"subtract": "sub", "multiply": "mul", "divide": "truediv", "floor_divide": "floordiv", "remainder": "mod"}

_REFLECTED |= {"power": "pow", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}

_REFLECTED |= {"left_shift": "lshift", "right_shift": "rshift"}


def _no_operand(name: str, other: Array) -> Array:
    """NotImplemented, if Python can ask `other`; else an error: Python's own would say what class of box this is."""
    asked = not isinstance(other, _ANSWERS_NONE) and hasattr(other, f"__r{_REFLECTED.get(name, name)}__")
    if name in _COMPARED or asked:
        return NotImplemented
    raise TypeError(f"np.{name} of an array and a {type(other).__name__}: both must be arrays or numbers")


_COMPARED = frozenset(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"))


def question_of(name: str, reflected: bool = False) -> Callable[[Array, Array], Array]:
    """An operator whose answer no gradient flows through: an array of the same kind, as the array API asks."""
    operator = operator_of(name, reflected)

    def method(self: Array, other: Array) -> Array:
        answer = operator(self, other)
        return answer if answer is NotImplemented else self.constant(answer)

    return method


def times(reflected: bool = False) -> Callable[[Array, Array], Array]:
    """``t * u``; a list is repeated by a whole number, as NumPy's do."""
    operator = operator_of("multiply", reflected)

    def method(self: Array, other: Array) -> Array:
        if (
            type(other) is not type(self)
            and isinstance(other, _SEQUENCES)
            and self.dtype.kind in "iufc"
            and self._is_number()
        ):
            if self.dtype.kind in "fc":
                raise TypeError(f"can't multiply sequence by non-int of type '{self.dtype}'")
            return other * self.__index__()
        return operator(self, other)

    return method


def matrix_product(reflected: bool = False) -> Callable[[Array, Array], Array]:
    """``t @ u``, also where ``u`` is a sparse matrix of SciPy's."""
    dense = operator_of("matmul", reflected)

    def method(self: Array, other: Array) -> Array:
        if is_scipy_sparse(type(other).__module__):
            product = service("scipy").sparse.matmul
            return product(other, self) if reflected else product(self, other)
        return dense(self, other)

    return method


def is_scipy_sparse(module: str) -> bool:
    """Whether a name is that of SciPy's sparse matrices' modules."""
    return module.startswith("scipy.sparse")


def held_out(box: Array, dtype: DType, asker: FrameType) -> np.ndarray | None:
    """An array of objects that holds `box`, where one is asked for; None where numbers are.

    NumPy asks for the elements of `box` as objects when it fills an array of objects: ``o[:] = [t, 2.0]``. A sparse
    matrix in ``A @ t`` that gets objects leaves the product to ``t.__rmatmul__``.
    """
    if dtype is not None and np.dtype(dtype).kind == "O" and getattr(box, "requires_grad", True):
        return _elements(box)
    if asker.f_code.co_name != "_matmul_dispatch" or not is_scipy_sparse(asker.f_globals["__name__"]):
        return None
    held = np.empty((), object)
    held[()] = box
    return held


def _elements(box: Array) -> np.ndarray:
    held = np.empty(box.shape, object)
    for index in np.ndindex(box.shape):
        held[index] = box if box._is_number() else box[index]
    return held


#: The dtype of arrays of objects, which may be boxes.
OBJECTS = np.dtype(object)


def is_objects(x: object) -> bool:
    """Whether `x` is an array of objects."""
    return type(x) is np.ndarray and x.dtype is OBJECTS


def holds_objects(args: Iterable[object]) -> bool:
    """Whether one of `args` is an array of objects: NumPy computes with its elements, by their own operators."""
    return any(map(is_objects, args))


def by_objects(op: Op, args: Sequence[Array], settings: Settings) -> Array:
    """The result of `op` by NumPy, where one of `args` is an array of objects: another one.

    Raises:
        DTypeError: of objects that are no numbers, for which NumPy's loops have no error of their own.
    """
    held = (x for array in filter(is_objects, args) for x in array.flat)
    if (other := next((x for x in held if not isinstance(x, Box | Number | np.generic)), None)) is not None:
        raise DTypeError(f"{op.name}: arrays of objects beside tensors hold numbers and tensors; got {other!r:.60}")
    return op.forward(*(_elements(x) if isinstance(x, Box) else x for x in args), **settings)
