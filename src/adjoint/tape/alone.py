"""Cotangents that nothing else refers to: rules may write into these, and leaves may keep them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from adjoint.core.rules.pullbacks import Pullback
from adjoint.core.types import Array, Value


def is_alone(ends: dict[Value, Value], leaf: Value) -> bool:
    """Whether nothing but `ends` refers to the array ``ends[leaf]``, nor to another one that has its memory."""
    if type(ends[leaf]) is not ndarray or _references(ends, leaf) != _ONCE:
        return False
    flags, base = ends[leaf].flags, ends[leaf].base
    if not (flags.writeable and flags.forc):
        return False
    if base is None:
        return bool(flags.owndata)
    whole = type(base) is ndarray and base.nbytes == ends[leaf].nbytes and base.flags.owndata
    del base
    return whole and _base_references(ends, leaf) == _ONCE


def _references(ends: dict[Value, Value], leaf: Value) -> int:
    return sys.getrefcount(ends[leaf])


def _base_references(ends: dict[Value, Value], leaf: Value) -> int:
    return sys.getrefcount(ends[leaf].base)


#: What the two functions say of an array that is in the dictionary, or shown by it, and nowhere else.
_ONCE = _references({None: np.empty(2)}, None)


def run_within(held: dict[Value, Value], pullback: Pullback, saved: tuple[Array, ...]) -> Sequence[Value]:
    """The shares of the cotangent in `held`, which is given up: in its place, if nothing else refers to it."""
    run = pullback.within if pullback.within is not None and is_alone(held, None) else pullback.run
    return run(held.pop(None), saved)
