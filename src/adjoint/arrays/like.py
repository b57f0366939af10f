"""NumPy's ``like=``: ``np.zeros(3, like=t)`` is a tensor to write into, ``np.asarray(x, like=t)`` keeps the graph.

Without ``like=`` these functions do not see tensors and make plain arrays; a tensor in a graph then raises.
"""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import beside
from adjoint.core.box import Box
from adjoint.core.memory import ordered, required
from adjoint.core.objects.trees import flatten
from adjoint.core.types import Array, DType, Function, Settings, ShapeLike, Value
from adjoint.ops.indexing.writing import created_like

CONVERSIONS = frozenset({np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require})
CREATIONS = frozenset(
    {np.zeros, np.ones, np.empty, np.full, np.eye, np.identity, np.tri, np.arange, np.fromfunction, np.fromiter}
    | {np.frombuffer, np.fromfile, np.fromstring, np.loadtxt, np.genfromtxt}
)


def make_like(model: Array, function: Function, args: tuple[object, ...], kwargs: Settings) -> Array:
    """Answer ``function(*args, **kwargs, like=model)``."""
    if function in CONVERSIONS and any(isinstance(x, Box) for x in flatten(args[:1])[0]):
        return _converted(function, *args, **kwargs)
    if function is np.full and isinstance(fill := args[1] if len(args) > 1 else kwargs.get("fill_value"), Box):
        return _full(fill, *args, **kwargs)
    made = function(*args, **kwargs)
    if isinstance(made, Box):
        return made
    return created_like(model, beside(model, made if made.flags.writeable else made.copy()))


def _full(fill: object, shape: ShapeLike, fill_value: Array = None, dtype: DType = None, **_: object) -> Array:
    return np.full_like(fill, fill, dtype=dtype, shape=shape)


def _converted(
    function: Function,
    a: Array,
    dtype: DType = None,
    order: Value = None,
    *_: object,
    copy: bool | None = None,
    ndmin: int = 0,
    requirements: object = None,
    **__: object,
) -> Array:
    a = _stacked(a)
    copy = True if function is np.array and copy is None else copy
    if function is np.require:
        order, _owned = required(requirements or order)
        copy = copy or (_owned and bool(getattr(a, "path", ())))
    order = {np.ascontiguousarray: "C", np.asfortranarray: "F"}.get(function, order)
    if dtype is not None and np.dtype(dtype) != a.dtype:
        a, copy = a.astype(dtype), False
    a = ordered(a, order, copy)
    ndmin = max(ndmin, function in (np.ascontiguousarray, np.asfortranarray))
    return np.reshape(a, (1,) * (ndmin - a.ndim) + a.shape) if a.ndim < ndmin else a


def _stacked(a: Array) -> Array:
    """Nested sequences of numbers and tensors as one tensor."""
    if isinstance(a, list | tuple):
        return np.stack([_stacked(x) for x in a])
    return a if hasattr(a, "shape") else np.asarray(a)
