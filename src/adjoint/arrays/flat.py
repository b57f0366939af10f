"""``t.flat``: the elements of an array in C order, read and written by their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.memory import apart
from adjoint.core.types import Array, Function, Index, Value

if TYPE_CHECKING:
    from adjoint.arrays.array_box import ArrayBox


class Flat:
    """What the attribute `flat` gives, as NumPy's: what is read is a copy, and what is written fills in turn."""

    def __init__(self, array: ArrayBox) -> None:
        self.base: Value = array

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> Iterator[Array]:
        return (self.base[i] for i in np.ndindex(self.base.shape))  # each when asked: a loop may write meanwhile

    def __getitem__(self, index: Index) -> Array:
        found = self.base.flatten()[index]
        return np.copy(found) if isinstance(index, slice) else found  # without gaps

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Value, **kwargs: Value) -> Value:
        return getattr(ufunc, method)(*flattened(args), **{name: flattened(x) for name, x in kwargs.items()})

    def __array_function__(self, function: Function, _: Value, args: Value, kwargs: dict[str, Value]) -> Value:
        return function(*flattened(args), **{name: flattened(x) for name, x in kwargs.items()})

    def copy(self) -> Array:
        return self.base.flatten()

    def __setitem__(self, index: Index, value: Array) -> None:
        everywhere = np.arange(self.base.size)
        places = everywhere[index]
        if value is self.base and np.array_equal(places, everywhere):
            return  # each element stays
        apart(self.base, value, "t.flat[...] = values.copy()")
        if np.size(places) and np.size(value):
            into = self.base if self.base.shape else np.reshape(self.base, 1)
            into[np.unravel_index(places, into.shape)] = np.resize(value, np.shape(places))


def flattened(x: Value) -> Value:
    """`x`, with copies of the elements in the place of `Flat`, also in lists and tuples."""
    if type(x) is Flat:
        return x.copy()
    return type(x)(map(flattened, x)) if type(x) in (list, tuple) else x
