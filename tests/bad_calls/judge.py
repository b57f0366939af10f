"""What is wrong with the outcome of a bad call: silence, a value of our own, another class of error, a leaked name."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

import adjoint as ad
from adjoint.core.box import Box
from tests.bad_calls.registry import MODES, Bad, bad_calls, by_numpy, by_us
from tests.walk.dtypes import difference
from tests.walk.edges import Outcome

# Python says these of its own accord where nothing looked at the arguments first.
UNLOOKED = re.compile(r"has no attribute|object at 0x|cannot unpack|to unpack|adjoint\.[a-z]+\.|(?<![\w.])_[a-z]\w*")


# What is no array at all: NumPy fails in passing, we by another class of error.
NO_NUMBERS = re.compile("a word|a function|a thing|a set|a table|text|objects|ragged|records|dates|None")
# Boxes that users know, or whose name is a word.
KNOWN = {"Tensor", "Array", "Diagonal", "Pattern", "Selected", "Writable", "Observable", "Leaving", "Quantity"}


@cache
def private() -> re.Pattern[str]:
    """The names of classes that no user knows."""
    waiting, names = [Box], set()
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        names.add(kind.__name__)
    return re.compile(rf"\b({'|'.join(sorted(names - KNOWN))}|Pullback|Composite)\b")


def leaked(error: BaseException, theirs: BaseException | None = None) -> str | None:
    """A word of the message that says nothing to a user, and that NumPy's message does not have."""
    text, known = str(error), str(theirs)
    for found in (*private().finditer(text), *UNLOOKED.finditer(text)):
        if found[0] not in known:
            return found[0]
    return None


def _builtin(error: BaseException) -> type:
    """Python's own class of an error: TypeError for NumPy's UFuncTypeError."""
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def wrong(name: str, ours: Outcome, theirs: Outcome, arrays: list[Any]) -> str | None:
    """What is wrong, in words; None if all is well."""
    error = ours.error
    if error is not None:
        word = leaked(error, theirs.error)
        if word is not None:
            return f"leaks {word!r}: {type(error).__name__}: {error}"
        if not str(error):
            return f"no words: {error!r}"
        if isinstance(error, ad.AdjointError):
            return None
        if theirs.error is None or NO_NUMBERS.search(name):
            same = type(error) is type(theirs.error)  # whatever class of error it is
            return None if ours.refused or same else f"NumPy gives a value; we raise {error!r}"
        if _builtin(error) is _builtin(theirs.error) or isinstance(
            theirs.error, AttributeError | KeyError | UnboundLocalError
        ):
            return None  # in NumPy, these are slips
        return f"class: NumPy raises {theirs.error!r}; we {error!r}"
    if theirs.error is not None:
        return f"silent: NumPy raises {theirs.error!r}; we give {ours.value!r}"
    if any(x.dtype.kind not in "biufc" for x in theirs.value):
        return (
            None
            if all(np.array_equal(a, b) for a, b in zip(ours.value, theirs.value, strict=False))
            else "value: " + repr(ours.value)
        )
    text = difference(ours._replace(warned=set()), theirs, arrays, False)
    return text and f"value: {text}"


def judged(
    entry: Any, modes: tuple[str, ...] = MODES, every: int = 1, start: int = 0
) -> tuple[int, list[tuple[Bad, str, str]]]:
    """How many calls of `entry` were made, and what was wrong with which, in which mode."""
    count, found = 0, []
    for number, bad in enumerate(bad_calls(entry)):
        if (number + start) % every:
            continue
        theirs = by_numpy(bad)
        for mode in modes:
            ours = by_us(bad, mode)
            if ours is None:
                continue
            count += 1
            text = wrong(bad.name, ours, theirs, bad.arrays())
            if text:
                found.append((bad, mode, text))
    return count, found


# What is different on purpose, or is nobody's call: {operation: {part of the call's name: reason}}.
EXCUSED: dict[str, dict[str, str]] = {
    "*": {
        " True, ": "Python counts True as 1",
        "=True, ": "as above",
        "out=0., capture": "a captured array without axes is a number",
        "AxisError": "the axis is what is wrong",
        "out= must be an array": "a tuple is none",
    },
    "arctan2": {"a set": "NumPy's own loop over objects"},
    **{
        name: {"=[0]": "inside vmap, a list of one number is that number"}
        for name in ("std", "var", "vector_norm", "norm")
    },
    "quantile": {
        "more axes": "fractions may have any shape, also where there are weights",
        "array 1 nothing": "no quantiles are no result",
    },
    "cov": {"rowvar=": "an array for a truth value"},
    "copy": {"order=": "the order of a batch is its own"},
    "gradient": {"truth": "a spacing is made real"},
    "poly": {"array 0 no axes": "NumPy's dispatcher stumbles over a number, which is a row of one"},
    "roots": {"array 0 no axes": "as above"},
    "fill_diagonal": {"has no attribute 'ndim'": "NumPy asks the target alone, so its own code runs"},
    "full_like": {"dtype=<class 'str'>": "NumPy keeps the first letter"},
    "piecewise": {"[[0, 1], [1]], vmap": "a ragged list is no condition, and fits no shape"},
    "unique_values": {"whole": "in rising order, which NumPy leaves open", "complex": "as above"},
    "einsum": {"optimize": "paths are found anew, and a given one is not read"},
    "nanvar": {"=2j": "NumPy drops the imaginary part", "mean=None": "no mean is given"},
    "nanpercentile": {"out=(array": "a tuple of arrays, as ufuncs take it"},
    "nanquantile": {"q=()": "no quantiles are no result", "out=(array": "a tuple of one array, as ufuncs take it"},
    "interp": {"=2j": "results are complex then", "dates": "coordinates are numbers"},
    "astype": {
        "device": "there is one device",
        "one argument less": "NumPy's own type stays",
        "order=": "the operation is that of t.astype, too, which takes an order",
    },
    "take_along_axis": {"a list": "NumPy asks the list for its axes, and stumbles"},
    "apply_along_axis": {"dtype=<class 'object'>": "objects are no numbers"},
    "select": {"word": "texts and numbers are put together, as np.concatenate does"},
}


def excused(bad: Bad, mode: str, text: str) -> bool:
    """Whether a difference stands in the list of exceptions."""
    where = f"{bad.name}, {mode}, {text}"
    return any(part in where for name in (bad.entry.name, "*") for part in EXCUSED.get(name, ()))
