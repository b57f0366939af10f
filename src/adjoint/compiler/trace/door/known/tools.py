"""What the door does with small tools of Python's library and NumPy's: getters, heaps, bisection, index iterators."""

from __future__ import annotations

import bisect
import heapq
import operator
from collections.abc import Iterator
from functools import reduce, wraps

import numpy as np

from adjoint.compiler.trace.door.known.histories import has_history
from adjoint.compiler.trace.door.objects import Objects
from adjoint.core.types import Function, Value
from adjoint.twin.recording.expressions import BINARY, UNARY

# -- Getters ------------------------------------------------------------------------------------------


def _itemgetter(door: Objects, *keys: Value) -> Value:
    def get(o: Value) -> Value:
        found = tuple(door.item(o, key) for key in keys)
        return found if len(keys) > 1 else found[0]

    return door.made(get)


def _attrgetter(door: Objects, *names: str) -> Value:
    def get(o: Value) -> Value:
        found = tuple(reduce(door.attr, door.value(name).split("."), o) for name in names)
        return found if len(names) > 1 else found[0]

    return door.made(get)


def _methodcaller(door: Objects, name: str, *args: Value, **kwargs: Value) -> Value:
    return door.made(lambda o: door.call(door.attr(o, door.value(name)), args, kwargs))


# -- Operators as functions ---------------------------------------------------------------------------


def _operator(name: str) -> dict[Value, Function]:
    """``operator.add`` and ``operator.iadd``, by the door's operators."""
    plain, inplace = getattr(operator, f"__{name}__"), getattr(operator, f"__i{name}__")
    return {plain: lambda door, a, b: door.op(name, a, b), inplace: lambda door, a, b: door.inplace(name, a, b)}


def _unary(name: str) -> Function:
    return lambda door, x: door.unary(name, x)


def _comparison(name: str) -> Function:
    return lambda door, a, b: door.compare(name, a, b)


OPERATORS: dict[Value, Function] = {
    **{g: f for name in BINARY.values() for g, f in _operator(name).items()},
    **{getattr(operator, name): _unary(name) for name in UNARY.values()},
    **{getattr(operator, name): _comparison(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    operator.is_: _comparison("is"),
    operator.is_not: _comparison("is not"),
    operator.contains: lambda door, a, b: door.compare("in", b, a),
    operator.not_: lambda door, x: not door.truth(x),
    operator.truth: lambda door, x: door.truth(x),
    operator.getitem: lambda door, o, key: door.item(o, key),
    operator.setitem: lambda door, o, key, value: door.setitem(o, key, value),
    operator.delitem: lambda door, o, key: door.delitem(o, key),
}


# -- Lists in order -----------------------------------------------------------------------------------


def _in_order(g: Value, tool: Value) -> Function:
    """`tool`, which stands for compiled code, `g`: errors of that have texts of their own, so there is no program."""

    @wraps(tool)
    def called(door: Objects, *args: Value, **kwargs: Value) -> Value:
        if g.__module__ == "_heapq" and args and not issubclass(door.kind_of(args[0]), list):
            raise door.refuse(f"it hands heapq.{g.__name__} something else than a list")
        try:
            return tool(door, *args, **kwargs)
        except Exception as error:
            raise door.refuse(f"it raises a {type(error).__name__} in {g.__name__}") from None

    return called


def _place(after: bool) -> Function:
    """`bisect.bisect_right` or `bisect_left`, by the door's comparisons."""

    def find(door: Objects, a: Value, x: Value, lo: Value = 0, hi: Value = None, *, key: Value = None) -> Value:
        values = door.items(a)
        low, high = door.value(lo), len(values) if hi is None else door.value(hi)
        if low < 0:
            raise door.genuine(ValueError("lo must be non-negative"))
        while low < high:
            middle = (low + high) // 2
            there = values[middle] if key is None else door.call(key, (values[middle],), {})
            if door.truth(door.compare("lt", x, there) if after else door.compare("lt", there, x)):
                low, high = (low, middle) if after else (middle + 1, high)
            else:
                low, high = (middle + 1, high) if after else (low, middle)
        return low

    return find


def _insort(after: bool) -> Function:
    find = _place(after)

    def insert(door: Objects, a: Value, x: Value, *bounds: Value, key: Value = None, **named: Value) -> None:
        by = x if key is None else door.call(key, (x,), {})
        door.call(door.attr(a, "insert"), (find(door, a, by, *bounds, key=key, **named), x), {})

    return insert


def _sift(door: Objects, which: str, heap: Value, *places: int) -> None:
    door.call(door.pinned(vars(heapq)[which]), (heap, *places), {})  # these two have source; what calls them has none


def _heappush(door: Objects, heap: Value, x: Value) -> None:
    door.call(door.attr(heap, "append"), (x,), {})
    _sift(door, "_siftdown", heap, 0, len(door.items(heap)) - 1)


def _heappop(door: Objects, heap: Value) -> Value:
    last = door.call(door.attr(heap, "pop"), (), {})
    return _heapreplace(door, heap, last) if door.items(heap) else last


def _heapreplace(door: Objects, heap: Value, x: Value) -> Value:
    first = door.item(heap, 0)
    door.setitem(heap, 0, x)
    _sift(door, "_siftup", heap, 0)
    return first


def _heappushpop(door: Objects, heap: Value, x: Value) -> Value:
    if door.items(heap) and door.truth(door.compare("lt", door.item(heap, 0), x)):
        return _heapreplace(door, heap, x)
    return x


def _heapify(door: Objects, heap: Value) -> None:
    for i in reversed(range(len(door.items(heap)) // 2)):
        _sift(door, "_siftup", heap, i)


# -- Index iterators ----------------------------------------------------------------------------------


def _ndindex(door: Objects, *shape: Value) -> Iterator[Value]:
    return iter(
        list(np.ndindex(*(tuple(map(door.value, n)) if isinstance(n, tuple) else door.value(n) for n in shape)))
    )


def _ndenumerate(door: Objects, array: Value) -> Iterator[Value]:
    value = door.val(array)
    if has_history(value) and door.stands_for(np.ndenumerate, (value,)) is None:
        raise door.refuse("it hands a tensor to numpy.ndenumerate")
    shape = door.native(np.shape, (value,), {})
    return ((at, door.item(array, at)) for at in list(np.ndindex(shape)))


def _fromkeys(door: Objects, keys: Value, value: Value = None) -> dict[Value, Value]:
    return {door.key(key): value for key in door.lazy(keys)}


#: What is called in place of each of them.
TOOLS: dict[Value, Function] = {
    **OPERATORS,
    operator.itemgetter: _itemgetter,
    operator.attrgetter: _attrgetter,
    operator.methodcaller: _methodcaller,
    **{
        g: _in_order(g, tool)
        for g, tool in {
            bisect.bisect_left: _place(after=False),
            bisect.bisect_right: _place(after=True),
            bisect.insort_left: _insort(after=False),
            bisect.insort_right: _insort(after=True),
            heapq.heappush: _heappush,
            heapq.heappop: _heappop,
            heapq.heapreplace: _heapreplace,
            heapq.heappushpop: _heappushpop,
            heapq.heapify: _heapify,
        }.items()
    },
    dict.fromkeys: _fromkeys,
    np.ndindex: _ndindex,
    np.ndenumerate: _ndenumerate,
}
