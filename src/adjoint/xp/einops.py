"""What einops needs to know about an array library. Loaded after einops (see `core.guests`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from einops._backends import AbstractBackend  # where einops looks for its backends: the subclasses of this

from adjoint.arrays.array_box import ArrayBox
from adjoint.core.types import Array
from adjoint.tape.tensor import Tensor


class AdjointBackend(AbstractBackend):
    framework_name = "adjoint"

    def is_appropriate_type(self, tensor: Array) -> bool:
        return isinstance(tensor, ArrayBox)

    def from_numpy(self, x: Array) -> Array:
        return Tensor(x)

    def to_numpy(self, x: Array) -> np.ndarray:
        array: np.ndarray = x.numpy()
        return array

    def arange(self, start: int, stop: int) -> Array:
        return Tensor(np.arange(start, stop))

    def transpose(self, x: Array, axes: Sequence[int]) -> Array:
        return np.transpose(x, axes)

    def reduce(self, x: Array, operation: str, axes: Sequence[int]) -> Array:
        return getattr(np, operation)(x, axis=tuple(axes))

    def stack_on_zeroth_dimension(self, tensors: list[Array]) -> Array:
        return np.stack(tensors)

    def add_axis(self, x: Array, new_position: int) -> Array:
        return np.expand_dims(x, new_position)

    def tile(self, x: Array, repeats: Sequence[int]) -> Array:
        return np.tile(x, repeats)

    def concat(self, tensors: Sequence[Array], axis: int) -> Array:
        return np.concatenate(tensors, axis=axis)

    def is_float_type(self, x: Array) -> bool:
        return bool(x.dtype.kind == "f")

    def einsum(self, pattern: str, *x: Array) -> Array:
        return np.einsum(pattern, *x)
