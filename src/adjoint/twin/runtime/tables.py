"""Plain arrays and lists that are indexed by what differs between samples: `vmap` reads a row for each."""

from __future__ import annotations

from numbers import Number

import numpy as np

from adjoint.core.box import Box, varies
from adjoint.core.types import Array, Index, Value
from adjoint.ops.indexing.index import joined
from adjoint.ops.indexing.reading import read


def table(o: object) -> Value:
    """`o`, of which an element is taken next."""
    kind = type(o)
    return _SampleTable(o) if kind is np.ndarray or kind is list or kind is tuple else o


class _SampleTable:
    """A plain array, or a list or tuple, in whose place elements are taken."""

    __slots__ = ("_o",)

    def __init__(self, o: Value) -> None:
        self._o = o

    def __getitem__(self, index: Index) -> Array:
        o, index = self._o, joined(index)
        parts = index if type(index) is tuple else (index,)
        if not any(isinstance(part, Box) and varies(part) for part in parts):
            return o[index]
        if type(o) is np.ndarray:
            return read(o, index)
        if all(isinstance(x, Number) for x in o) and np.ndim(index) == 0 and index.dtype.kind in "iub":
            return read(np.array(o), index.astype(int))  # of a truth value, a list gives its first or second element
        return o[index]  # which is refused: there is not one element
