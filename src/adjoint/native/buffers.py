"""Where values lie: one arena for all that is neither argument nor result, its places used again after a last use.

Places are given out step by step, each the smallest free one that is large enough; a result may take the place of an
array that is read for the last time in the same step, if both are gone through in the same order.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from adjoint.core.errors import GraphError

UNIT = 64  # bytes: a line of the processor's cache


class Use(NamedTuple):
    """What a step does to memory: the values that it reads and writes, and which of the former it may overwrite.

    `instead` maps a written value to read ones whose place it may take.
    """

    reads: tuple[Hashable, ...]
    writes: tuple[Hashable, ...]
    instead: dict[Hashable, tuple[Hashable, ...]]


class Arena(NamedTuple):
    """How many bytes, and where in them each value lies."""

    size: int
    places: dict[Hashable, int]


def _rounded(size: int) -> int:
    return -(-max(size, 1) // UNIT) * UNIT


def planned(uses: Sequence[Use], sizes: dict[Hashable, int]) -> Arena:
    """Places for the values in `sizes` (bytes); others lie elsewhere."""
    last = {value: i for i, use in enumerate(uses) for value in (*use.reads, *use.writes) if value in sizes}
    free: list[tuple[int, int]] = []  # (size, start)
    places: dict[Hashable, int] = {}
    end = 0
    for i, use in enumerate(uses):
        taken = set()
        for value in use.writes:
            if value not in sizes or value in places:
                continue
            size = _rounded(sizes[value])
            donors = [d for d in use.instead.get(value, ()) if d in places and last[d] == i and d not in taken]
            donor = next((d for d in donors if _rounded(sizes[d]) == size), None)
            if donor is not None:
                taken.add(donor)
                places[value] = places[donor]
                continue
            k = bisect_left(free, (size, 0))
            if k < len(free):
                have, start = free.pop(k)
                if have > size:
                    insort(free, (have - size, start + size))
            else:
                start, end = end, end + size
            places[value] = start
        for value in dict.fromkeys((*use.reads, *use.writes)):
            if value in places and last[value] == i and value not in taken:
                _give_back(free, _rounded(sizes[value]), places[value])
    return Arena(end, places)


def _give_back(free: list[tuple[int, int]], size: int, start: int) -> None:
    """Put a place to the free ones, and join it to its neighbours."""
    for k, (have, at) in enumerate(free[:64]):
        if at + have == start or start + size == at:
            free.pop(k)
            return _give_back(free, size + have, min(start, at))
    insort(free, (size, start))
    return None


def verify(uses: Sequence[Use], sizes: dict[Hashable, int], arena: Arena) -> None:
    """Raise `GraphError` if a value is read after its place has been given away, or two are written over each other."""
    holds = np.zeros(arena.size // UNIT, int)
    numbers = {value: k + 1 for k, value in enumerate(sizes)}

    def span(value: Hashable) -> slice:
        start = arena.places[value] // UNIT
        return slice(start, start + _rounded(sizes[value]) // UNIT)

    for i, use in enumerate(uses):
        for value in use.reads:
            if value in sizes and not (holds[span(value)] == numbers[value]).all():
                raise GraphError(f"step {i} reads {value!r}, whose place holds something else by then")
        for value in use.writes:
            if value not in sizes:
                continue
            for other in use.reads:
                if other in sizes and other not in use.instead.get(value, ()):
                    a, b = span(value), span(other)
                    if a.start < b.stop and b.start < a.stop:
                        raise GraphError(f"step {i} writes {value!r} over {other!r}, which it reads in another order")
            if any(v != value and v in sizes and arena.places[v] == arena.places[value] for v in use.writes):
                raise GraphError(f"step {i} writes two values to one place")
            holds[span(value)] = numbers[value]
