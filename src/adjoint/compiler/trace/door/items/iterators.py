"""What the door does with `itertools`: the same iterators, over the items that the door gives."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from adjoint.compiler.trace.door.objects import Objects
from adjoint.core.types import Function, Value


def _going(door: Objects, xs: tuple[Value, ...]) -> Iterator[Iterator[Value]]:
    return map(door.lazy, xs)


def _alike(original: Value) -> Function:
    """An iterator over things, whose settings are plain."""
    return lambda door, *xs, **settings: original(
        *_going(door, xs), **{name: door.value(x) for name, x in settings.items()}
    )


def _numbered(original: Value) -> Function:
    """An iterator over one thing, and whole numbers that say how."""
    return lambda door, xs, *numbers, **named: original(
        door.lazy(xs), *map(door.value, numbers), **{name: door.value(x) for name, x in named.items()}
    )


def _chain(door: Objects, *xs: Value) -> Iterator[Value]:
    return (x for each in xs for x in door.lazy(each))


def _zip_longest(door: Objects, *xs: Value, fillvalue: Value = None) -> Iterator[Value]:
    return itertools.zip_longest(*_going(door, xs), fillvalue=fillvalue)


def _count(door: Objects, start: Value = 0, step: Value = 1) -> Iterator[Value]:
    while True:
        yield start
        start = door.op("add", start, step)


def _repeat(door: Objects, x: Value, *times: Value, **named: Value) -> Iterator[Value]:
    return itertools.repeat(x, *map(door.value, [*times, *named.values()]))


def _compress(door: Objects, data: Value, selectors: Value) -> Iterator[Value]:
    return (x for x, chosen in zip(door.lazy(data), door.lazy(selectors), strict=False) if door.truth(chosen))


def _accumulate(door: Objects, xs: Value, func: Value = None, *, initial: Value = None) -> Iterator[Value]:
    return itertools.accumulate(
        door.lazy(xs),
        lambda a, b: door.op("add", a, b) if func is None else door.call(func, (a, b), {}),
        initial=initial,
    )


def _asks(door: Objects, f: Value) -> Function:
    return lambda x: door.truth(x if f is None else door.call(f, (x,), {}))


def _starmap(door: Objects, f: Value, xs: Value) -> Iterator[Value]:
    return (door.call(f, tuple(door.lazy(each)), {}) for each in door.lazy(xs))


def _chosen(original: Value) -> Function:
    """An iterator over one thing for which a function says what counts."""
    return lambda door, f, xs: original(_asks(door, f), door.lazy(xs))


class _Key:
    """The key of a group, which the door compares."""

    def __init__(self, door: Objects, key: Value) -> None:
        self.door, self.key = door, key

    def __eq__(self, other: Value) -> bool:
        return self.key is other.key or self.door.truth(self.door.compare("eq", self.key, other.key))

    __hash__ = None  # type: ignore[assignment]  # nothing looks for it


def _groupby(door: Objects, xs: Value, key: Value = None) -> Iterator[Value]:
    groups = itertools.groupby(door.lazy(xs), lambda x: _Key(door, x if key is None else door.call(key, (x,), {})))
    return ((k.key, members) for k, members in groups)


#: What is called in place of each function of `itertools`.
ITERATORS: dict[Value, Function] = {
    itertools.chain: _chain,
    itertools.chain.from_iterable: lambda door, xs: (x for each in door.lazy(xs) for x in door.lazy(each)),
    itertools.zip_longest: _zip_longest,
    itertools.count: _count,
    itertools.repeat: _repeat,
    itertools.compress: _compress,
    itertools.accumulate: _accumulate,
    itertools.starmap: _starmap,
    itertools.groupby: _groupby,
    **{original: _alike(original) for original in (itertools.product, itertools.pairwise, itertools.cycle)},
    **{
        original: _numbered(original)
        for name, original in vars(itertools).items()
        if name in ("islice", "tee", "combinations", "permutations", "combinations_with_replacement", "batched")
    },
    **{original: _chosen(original) for original in (itertools.takewhile, itertools.dropwhile, itertools.filterfalse)},
}
