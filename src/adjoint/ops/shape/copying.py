"""Copies: of an array as it is, in another order in memory, in another dtype."""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import is_foreign, is_writable_elsewhere
from adjoint.core.constructors import linear
from adjoint.core.memory import AS_MADE, NEW, MemoryOrder, axes_by, in_order, is_laid_out, lies
from adjoint.core.messages.frames import place_of, users_frame, warn_at
from adjoint.core.op import call
from adjoint.core.types import Array, Device, DType, Value


def axes_of_each(a: Array, order: MemoryOrder) -> tuple[int, ...]:
    """The order of axes in which a stack lies whose samples lie in `order`."""
    model = lies(a)
    return (0, *(axis + 1 for axis in axes_by(order, model[0] if len(model) else np.empty(model.shape[1:]))))


def loses_imaginary(x: Array, dtype: DType) -> bool:
    """Whether `x` is complex and `dtype` is of real numbers."""
    kind = getattr(x, "dtype", None)
    return kind is not None and kind.kind == "c" and np.dtype(dtype).kind in "iuf"


def real_part(x: Array) -> Array:
    """The real part of `x`; NumPy's warning that the other one is lost has the user's line."""
    text = "Casting complex values to real discards the imaginary part"
    warn_at(place_of(users_frame()), text, np.exceptions.ComplexWarning)
    return x.real


def _copy_each(a: Array, order: MemoryOrder) -> Array:
    return copy(a, order=axes_of_each(a, order))


def _astype_each(x: Array, dtype: DType, copy: bool, order: MemoryOrder) -> Array:
    return astype(x, dtype=dtype, copy=copy, order=order if order == "K" else axes_of_each(x, order))


@linear(
    np.copy,
    transpose=lambda g: in_order(g, "K"),
    batch=lambda a, order: _copy_each(a, order),
    memory=NEW,
    flags=("moves", "array"),
    samples=lambda r: [call(r(3, 4)), call(r(3, 4), order="F"), call(r(2, 3, 4), order="A"), call(r(2, 3), order="C")],
)
def copy(a: Array, /, order: Value = "K", subok: bool = False) -> Array:
    return in_order(a, order)


@linear(
    np.astype,
    transpose=lambda g: g,
    batch=lambda x, dtype, copy, order: _astype_each(x, dtype, copy, order),
    memory=AS_MADE,
    flags=("moves", "as_given"),
    samples=lambda r: [call(r(3, 4), np.float64), call(r(3, 4), np.float64, copy=False)],
)
def astype(x: Array, /, dtype: DType = None, copy: bool = True, device: Device = None, order: Value = "K") -> Array:
    if loses_imaginary(x, dtype):
        x, copy = real_part(x), True
    if not isinstance(order, tuple):
        lazy = is_foreign(x) and not is_writable_elsewhere(x)  # which lies nowhere yet
        return x.astype(dtype, copy=copy) if lazy else x.astype(dtype, order, copy=copy)
    return x.astype(dtype, copy=False) if not copy and is_laid_out(x, order) else in_order(x.astype(dtype), order)
