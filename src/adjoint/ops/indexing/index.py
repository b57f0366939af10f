"""What an index consists of: numbers, slices, masks, arrays of numbers, and boxes that differ between samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import cast

import numpy as np

from adjoint.core.backend import beside, known_in, surely_all
from adjoint.core.box import Box, raw
from adjoint.core.errors import BatchedValueError
from adjoint.core.memory import with_strides
from adjoint.core.record import Record
from adjoint.core.types import Array, Index, Value

_BASIC = (int, np.integer, slice, EllipsisType, type(None))
SIMPLE = frozenset((int, slice, EllipsisType, type(None)))  # parts of an index that need no conversion


def may_repeat(index: Index) -> bool:
    """Whether `index` could name an element twice: only arrays of integers can."""
    for part in index if isinstance(index, tuple) else (index,):
        if not isinstance(part, _BASIC) and not (isinstance(part, np.ndarray) and part.dtype.kind == "b"):
            return True
    return False


def kept(index: Index) -> Array:
    """A list or an array of numbers or truth values as a copy: the graph keeps it, and its owner may change it."""
    if not isinstance(index, list | np.ndarray):
        return index
    array = np.array(index)
    if isinstance(index, np.ndarray) and min(index.strides, default=0) < 0:
        array = with_strides(array, index.strides)  # which say in which order is written
    return array if array.size or isinstance(index, np.ndarray) else array.astype(int)


def joined(index: Index) -> Index:
    """An index in which lists that hold boxes are boxes: ``a[[i, 0]]``, where `i` differs between samples."""
    if type(index) is tuple:
        return tuple(joined(list(part) if type(part) is tuple else part) for part in index)
    if type(index) is list and (box := next(_boxes_in(index), None)) is not None:
        return np.array(index, like=box)
    return index


def _boxes_in(parts: Value) -> Iterator[Value]:
    for part in parts:
        if isinstance(part, Box):
            yield part
        elif type(part) in (list, tuple):
            yield from _boxes_in(part)


def numbers_at(shape: tuple[int, ...], index: Index) -> Array:
    """Which elements of an array of `shape`, counted in C order, `index` names."""
    return beside(known_in(index), np.arange(math.prod(shape)).reshape(shape))[index]


def is_basic(index: Index) -> bool:
    """Whether `index` consists of numbers, slices, Ellipsis and None alone; truth values are masks without axes."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(isinstance(part, _BASIC) and part is not True and part is not False for part in parts)


class BoxedIndex(Record):
    """Stands in an index for one of the arrays of numbers that an operation takes."""

    __slots__ = ()

    number: int


def apart(parts: tuple[object, ...]) -> tuple[tuple[Array, ...], list[Array]]:
    """An index as its form and the boxes in it."""
    form: list[Value] = []
    places: list[Value] = []
    for part in parts:
        if not isinstance(part, Box):
            form.append(part)
            continue
        if not np.shape(cast(Array, part)) and part.dtype.kind == "b":  # type: ignore[attr-defined]  # every box has it
            form.append(bool(_count(part)))  # a mask without axes, which adds one
            continue
        for numbers in (part,) if part.dtype.kind in "iu" else _places_of(part):  # type: ignore[attr-defined]  # every box has it
            form.append(BoxedIndex(len(places)))
            places.append(numbers)
    return tuple(form), places


def _places_of(mask: Array) -> Iterator[Array]:
    """The places that a mask names which differs between samples, axis by axis: as many in each sample."""
    flat = np.argsort(np.logical_not(np.ravel(mask)), kind="stable")[: _count(mask)]
    for i, length in enumerate(mask.shape):
        yield flat // math.prod(mask.shape[i + 1 :]) % length


def _count(mask: Array) -> int:
    """How many elements a mask chooses in each sample."""
    counts = np.ravel(raw(np.sum(mask)))
    if not surely_all(counts == counts[0]):
        raise BatchedValueError(
            "inside vmap, a mask chooses as many elements in each sample, and this one does not; choose with "
            "np.where(mask, x, 0.0) instead of x[mask]"
        )
    return int(counts[0])


def together(form: tuple[object, ...], places: Sequence[Array]) -> tuple[Array, ...]:
    """The index of this `form` with its arrays of numbers put in."""
    return tuple(places[part.number] if isinstance(part, BoxedIndex) else part for part in form)


def rank_of_part(part: Value) -> int:
    """The axes that a part of an index has which is the same for all samples; a mask stands for rows of places."""
    if part is None or part is Ellipsis or isinstance(part, slice | BoxedIndex):
        return 0
    return 1 if (part if hasattr(part, "dtype") else np.asarray(part)).dtype.kind == "b" else np.ndim(part)
