"""Compiled methods of an object: found by its id, freed with it, and seen by nobody.

They refer to their object, so a table that holds them keeps the object alive. Only garbage collection can find out that
nobody else refers to it, and only if the object owns its methods. So the object owns them while garbage is collected,
as an item of its ``__dict__``; at all other times the tables do, and the ``__dict__`` is the user's alone.
"""

from __future__ import annotations

import gc
import sys
from _thread import interrupt_main
from collections.abc import Generator
from functools import partial
from itertools import chain
from signal import SIGINT
from weakref import ref

from adjoint.core.types import Value

_KEY = "@compiled"  # no attribute's name
_OLDEST = 2
# Since Python 3.14 the old are collected in parts.
_WHOLE = 1 if sys.version_info >= (3, 14) else _OLDEST


class Methods:
    """The compiled methods of one object, by the compiled function of its class."""

    __slots__ = ("__weakref__", "instance", "made")

    def __init__(self, instance: Value) -> None:
        self.instance, self.made = instance, dict[Value, Value]()


# By the id of the object, in each the age of Python's collector: the young are collected often, the old rarely.
_TABLES: tuple[dict[int, Methods], ...] = ({}, {}, {})


def methods_of(instance: object, otherwise: dict[int, Methods]) -> dict[object, object]:
    """The compiled methods of `instance`; they are kept in `otherwise`, by its id, if it takes no attributes."""
    number = id(instance)
    for table in (*_TABLES, otherwise):
        if (found := table.get(number)) is not None:
            return found.made
    table = otherwise if _space(instance) is None else _TABLES[0]
    if _COLLECTIONS not in gc.callbacks:
        gc.callbacks.append(_COLLECTIONS)
    return table.setdefault(number, Methods(instance)).made


def _space(instance: object) -> dict[str, object] | None:
    """The attributes of an object, without a call of the user's code."""
    try:
        space = object.__getattribute__(instance, "__dict__")
    except AttributeError:
        return None
    return space if isinstance(space, dict) else None


def _hand_over(generation: int, handed: list[ref[Methods]]) -> None:
    """Let objects of this age own their methods."""
    tables = _TABLES[: (generation if generation < _WHOLE else _OLDEST) + 1]
    for methods in list(chain.from_iterable(table.values() for table in tables)):
        space = _space(methods.instance)
        if space is not None:
            handed.append(ref(methods))
            space[_KEY] = methods
    for table in tables:
        table.clear()


def _take_back(generation: int, handed: list[ref[Methods]]) -> None:
    """Own the methods of objects that are still there; they are older now."""
    table = _TABLES[min(generation + 1, _OLDEST)]
    for reference in handed:
        methods = reference()
        if methods is not None:
            table.setdefault(id(methods.instance), methods)
            (_space(methods.instance) or {}).pop(_KEY, None)
    handed.clear()


class _Again:
    """An object that sends a signal when it is compared with the signal's number. That is C code, so the signal comes
    when the comparison is over.
    """

    __lt__ = interrupt_main


def _collections() -> Generator[object, Value, None]:
    """What a collection of garbage does: it sends its phase, then what is known about it.

    An interrupt that comes here would be printed and lost. So it ends what is done here, and is sent again.
    """
    phase, handed, again = "", list[ref[Methods]](), _Again()
    told, lost, broken = False, False, False
    while True:
        try:
            if broken:
                _take_back(_OLDEST, handed)
                phase, broken = "", False
            while True:
                told = not told  # whether the next thing that comes is a phase
                sends, lost = told and lost, lost and not told
                sent = yield again if sends else SIGINT
                if told:
                    phase = sent
                elif phase:
                    (_hand_over if phase == "start" else _take_back)(sent["generation"], handed)
        except BaseException:
            broken = lost = True


_GENERATOR = _collections()
next(_GENERATOR)
# Called with two things by the collector: both are sent, by C code.
_COLLECTIONS = partial(min, key=_GENERATOR.send)
