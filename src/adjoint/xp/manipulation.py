"""Moving elements about, joining and indexing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.core.types import Array, Axes
from adjoint.xp.arrays import boxed, each, plain


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    return each(np.broadcast_arrays(*arrays))


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    return np.broadcast_shapes(*shapes)


def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    return boxed(np.broadcast_to(x, shape))


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    return boxed(np.concatenate(arrays, axis=axis))


def expand_dims(x: Array, /, axis: int | tuple[int, ...] = 0) -> Array:
    return boxed(np.expand_dims(x, axis))


def flip(x: Array, /, *, axis: Axes | None = None) -> Array:
    return boxed(np.flip(x, axis))


def moveaxis(x: Array, source: Axes, destination: Axes, /) -> Array:
    return boxed(np.moveaxis(x, source, destination))


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    return boxed(np.permute_dims(x, axes))


def repeat(x: Array, repeats: object, /, *, axis: int | None = None) -> Array:
    return boxed(np.repeat(x, plain(repeats), axis))


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    return boxed(np.reshape(x, shape, copy=copy))


def roll(x: Array, /, shift: Axes, *, axis: Axes | None = None) -> Array:
    return boxed(np.roll(x, shift, axis))


def squeeze(x: Array, /, axis: Axes) -> Array:
    return boxed(np.squeeze(x, axis))


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    return boxed(np.stack(arrays, axis=axis))


def tile(x: Array, repetitions: tuple[int, ...], /) -> Array:
    return boxed(np.tile(x, repetitions))


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    return each(np.unstack(x, axis=axis))


def take(x: Array, indices: object, /, *, axis: int | None = None) -> Array:
    return boxed(np.take(x, plain(indices), axis=axis))


def take_along_axis(x: Array, indices: object, /, *, axis: int = -1) -> Array:
    return boxed(np.take_along_axis(x, plain(indices), axis=axis))
