"""Which arguments a transform differentiates by, and these as arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError


def one_of(argnum: Any, args: Sequence[Any]) -> int:
    """The number `argnum` of one of `args`, from 0.

    Raises:
        ArgumentError: if there is no such argument.
    """
    try:
        k = operator.index(argnum)
    except TypeError:
        raise ArgumentError(f"argnums={argnum!r}: it is the number of an argument, or a tuple of numbers") from None
    if not -len(args) <= k < len(args):
        raise ArgumentError(f"argnums={k}: the call has {len(args)} positional argument(s)")
    return k % len(args)


def all_of(argnums: Any, args: Sequence[Any]) -> tuple[int, ...]:
    """The numbers of those of `args` that `argnums` names, each once; see `one_of`."""
    chosen = tuple(one_of(k, args) for k in (argnums if isinstance(argnums, tuple | list) else (argnums,)))
    if len(set(chosen)) < len(chosen):
        raise ArgumentError(f"argnums={argnums}: an argument is named twice; name each once")
    return chosen


def number(x: Any) -> Any:
    """A number as NumPy's; what is none, as an array of objects, which has a dtype to speak of."""
    array = np.asarray(x)
    return array if array.dtype.kind == "O" else array[()]
