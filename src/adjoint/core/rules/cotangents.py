"""Cotangents that are not written out as arrays: values for a few elements, or for one of several outputs."""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import backend_of, beside, is_foreign, known_in, refuse_foreign, refuse_mix, zeros
from adjoint.core.box import Box, raw
from adjoint.core.errors import DTypeError
from adjoint.core.rules.pullbacks import dtype_of, shape_of
from adjoint.core.types import Array, DType, Index, Value


def one_like(x: Array) -> Array:
    """The cotangent 1 for the value `x`: where the numbers of its innermost array are."""
    shape, dtype = shape_of(x), dtype_of(x)
    inner = raw(x)
    if backend_of(inner) is not None:
        return np.ones_like(inner, dtype=dtype, shape=shape)
    return np.ones(shape, dtype) if shape else dtype.type(1)


def as_cotangent(c: Array, value: Array, call: str) -> Array:
    """The array `c` as a cotangent of `value`, given to `call`.

    Raises:
        DTypeError: if it is complex and the value is real.
        DeviceError: if it is an array of another library's than the value.
    """
    if type(c) is type(value) is np.ndarray and c.dtype is value.dtype and c.dtype.kind in "fc":
        return c
    if type(c) is float and type(value) is np.float64:
        return np.asarray(c)
    given, dtype = c if isinstance(c, Box) or is_foreign(c) else np.asarray(c), dtype_of(value)
    if given.dtype.kind == "c" and dtype.kind != "c":
        raise DTypeError(
            f"{call}: the value is of {dtype}, which is real, and so is its cotangent; got one of {given.dtype}. "
            f"Give its real part: c.real"
        )
    if given.dtype.kind not in "biufc":
        raise DTypeError(f"{call}: a cotangent is made of numbers; got an array of {given.dtype}")
    if isinstance(given, Box):
        return given.astype(dtype) if given.dtype != dtype else given  # type: ignore[attr-defined]  # as all arrays
    if np.ndim(given):
        refuse_mix(call, (value, given))
    return given.astype(dtype) if given.dtype != dtype else beside(value, given)


class Lazy:
    """A cotangent that knows how to add itself to an array, and how to become one."""

    __slots__ = ()

    def dense(self) -> object:
        """The same cotangent as an array that nothing else refers to."""
        raise NotImplementedError

    def last(self) -> object:
        """The same, where nothing will be added to it: for a leaf, at the end of the pass."""
        return self.dense()

    def add_to(self, total: Array) -> object:
        """Add to `total` in place."""
        raise NotImplementedError


class Scattered(Lazy):
    """`value` at `index` of an array of zeros: the cotangent of ``a`` in ``a[index]``.

    `repeats` says that the index may name an element twice, whose shares must then be added one by one.
    """

    __slots__ = ("dtype", "index", "repeats", "shape", "value")

    def __init__(self, value: Array, index: Index, shape: tuple[int, ...], dtype: DType, repeats: bool) -> None:
        self.value, self.index, self.shape, self.dtype, self.repeats = value, index, shape, dtype, repeats

    def astype(self, dtype: DType) -> Scattered:
        """The same of another dtype: an element of an array in another byte order is in the machine's."""
        return Scattered(self.value, self.index, self.shape, dtype, self.repeats)

    def dense(self) -> Array:
        return self.add_to(zeros(self.value, self.shape, self.dtype))

    def add_to(self, total: Array) -> Array:
        if self.repeats:
            return _each_added(total, self.index, self.value)
        if type(total) is not np.ndarray and is_foreign(total):
            if not np.size(self.value):
                return total
            index, value = _without_new_axes(self.index, self.value, self.shape)
            total[index] += value
        else:
            total[self.index] += self.value
        return total


def _without_new_axes(index: Index, value: Array, shape: tuple[int, ...]) -> tuple[object, object]:
    """The same place of an array of `shape` without None in the index, which not every library writes by."""
    index = (None,) if index is None else index
    if not isinstance(index, tuple) or not any(part is None for part in index):
        return index, value
    index = tuple(part for part in index if part is not None)
    return index, np.reshape(value, np.broadcast_to(np.empty(()), shape)[index].shape)


def _each_added(total: Array, index: Index, value: Array) -> Array:
    """``total[index] += value``, where `index` may name an element several times."""
    if not is_foreign(total):
        refuse_foreign((value, known_in(index)))
        np.add.at(total, index, value)
        return total
    places = beside(total, np.arange(total.size).reshape(total.shape))[index]
    weights = np.broadcast_to(value, places.shape).reshape(-1)
    parts = [np.real(weights), np.imag(weights)] if total.dtype.kind == "c" else [weights]
    places, *parts = np.broadcast_arrays(places.reshape(-1), *parts)  # in the same chunks
    sums = [np.bincount(places.reshape(-1), part, total.size) for part in parts]
    added = sums[0] if len(sums) == 1 else sums[0] + 1j * sums[1]
    return total + added.reshape(total.shape).astype(total.dtype)


def _unused(model: Array, shape: tuple[int, ...], dtype: DType) -> Array:
    """Zeros for an output that nothing used; as an array of NumPy's, one zero that is shown everywhere."""
    if backend_of(model) is not None:
        return zeros(model, shape, dtype)
    return np.ndarray(shape, dtype, bytes(dtype.itemsize), 0, (0,) * len(shape))


class Projection(Lazy):
    """The cotangent `value` of output number `i` of an operation that has several.

    `likes` are the shape and dtype of each output.
    """

    __slots__ = ("i", "likes", "value")

    def __init__(self, i: int, value: Array, likes: tuple[tuple[tuple[int, ...], Value], ...]) -> None:
        self.i, self.value, self.likes = i, value, likes

    def dense(self) -> list[Array]:
        return [self.value if k == self.i else _unused(self.value, *like) for k, like in enumerate(self.likes)]

    def add_to(self, total: list[Array]) -> list[Array]:
        total[self.i] = total[self.i] + self.value
        return total
