"""Where values lie in memory: one arena for all values that are neither argument nor result; places are used again.

Places are given out step by step, each the smallest free one that is large enough. A result may take the place of an
array that is read for the last time in the same step, if both are traversed in the same order. Single numbers that one
step writes lie side by side, and are freed together.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from adjoint.core.errors import GraphError
from adjoint.native.codegen.loops.loop_nest import Spec, contiguous
from adjoint.native.codegen.loops.memory import Operand

UNIT = 64  # bytes: a line of the processor's cache
NUMBER = 8  # bytes: what one number takes among others


class StepUse(NamedTuple):
    """What a step does to memory: the values that it reads and writes, and which of the former it may overwrite.

    `instead` maps a written value to read ones whose place it may take; `together` are written numbers, in the order in
    which they lie side by side, `NUMBER` bytes each.
    """

    reads: tuple[Hashable, ...]
    writes: tuple[Hashable, ...]
    instead: dict[Hashable, tuple[Hashable, ...]]
    together: tuple[Hashable, ...] = ()


class Arena(NamedTuple):
    """The size of the arena in bytes, and the offset of each value."""

    size: int
    places: dict[Hashable, int]


class _Free:
    """The free places in the arena, by size, by start and by end."""

    def __init__(self) -> None:
        self._sizes: list[tuple[int, int]] = []  # (size, start), sorted
        self._ends: dict[int, int] = {}  # from where each begins
        self._starts: dict[int, int] = {}  # and back
        self.end = 0

    def taken(self, size: int) -> int:
        """Take `size` bytes, and return where they begin."""
        k = bisect_left(self._sizes, (size, 0))
        if k == len(self._sizes):
            self.end += size
            return self.end - size
        have, start = self._sizes[k]
        self._remove(start)
        if have > size:
            self._add(start + size, start + have)
        return start

    def give_back(self, start: int, size: int) -> None:
        """Free a place, and join it to its neighbours."""
        end = start + size
        if start in self._starts:
            start = self._starts[start]
            self._remove(start)
        if end in self._ends:
            after, end = end, self._ends[end]
            self._remove(after)
        self._add(start, end)

    def _add(self, start: int, end: int) -> None:
        self._ends[start], self._starts[end] = end, start
        insort(self._sizes, (end - start, start))

    def _remove(self, start: int) -> None:
        end = self._ends.pop(start)
        del self._starts[end]
        del self._sizes[bisect_left(self._sizes, (end - start, start))]


def _rounded(size: int) -> int:
    return -(-max(size, 1) // UNIT) * UNIT


def planned(uses: Sequence[StepUse], sizes: dict[Hashable, int]) -> Arena:
    """Places for the values in `sizes` (bytes); others lie elsewhere."""
    first = {value: use.together[0] for use in uses for value in use.together}  # of those side by side
    last = {first.get(v, v): i for i, use in enumerate(uses) for v in (*use.reads, *use.writes) if v in sizes}
    whole = {use.together[0]: _rounded(NUMBER * len(use.together)) for use in uses if use.together}
    free, places = _Free(), dict[Hashable, int]()
    for i, use in enumerate(uses):
        moved = set()
        if use.together:
            start = free.taken(whole[use.together[0]])
            places.update(zip(use.together, range(start, start + whole[use.together[0]], NUMBER), strict=False))
        for value in use.writes:
            if value not in sizes or value in places:
                continue
            size = whole[value] = _rounded(sizes[value])
            donors = (d for d in use.instead.get(value, ()) if d in places and d not in first and d not in moved)
            donor = next((d for d in donors if last[d] == i and whole[d] == size), None)
            if donor is not None:
                moved.add(donor)
            places[value] = free.taken(size) if donor is None else places[donor]
        for value in dict.fromkeys([first.get(v, v) for v in (*use.reads, *use.writes)]):
            if value in places and last[value] == i and value not in moved:
                free.give_back(places[value], whole[value])
    return Arena(free.end, places)


def verify(uses: Sequence[StepUse], sizes: dict[Hashable, int], arena: Arena) -> None:
    """Raise `GraphError` if a value is read after its place has been given away, or two are written over each other."""
    starts: list[int] = []  # of what is in the arena, sorted
    held: dict[int, tuple[int, Hashable]] = {}  # by the start: the end, and the value
    for i, use in enumerate(uses):
        reads = {value for value in use.reads if value in sizes}
        for value in reads:
            if held.get(arena.places[value], (0, None))[1] != value:
                raise GraphError(f"step {i} reads {value!r}, whose place holds something else by then")
        for value in use.writes:
            if value not in sizes:
                continue
            start = arena.places[value]
            end = start + max(sizes[value], 1)
            k = bisect_right(starts, start)
            k -= k > 0 and held[starts[k - 1]][0] > start
            while k < len(starts) and starts[k] < end:
                _, other = held.pop(starts.pop(k))
                if other in reads and other not in use.instead.get(value, ()):
                    raise GraphError(f"step {i} writes {value!r} over {other!r}, which it reads in another order")
                if other != value and other in use.writes:
                    raise GraphError(f"step {i} writes two values to one place")
            starts.insert(k, start)
            held[start] = end, value


def donors(spec: Spec, taken: set[Hashable]) -> dict[Hashable, tuple[Hashable, ...]]:
    """For each array that a kernel stores, those whose places it may take: read once, in the same order."""
    first: dict[Hashable, Operand] = {}
    several = set(taken)
    for read in spec.reads:
        if first.setdefault(read.buffer, read) != read:
            several.add(read.buffer)
    by_size: dict[str, list[Hashable]] = {}
    for buffer, read in first.items():
        if read.offset == 0 and buffer not in several and _in_order(spec, read):
            by_size.setdefault(read.dtype[1], []).append(buffer)
    return {
        operand.buffer: tuple(by_size.get(operand.dtype[1], ()))
        for _, operand, reduction in spec.stores
        if reduction is None and operand.block is None and _in_order(spec, operand)
    }


def _in_order(spec: Spec, operand: Operand) -> bool:
    """Whether the elements of an operand lie in the order in which a kernel goes through its domain."""
    whole = contiguous(spec.domain)
    return all(n == 1 or s == w for n, s, w in zip(spec.domain, operand.strides, whole, strict=True))
