"""Regions of an array: the boxes of elements that an index of numbers and slices names."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from adjoint.core.types import Index, Value
from adjoint.graph.node import Node
from adjoint.native.codegen.loops.loop_nest import contiguous
from adjoint.native.plan.layout.indexing import expanded
from adjoint.native.plan.layout.views import StridedView
from adjoint.ops.indexing.index import is_basic

LARGEST_GRID = 1 << 22  # cells into which regions are cut to find out which of them meet
MOST_TERMS, MOST_TILES = 16, 64  # regions that are added up box by box, and boxes


class Region(NamedTuple):
    """So many elements along each axis of an array, `step` apart.

    Attributes:
        start, length, step: one number for each axis of the array.
        axes: for each axis of what the index names, which axis of the array it is; -1 for a new one.
    """

    start: tuple[int, ...]
    length: tuple[int, ...]
    step: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(1 if axis < 0 else self.length[axis] for axis in self.axes)

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """For each axis, the first place and the one after the last."""
        ends = [s + (n - 1) * step for s, n, step in zip(self.start, self.length, self.step, strict=True)]
        return [(min(s, e), max(s, e) + 1) for s, e in zip(self.start, ends, strict=True)]

    @property
    def is_dense(self) -> bool:
        """Whether nothing lies between its elements."""
        return all(step == 1 or n == 1 for n, step in zip(self.length, self.step, strict=True))

    def view(self, node: Node) -> StridedView:
        """Its elements in the array that `node` gives."""
        apart = contiguous(node.shape)
        strides = tuple(0 if axis < 0 else self.step[axis] * apart[axis] for axis in self.axes)
        return StridedView(node, self.shape, strides, sum(s * a for s, a in zip(self.start, apart, strict=True)))

    def misses(self, other: Region) -> bool:
        """Whether the two surely have no element in common."""
        for (low, high), (start, end) in zip(self.bounds, other.bounds, strict=True):
            if high <= start or end <= low:
                return True
        pairs = zip(self.start, other.start, self.step, other.step, strict=True)
        return any(abs(step) == abs(also) > 1 and (s - o) % step for s, o, step, also in pairs)

    def index_of(self, other: Region) -> tuple[slice, ...] | None:
        """The index of `other` in what this region names, but for axes of length 1; None if it is not all in there."""
        if not self.is_dense:
            return None
        found: list[slice] = []
        bounds = list(zip(self.bounds, other.bounds, strict=True))
        if any(start < low or end > high for (low, high), (start, end) in bounds):
            return None
        for axis in self.axes:
            if axis < 0:
                found.append(slice(None))
                continue
            start, step, count = other.start[axis] - bounds[axis][0][0], other.step[axis], other.length[axis]
            stop = start + count * step
            found.append(slice(start, None if stop < 0 else stop, step))
        return tuple(found)


def region_of(shape: Sequence[int], index: Index) -> Region | None:
    """What an index of numbers and slices names of an array of this shape; None for others, and for no elements."""
    if not is_basic(index):
        return None
    parts = expanded(index if isinstance(index, tuple) else (index,), len(shape)) or []
    start: list[int] = []
    length: list[int] = []
    step: list[int] = []
    axes: list[int] = []
    for part in parts:
        if part is None:
            axes.append(-1)
            continue
        n = shape[len(start)]
        if isinstance(part, slice):
            first, stop, by = part.indices(n)
            count = len(range(first, stop, by))
            axes.append(len(start))
        else:
            first, count, by = int(part) % n if n else 0, 1, 1
        start.append(first)
        length.append(count)
        step.append(by)
    if 0 in length or len(start) != len(shape):
        return None
    return Region(tuple(start), tuple(length), tuple(step), tuple(axes))


def along(shape: Sequence[int], axis: int, start: int, count: int | None) -> Region:
    """So many places from `start` on along `axis`, all of the others; with None, one without the axis."""
    rank = range(len(shape))
    return Region(
        tuple(start if a == axis else 0 for a in rank),
        tuple(shape[a] if a != axis else 1 if count is None else count for a in rank),
        (1,) * len(shape),
        tuple(a for a in rank if a != axis or count is not None),
    )


def cut_up(shape: Sequence[int], regions: Sequence[Region]) -> tuple[list[np.ndarray], list[tuple[Value, ...]]] | None:
    """Where along each axis a region begins or ends, and each region in the cells between these; None for too many."""
    bounds = np.array([r.bounds for r in regions], np.int64).reshape(len(regions), len(shape), 2)
    cuts = [np.unique(np.append(bounds[:, axis].ravel(), (0, n))) for axis, n in enumerate(shape)]
    if prod(len(cut) - 1 for cut in cuts) > LARGEST_GRID:
        return None
    places = [np.searchsorted(cut, bounds[:, axis]).tolist() for axis, cut in enumerate(cuts)]
    ranks = range(len(shape))
    return cuts, [(*(slice(*places[axis][i]) for axis in ranks), ...) for i in range(len(regions))]


def tiles(shape: Sequence[int], regions: Sequence[Region]) -> list[tuple[Region, list[int]]] | None:
    """An array of this shape as boxes, each with the regions that have all of it, and no others; None for too many."""
    cut = cut_up(shape, regions) if len(regions) <= MOST_TERMS and all(r.is_dense for r in regions) else None
    if cut is None or prod(len(c) - 1 for c in cut[0]) > 4 * MOST_TILES:
        return None
    cuts, boxes = cut
    cells = np.zeros([len(c) - 1 for c in cuts], np.int64)
    for i, box in enumerate(boxes):
        cells[box] |= 1 << i
    left = np.ones(cells.shape, bool)
    found: list[tuple[Region, list[int]]] = []
    for first in np.ndindex(*cells.shape):
        if not left[first]:
            continue
        ends = list(first)
        for axis in reversed(range(len(shape))):  # as far as it goes, along the last axis first
            while ends[axis] + 1 < cells.shape[axis]:
                wider = [slice(f, e + 1) for f, e in zip(first, ends, strict=True)]
                wider[axis] = slice(ends[axis] + 1, ends[axis] + 2)
                here = tuple(wider)
                if not left[here].all() or (cells[here] != cells[first]).any():
                    break
                ends[axis] += 1
        left[tuple(slice(f, e + 1) for f, e in zip(first, ends, strict=True))] = False
        start = tuple(int(c[f]) for c, f in zip(cuts, first, strict=True))
        length = tuple(int(c[e + 1]) - s for c, e, s in zip(cuts, ends, start, strict=True))
        ones, axes = (1,) * len(shape), tuple(range(len(shape)))
        found.append((Region(start, length, ones, axes), [i for i in range(len(regions)) if cells[first] >> i & 1]))
    return found if len(found) <= MOST_TILES else None


class Meeting(NamedTuple):
    """How regions of a list lie to each other: which meet one that comes before them.

    `covered`: every element is in one, and a region that meets an earlier one lies in earlier ones.
    """

    earlier: list[bool]
    covered: bool


def meeting(shape: Sequence[int], regions: Sequence[Region]) -> Meeting:
    """How regions of an array of this shape lie to each other; they meet where that is not known.

    The array is cut wherever a region begins or ends. So many rows cost as many cells.
    """
    cut = cut_up(shape, regions)
    if cut is None:
        return Meeting([True] * len(regions), False)
    cuts, boxes = cut
    cells = np.zeros([len(c) - 1 for c in cuts], bool)
    earlier, fresh = [], True
    for box in boxes:
        here = cells[box]
        earlier.append(bool(here.any()))
        fresh = fresh and (not earlier[-1] or bool(here.all()))
        here[...] = True
    return Meeting(earlier, fresh and bool(cells.all()) and all(r.is_dense for r in regions))
