"""Creation of arrays."""

from __future__ import annotations

from typing import Literal

import numpy as np

from adjoint.core.box import Box
from adjoint.core.device import exchanged
from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Device, DType, Size, Value
from adjoint.ops.creation import full_like as full_like_of
from adjoint.tape.tensor import Tensor
from adjoint.xp.arrays import boxed, each, on_cpu


def asarray(obj: Array, /, *, dtype: DType = None, device: Device = None, copy: bool | None = None) -> Array:
    """`obj` as a tensor: one that is a tensor already stays what it is, history included.

    Args:
        obj: a tensor, an array, a number, or nested sequences of these; tensors in sequences keep their histories.
        dtype: convert to this.
        device: None or ``"cpu"``.
        copy: True makes a copy, which passes gradients on; False refuses to; None copies where it must.

    Raises:
        ArgumentError: with ``copy=False`` where a copy is needed, and for another device.

    Example:
        >>> import adjoint as ad, adjoint.xp as xp
        >>> t = ad.tensor([1.0, 2.0], requires_grad=True)
        >>> xp.asarray(t) is t
        True
        >>> xp.asarray([t[0], 3.0]).requires_grad
        True
    """
    on_cpu(device)
    if not isinstance(obj, Box):
        if isinstance(obj, list | tuple) and _holds_box(obj):
            if copy is False:
                raise ArgumentError("asarray(copy=False): joining tensors makes a new array; leave copy= out")
            return _cast(_joined(obj), dtype)
        return Tensor(np.asarray(obj, dtype=dtype, copy=copy))
    if dtype is not None and np.dtype(dtype) != obj.dtype:  # type: ignore[attr-defined]  # every box has a dtype
        if copy is False:
            raise ArgumentError(f"asarray(copy=False): a conversion to {np.dtype(dtype)} makes a copy; leave copy= out")
        return _cast(obj, dtype)
    return np.copy(obj) if copy else obj  # type: ignore[call-overload]  # a box, through NumPy's protocol


def _holds_box(obj: object) -> bool:
    return isinstance(obj, Box) or (isinstance(obj, list | tuple) and any(map(_holds_box, obj)))


def _joined(obj: Value) -> Value:
    return np.stack([_joined(o) for o in obj]) if isinstance(obj, list | tuple) else obj


def _cast(x: Array, dtype: DType) -> Array:
    return x if dtype is None else x.astype(np.dtype(dtype), copy=False)


def from_dlpack(x: Array, /, *, device: Device = None, copy: bool | None = None) -> Array:
    """A tensor that shares the memory of an array of another library; one on a GPU is copied there, and is CuPy's.

    Args:
        x: an array with ``__dlpack__``: of NumPy, PyTorch, JAX, …
        device: where it shall be; None for where it is.
        copy: True to copy; False to refuse where sharing is not possible.

    Raises:
        LeavesGraphError: if `x` is a tensor in a graph.
        DeviceError: if `x` is on a device that this machine or adjoint cannot use.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> a = np.array([1.0, 2.0])
        >>> t = ad.from_dlpack(a)
        >>> a[0] = 5.0
        >>> t
        tensor([5., 2.])
    """
    shared = Tensor(exchanged(x, copy))
    return shared if device is None else shared.to(device=device)


def arange(
    start: Value, /, stop: Value = None, step: Value = 1, *, dtype: DType = None, device: Device = None
) -> Array:
    on_cpu(device)
    start, stop = (0, start) if stop is None else (start, stop)
    arange_of: Value = np.arange  # its overloads know no Any
    return boxed(arange_of(*(np.asarray(x)[()] for x in (start, stop, step)), dtype))


def empty(shape: Size, *, dtype: DType = None, device: Device = None) -> Array:
    on_cpu(device)
    return boxed(np.empty(shape, dtype))


def zeros(shape: Size, *, dtype: DType = None, device: Device = None) -> Array:
    on_cpu(device)
    return boxed(np.zeros(shape, dtype))


def ones(shape: Size, *, dtype: DType = None, device: Device = None) -> Array:
    on_cpu(device)
    return boxed(np.ones(shape, dtype))


def full(shape: Size, fill_value: Array, *, dtype: DType = None, device: Device = None) -> Array:
    """An array of `fill_value`, which may be a tensor; the gradient flows to it."""
    on_cpu(device)
    if isinstance(fill_value, Box):
        values: Array = fill_value
        model = np.empty(shape, values.dtype)
        return boxed(full_like_of(model, values, dtype=dtype))
    return boxed(np.full(shape, fill_value, dtype))


def empty_like(x: Array, /, *, dtype: DType = None, device: Device = None) -> Array:
    return empty(x.shape, dtype=x.dtype if dtype is None else dtype, device=device)


def zeros_like(x: Array, /, *, dtype: DType = None, device: Device = None) -> Array:
    return zeros(x.shape, dtype=x.dtype if dtype is None else dtype, device=device)


def ones_like(x: Array, /, *, dtype: DType = None, device: Device = None) -> Array:
    return ones(x.shape, dtype=x.dtype if dtype is None else dtype, device=device)


def full_like(x: Array, /, fill_value: Array, *, dtype: DType = None, device: Device = None) -> Array:
    return full(x.shape, fill_value, dtype=x.dtype if dtype is None else dtype, device=device)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DType = None, device: Device = None) -> Array:
    on_cpu(device)
    return boxed(np.eye(n_rows, n_cols, k, float if dtype is None else dtype))


def linspace(
    start: Array, stop: Array, /, num: int, *, dtype: DType = None, device: Device = None, endpoint: bool = True
) -> Array:
    """`numpy.linspace`; differentiable in both ends."""
    on_cpu(device)
    return boxed(np.linspace(start, stop, int(num), endpoint, dtype=dtype))


def meshgrid(*arrays: Array, indexing: Literal["xy", "ij"] = "xy") -> list[Array]:
    return list(each(np.meshgrid(*arrays, indexing=indexing)))


def tril(x: Array, /, *, k: int = 0) -> Array:
    return boxed(np.tril(x, k))


def triu(x: Array, /, *, k: int = 0) -> Array:
    return boxed(np.triu(x, k))
