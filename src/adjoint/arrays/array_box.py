"""`ArrayBox`: operators, attributes and methods with NumPy's names, for every kind of array that is a box."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterator
from types import FunctionType

import numpy as np

from adjoint.arrays.like import CONVERSIONS, CREATIONS, make_like
from adjoint.arrays.methods import adopt
from adjoint.arrays.operators import (
    absolute_of,
    answers_itself,
    held_out,
    matrix_product,
    operator_of,
    question_of,
    times,
)
from adjoint.arrays.pytorch_names import PyTorchNames, exchanged
from adjoint.core.backend import alone, backend_of
from adjoint.core.box import Box, raw, stays_in_index, varies
from adjoint.core.device import device_of
from adjoint.core.errors import ArgumentError, DeviceError, DTypeError, LeavesGraphError
from adjoint.core.late import service
from adjoint.core.messages.elsewhere import answer_names
from adjoint.core.messages.refusals import RARE, STUMBLED, numpys
from adjoint.core.messages.words import MEANT, has_words
from adjoint.core.objects.foreign import ForeignArrayError, asking
from adjoint.core.objects.keys import hash_of, looked_up
from adjoint.core.protocol import array_function, array_ufunc, detached
from adjoint.core.registry import ANSWERS, Composite, operation, placed
from adjoint.core.types import Array, Axis, Device, DType, Function, Index, Settings, ShapeLike, Value
from adjoint.ops.indexing.index import SIMPLE, joined, kept
from adjoint.ops.indexing.reading import getitem, read
from adjoint.ops.shape.copying import astype as cast
from adjoint.ops.shape.copying import loses_imaginary, real_part
from adjoint.ops.values import is_number

# Modules whose functions do not hand over to ours, and compute something else for what is no array by `isinstance`.
_KINDS = ("polynomial", "chebyshev", "legendre", "laguerre", "hermite", "hermite_e")

_CLASS: Value = vars(object)["__class__"]

_ASKING = frozenset(f"numpy.polynomial.{kind}" for kind in _KINDS)

_MADE = CONVERSIONS | CREATIONS

_equal, _unequal = question_of("equal"), question_of("not_equal")


def plain_index(index: Index) -> Array:
    """An index with boxes of whole numbers or truth values made plain."""
    if isinstance(index, list | tuple):
        index = joined(index)
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
        return is_number(self.held)

    def of_python(self) -> Array:
        """This number of NumPy's as one of Python's, if there are such of this kind."""
        return self if self.python_kind is None else self.python_kind.standing_for(self)

    @property
    def __class__(self) -> Array:
        """What `isinstance` sees: to NumPy's polynomials, which ask before they compute, an array."""
        return np.ndarray if sys._getframe(1).f_globals.get("__name__") in _ASKING else type(self)

    @__class__.setter
    def __class__(self, kind: Value) -> None:
        _CLASS.__set__(self, kind)

    def apart(self) -> Value:
        model = self.lies()
        return operation("copy")(self) if isinstance(model, np.ndarray) and not model.flags.writeable else self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Array, **kwargs: Value) -> Array:
        return asking(array_ufunc, ufunc, method, inputs, kwargs)

    def __array_function__(
        self, function: Function, types: object, args: tuple[object, ...], kwargs: Settings
    ) -> Array:
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

    __add__, __radd__ = operator_of("add"), operator_of("add", True)
    __sub__, __rsub__ = operator_of("subtract"), operator_of("subtract", True)
    __mul__, __rmul__ = times(), times(True)
    __truediv__, __rtruediv__ = operator_of("divide"), operator_of("divide", True)
    __floordiv__, __rfloordiv__ = operator_of("floor_divide"), operator_of("floor_divide", True)
    __mod__, __rmod__ = operator_of("remainder"), operator_of("remainder", True)
    __pow__, __rpow__ = operator_of("power"), operator_of("power", True)
    __matmul__, __rmatmul__ = matrix_product(), matrix_product(True)
    __lt__, __le__ = question_of("less"), question_of("less_equal")
    __gt__, __ge__ = question_of("greater"), question_of("greater_equal")
    __and__, __rand__ = question_of("bitwise_and"), question_of("bitwise_and", True)
    __or__, __ror__ = question_of("bitwise_or"), question_of("bitwise_or", True)
    __xor__, __rxor__ = question_of("bitwise_xor"), question_of("bitwise_xor", True)
    __lshift__, __rlshift__ = question_of("left_shift"), question_of("left_shift", True)
    __rshift__, __rrshift__ = question_of("right_shift"), question_of("right_shift", True)

    def __eq__(self, other: Array) -> Array:
        if not self.shape:
            looked_up(self, other)
        return _equal(self, other)

    def __ne__(self, other: Array) -> Array:
        if not self.shape:
            looked_up(self, other, differs=True)
        return _unequal(self, other)

    def __neg__(self) -> Array:
        return operation("negative")(self)

    def __pos__(self) -> Array:
        return operation("positive")(self)

    def __abs__(self) -> Array:
        return absolute_of(self)

    def __invert__(self) -> Array:
        return self.constant(operation("invert")(self))

    def __divmod__(self, other: Array) -> Array:
        return NotImplemented if answers_itself(other, "__rdivmod__") else (self // other, self % other)

    def __rdivmod__(self, other: Array) -> Array:
        return other // self, other % self

    def __round__(self, ndigits: int = 0) -> Array:
        return operation("round")(self, operator.index(ndigits))  # Python takes whole numbers alone

    def __getitem__(self, index: Index) -> Array:
        kind = type(index)
        if kind in SIMPLE or (kind is tuple and SIMPLE.issuperset(map(type, index))):
            return self.process(getitem, (self,), {"index": index, "repeats": False})
        return read(self, plain_index(index))

    def _leaving(self, call: str) -> Array:
        """The plain values, for `call`; raises if this would lose what this kind of array carries."""
        raise LeavesGraphError(f"{call} of a {type(self).__name__} array, which holds more than values")

    def __array__(self, dtype: DType = None, copy: bool | None = None) -> np.ndarray:
        held = held_out(self, dtype, sys._getframe(1))
        if held is not None:
            return held
        if (backend := backend_of(self)) is not None:
            raise DeviceError(
                f"np.asarray(t) would fetch all values of an array of {backend.name}'s, unasked. If that is meant, say "
                f"so: t.numpy()"
            )
        values = self._leaving("np.asarray(t)")
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

    def _sympy_(self) -> Value:
        """What SymPy asks for, which takes arrays of others apart without end."""
        values = self._leaving("sympy.sympify(t)")[()]
        return sys.modules["sympy"].sympify(values)

    def __format__(self, spec: str) -> str:
        value = raw(self)
        is_one = bool(spec) and not self.shape and not varies(self) and not isinstance(value, Box)
        return format(value[()], spec) if is_one else str(self)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Array]:
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor; t.item() gives its number")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: Array) -> bool:
        return bool(np.any(self == value))

    @property
    def shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    @property
    def dtype(self) -> DType:
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
    def T(self) -> Array:  # noqa: N802 - NumPy's name
        return operation("transpose")(self)

    @property
    def mT(self) -> Array:  # noqa: N802 - NumPy's name
        return operation("matrix_transpose")(self)

    @property
    def real(self) -> Array:
        return operation("real")(self)

    @real.setter
    def real(self, value: Array) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Array:
        return operation("imag")(self)

    @imag.setter
    def imag(self, value: Array) -> None:
        self.imag[...] = value

    @property
    def flat(self) -> Value:
        from adjoint.arrays.flat import Flat  # rare

        return Flat(self)

    @flat.setter
    def flat(self, value: Array) -> None:
        self.flat[:] = value

    def conj(self) -> Array:
        return operation("conj")(self) if self.dtype.kind == "c" else self  # NumPy gives a real array itself, too

    conjugate = conj

    def reshape(self, *shape: ShapeLike, order: Value = "C", copy: Value = None) -> Array:
        return operation("reshape")(self, shape[0] if len(shape) == 1 else shape, order=order, copy=copy)

    def transpose(self, *axes: Axis, dim0: int | None = None, dim1: int | None = None) -> Array:
        pair = (dim0, dim1) if dim0 is not None else axes
        if len(pair) == 2 and isinstance(pair[0], int) and isinstance(pair[1], int):
            return exchanged(self, *pair, by_name=dim0 is not None)
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return operation("transpose")(self, None if order is None else tuple(order) or None)

    def astype(
        self, dtype: DType, order: Value = "K", casting: Value = "unsafe", subok: bool = True, copy: bool = True
    ) -> Array:
        dtype = np.dtype(dtype)
        if casting != "unsafe":
            np.empty(0, self.dtype).astype(dtype, casting=casting)  # raises what is not allowed
        # Whole numbers and truth values are constants.
        return cast(self if dtype.kind in "fc" else detached(self), dtype=dtype, copy=copy, order=order)

    def copy(self, order: str = "C") -> Array:
        return self[()] if self._is_number() else operation("copy")(self, order=order)

    def dot(self, other: Array, out: Array = None) -> Array:
        return operation("dot")(self, other, out)

    def clip(self, min: Array = None, max: Array = None, out: Array = None) -> Array:
        return operation("clip")(self, min, max, out)

    def compress(self, condition: Array, axis: Axis = None, out: Array = None) -> Array:
        return operation("compress")(condition, self, axis, out)

    # The array API's.
    @property
    def device(self) -> str:
        return device_of(self)

    def to_device(self, device: Device, /, *, stream: object = None) -> Array:
        if stream is not None:
            raise ArgumentError(f"arrays move on the stream that is current; got stream={stream!r}")
        return self.to(device)

    def __array_namespace__(self, *, api_version: str | None = None) -> Array:
        """The namespace `adjoint.xp`.

        Raises:
            ArgumentError: for a version of the array API that it does not follow.
        """
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ArgumentError(f"adjoint.xp follows version '2024.12' of the array API; got {api_version!r}")
        return service("array namespace")

    def constant(self, answer: Value) -> Array:
        """`answer`, which no gradient flows through, as an array of this kind."""
        return answer

    # In place, as NumPy's.
    def sort(self, axis: int = -1, **options: object) -> Array:
        if has_words(options):
            return placed(MEANT["sort"])(self, **options)
        self[...] = np.sort(self, axis, **options)  # type: ignore[call-overload]  # what NumPy takes, whatever that is
        return None

    def partition(self, kth: object, axis: int = -1) -> None:
        self[...] = operation("partition")(self, kth, axis)

    def fill(self, value: Array) -> None:
        if not self._is_number():  # NumPy fills a copy of a number
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
