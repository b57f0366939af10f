"""Constant tensors made as PyTorch makes them: ``ad.zeros(2, 3)``, ``ad.arange(5)``."""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import is_foreign
from adjoint.core.box import Box
from adjoint.core.device import DeviceName, named
from adjoint.core.registry import by_any_name
from adjoint.core.types import Array, Device, DType, Value
from adjoint.tape.tensor import Tensor


def _size(size: tuple[object, ...]) -> Value:
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], tuple | list) else size


def _made(array: Array, requires_grad: bool, on: object) -> Tensor:
    made = array if isinstance(array, Tensor) else Tensor(array)
    made = made.to(device=on)
    return made.requires_grad_() if requires_grad else made


def zeros(*size: object, dtype: DType = np.float64, requires_grad: bool = False, device: Device = "cpu") -> Tensor:
    """A tensor of zeros: ``ad.zeros(2, 3)`` or ``ad.zeros((2, 3))``.

    Example:
        >>> import adjoint as ad
        >>> ad.zeros(2, requires_grad=True)
        tensor([0., 0.], requires_grad=True)
    """
    return _made(np.zeros(_size(size), dtype), requires_grad, device)


def ones(*size: object, dtype: DType = np.float64, requires_grad: bool = False, device: Device = "cpu") -> Tensor:
    """A tensor of ones; see `zeros`.

    Example:
        >>> import adjoint as ad
        >>> ad.ones((2, 1))
        tensor([[1.],
                [1.]])
    """
    return _made(np.ones(_size(size), dtype), requires_grad, device)


def empty(*size: object, dtype: DType = np.float64, requires_grad: bool = False, device: Device = "cpu") -> Tensor:
    """A tensor to be written into; see `zeros`.

    Example:
        >>> import adjoint as ad
        >>> ad.empty(2, 3).shape
        (2, 3)
    """
    return _made(np.empty(_size(size), dtype), requires_grad, device)


def full(
    size: object, fill_value: Array, *, dtype: DType = None, requires_grad: bool = False, device: Device = "cpu"
) -> Tensor:
    """A tensor of shape `size` with `fill_value` everywhere.

    Example:
        >>> import adjoint as ad
        >>> ad.full((2,), 0.5)
        tensor([0.5, 0.5])
    """
    return _made(np.full(size, fill_value, dtype), requires_grad, device)


def eye(n: int, m: int | None = None, *, dtype: DType = np.float64, requires_grad: bool = False) -> Tensor:
    """The identity, n by n (or by m).

    Example:
        >>> import adjoint as ad
        >>> ad.eye(2)
        tensor([[1., 0.],
                [0., 1.]])
    """
    return _made(np.eye(n, m, dtype=dtype), requires_grad, "cpu")


def arange(*limits: Value, dtype: DType = None, requires_grad: bool = False, device: Device = "cpu") -> Tensor:
    """Numbers from a start up to an end, by a step: ``ad.arange(end)``, ``ad.arange(start, end, step)``.

    Example:
        >>> import adjoint as ad
        >>> ad.arange(0, 1, 0.5)
        tensor([0. , 0.5])
    """
    return _made(np.arange(*limits, dtype=dtype), requires_grad, device)


def linspace(
    start: Array,
    end: Value,
    steps: int = 50,
    *,
    dtype: DType = None,
    requires_grad: bool = False,
    device: Device = "cpu",
) -> Tensor:
    """`steps` numbers from `start` to `end`, both included; differentiable in both.

    Example:
        >>> import adjoint as ad
        >>> ad.linspace(0, 1, steps=3)
        tensor([0. , 0.5, 1. ])
    """
    return _made(np.linspace(start, end, steps, dtype=dtype), requires_grad, device)


def zeros_like(input: Array, *, requires_grad: bool = False, device: Device = None, **settings: Value) -> Array:
    """`numpy.zeros_like`; a leaf with a gradient if `requires_grad`.

    Example:
        >>> import adjoint as ad
        >>> ad.zeros_like(ad.ones(2), requires_grad=True)
        tensor([0., 0.], requires_grad=True)
    """
    return _like("zeros_like", requires_grad, device, input, **settings)


def ones_like(input: Array, *, requires_grad: bool = False, device: Device = None, **settings: Value) -> Array:
    """`numpy.ones_like`; see `zeros_like`.

    Example:
        >>> import adjoint as ad
        >>> ad.ones_like(ad.zeros(2), dtype=int)
        tensor([1, 1])
    """
    return _like("ones_like", requires_grad, device, input, **settings)


def empty_like(input: Array, *, requires_grad: bool = False, device: Device = None, **settings: Value) -> Array:
    """`numpy.empty_like`; see `zeros_like`.

    Example:
        >>> import adjoint as ad
        >>> ad.empty_like(ad.zeros(2, 3)).shape
        (2, 3)
    """
    return _like("empty_like", requires_grad, device, input, **settings)


def full_like(
    input: Array, fill_value: Array, *, requires_grad: bool = False, device: Device = None, **settings: Value
) -> Array:
    """`numpy.full_like`, differentiable in `fill_value`; see `zeros_like`.

    Example:
        >>> import adjoint as ad
        >>> ad.full_like(ad.zeros(2), 3.0, requires_grad=True)
        tensor([3., 3.], requires_grad=True)
    """
    return _like("full_like", requires_grad, device, input, fill_value, **settings)


def _like(name: str, requires_grad: bool, device: Device, *args: Array, **settings: Value) -> Array:
    made = by_any_name(name)(*args, **settings)
    if device is None and not requires_grad:
        return made
    return _made(made, requires_grad, device)


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares the memory of `array`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> array = np.zeros(2)
        >>> ad.from_numpy(array)[0] = 1.0
        >>> array
        array([1., 0.])
    """
    return Tensor(array)


def as_tensor(data: Array, dtype: DType = None, device: Device = None) -> Tensor:
    """`data` as a tensor, which shares its memory if it is an array of `dtype`; a tensor of `dtype` is given back.

    Example:
        >>> import adjoint as ad
        >>> t = ad.ones(2)
        >>> ad.as_tensor(t) is t, ad.as_tensor([1, 2], dtype=float)
        (True, tensor([1., 2.]))
    """
    if isinstance(data, Box):
        moved: Tensor = data.to(dtype, device=device)  # type: ignore[attr-defined]  # of arrays
        return moved
    if is_foreign(data):
        return Tensor(data, dtype=dtype).to(device=device)
    return _made(np.asarray(data, dtype), False, device)


def is_tensor(x: Array) -> bool:
    """Whether `x` is a tensor, or another kind of array that stands for one in a transform.

    Example:
        >>> import adjoint as ad
        >>> ad.is_tensor(ad.ones(2)), ad.is_tensor(2.0)
        (True, False)
    """
    return isinstance(x, Box)


def device(type: Value = "cpu", index: int | None = None) -> DeviceName:
    """The name of a device: "cpu", or "cuda" and "cuda:1" for a GPU, whose arrays are CuPy's.

    Raises:
        ArgumentError: for another one.

    Example:
        >>> import adjoint as ad
        >>> ad.device("cuda")
        'cuda'
    """
    return DeviceName(named(type if index is None else f"{type}:{index}"))


def are_plain(*xs: Array) -> bool:
    """Whether all are real arrays of one dtype, or tensors of these: no samples, tangents or symbols of a program."""
    held = [x.held if isinstance(x, Tensor) else x for x in xs]
    return all(type(x) is np.ndarray and x.dtype.kind == "f" for x in held) and len({x.dtype for x in held}) == 1
