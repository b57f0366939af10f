"""The signature of a call: what a trace requires of the kinds of its arguments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.compiler.recording.arguments import is_own
from adjoint.core.box import Box
from adjoint.core.types import Value
from adjoint.graph.captures.signature import is_changed
from adjoint.tape.modes import recording_floor
from adjoint.tape.tensor import Tensor

LEAVES = 3  # so many parts of a signature come before those of the leaves


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
            if isinstance(x.held, Box) or is_changed(x):
                return None
            own = x.node is not None and is_own(x)
            graph = x.node is None, own, own and x.grad is None, x.is_python, isinstance(x.held, np.generic)
            parts.append((x.shape, x.dtype, (_layout(x.held), seen.setdefault(id(x), k)), *graph))
            levels |= {x.level} if x.node is not None else set()
        elif isinstance(x, Box) or kind.__hash__ is None:
            return None
        elif isinstance(x, np.generic):
            parts.append(x.dtype)
        elif kind is range:  # equal ones have the same elements, but may end elsewhere
            parts.append((kind, x, (x.start, x.stop, x.step)))
        else:
            parts.append(kind if kind is float or kind is complex else (kind, x))
    inner = bool(levels - {0})
    return None if len(levels) > 1 or (inner and floor) else (inner, *parts)


def _layout(x: Value) -> Value:
    """How an array lies in memory: it says which of its reshaped forms are views, through which one may write."""
    return x.flags.c_contiguous or x.strides
