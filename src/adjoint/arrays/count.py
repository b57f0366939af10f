"""`Count`: the number of elements of an array, as ``t.size`` gives it."""

from __future__ import annotations

from typing import Self

import numpy as np

from adjoint.core.types import Array, Value


class Count(int):
    """How many elements an array has; called, its shape: ``t.size`` is NumPy's, and ``t.size()`` PyTorch's."""

    shape: tuple[int, ...]

    @classmethod
    def of(cls, size: int, shape: tuple[int, ...]) -> Self:
        """The count of an array of this shape."""
        count = cls(size)
        count.shape = shape
        return count

    def __call__(self, dim: int | None = None) -> Array:
        """The shape; with `dim`, the length of that axis."""
        return self.shape if dim is None else self.shape[dim]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Array, **kwargs: Value) -> Array:
        """As an int does, which takes the other number's dtype: NumPy takes subclasses of it for int64."""
        return getattr(ufunc, method)(*(int(x) if type(x) is Count else x for x in inputs), **kwargs)

    def __reduce__(self) -> Array:
        return int, (int(self),)
