"""`fresh`: an array that was just made, as one that tensors can be written into."""

from __future__ import annotations

from contextvars import ContextVar
from sys import getrefcount
from typing import Any

import numpy as np

from adjoint.core.box import Box
from adjoint.ops.likes import created_like
from adjoint.ops.writable import Layered
from adjoint.tape.tensor import Tensor, wrap

#: The outermost box among the arguments of the transform that runs: what is made inside is of its kind.
model: ContextVar[Box | None] = ContextVar("model", default=None)

_ndarray = np.ndarray


def fresh(value: Any) -> Any:
    """`value`; an array of floats that nothing else refers to becomes a constant of the transform's kind.

    Only such an array can be replaced: nobody can see that it is another one. That is asked of Python's reference
    counts, of the array and of the memory that it shows; an array that somebody holds stays as it is, and a tensor
    written into that one is refused.
    """
    if type(value) is not _ndarray:
        return tuple(map(fresh, value)) if type(value) is tuple and value and type(value[0]) is _ndarray else value
    if value.dtype.kind not in "fc" or getrefcount(value) > _ALONE:
        return value
    base = value.base
    if base is not None and (type(base) is not _ndarray or getrefcount(base) > _BASE or base.base is not None):
        return value
    if not value.flags.writeable:
        return value
    like = model.get()
    if like is None:
        return wrap(value, None, 0)
    if type(like) is Tensor and type(like.data) is _ndarray:
        return wrap(value, None, like.level)
    return _constant(like, value)


def _constant(like: Any, value: Any) -> Any:
    """`value` as a constant of the kind that `like` is, and of those inside of that."""
    held = like.held
    inner = _constant(held, value) if isinstance(held, Box) and held is not like else value
    if isinstance(like, Tensor):
        return wrap(inner, None, like.level)
    return like.of(like._constant(inner), like.level) if isinstance(like, Layered) else created_like(like, value)


def _counted(value: Any, base: Any = None) -> tuple[int, int]:
    base = value.base
    return getrefcount(value), getrefcount(base)


# What the counts are for an array that only `fresh` can see, in this Python.
_ALONE, _BASE = _counted(np.zeros((2, 2)).reshape(4))
