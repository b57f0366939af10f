"""Whether a second run gave what the first one gave: to the bit, or nearly where a compiled function ran in between.

The first call of a compiled function is the plain one, later ones are native code, which rounds otherwise.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple

import numpy as np

from adjoint.arrays.layered import Layered
from adjoint.core.threads.switches import Setting
from adjoint.core.types import Array, Value
from adjoint.tape.tensor import Tensor
from adjoint.tape.writes.fingerprint import fingerprint


class CompiledCalls:
    """Whether there was `any` call of a compiled function that may run in another way the next time."""

    any = False


_CALLS: ContextVar[CompiledCalls | None] = ContextVar("calls of compiled functions", default=None)
_PRECISION = {"e": 1e-2, "f": 1e-4, "F": 1e-4}  # of sums, by the dtype; else 1e-7


def compiled_calls() -> Setting:
    """Gives the calls that `note_compiled` notes inside."""
    calls = CompiledCalls()
    return Setting(_CALLS, calls, calls)


def note_compiled() -> None:
    """Say that a compiled function runs, in a way that may be another one the next time."""
    calls = _CALLS.get()
    if calls is not None:
        calls.any = True


class ArraySums(NamedTuple):
    """What is kept of an array that may be rounded otherwise the next time."""

    shape: tuple[int, ...]
    dtype: str
    nowhere: int  # how many elements are not finite
    total: complex  # with a weight for each place
    size: float  # the sum of all sizes

    def near(self, other: ArraySums) -> bool:
        """Whether these are sums of nearly the same array."""
        limit = _PRECISION.get(self.dtype, 1e-7) * (self.size + other.size)
        apart = max(abs(self.total - other.total), abs(self.size - other.size))
        return self[:3] == other[:3] and apart <= limit


def values_of(tensor: Tensor) -> Array:
    """The numbers in a tensor, at the bottom of its levels."""
    data: Array = tensor.held
    while isinstance(data, Tensor):
        data = data.held
    return data


def _sums(data: Array) -> ArraySums:
    line = np.asarray(data).ravel().astype(np.complex128 if data.dtype.kind == "c" else np.float64)
    finite = np.isfinite(line)
    line = np.where(finite, line, 0.0)
    total = complex(np.dot(line, np.cos(np.arange(line.size))))
    return ArraySums(data.shape, data.dtype.char, int(np.sum(~finite)), total, float(np.sum(np.abs(line))))


def print_of(tensor: Tensor, roughly: bool = False) -> Value:
    """What tells whether the numbers in a tensor come out the same again."""
    data = values_of(tensor)
    if not isinstance(data, np.ndarray | np.generic):
        return data.layers[data.maker] if isinstance(data, Layered) and data.maker is not None else None
    return _sums(data) if roughly else fingerprint(np.asarray(data))


def same(first: Value, tensor: Tensor) -> bool:
    """Whether a tensor has the numbers of which `first` was taken."""
    found = print_of(tensor, isinstance(first, ArraySums))
    return first.near(found) if isinstance(first, ArraySums) and isinstance(found, ArraySums) else found == first
