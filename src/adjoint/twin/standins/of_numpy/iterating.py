"""Stand-ins for NumPy's iterators over the elements of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from adjoint.core.types import Array, Function, ShapeLike, Value
from adjoint.ops.shape.restrided import restrided
from adjoint.twin.standins.of_numpy.joining import asarray, joined
from adjoint.twin.standins.values import boxed, is_box


class ElementIterator:
    """`numpy.nditer` over boxes: each element as an array without axes, which may be written into."""

    def __init__(self, operands: Value, flags: Value, op_flags: Value, order: Value) -> None:
        self._several = isinstance(operands, list | tuple)
        given = [asarray(joined(x)) for x in (operands if self._several else [operands])]
        self.shape = np.broadcast_shapes(*[np.shape(x) for x in given])
        self.operands: tuple[Value, ...] = tuple(
            x if np.shape(x) == self.shape else np.broadcast_to(x, self.shape) for x in given
        )
        self.ndim, self.nop, self.itersize = len(self.shape), len(given), int(np.prod(self.shape))
        self._indexes = list(np.ndindex(*self.shape))
        if order == "F":
            self._indexes.sort(key=lambda index: index[::-1])
        self._flags = set(flags or ())
        self.iterindex = 0
        self.has_multi_index = "multi_index" in self._flags
        del op_flags

    @property
    def finished(self) -> bool:
        return self.iterindex >= self.itersize

    @property
    def multi_index(self) -> tuple[int, ...]:
        return self._indexes[self.iterindex]

    @property
    def index(self) -> int:
        order: Value = "F" if "f_index" in self._flags else "C"
        return int(np.ravel_multi_index(self.multi_index, self.shape, order=order)) if self.shape else 0

    @property
    def value(self) -> Value:
        found = tuple(x[(*self.multi_index, ...)] for x in self.operands)
        return found if self._several else found[0]

    def __getitem__(self, number: int) -> object:
        return self.operands[number][(*self.multi_index, ...)]

    def __setitem__(self, number: int, value: object) -> None:
        self.operands[number][self.multi_index] = value

    def iternext(self) -> bool:
        self.iterindex += 1
        return not self.finished

    def reset(self) -> None:
        self.iterindex = 0

    def close(self) -> None:
        self.iterindex = self.itersize

    def __iter__(self) -> Iterator[object]:
        while not self.finished:
            yield self.value
            self.iterindex += 1

    def __len__(self) -> int:
        return self.itersize

    def __enter__(self) -> ElementIterator:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _of_objects(x: Value) -> bool:
    """Whether `x` is an array of objects, whose elements are no numbers of the array's own."""
    return isinstance(x, np.ndarray) and x.dtype == object


def _nditer(
    op: Array, flags: Value = None, op_flags: Value = None, *rest: Value, order: Value = "K", **kwargs: Value
) -> Array:
    operands = op if isinstance(op, list | tuple) else [op]
    if not any(boxed(x) and not _of_objects(x) for x in operands):
        plain: Value = np.nditer
        return plain(op, flags, op_flags, *rest, order=order, **kwargs)
    return ElementIterator(op, flags, op_flags, order)


def _ndenumerate(arr: Value) -> Iterator[Value]:
    arr = joined(arr)
    if not is_box(arr):
        return np.ndenumerate(arr)
    return ((index, arr[index]) for index in np.ndindex(*np.shape(arr)))


class Broadcast:
    """`numpy.broadcast` of boxes."""

    def __init__(self, arrays: tuple[Value, ...]) -> None:
        self.iters = tuple(np.broadcast_arrays(*arrays))
        self.shape: tuple[int, ...] = np.shape(self.iters[0])
        self.ndim = self.nd = len(self.shape)
        self.size, self.numiter = int(np.prod(self.shape)), len(arrays)

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        return (tuple(x[index] for x in self.iters) for index in np.ndindex(*self.shape))


def _broadcast(*arrays: Value) -> object:
    arrays = tuple(map(joined, arrays))
    return Broadcast(arrays) if any(map(boxed, arrays)) else np.broadcast(*arrays)


def _ix(*args: object) -> object:
    return np.ix_(*map(joined, args))


def _as_strided(
    x: Value, shape: ShapeLike = None, strides: Value = None, subok: bool = False, writeable: bool = True
) -> object:
    """`numpy.lib.stride_tricks.as_strided` of a box: a view of those of its elements that lie where NumPy's would."""
    if not is_box(x):
        return np.lib.stride_tricks.as_strided(x, shape, strides, subok, writeable)
    return restrided(x, shape, strides, writeable)


def table() -> Iterable[tuple[Value, Function]]:
    """NumPy's iterators, and their stand-ins."""
    yield np.nditer, _nditer
    yield np.ndenumerate, _ndenumerate
    yield np.broadcast, _broadcast
    yield np.ix_, _ix
    yield np.lib.stride_tricks.as_strided, _as_strided
