"""Cotangents that are cheaper to add than to write out: into a few elements, or to one of several outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.errors import DTypeError


def as_cotangent(c: Any, dtype: Any, call: str) -> np.ndarray:
    """The array `c` as a cotangent of a value of `dtype`, given to `call`.

    Raises:
        DTypeError: if it is complex and the value is real.
    """
    given = np.asarray(c)
    if given.dtype.kind == "c" and dtype.kind != "c":
        raise DTypeError(
            f"{call}: the value is of {dtype}, which is real, and so is its cotangent; got one of {given.dtype}. "
            f"Give its real part: c.real"
        )
    if given.dtype.kind not in "biufc":
        raise DTypeError(f"{call}: a cotangent is made of numbers; got an array of {given.dtype}")
    return np.asarray(given, dtype)


class Lazy:
    """A cotangent that knows how to add itself to an array, and how to become one."""

    __slots__ = ()

    def dense(self) -> Any:
        """The same cotangent as an array that nothing else refers to."""
        raise NotImplementedError

    def add_to(self, total: Any) -> Any:
        """Add to `total` in place."""
        raise NotImplementedError


class Scattered(Lazy):
    """`value` at `index` of an array of zeros: the cotangent of ``a`` in ``a[index]``.

    `repeats` says that the index may name an element twice, whose shares must then be added one by one.
    """

    __slots__ = ("dtype", "index", "repeats", "shape", "value")

    def __init__(self, value: Any, index: Any, shape: tuple[int, ...], dtype: Any, repeats: bool) -> None:
        self.value, self.index, self.shape, self.dtype, self.repeats = value, index, shape, dtype, repeats

    def dense(self) -> Any:
        return self.add_to(np.zeros(self.shape, self.dtype))

    def add_to(self, total: Any) -> Any:
        if self.repeats:
            np.add.at(total, self.index, self.value)
        else:
            total[self.index] += self.value
        return total


class Projection(Lazy):
    """The cotangent `value` of output number `i` of an operation that has several.

    `likes` are the shape and dtype of each output.
    """

    __slots__ = ("i", "likes", "value")

    def __init__(self, i: int, value: Any, likes: tuple[tuple[tuple[int, ...], Any], ...]) -> None:
        self.i, self.value, self.likes = i, value, likes

    def dense(self) -> list[Any]:
        return [self.value if k == self.i else np.zeros(*like) for k, like in enumerate(self.likes)]

    def add_to(self, total: list[Any]) -> list[Any]:
        total[self.i] = total[self.i] + self.value
        return total
