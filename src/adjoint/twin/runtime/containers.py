"""Methods of Python's containers that run methods of what they hold or are given: ``a.extend(o)``, ``a.sort()``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from adjoint.core.types import Function, Value
from adjoint.twin.syntax.names import GOING

_SETS: tuple[str, ...] = (
    "union",
    "intersection",
    "difference",
    "symmetric_difference",
    "issubset",
    "issuperset",
    "isdisjoint",
)
_SETS += ("intersection_update", "difference_update", "symmetric_difference_update")
#: Those that go through what they are given.
_THROUGH = frozenset({"extend", "extendleft", "join", *_SETS})
#: The methods, and the methods of users' classes that they run.
RUNNING: dict[str, tuple[str, ...]] = dict.fromkeys(_THROUGH, GOING)
RUNNING |= {"update": (*GOING, "keys"), "sort": ("__lt__",)}
RUNNING["format"] = ("__format__", "__str__", "__repr__")
RUNNING |= dict.fromkeys(("index", "count", "remove"), ("__eq__",))


def method_of(o: Value, name: str, plain: Function, protocols: Value) -> Function:
    """``o.name``, which is `plain`, where `o` is a container of Python's."""
    kind = type(o)
    if name in _THROUGH and (name == "join") is (kind is str):
        return lambda *args: plain(*map(protocols.iterated, args))
    if name == "update":
        through = protocols.mapped if isinstance(o, dict) else protocols.iterated
        return lambda *args, **kwargs: plain(*[protocols.iterated(through(x)) for x in args], **kwargs)
    if kind is str:
        if name == "format":
            shown = protocols.texts.in_format
            return lambda *args, **given: plain(*map(shown, args), **{key: shown(x) for key, x in given.items()})
        return plain
    if name == "sort":
        return partial(_sort, o, protocols)
    found = _SEARCHING.get(name)
    return plain if found is None else partial(found, protocols, o)


def _sort(o: list[Value], protocols: Value, *, key: Function | None = None, reverse: bool = False) -> None:
    if key is not None:
        o.sort(key=lambda x: protocols.comparable(key(x)), reverse=reverse)
    else:
        o.sort(key=protocols.ordering if protocols.orders(o) else None, reverse=reverse)


def _place(protocols: Value, o: Value, item: object, places: Iterable[int]) -> int | None:
    return next((i for i in places if protocols.same(o[i], item)), None)


def _index(protocols: Value, o: Value, item: object, *limits: Value) -> int:
    if not protocols.compares(o, item):
        return o.index(item, *limits)  # type: ignore[no-any-return]  # a number
    place = _place(protocols, o, item, range(len(o))[slice(*limits)] if limits else range(len(o)))
    if place is None:
        raise ValueError(f"{item!r} is not in {type(o).__name__}")
    return place


def _count(protocols: Value, o: Value, item: object) -> int:
    if protocols.compares(o, item):
        return sum(protocols.same(x, item) for x in o)
    return o.count(item)  # type: ignore[no-any-return]  # a number


def _remove(protocols: Value, o: Value, item: object) -> None:
    if not protocols.compares(o, item):
        o.remove(item)
        return
    place = _place(protocols, o, item, range(len(o)))
    if place is None:
        kind = type(o).__name__
        raise ValueError(f"{kind}.remove(x): x not in {kind}")
    del o[place]


_SEARCHING: dict[str, Callable[..., Value]] = {"index": _index, "count": _count, "remove": _remove}
