"""Numbers with a history as keys of containers: a lookup compares their values, as it does for plain numbers.

A value that was stored under a plain key, or under a key of another transform, does not depend on the number that is
looked up: a memo that was filled earlier gives a constant. Such lookups are reported.
"""

from __future__ import annotations

import sys
from dis import opname
from types import FrameType
from typing import cast

import numpy as np

from adjoint.core.backend import is_elsewhere
from adjoint.core.box import Box, raw, varies
from adjoint.core.errors import BatchedValueError
from adjoint.core.leaks.notes import found_equal, lost_in_a_container, missing
from adjoint.core.messages.frames import is_of
from adjoint.core.types import Array, Axis, Value

# What compares, or puts in: no value is taken out.
_ASKING = frozenset(
    {
        *("COMPARE_OP", "CONTAINS_OP", "BUILD_SET", "SET_ADD", "SET_UPDATE", "BUILD_MAP", "BUILD_CONST_KEY_MAP"),
        *("MAP_ADD", "DICT_UPDATE", "DICT_MERGE", "STORE_SUBSCR", "DELETE_SUBSCR"),
    }
)
# What takes a value out by a key: ``[]`` is an operator since Python 3.14.
_TAKING = ("BINARY_SUBSCR", "BINARY_OP")
_NUMBERS = (float, int, complex, np.generic, np.ndarray, Box)
_OURS = frozenset(("__eq__", "__ne__", "first", "compare", "hook", "__array_ufunc__", "asking", "array_ufunc"))


def hash_of(number: Array) -> int:
    """The hash of the value of `number`, a box.

    Raises:
        BatchedValueError: where it is one value a sample, and these differ.
    """
    values = raw(number)
    if not varies(number):
        return hash(values)
    values = np.asarray(values).ravel()
    if values.size and (values != values[0]).any():
        raise BatchedValueError(
            "inside vmap, a number that differs between samples can not be looked up in a dictionary, a set or a "
            "cache: each sample would find something else. Choose by np.where or np.searchsorted instead, or call the "
            "function for one sample after another"
        )
    return hash(values[0] if values.size else 0.0)


def looked_up(a: Array, b: Array, differs: bool = False) -> None:
    """Report it if ``a == b`` is asked by a container, of a number and a key that lacks derivatives that it has.

    A container compares what it keeps with what is looked up, in this order; a plain number passes the question on.
    If the program itself asks, and keeps `b` from one call to the next, that is noted. Only programs ask
    whether two are different, `differs`.
    """
    number, kept = (b, a) if isinstance(a, Box) and isinstance(b, Box) else (a, b) if isinstance(a, Box) else (b, a)
    axes: Axis = getattr(kept, "shape", ())
    if axes or getattr(number, "shape", ()) or not isinstance(kept, _NUMBERS) or varies(number) or varies(kept):
        return
    levels = missing(number, kept)
    if not levels or is_elsewhere(number) or raw(number) != raw(kept):
        return
    frame, by_hook = sys._getframe(1), False
    while frame.f_code.co_name in _OURS and frame.f_back is not None and is_of(frame, "adjoint"):
        through_ufunc = frame.f_code.co_name == "__array_ufunc__"
        by_hook = by_hook or frame.f_code.co_name == "hook"
        frame = frame.f_back
        if through_ufunc and not isinstance(kept, np.ndarray | Box) and not _takes(frame):
            return  # np.equal(t, 1.0)
    if by_hook:
        found_equal(number, levels, frame)
        return
    if is_of(frame, "adjoint", "numpy"):
        if not _takes(frame):
            return
    elif (operation := _operation(frame)) in _ASKING or not cast(Value, number)._is_number():
        if operation == "COMPARE_OP":
            found_equal(number, levels, frame)
        return
    if not differs:
        lost_in_a_container(number, levels, frame)


def _takes(frame: FrameType) -> bool:
    return _operation(frame) in _TAKING


def _operation(frame: FrameType) -> str:
    """The instruction that `frame` carries out."""
    return opname[frame.f_code.co_code[frame.f_lasti]]
