"""Data types, and questions about them."""

from __future__ import annotations

import builtins
from typing import NamedTuple

import numpy as np

from adjoint.core.box import Box
from adjoint.core.types import Array, Device, DType, Value
from adjoint.xp.arrays import boxed, on_cpu

bool = np.dtype(np.bool_)
int8, int16, int32, int64 = (np.dtype(f"i{n}") for n in (1, 2, 4, 8))
uint8, uint16, uint32, uint64 = (np.dtype(f"u{n}") for n in (1, 2, 4, 8))
float32, float64 = np.dtype("f4"), np.dtype("f8")
complex64, complex128 = np.dtype("c8"), np.dtype("c16")


def _dtype_of(x: Array) -> Value:
    """The dtype of an array; a dtype as it is."""
    return x.dtype if isinstance(x, Box | np.ndarray) else x  # type: ignore[union-attr]  # every box has a dtype


def astype(x: Array, dtype: DType, /, *, copy: builtins.bool = True, device: Device = None) -> Array:
    """`x` in another dtype; to integers and truth values, a constant."""
    on_cpu(device)
    if not copy and x.dtype == dtype:
        return boxed(x)
    return boxed(x.astype(np.dtype(dtype), copy=copy))


def can_cast(from_: Value, to: Value, /) -> builtins.bool:
    return np.can_cast(_dtype_of(from_), to)


class FloatInfo(NamedTuple):
    """The limits of a floating dtype, as Python's numbers; of complex numbers, those of their parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


def finfo(type: Value, /) -> FloatInfo:
    found = np.finfo(_dtype_of(type))
    eps, most, least, normal = map(float, (found.eps, found.max, found.min, found.smallest_normal))
    return FloatInfo(found.bits, eps, most, least, normal, found.dtype)


def iinfo(type: object, /) -> Array:
    return np.iinfo(_dtype_of(type))


def isdtype(dtype: DType, kind: Value) -> builtins.bool:
    return np.isdtype(np.dtype(dtype), kind)


def result_type(*arrays_and_dtypes: Value) -> Array:
    return np.result_type(*map(_dtype_of, arrays_and_dtypes))


def __array_namespace_info__() -> object:  # noqa: N807 - the standard's name
    """What this namespace can do, and the dtypes and devices that it has: those of NumPy."""
    return np.__array_namespace_info__()
