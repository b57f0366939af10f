"""Heaps and sorted lists of objects, which `heapq` and `bisect` compare: by the twins of their methods.

The order in which a heap compares is that of Python's: "Introduction to Algorithms", and D. Knuth's exercise 5.2.3-18.
"""

from __future__ import annotations

import bisect
import functools
import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from adjoint.core.types import Function, Value

if TYPE_CHECKING:
    from adjoint.twin.runtime.protocols import Protocols

Less = Callable[[Value, Value], bool]


def _rise(heap: list[Value], first: int, place: int, less: Less) -> None:
    """Move the item at `place` up, not above `first`, to where its parent is not greater."""
    item = heap[place]
    while place > first:
        parent = (place - 1) // 2
        if not less(item, heap[parent]):
            break
        heap[place], place = heap[parent], parent
    heap[place] = item


def _sink(heap: list[Value], place: int, less: Less) -> None:
    """Move the item at `place` down to a leaf, along the smaller children, and up again from there."""
    first, item = place, heap[place]
    while (child := 2 * place + 1) < len(heap):
        if child + 1 < len(heap) and not less(heap[child], heap[child + 1]):
            child += 1
        heap[place], place = heap[child], child
    heap[place] = item
    _rise(heap, first, place, less)


def _push(less: Less, heap: list[Value], item: Value) -> None:
    heap.append(item)
    _rise(heap, 0, len(heap) - 1, less)


def _pop(less: Less, heap: list[Value]) -> Value:
    last = heap.pop()
    return _replace(less, heap, last) if heap else last


def _replace(less: Less, heap: list[Value], item: Value) -> Value:
    first, heap[0] = heap[0], item
    _sink(heap, 0, less)
    return first


def _push_pop(less: Less, heap: list[Value], item: Value) -> Value:
    return _replace(less, heap, item) if heap and less(heap[0], item) else item


def _heapify(less: Less, heap: list[Value]) -> None:
    for place in reversed(range(len(heap) // 2)):
        _sink(heap, place, less)


_HEAPS: Mapping[Value, Function] = {
    heapq.heappush: _push, heapq.heappop: _pop, heapq.heapreplace: _replace, heapq.heappushpop: _push_pop,
    heapq.heapify: _heapify,
}  # fmt: skip
_CHOOSING: frozenset[Value] = frozenset({heapq.nsmallest, heapq.nlargest, heapq.merge})
_INSERTING: frozenset[Value] = frozenset({bisect.insort_left, bisect.insort_right})
_FINDING: frozenset[Value] = frozenset({bisect.bisect_left, bisect.bisect_right})
#: The functions that compare objects.
COMPARING = frozenset(_HEAPS) | _CHOOSING | _INSERTING | _FINDING


def comparing(f: Value, protocols: Protocols) -> Function:
    """Return what is called in place of `f`, one of `COMPARING`; for other objects than users' it is `f` itself."""
    if f in _HEAPS:
        by_twins = functools.partial(_HEAPS[f], protocols.less)

        def of_heap(heap: list[Value], *item: Value) -> Value:
            return (by_twins if protocols.orders((*item, *heap[:2])) else f)(heap, *item)

        return of_heap
    if f in _CHOOSING:
        return _keyed(f, protocols)

    def in_sorted(a: Value, x: Value, lo: int = 0, hi: int | None = None, *, key: Function | None = None) -> Value:
        if key is not None or not protocols.orders((x, *a[lo : lo + 1])):
            return f(a, x, lo, hi, key=key)
        if f in _FINDING:
            return f(a, protocols.ordering(x), lo, hi, key=protocols.ordering)
        return f(a, x, lo, hi, key=protocols.ordering)

    return in_sorted


def _keyed(f: Function, protocols: Protocols) -> Function:
    """`heapq.nsmallest` and its like, which take a key."""

    def chosen(*args: Value, key: Function | None = None, **kwargs: Value) -> Iterable[Value]:
        by: Function = protocols.comparable if key is None else lambda x: protocols.comparable(key(x))
        return f(*args, key=by, **kwargs)  # type: ignore[no-any-return]  # a list, or an iterator

    return chosen
