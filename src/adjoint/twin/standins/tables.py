"""The tables of stand-ins, built on first use, and the look-up in them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import timedelta
from threading import Lock
from types import BuiltinMethodType, FunctionType, MethodDescriptorType, MethodType, WrapperDescriptorType

import numpy as np

from adjoint.core.registry import method_of
from adjoint.core.types import Value
from adjoint.twin.standins import drawing, mapping
from adjoint.twin.standins.of_numpy import calls, complex_results, elementwise, iterating, joining, methods
from adjoint.twin.standins.of_numpy.structured import RECORDS, of_rows
from adjoint.twin.standins.of_python import builtin, exits, mathematics, of_classes, summaries
from adjoint.twin.standins.of_python.text import serialising
from adjoint.twin.standins.of_scipy import scientific

StandIn = Callable[..., Value]

_CONVERSIONS: tuple[tuple[object, StandIn], ...] = (
    (np.array, of_rows(np.array, joining.array)),
    (np.asarray, of_rows(np.asarray, joining.asarray)),
    (np.asanyarray, of_rows(np.asanyarray, joining.asanyarray)),
    (np.ascontiguousarray, joining.ascontiguousarray),
    (np.asfortranarray, joining.asfortranarray),
    (np.require, joining.require),
    (np.asarray_chkfinite, joining.asarray_chkfinite),
    *RECORDS,
    (np.full, joining.full),
    (np.full_like, calls.carried(np.full_like)),
    (np.arange, joining.arange),
    (np.fromiter, of_rows(np.fromiter, joining.fromiter)),
)
_TYPES = (np.float64, np.float32, np.float16, np.longdouble, np.complex128, np.complex64, np.bool_)
_WHOLE = (np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8)
# NumPy's and Python's protocols handle these; their stand-ins are for the cases that protocols do not handle.
_CARRIED = (bool, min, max, print, np.iterable)
_MAKERS_NEEDED = (np.vectorize, np.frompyfunc, np.piecewise)


class Tables:
    """The stand-ins and makers, by the identity of what they stand for, which is kept alive.

    Attributes:
        stand_ins: what a twin calls in place of an object.
        later: for functions of NumPy's, what makes that when it is first asked for.
        makers: for functions that take functions, what makes that.
        needed: the objects of which a plain call does not differentiate.
    """

    def __init__(self) -> None:
        self.stand_ins: dict[int, StandIn] = {}
        self.later: dict[int, Callable[[Value], StandIn]] = {}
        self.makers: dict[int, mapping.Maker] = {}
        self.needed: set[int] = set()
        self._kept: list[Value] = []
        for original, make in calls.table():
            self._kept.append(original)
            self.later[id(original)] = make
        for original, stand_in in _CONVERSIONS:
            self.put(original, stand_in, needed=True)
        for kind in (*_TYPES, *_WHOLE):
            self.put(kind, joining.of_type(kind), needed=True)
        for original in (np.r_, np.c_):
            self.put(original, joining.Concatenator(original), needed=True)  # type: ignore[arg-type]  # it is indexed
        for room in (mathematics, iterating, drawing, complex_results, builtin, exits, of_classes):
            for original, stand_in in room.table():
                self.put(original, stand_in, needed=not any(original is c for c in _CARRIED))
        for original, maker in (*mapping.table(), *elementwise.table()):
            self._kept.append(original)
            self.makers[id(original)] = maker
        self.needed |= set(map(id, _MAKERS_NEEDED))

    def put(self, original: object, stand_in: StandIn, needed: bool = False) -> None:
        """Let `stand_in` stand for `original`."""
        self._kept.append(original)
        self.stand_ins[id(original)] = named_as(original, stand_in)
        if needed:
            self.needed.add(id(original))


def named_as(original: Value, stand_in: Value) -> Value:
    """`stand_in` by the name of its `original`, which is what Python's messages about wrong arguments say."""
    if type(stand_in) is FunctionType and stand_in.__module__.startswith("adjoint.twin"):
        stand_in.__name__ = stand_in.__qualname__ = getattr(original, "__name__", stand_in.__name__)
        if isinstance(original, type):
            for name in vars(original):
                if not name.startswith("_"):  # Fraction.from_float, dict.fromkeys, timedelta.max
                    vars(stand_in).setdefault(name, getattr(original, name))
    return stand_in


_lock = Lock()
_built: list[Tables] = []


def tables() -> Tables:
    """The tables, built once a process."""
    if not _built:
        with _lock:
            if not _built:
                _built.append(Tables())
    return _built[0]


def find(original: Value) -> StandIn | None:
    """Return what a twin calls in place of `original`; None if it calls `original` itself."""
    table = _built[0] if _built else tables()
    found = table.stand_ins.get(id(original))
    if found is not None:
        return found
    if (make := table.later.get(id(original))) is not None:
        return table.stand_ins.setdefault(id(original), named_as(original, make(original)))
    kind = type(original)
    if kind is FunctionType:
        home = original.__module__
        if calls.compares(original):
            found = calls.comparing(original)
        elif home == "statistics":
            found = summaries.stand_in_for(original)
        elif isinstance(home, str) and home.startswith("scipy."):
            found = scientific.stand_in_for(original)
        elif home == "json" and original.__name__ in ("dumps", "dump"):
            found = serialising(original)
    elif kind is BuiltinMethodType and original.__self__ is float and original.__name__ == "fromhex":
        return exits.reading(original)
    elif kind is BuiltinMethodType and original.__name__ == "_normal_dist_inv_cdf":
        found = summaries.quantile_of_normal(original)
    elif kind is BuiltinMethodType and type(original.__self__).__name__ == "SuperLU":  # of factorized(A)
        return getattr(scientific.of_made(original.__self__), original.__name__, None)
    elif kind is BuiltinMethodType and type(original.__self__) is np.ufunc:  # made anew at each look
        return getattr(find(original.__self__), original.__name__, None)
    elif kind is MethodType:  # of a generator, these are made anew at each look
        return drawing.bound(original) if isinstance(original.__self__, drawing.GENERATORS) else None
    elif kind in (WrapperDescriptorType, MethodDescriptorType):
        found = methods.unbound(original)
    elif kind is np.ufunc:
        found = calls.of_ufunc(original)
    elif isinstance(original, type) and (original.__module__ in ("fractions", "decimal") or original is timedelta):
        found = of_classes.exact(original)
    elif scientific.module_of(original):
        found = scientific.stand_in_for(original)
        if found is None and callable(original):
            of_one: StandIn | None = scientific.of_made(original)  # not kept: it may be made anew at each call
            return of_one
    if found is not None:
        table.put(original, found, needed=kind is not np.ufunc)
    return found


def of_methods(o: Value) -> StandIn | None:
    """The stand-in whose methods are called in the place of those of `o`; None if they are its own."""
    found = find(o)
    if found is not None or not str(type(o).__module__).startswith(_HOMES) or callable(o):
        return found
    made: StandIn | None = scientific.of_made(o)
    return made


def method_of_scipys(method: Value) -> StandIn | None:
    """The stand-in of a method that was taken from its object, as in ``cdf = stats.norm.cdf``; None if it has none.

    Methods that our object has not are followed.
    """
    holder = None if isinstance(method.__self__, type) else of_methods(method.__self__)
    if not isinstance(holder, scientific.StandInObject) or not holder.has_own(method.__name__):
        return None
    found: StandIn = getattr(holder, method.__name__)
    return found


_HOMES = ("scipy.", "builtins")  # factors of sparse matrices say that they are Python's


def needed(original: object) -> bool:
    """Whether a plain call of `original` in code that handles tensors would lose the history, or refuse."""
    table = _built[0] if _built else tables()
    if id(original) in table.needed:
        return True
    if any(id(original) in known for known in (table.stand_ins, table.later, table.makers)):
        return False
    if type(original) is FunctionType and calls.compares(original):
        return False
    if isinstance(original, np.vectorize):
        return True
    if type(original) is BuiltinMethodType and type(original.__self__) is np.ufunc:
        return original.__name__ != "outer" and method_of(original.__self__, original.__name__) is None
    return of_methods(original) is not None and type(original) is not np.ufunc


def maker(original: object) -> mapping.Maker | None:
    """For a function that takes functions: what makes its stand-in, given how these are resolved."""
    table = _built[0] if _built else tables()
    found = table.makers.get(id(original))
    if found is not None:
        return found
    if type(original) is np.vectorize:
        return elementwise.of_vectorized(original)
    if type(original) is functools.partial:
        return mapping.of_partial(original)
    if type(original) is FunctionType and isinstance(original.__module__, str):
        made: mapping.Maker | None = None
        if original.__module__.startswith("scipy."):
            made = scientific.maker_for(original)
        return made
    return scientific.maker_of_object(original)
