"""`numpy.lib.stride_tricks.as_strided`: views of elements that lie at regular distances in memory."""

from __future__ import annotations

import math

import numpy as np

from adjoint.core.backend import is_foreign
from adjoint.core.constructors import linear
from adjoint.core.errors import ArgumentError
from adjoint.core.memory import Memory, lies
from adjoint.core.op import call
from adjoint.core.types import Array, ShapeLike, Value
from adjoint.ops.indexing.reading import scatter_add

Ints = tuple[int, ...]


def _spread(g: Array, x_shape: Ints, shape: Ints, strides: Ints, of: Ints) -> Array:
    places = _places(x_shape, shape, strides, of)
    return np.reshape(scatter_add(g, index=(places,), shape=(math.prod(x_shape),), repeats=True), x_shape)


def _each(x: Array, shape: Ints, strides: Ints, of: Ints) -> Array:
    return np.reshape(x, (x.shape[0], -1))[:, _places(x.shape[1:], shape, strides, of)]


@linear(
    transpose=_spread,
    batch=lambda x, shape, strides, of: _each(x, shape, strides, of),
    memory=Memory("perhaps"),
    flags=("moves", "selects", "overlaps"),
    samples=lambda r: [
        call(r(4), shape=(2, 2), strides=(8, 8), of=(8,)),
        call(r(3, 3), shape=(3,), strides=(32,), of=(24, 8)),
    ],
)
def at_strides(
    x: Array, /, shape: ShapeLike = (), strides: Value = (), of: Value = (), writeable: bool = True
) -> Array:
    """`as_strided` of an array with the strides `of`; of one that lies otherwise, a copy of the same elements."""
    places = _places(x.shape, shape, strides, of)
    if not is_foreign(x) and x.strides == of:
        return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=writeable)
    return np.ravel(x)[places]


def restrided(x: Array, shape: ShapeLike, strides: Value, writeable: bool) -> Array:
    """NumPy's `as_strided` of a box.

    Raises:
        ArgumentError: if some of the elements lie outside of `x`.
    """
    model = np.asarray(lies(x))
    shape = model.shape if shape is None else tuple(shape) if np.ndim(shape) else (int(shape),)
    strides = model.strides if strides is None else tuple(strides) if np.ndim(strides) else (int(strides),)
    return at_strides(x, shape=shape, strides=strides, of=model.strides, writeable=writeable)


def _places(x_shape: Ints, shape: Ints, strides: Ints, of: Ints) -> Array:
    """Which elements, counted in C's order, `as_strided` shows of an array with the strides `of`."""
    found = dict(zip(_offsets(x_shape, of).ravel().tolist(), range(math.prod(x_shape)), strict=True))
    try:
        numbers = [found[offset] for offset in _offsets(shape, strides).ravel().tolist()]
    except KeyError:
        raise ArgumentError(
            f"as_strided of a tensor shows that tensor's own elements; with shape {shape} and strides {strides} some "
            f"lie outside of it (its shape is {x_shape}, its strides {of}). Take it of the whole array"
        ) from None
    return np.reshape(np.array(numbers, int), shape)


def _offsets(shape: Ints, strides: Ints) -> Array:
    """How many bytes after the first element each one lies."""
    total: Array = np.zeros(shape, int)
    for axis, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        total = total + np.reshape(np.arange(n) * stride, (-1, *(1,) * (len(shape) - axis - 1)))
    return total
