"""What every function of the namespace does: call NumPy, and give back a tensor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array, Device, Function, Value
from adjoint.tape.tensor import wrap


def boxed(result: Array) -> Array:
    """A result of NumPy's as an array of this namespace: what has no history is a constant tensor."""
    return result if isinstance(result, Box) else wrap(np.asarray(result), None, 0)


def each(results: Array) -> tuple[Array, ...]:
    """Several results of NumPy's as arrays of this namespace."""
    return tuple(map(boxed, results))


def boxing(function: Function, name: str) -> Function:
    """`function` with constant results, where they are arrays, as tensors."""

    def of_tensors(*args: Array, **kwargs: object) -> Array:
        result = function(*args, **kwargs)
        return boxed(result) if isinstance(result, np.ndarray | np.generic) else result

    of_tensors.__name__ = of_tensors.__qualname__ = name
    of_tensors.__doc__ = f"`{name}`, for tensors."
    return of_tensors


def plain(x: Array) -> Array:
    """The numbers of an array that no gradient flows through, such as positions and repetitions."""
    return x.numpy() if isinstance(x, Box) else x  # type: ignore[attr-defined]  # every box has numpy()


def on_cpu(device: Device) -> None:
    """Refuse every device but the one that there is."""
    if device not in (None, "cpu"):
        raise ArgumentError(f"adjoint's tensors live on device 'cpu'; got device={device!r}. Leave it out")


def unary(function: Function, name: str) -> Callable[..., Array]:
    """An elementwise function of one array: NumPy's `function`, under the standard's `name`."""

    def of_one(x: Array, /) -> Array:
        return boxed(function(x))

    return _named(of_one, function, name)


def binary(function: Function, name: str) -> Callable[..., Array]:
    """An elementwise function of two arrays, or of an array and a number."""

    def of_two(x1: Array, x2: Array, /) -> Array:
        return boxed(function(x1, x2))

    return _named(of_two, function, name)


def _named(made: Callable[..., Array], function: Value, name: str) -> Callable[..., Array]:
    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"`numpy.{function.__name__}`, for tensors."
    return made
