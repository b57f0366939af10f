"""Names that mean one thing here, as in NumPy, and another in PyTorch: their first use is not silent."""

from __future__ import annotations

from adjoint.core.box import Box
from adjoint.core.messages.frames import place_of, warn_at
from adjoint.core.messages.unpacked import has_keywords, users_call
from adjoint.core.types import Array

_DIVISOR = "divides by n, as NumPy's does; PyTorch's divides by n - 1. Say which is meant: correction=0 or correction=1"

#: What a call without keywords gives, what PyTorch's gives, and how to say which is meant.
MEANINGS = {
    "std": _DIVISOR,
    "var": _DIVISOR,
    "repeat": "repeats each element, as NumPy's does; PyTorch's repeats the whole: t.tile(…). Name axis= for this one",
    "split": "gives so many parts, as NumPy's does; PyTorch's gives parts of so many elements: dim=0. Name axis=0 for "
    "this one",
    "meshgrid": "has indexing='xy', as NumPy's has; PyTorch's has 'ij'. Say which is meant: indexing='ij', or 'xy'",
    "nonzero": "gives an array of places for each axis, as NumPy's does; PyTorch's gives a row for each element. Say "
    "which is meant: as_tuple=True, or as_tuple=False for rows",
    "sort": "gives the values alone, as NumPy's does; PyTorch's gives values and indices: dim=-1. Name axis=-1 for "
    "this one",
    "median": "gives the mean of the two in the middle, as NumPy's does; PyTorch's gives the lower one: dim=-1 along "
    "an axis. Name axis= for this one",
}

#: The same of ``t.transpose(0, 1)``, which is not silent in transforms either: NumPy's users do not write it.
NO_EXCHANGE = (
    "t.transpose(0, 1) of a matrix changes nothing, as in NumPy: it says the order of the axes. PyTorch's exchanges "
    "two: t.T, or np.swapaxes(t, 0, 1)"
)


def note(name: str, a: Array) -> None:
    """Warn if the user's line calls ``t.name(…)`` or ``ad.name(t, …)`` without keywords, in PyTorch's way.

    That is of a tensor outside of transforms. What NumPy's functions call, and what is written for arrays and
    differentiated by `adjoint.grad` and its like, is meant as in NumPy.
    """
    if not isinstance(a, Box) or a.level or not a.goes_back:
        return
    frame = users_call()
    if frame is not None and not has_keywords(frame):
        warn_at(place_of(frame), f"{name}() without keywords {MEANINGS[name]}", UserWarning)
