"""`ArrayBox`: operators, attributes and methods with NumPy's names, for every kind of array that is a box."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from numbers import Rational
from types import FrameType, FunctionType
from typing import Any

import numpy as np

from adjoint.arrays.flat import Flat
from adjoint.arrays.like import CONVERSIONS, CREATIONS, make_like
from adjoint.arrays.methods import adopt
from adjoint.arrays.pytorch_names import PyTorchNames, exchanged
from adjoint.core.backend import alone, backend_of
from adjoint.core.box import Box, raw, stays_in_index, varies
from adjoint.core.device import device_of
from adjoint.core.elsewhere import answer_names
from adjoint.core.errors import ArgumentError, DeviceError, DTypeError, LeavesGraphError
from adjoint.core.foreign import ForeignArrayError, asking
from adjoint.core.keys import hash_of, looked_up
from adjoint.core.late import service
from adjoint.core.protocol import array_function, array_ufunc, detached, store
from adjoint.core.refusals import RARE, STUMBLED, numpys
from adjoint.core.registry import ANSWERS, Composite, operation, placed
from adjoint.core.types import Array, Axis, DType, Function, Index, ShapeLike
from adjoint.core.words import MEANT, has_words
from adjoint.ops.indexing.reading import SIMPLE, getitem, kept, read
from adjoint.ops.shape.copying import astype as cast
from adjoint.ops.shape.copying import loses_imaginary, real_part

# Modules whose functions do not hand over to ours, and compute something else for what is no array by `isinstance`.
_KINDS = ("polynomial", "chebyshev", "legendre", "laguerre", "hermite", "hermite_e")
_CLASS: Any = vars(object)["__class__"]
_ASKING = frozenset(f"numpy.polynomial.{kind}" for kind in _KINDS)

_MADE = CONVERSIONS | CREATIONS
_SEQUENCES = (list, tuple)
_OPERANDS = (Box, np.ndarray, np.generic, int, float, complex, list, tuple)


def _operator(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    op = operation(name)

    def method(self: Any, other: Array) -> Array:
        if not isinstance(other, _OPERANDS) and backend_of(other) is None:
            found = _numbers_of(other)
            if found is NotImplemented:
                return _no_operand(name, other)
            other = found
        if not reflected:
            return asking(op, self, other)
        out = asking(op, other, self)
        # Python computes ``1j * np.float64(2)``, to one of its own numbers.
        return out.of_python() if type(other) is complex and self.dtype == float and self._is_number() else out

    return method


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


def _question(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """An operator whose answer no gradient flows through: an array of the same kind, as the array API asks."""
    operator = _operator(name, reflected)

    def method(self: Any, other: Array) -> Array:
        answer = operator(self, other)
        return answer if answer is NotImplemented else self.constant(answer)

    return method


def _times(reflected: bool = False) -> Callable[[Any, Any], Any]:
    """``t * u``; a list is repeated by a whole number, as NumPy's do."""
    operator = _operator("multiply", reflected)

    def method(self: Any, other: Array) -> Array:
        if isinstance(other, _SEQUENCES) and self.dtype.kind in "iufc" and self._is_number():
            if self.dtype.kind in "fc":
                raise TypeError(f"can't multiply sequence by non-int of type '{self.dtype}'")
            return other * self.__index__()
        return operator(self, other)

    return method


_equal = _question("equal")


def _product(reflected: bool = False) -> Callable[[Any, Any], Any]:
    """``t @ u``, also where ``u`` is a sparse matrix of SciPy's."""
    dense = _operator("matmul", reflected)

    def method(self: Any, other: Array) -> Array:
        if is_scipy_sparse(type(other).__module__):
            product = service("scipy").sparse.matmul
            return product(other, self) if reflected else product(self, other)
        return dense(self, other)

    return method


def is_scipy_sparse(module: str) -> bool:
    """Whether a name is that of SciPy's sparse matrices' modules."""
    return module.startswith("scipy.sparse")


def held_out(box: Any, asker: FrameType) -> np.ndarray | None:
    """What ``A @ t`` of a sparse matrix gets when it asks `box` for an array: one of objects; None for any other asker.

    Given one of objects, it leaves the product to ``t.__rmatmul__``.
    """
    if asker.f_code.co_name != "_matmul_dispatch" or not is_scipy_sparse(asker.f_globals["__name__"]):
        return None
    held = np.empty((), object)
    held[()] = box
    return held


def plain_index(index: Index) -> Any:
    """An index with boxes of whole numbers or truth values made plain."""
    if isinstance(index, tuple):
        return tuple(plain_index(i) for i in index)
    if isinstance(index, Box):
        if stays_in_index(index):
            return index.snapshot()  # type: ignore[attr-defined]  # every box that stays has it
        if index.dtype.kind not in "iub":  # type: ignore[attr-defined]  # every box has a dtype
            raise IndexError(
                f"an index must be made of integers or truth values; got a tensor of {index.dtype}. "  # type: ignore[attr-defined]  # as above
                f"Convert it: t.detach().numpy().astype(int)"
            )
        index = alone(index)
    return kept(index)


class ArrayBox(PyTorchNames, Box):
    """What every kind of boxed array shares. A kind adds `shape`, `dtype`, `process` and `numpy`."""

    __slots__ = ()
    __array_priority__ = 1000.0
    __pandas_priority__ = 5000  # series * t asks t first

    def __hash__(self) -> int:
        """A number's is that of its value, as it is for NumPy's; of an array, by identity."""
        return hash_of(self) if self._is_number() else object.__hash__(self)

    def _is_number(self) -> bool:
        """Whether this is a number, as NumPy's, and not an array that can be written."""
        return False

    def of_python(self) -> Any:
        """This number of NumPy's as one of Python's, if there are such of this kind."""
        return self if self.python_kind is None else self.python_kind.standing_for(self)

    @property
    def __class__(self) -> Any:
        """What `isinstance` sees: to NumPy's polynomials, which ask before they compute, an array."""
        return np.ndarray if sys._getframe(1).f_globals.get("__name__") in _ASKING else type(self)

    @__class__.setter
    def __class__(self, kind: Any) -> None:
        _CLASS.__set__(self, kind)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Array, **kwargs: Any) -> Array:
        return asking(array_ufunc, ufunc, method, inputs, kwargs)

    def __array_function__(
        self, function: Function, types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        if (function is np.shape or function is np.ndim) and args and args[0] is self:  # rules ask all the time
            return self.shape if function is np.shape else len(self.shape)
        ours = ANSWERS.get(function)
        if ours is None or "out" in kwargs or function in _MADE:
            if function in _MADE:
                return make_like(self, function, args, kwargs)
            return asking(array_function, function, args, kwargs, protocol="__array_function__")
        if type(ours) is Composite and (not kwargs or RARE.isdisjoint(kwargs)):
            ours = ours.function  # what it calls
        try:
            return ours(*args, **kwargs)
        except ForeignArrayError as error:
            if error.defers("__array_function__"):
                return NotImplemented
            raise
        except STUMBLED as error:
            found = numpys(error, function, args, kwargs)
            if found is error:
                raise
            raise found from None

    __add__, __radd__ = _operator("add"), _operator("add", True)
    __sub__, __rsub__ = _operator("subtract"), _operator("subtract", True)
    __mul__, __rmul__ = _times(), _times(True)
    __truediv__, __rtruediv__ = _operator("divide"), _operator("divide", True)
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _operator("floor_divide", True)
    __mod__, __rmod__ = _operator("remainder"), _operator("remainder", True)
    __pow__, __rpow__ = _operator("power"), _operator("power", True)
    __matmul__, __rmatmul__ = _product(), _product(True)
    __lt__, __le__ = _question("less"), _question("less_equal")
    __gt__, __ge__ = _question("greater"), _question("greater_equal")
    __ne__ = _question("not_equal")
    __and__, __rand__ = _question("bitwise_and"), _question("bitwise_and", True)
    __or__, __ror__ = _question("bitwise_or"), _question("bitwise_or", True)
    __xor__, __rxor__ = _question("bitwise_xor"), _question("bitwise_xor", True)
    __lshift__, __rlshift__ = _question("left_shift"), _question("left_shift", True)
    __rshift__, __rrshift__ = _question("right_shift"), _question("right_shift", True)

    def __eq__(self, other: Array) -> Array:
        if self._is_number():
            looked_up(self, other)
        return _equal(self, other)

    def __neg__(self) -> Any:
        return operation("negative")(self)

    def __pos__(self) -> Any:
        return operation("positive")(self)

    def __abs__(self) -> Any:
        return operation("absolute")(self)

    def __invert__(self) -> Any:
        return self.constant(operation("invert")(self))

    def __divmod__(self, other: Array) -> Array:
        return self // other, self % other

    def __rdivmod__(self, other: Array) -> Array:
        return other // self, other % self

    def __round__(self, ndigits: int = 0) -> Any:
        return operation("round")(self, ndigits)

    def __getitem__(self, index: Index) -> Any:
        kind = type(index)
        if kind in SIMPLE or (kind is tuple and SIMPLE.issuperset(map(type, index))):
            return self.process(getitem, (self,), {"index": index, "repeats": False})
        return read(self, plain_index(index))

    def _leaving(self, call: str) -> Any:
        """The plain values, for `call`; raises where that would lose what this kind of array carries."""
        raise LeavesGraphError(f"{call} of a {type(self).__name__} array, which holds more than values")

    def __array__(self, dtype: DType = None, copy: bool | None = None) -> np.ndarray:
        held = held_out(self, sys._getframe(1))
        if held is not None:
            return held
        values = self._leaving("np.asarray(t)")
        backend = backend_of(values)
        if backend is not None:
            raise DeviceError(
                f"np.asarray(t) would fetch all values of an array of {backend.name}'s, unasked. If that is meant, say "
                f"so: t.numpy()"
            )
        if dtype is not None and loses_imaginary(values, dtype):
            values, copy = real_part(values), True
        return np.array(values, dtype=dtype, copy=copy)

    def __float__(self) -> float:
        value = self._leaving("float(t)")
        return float(real_part(value) if loses_imaginary(value, float) else value)

    def __int__(self) -> int:
        return int(self._leaving("int(t)"))

    def __complex__(self) -> complex:
        return complex(self._leaving("complex(t)"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iub":  # as NumPy's arrays answer code that tries
            raise DTypeError(f"an index is a whole number; this tensor is of {self.dtype}. int(t.item()) makes it one")
        return self._leaving("using t as an index").__index__()  # type: ignore[no-any-return]  # an array's

    def __format__(self, spec: str) -> str:
        value = raw(self)
        is_one = bool(spec) and not self.shape and not varies(self) and not isinstance(value, Box)
        return format(value[()], spec) if is_one else str(self)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor; t.item() gives its number")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: Array) -> bool:
        return bool(np.any(self == value))

    @property
    def shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    @property
    def dtype(self) -> Any:
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        return operation("transpose")(self)

    @property
    def mT(self) -> Any:  # noqa: N802 - NumPy's name
        return operation("matrix_transpose")(self)

    @property
    def real(self) -> Any:
        return operation("real")(self)

    @real.setter
    def real(self, value: Array) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        return operation("imag")(self)

    @imag.setter
    def imag(self, value: Array) -> None:
        self.imag[...] = value

    @property
    def flat(self) -> Flat:
        return Flat(self)

    @flat.setter
    def flat(self, value: Array) -> None:
        self.flat[:] = value

    def conj(self) -> Any:
        return operation("conj")(self) if self.dtype.kind == "c" else self  # NumPy gives a real array itself, too

    conjugate = conj

    def reshape(self, *shape: ShapeLike, order: Any = "C", copy: Any = None) -> Any:
        return operation("reshape")(self, shape[0] if len(shape) == 1 else shape, order=order, copy=copy)

    def transpose(self, *axes: Axis, dim0: int | None = None, dim1: int | None = None) -> Any:
        pair = (dim0, dim1) if dim0 is not None else axes
        if len(pair) == 2 and isinstance(pair[0], int) and isinstance(pair[1], int):
            return exchanged(self, *pair, by_name=dim0 is not None)
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return operation("transpose")(self, tuple(order) if order else None)

    def astype(self, dtype: DType, order: Any = "K", *_: Any, copy: bool = True, **__: Any) -> Any:
        dtype = np.dtype(dtype)
        # Whole numbers and truth values are constants.
        return cast(self if dtype.kind in "fc" else detached(self), dtype=dtype, copy=copy, order=order)

    def copy(self, order: Any = "C") -> Any:
        return self[()] if self._is_number() else operation("copy")(self, order=order)

    def dot(self, other: Array) -> Array:
        return operation("dot")(self, other)

    def clip(self, min: Array = None, max: Array = None, out: Array = None) -> Array:
        return store(operation("clip")(self, min, max), out)

    def compress(self, condition: Array, axis: Axis = None, out: Array = None) -> Array:
        return store(operation("compress")(condition, self, axis), out)

    # The array API's.
    @property
    def device(self) -> str:
        return device_of(self)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        if stream is not None:
            raise ArgumentError(f"arrays move on the stream that is current; got stream={stream!r}")
        return self.to(device)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The namespace `adjoint.xp`.

        Raises:
            ArgumentError: for a version of the array API that it does not follow.
        """
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ArgumentError(f"adjoint.xp follows version '2024.12' of the array API; got {api_version!r}")
        return service("array namespace")

    def constant(self, answer: Any) -> Any:
        """`answer`, which no gradient flows through, as an array of this kind."""
        return answer

    # In place, as NumPy's.
    def sort(self, axis: int = -1, **options: Any) -> Any:
        if has_words(options):
            return placed(MEANT["sort"])(self, **options)
        self[...] = operation("sort")(self, axis, **options)
        return None

    def partition(self, kth: Any, axis: int = -1) -> None:
        self[...] = operation("partition")(self, kth, axis)

    def fill(self, value: Array) -> None:
        self[...] = value

    def put(self, indices: Array, values: Array, mode: str = "raise") -> None:
        operation("put")(self, indices, values, mode)

    def setflags(self, write: bool | None = None, align: bool | None = None, uic: bool | None = None) -> None:
        """`ndarray.setflags` of the array inside."""
        raw(self).setflags(write, align, uic)

    def __setitem__(self, index: Index, value: Array) -> None:
        raise NotImplementedError


adopt(ArrayBox)
answer_names(ArrayBox, "tensor")


for _name, _method in list(vars(ArrayBox).items()):
    if isinstance(_method, FunctionType):
        _method.__qualname__ = f"Tensor.{_name}"  # Python's own messages say it
