"""Elements in another order along axes: flipped, rolled, rotated."""

from __future__ import annotations

import numpy as np

from adjoint.core.constructors import composite, linear
from adjoint.core.memory import NEW, VIEW
from adjoint.core.op import call
from adjoint.core.types import Array, Axis
from adjoint.ops.shape.reshaping import counted_from_one


@linear(
    np.flip,
    transpose=lambda g, axis: np.flip(g, axis),
    batch="axes",
    memory=VIEW,
    flags=("moves",),
    samples=lambda r: [call(r(3, 4)), call(r(3, 4), axis=1), call(r(2, 3, 4), (0, 2))],
)
def flip(m: Array, /, axis: Axis = None) -> Array:
    return np.flip(m, axis)


@composite(np.flipud, samples=lambda r: [call(r(3, 4))])
def flipud(m: Array) -> Array:
    return np.flip(m, 0)


@composite(np.fliplr, samples=lambda r: [call(r(3, 4))])
def fliplr(m: Array) -> Array:
    return np.flip(m, 1)


def _back(shift: Array) -> Array:
    """The shifts that undo `shift`, as numbers of Python's: an array would be one of the host's."""
    back = np.negative(shift).tolist()
    return tuple(back) if isinstance(back, list) else back


@linear(
    np.roll,
    transpose=lambda g, shift, axis: np.roll(g, _back(shift), axis),
    batch=lambda a, shift, axis: (
        np.reshape(np.roll(np.reshape(a, (a.shape[0], -1)), shift, 1), a.shape)
        if axis is None
        else np.roll(a, shift, counted_from_one(axis, np.ndim(a)))
    ),
    memory=NEW,
    flags=("moves", "array"),
    samples=lambda r: [call(r(3, 4), 2), call(r(3, 4), 1, axis=1), call(r(3, 4), (1, 2), axis=(0, 1))],
)
def roll(a: Array, /, shift: Array = None, axis: Axis = None) -> Array:
    return np.roll(a, shift, axis)


@linear(
    np.rot90,
    transpose=lambda g, k, axes: np.rot90(g, -k, axes),
    batch="axes",
    memory=VIEW,
    flags=("moves",),
    samples=lambda r: [call(r(3, 4)), call(r(2, 3, 4), 3, (1, 2))],
)
def rot90(m: Array, /, k: int = 1, axes: Axis = (0, 1)) -> Array:
    return np.rot90(m, k, axes)
