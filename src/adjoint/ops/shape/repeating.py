"""Elements that are repeated: tiles, repeats, arrays filled with another's elements again and again."""

from __future__ import annotations

import operator

import numpy as np

from adjoint.core.backend import as_array, beside
from adjoint.core.constructors import composite, linear
from adjoint.core.errors import ArgumentError, DTypeError
from adjoint.core.op import call
from adjoint.core.protocol import detached
from adjoint.core.rules.pullbacks import added_up
from adjoint.core.types import Array, Axis, Value
from adjoint.ops.indexing.index import kept
from adjoint.ops.indexing.reading import scatter_add
from adjoint.ops.shape.reshaping import counted_from_one


def _untile(g: Array, A_shape: tuple[int, ...], reps: Value) -> Array:  # noqa: N803 - NumPy's name
    reps = tuple(reps) if np.ndim(reps) else (int(reps),)
    shape = (1,) * (len(reps) - len(A_shape)) + A_shape
    reps = (1,) * (len(shape) - len(reps)) + reps
    pairs = tuple(n for pair in zip(reps, shape, strict=True) for n in pair)
    return np.reshape(added_up(np.reshape(g, pairs), tuple(range(0, len(pairs), 2))), A_shape)


def _tile_each(A: Array, reps: Value) -> Array:  # noqa: N803 - NumPy's name
    reps = tuple(reps) if np.ndim(reps) else (operator.index(reps),)
    missing = len(reps) + 1 - A.ndim
    if missing > 0:
        A = np.reshape(A, (A.shape[0], *(1,) * missing, *A.shape[1:]))
    return np.tile(A, (1,) * (A.ndim - len(reps)) + reps)


@linear(
    np.tile,
    transpose=_untile,
    batch=_tile_each,
    flags=("moves", "array"),
    samples=lambda r: [call(r(3), 2), call(r(2, 3), (2, 1, 2)), call(r(2, 3), 2)],
)
def tile(A: Array, /, reps: Value = None) -> Array:  # noqa: N803 - NumPy's name
    return np.tile(A, reps)


def _unrepeat(g: Array, a_shape: tuple[int, ...], repeats: Array, axis: Axis) -> Array:
    shape = a_shape if axis is not None else (int(np.prod(a_shape)),)
    along = axis if axis is not None else 0
    counts = np.broadcast_to(repeats, shape[along])
    moved = np.moveaxis(g, along, 0)
    owner = np.repeat(np.arange(shape[along]), counts)
    summed = scatter_add(moved, index=(owner,), shape=(shape[along], *moved.shape[1:]), repeats=True)
    return np.reshape(np.moveaxis(summed, 0, along), a_shape)


def _counts(a: Array, repeats: Array) -> Array:
    return repeats if np.ndim(repeats) == 0 else beside(a, as_array(repeats))


@linear(
    transpose=_unrepeat,
    batch=lambda a, repeats, axis: (
        np.repeat(np.reshape(a, (a.shape[0], -1)), _counts(a, repeats), 1)
        if axis is None
        else np.repeat(a, _counts(a, repeats), counted_from_one(axis, np.ndim(a)))
    ),
    flags=("moves", "selects"),
    samples=lambda r: [call(r(3), 2), call(r(2, 3), [1, 2, 0], axis=1), call(r(2, 3), 2)],
)
def repeat_each(a: Array, /, repeats: Array = 1, axis: Axis = None) -> Array:
    return np.repeat(a, _counts(a, repeats), axis)


@composite(np.repeat, samples=lambda r: [call(r(3), 2), call(r(2, 3), [1, 2, 0], axis=1), call(r(2, 3), repeats=2)])
def repeat(a: Array, repeats: Array, axis: Axis = None) -> Array:
    if axis in (0, -1) and np.ndim(a) == 0:  # NumPy takes a number for a row of one
        axis = None
    repeats = kept(detached(repeats))
    if not isinstance(repeats, int) and np.result_type(repeats).kind not in "iub":
        raise DTypeError(f"np.repeat: repeats must be whole numbers; got {repeats!r}")
    return repeat_each(a, repeats=repeats, axis=axis)


@composite(np.resize, samples=lambda r: [call(r(2, 3), (3, 4)), call(r(4), 3)])
def resize(a: Array, new_shape: Value) -> Array:
    if np.any(np.less(new_shape, 0)):
        raise ArgumentError(f"np.resize: no length may be negative; got {new_shape}")
    size = int(np.prod(new_shape))
    flat = np.ravel(a)
    if not flat.size:
        return np.zeros(new_shape, flat.dtype)
    return np.reshape(flat[np.arange(size) % flat.size], new_shape)
