"""PyTorch's names for what NumPy calls otherwise, so that habits keep working."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.arrays.array_box import ArrayBox
from adjoint.core.registry import operation


def _named(operation_name: str) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        return operation(operation_name)(self, other)

    method.__doc__ = f"``np.{operation_name}(self, other)``."
    return method


def _in_place(operation_name: str) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        self[...] = operation(operation_name)(self, other)
        return self

    method.__doc__ = f"``np.{operation_name}(self, other, out=self)``."
    return method


class PyTorchNames(ArrayBox):
    """Methods under PyTorch's names; a trailing underscore writes in place."""

    __slots__ = ()

    add, sub, mul, div = _named("add"), _named("subtract"), _named("multiply"), _named("divide")
    pow, mm, bmm = _named("power"), _named("matmul"), _named("matmul")
    add_, sub_, mul_, div_ = _in_place("add"), _in_place("subtract"), _in_place("multiply"), _in_place("divide")

    def zero_(self) -> Any:
        """Write 0 everywhere."""
        return self.fill_(0)

    def fill_(self, value: Any) -> Any:
        """Write `value` everywhere."""
        self[...] = value
        return self

    def copy_(self, other: Any) -> Any:
        """Write `other`, broadcast to this shape."""
        return self.fill_(other)

    def to(self, dtype: Any) -> Any:
        """``astype(dtype)``; also takes the only device there is, "cpu"."""
        return self if dtype == "cpu" else self.astype(dtype)

    def float(self) -> Any:
        """``astype(np.float32)``."""
        return self.astype(np.float32)

    def double(self) -> Any:
        """``astype(np.float64)``."""
        return self.astype(np.float64)

    def cpu(self) -> Any:
        """This tensor, which is on the CPU already."""
        return self

    def contiguous(self) -> Any:
        """A copy in C order, that passes gradients on."""
        return operation("copy")(self, order="C")
