"""Dask's arrays: lazy, in chunks, on threads, processes or a cluster. Operations on them build a graph.

If Dask lacks a function, it fetches all values, and warns. In a call from a rule this is refused, with the function's
name: missing functions get an entry in Dask's table of answers, which checks who called.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import dask.array
import numpy as np
from dask.array import core as dask_core

from adjoint.core.backend import Backend
from adjoint.core.errors import NotSupportedError, ShapeError
from adjoint.core.messages.frames import is_of
from adjoint.core.registry import ANSWERS, entries
from adjoint.core.types import Array, Function, Value

da: Value = dask.array  # without types


def _known_shape(a: Array) -> None:
    if any(isinstance(n, float) for n in a.shape):
        raise ShapeError(
            f"a Dask array of unknown chunk sizes has no shape to take a derivative by; got {a.shape}. Let Dask count "
            f"them first: x.compute_chunk_sizes()"
        )


def _lacks(function: Value) -> bool:
    """Whether Dask does not have this function of NumPy's, and answers it by fetching all values."""
    if isinstance(function, np.ufunc):
        return function.nout > 1 and not hasattr(da, function.__name__)
    if dask_core._HANDLED_FUNCTIONS.get(function) not in (None, _REFUSED.get(function)):
        return False
    room: object = da
    for name in function.__module__.split(".")[1:]:
        room = getattr(room, name, None)
    return getattr(room, function.__name__, function) is function


def _answer(function: Function, *args: object, **kwargs: object) -> Array:
    """What Dask does for a `function` that it lacks; refused where one of our rules asks."""
    frame: Value = sys._getframe(1)
    while frame is not None and is_of(frame, "dask"):
        frame = frame.f_back
    if frame is not None and is_of(frame, "adjoint"):
        if function in _FREE:
            return _FREE[function](*args, **kwargs)
        name = f"{function.__module__}.{function.__name__}"
        raise NotSupportedError(
            f"{name} of a Dask array: Dask does not have it, and would fetch all values. Fetch them yourself if they "
            f"are few, x.compute(), or work by chunks, x.map_blocks(…)"
        )
    return _fetched(function, args, kwargs)


def _fetched(function: Value, args: Value, kwargs: Value) -> Array:
    """Dask's own way: a warning, and all values fetched."""
    warnings.warn(
        f"The `{function.__module__}.{function.__name__}` function is not implemented by Dask array. You may want to "
        f"use the da.map_blocks function or something similar to silence this warning. Your code may stop working in "
        f"a future release.",
        FutureWarning,
        stacklevel=4,
    )
    args, kwargs = da.compute(args, kwargs)
    return function(*args, **kwargs)


_REFUSED: dict[Value, Value] = {}
#: What Dask does not have although it needs no values.
_FREE: dict[Value, Function] = {
    np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
    np.copy: lambda a, **_: a.copy(),
    np.matrix_transpose: lambda a: np.swapaxes(a, -1, -2),
    np.linalg.matrix_transpose: lambda a: np.swapaxes(a, -1, -2),
}


class ChunkedShape(tuple[int, ...]):
    """The shape of an array, with its chunks."""

    chunks: object


def _shape(a: Array) -> ChunkedShape:
    shape = ChunkedShape(a.shape)
    shape.chunks = a.chunks
    return shape


def _spread(value: Array, shape: tuple[int, ...]) -> Array:
    """`numpy.broadcast_to`, in the chunks of the array of this shape, so that no chunk is as large as all of them."""
    if any(isinstance(n, float) for n in shape):
        raise ShapeError(
            "a Dask array that a mask chose has an unknown shape, by which no gradient can be spread. Keep the shape: "
            "np.where(mask, x, 0.0); or let Dask count: x[mask].compute_chunk_sizes()"
        )
    chunks = getattr(shape, "chunks", None)
    if chunks is None:
        return da.broadcast_to(value, shape)
    mine = dict(enumerate(chunks[len(shape) - value.ndim :]))
    value = value.rechunk({axis: mine[axis] for axis, n in enumerate(value.shape) if n > 1})
    return da.broadcast_to(value, tuple(shape), chunks=chunks)


def _refuse_first() -> None:
    """Give Dask's table an entry for each function of ours that Dask lacks."""
    entries()
    for function in tuple(ANSWERS):
        dispatched = hasattr(function, "_implementation") and function.__module__.startswith("numpy")
        if dispatched and function not in dask_core._HANDLED_FUNCTIONS and _lacks(function):
            _REFUSED[function] = partial(_answer, function)
            dask_core._HANDLED_FUNCTIONS[function] = _REFUSED[function]


_refuse_first()

_elementwise: Value = dask_core.elemwise

BACKEND = Backend(
    name="Dask",
    like=lambda model, values: da.asarray(values),
    to_host=lambda a: np.asarray(a.compute()),
    shares=lambda a, b: False,  # a write makes Dask's array another one, and no other array with it
    fingerprint=lambda a: a.name,
    lacks=_lacks,
    mixes_with_numpy=True,
    known_shape=_known_shape,
    together=lambda arrays: da.compute(*arrays),  # one graph, so what they share is computed once
    shape=_shape,
    spread=_spread,
    elementwise=lambda function, arrays, dtype: _elementwise(function, *arrays, dtype=dtype),
    move="make it lazy: dask.array.asarray(a)",
    fetch="x.compute()",
)
