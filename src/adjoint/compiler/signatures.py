"""The kind of a call's arguments: the signature that a trace is for, and a quick key that tells kinds apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.compiler.arguments import is_own
from adjoint.core.box import Box
from adjoint.core.types import Value
from adjoint.graph.signature import is_changed
from adjoint.tape.modes import recording_floor
from adjoint.tape.tensor import Tensor

LEAVES = 3  # so many parts of a signature come before those of the leaves
DEPTH = 3  # containers within containers that are looked into at first sight


def signature_of(leaves: Sequence[Value], rebuild: object) -> object:
    """What a trace depends on: structure, kinds of arrays, static values, aliases. None: do not record."""
    floor = recording_floor.get()
    parts: list[Value] = [getattr(rebuild, "__self__", None), floor]
    seen: dict[int, int] = {}
    levels: set[int] = set()
    for k, x in enumerate(leaves):
        kind = type(x)
        if kind is np.ndarray:
            parts.append((x.shape, x.dtype, (_layout(x), seen.setdefault(id(x), k))))
        elif isinstance(x, Tensor):
            if isinstance(x.data, Box) or is_changed(x):
                return None
            own = x.node is not None and is_own(x)
            graph = x.node is None, own, own and x.grad is None, x.is_python, isinstance(x.data, np.generic)
            parts.append((x.shape, x.dtype, (_layout(x.data), seen.setdefault(id(x), k)), *graph))
            levels |= {x.level} if x.node is not None else set()
        elif isinstance(x, Box) or kind.__hash__ is None:
            return None
        elif isinstance(x, np.generic):
            parts.append(x.dtype)
        else:
            parts.append(kind if kind is float or kind is complex else (kind, x))
    inner = bool(levels - {0})
    return None if len(levels) > 1 or (inner and floor) else (inner, *parts)


def _layout(x: Value) -> Value:
    """How an array lies in memory: it says which of its reshaped forms are views, through which one may write."""
    return x.flags.c_contiguous or x.strides


def first_sight(args: Sequence[object], kwargs: dict[str, object], numbers: bool = True) -> tuple[object, ...]:
    """What arguments are at first sight, which is quickly told: equal for all that one fast path takes.

    Without `numbers`, the values of whole numbers are left out, as a fast path wants it that takes all of them.
    """
    if not kwargs:
        return tuple([(x.shape, x.dtype.num) if type(x) is np.ndarray else _sight(x, numbers, 0) for x in args])
    return (len(args), *kwargs, *[_sight(x, numbers, 0) for x in (*args, *kwargs.values())])


def _sight(x: Value, numbers: bool, depth: int) -> Value:
    kind = type(x)
    if kind is np.ndarray:
        return x.shape, x.dtype
    if (kind is int and numbers) or kind is bool or kind is str:
        return kind, x
    if kind is Tensor and type(x.data) is np.ndarray:
        return kind, x.data.shape, x.data.dtype
    if depth < DEPTH:
        if kind is tuple or kind is list:
            return (kind, *[_sight(part, numbers, depth + 1) for part in x])
        if kind is dict:
            return (kind, *x, *[_sight(part, numbers, depth + 1) for part in x.values()])
    return kind
