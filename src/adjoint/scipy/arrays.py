"""Arguments of every module here: any array, tensor or sequence of numbers, made ready to be differentiated."""

from __future__ import annotations

from typing import cast

import numpy as np

from adjoint.core.backend import to_host
from adjoint.core.box import Box, has_box, varies
from adjoint.core.errors import ShapeError
from adjoint.core.protocol import detached
from adjoint.core.types import Array


def array(x: Array) -> Array:
    """An array or tensor of real or complex numbers: whole numbers and sequences, also of tensors, become float64."""
    if isinstance(x, list | tuple) and has_box(x):
        return np.stack([array(part) for part in x])
    x = cast(Array, x) if isinstance(x, Box) else np.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def plain(x: Array) -> Array:
    """The numbers alone, as NumPy's."""
    return cast(Array, x).numpy() if isinstance(x, Box) else to_host(x)


def constants(x: Array) -> Array:
    """The same without history: an array of NumPy's; inside vmap, one for each sample."""
    return detached(x) if varies(x) else plain(x)


def square(name: str, a: Array) -> Array:
    """`a`, a square matrix or a stack of them.

    Raises:
        ShapeError: if it is not.
    """
    a = array(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"{name} takes a square matrix, or a stack (..., n, n) of them; got shape {a.shape}")
    return a


def fitting(name: str, a: Array, b: Array) -> tuple[Array, Array, bool]:
    """A square `a`, and `b` as columns; whether `b` was a vector.

    Raises:
        ShapeError: if they do not make an equation ``a @ x = b``.
    """
    a, b = square(name, a), array(b)
    vector = b.ndim == 1
    if b.ndim == 0 or b.shape[0 if vector else -2] != a.shape[-1]:
        n = a.shape[-1]
        raise ShapeError(
            f"{name}: a matrix of shape {a.shape} takes a right side of shape ({n},) or (..., {n}, k); got {b.shape}"
        )
    return a, b.reshape(-1, 1) if vector else b, vector


def unfitted(x: Array, vector: bool) -> Array:
    """The columns `x` as the right side was. An index would be a selection, whose zeros the backward pass watches."""
    return x.reshape(x.shape[:-1]) if vector else x
