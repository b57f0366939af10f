"""Calls that NumPy refuses: they raise NumPy's own error, whatever error came up first in adjoint's code."""

from __future__ import annotations

import warnings
from opcode import opmap
from types import TracebackType
from typing import cast

import numpy as np

from adjoint.core.backend import explained
from adjoint.core.box import Box, raw
from adjoint.core.errors import ArgumentError, DTypeError
from adjoint.core.messages.frames import is_of
from adjoint.core.objects.trees import flatten
from adjoint.core.types import Array, DType, Function, Settings, Value

#: What Python and NumPy raise where an argument is of no use. Ours are subclasses, and say themselves what is wrong.
STUMBLED = (
    *(TypeError, ValueError, IndexError, KeyError, AttributeError),
    *(UnboundLocalError, AssertionError, ZeroDivisionError),
    NotImplementedError,
)
_EXACTLY = frozenset(STUMBLED) - {NotImplementedError}
_VALUES = ("initial", "ord", "left", "right", "period", "w", "mean", "base")
_NOTHING = (type(None), type(np._NoValue))
_WHOLE = (int, np.int64, np.int32, np.intp)
#: The classes of values of keyword arguments that need no question; each value of another is asked of NumPy.
_USUAL: dict[str, frozenset[type]] = {
    "axisa": frozenset(_WHOLE),
    "axisb": frozenset(_WHOLE),
    "axisc": frozenset(_WHOLE),
    "base": frozenset((*_WHOLE, float, np.float64)),
    "casting": frozenset(),
    "correction": frozenset((*_WHOLE, *_NOTHING[1:], float)),
    "ddof": frozenset((*_WHOLE, float)),
    "device": frozenset(_NOTHING),
    "dtype": frozenset(_NOTHING),
    "initial": frozenset((*_WHOLE, *_NOTHING, float, np.float64, np.float32)),
    "keepdims": frozenset((bool, np.bool_, *_NOTHING[1:])),
    "kind": frozenset(),
    "left": frozenset((*_WHOLE, *_NOTHING, float, np.float64)),
    "mean": frozenset((*_NOTHING, np.ndarray)),
    "num": frozenset(_WHOLE),
    "ord": frozenset((*_WHOLE, *_NOTHING, float, np.float64, str)),
    "period": frozenset((*_NOTHING, np.ndarray)),
    "right": frozenset((*_WHOLE, *_NOTHING, float, np.float64)),
    "rcond": frozenset((*_NOTHING, float, np.float64, np.ndarray)),
    "rtol": frozenset((*_NOTHING, float, np.float64, np.ndarray)),
    "subok": frozenset((bool,)),
    "w": frozenset((*_NOTHING, np.ndarray)),
}

RARE = frozenset(_USUAL)


def numpys(error: Exception, function: Function, args: object, kwargs: Settings) -> Exception:
    """The exception to raise where an answer to ``function(*args, **kwargs)`` ended with `error`.

    That is NumPy's error for the same call by plain numbers, if `error` came from our code, and NumPy raises one.
    """
    if (refused := explained(error)) is not error:
        return refused
    if type(error) not in _EXACTLY or not (hasattr(error, "asked") or _is_slip(error.__traceback__)):
        return error
    found = _raised(function, args, kwargs) or _in_words(error, function, args)
    found.asked = True  # type: ignore[attr-defined]  # a function that called this one asks for itself
    return found


def _in_words(error: Exception, function: Function, args: Value) -> Exception:
    """What NumPy takes, or does not know: an error from inside our code says nothing to the caller."""
    if isinstance(error, TypeError | ValueError | IndexError):
        return error
    kinds = ", ".join("an array" if isinstance(x, Box) else type(x).__name__ for x in args)
    return ArgumentError(f"{getattr(function, '__name__', function)} takes arrays and numbers; got ({kinds})")


def unusual(settings: Settings) -> bool:
    """Whether a keyword argument has a value that NumPy may refuse and our code may not."""
    for name, value in settings.items():
        usual = _USUAL.get(name)
        if (
            usual is None
            or type(value) in usual
            or (name in _VALUES and isinstance(value, Box) and not np.ndim(cast(Value, value)))
        ):
            continue
        if name != "dtype":
            return True
        numbers_only(value)
        return not _is_inexact(value)
    return False


def numbers_only(dtype: DType) -> None:
    """Refuse Python's objects: they are no numbers."""
    try:
        objects = dtype is not None and np.dtype(dtype).kind == "O"
    except TypeError:
        return  # NumPy says what is wrong with it
    if objects:
        raise DTypeError("a tensor holds numbers; dtype=object is for arrays of Python's objects. Leave dtype away")


def refuse(function: Function, args: object, kwargs: Settings) -> None:
    """Raise what NumPy raises for the same call by plain numbers, if it raises."""
    error = _raised(function, args, kwargs)
    if error is not None:
        raise error


def _raised(function: Function, args: object, kwargs: Settings) -> Exception | None:
    leaves, rebuild = flatten((args, dict(kwargs)))
    given, named = rebuild([_numbers(x) for x in leaves])
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            function(*given, **named)
    except Exception as theirs:
        return theirs.with_traceback(None)
    return None


def _numbers(x: Array) -> Value:
    """Numbers of the shape and dtype of an array or a box, its own where it is one array: a copy, to be written."""
    if isinstance(x, np.ndarray):
        copied = x.copy("K")
        copied.flags.writeable = x.flags.writeable
        return copied
    if not isinstance(x, Box):
        return x
    held, shape, dtype = raw(x), x.shape, x.dtype  # type: ignore[attr-defined]  # every box of arrays has them
    if isinstance(held, np.ndarray | np.generic) and (held.shape, held.dtype) == (shape, dtype):
        return _numbers(held)
    ones = np.ones(shape, dtype)
    return ones[()] if x._is_number() else ones  # type: ignore[attr-defined]  # as above


def _is_slip(traceback: TracebackType | None) -> bool:
    """Whether an error came upon the library: none that it raised itself, and none of a function of the user's."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or not is_of(traceback.tb_frame, "adjoint", "numpy", "scipy"):
        return False
    raised = traceback.tb_frame.f_code.co_code[traceback.tb_lasti] == opmap["RAISE_VARARGS"]
    return not (raised and is_of(traceback.tb_frame, "adjoint"))


def _is_inexact(dtype: DType) -> bool:
    try:
        return np.dtype(dtype).kind in "fc"
    except TypeError:
        return False
