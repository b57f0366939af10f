"""Matrices made from vectors, and from smaller matrices."""

from __future__ import annotations

import numpy as np

from adjoint.core.errors import ShapeError
from adjoint.core.types import Array, Value
from adjoint.ops.linalg.lapack import conj
from adjoint.scipy.arrays import array


def block_diag(*arrs: object) -> Array:
    """`scipy.linalg.block_diag`: matrices along the diagonal, zeros elsewhere.

    Args:
        arrs: matrices (..., m, n); vectors count as rows, numbers as 1 x 1.

    Raises:
        ShapeError: if the leading axes do not broadcast.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.linalg import block_diag
        >>> block_diag(np.ones((1, 2)), 3.0)
        array([[1., 1., 0.],
               [0., 0., 3.]])
    """
    blocks = [np.atleast_2d(array(a)) for a in arrs] or [np.zeros((1, 0))]
    try:
        batch = np.broadcast_shapes(*(b.shape[:-2] for b in blocks))
    except ValueError as error:
        raise ShapeError(
            f"block_diag: the leading axes of its blocks must broadcast; got shapes {[b.shape for b in blocks]}"
        ) from error
    dtype = np.result_type(*blocks)
    width, left, rows = sum(b.shape[-1] for b in blocks), 0, []
    for b in blocks:
        m, n = b.shape[-2:]
        b = np.broadcast_to(b, (*batch, m, n))
        sides = [np.zeros((*batch, m, k), dtype) for k in (left, width - left - n)]
        rows.append(np.concatenate([sides[0], b, sides[1]], axis=-1))
        left += n
    return np.concatenate(rows, axis=-2)


def toeplitz(c: Array, r: Array = None) -> Array:
    """`scipy.linalg.toeplitz`: the matrix of constant diagonals, with first column `c` and first row `r`.

    Args:
        c, r: (..., n) and (..., m); without `r`, its conjugate is that of `c`. ``r[0]`` has no use, and no gradient.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import toeplitz
        >>> toeplitz([1.0, 2.0, 3.0], [1.0, 4.0])
        array([[1., 4.],
               [2., 1.],
               [3., 2.]])
        >>> ad.grad(lambda c: toeplitz(c).sum())(np.zeros(3))
        array([3., 4., 2.])
    """
    c = np.atleast_1d(array(c))
    r = conj(c) if r is None else np.atleast_1d(array(r))
    n, m = c.shape[-1], r.shape[-1]
    return _gathered(r[..., :0:-1], c, np.arange(n)[:, None] - np.arange(m)[None, :] + (m - 1))


def hankel(c: Array, r: Array = None) -> Array:
    """`scipy.linalg.hankel`: the matrix of constant antidiagonals, with first column `c` and last row `r`.

    Args:
        c, r: (..., n) and (..., m); zeros without `r`. ``r[0]`` has no use, and no gradient.

    Example:
        >>> from adjoint.scipy.linalg import hankel
        >>> hankel([1.0, 2.0, 3.0])
        array([[1., 2., 3.],
               [2., 3., 0.],
               [3., 0., 0.]])
    """
    c = np.atleast_1d(array(c))
    r = np.zeros_like(c) if r is None else np.atleast_1d(array(r))
    n, m = c.shape[-1], r.shape[-1]
    return _gathered(c, r[..., 1:], np.arange(n)[:, None] + np.arange(m)[None, :])


def _gathered(first: Value, second: Value, places: Value) -> Array:
    """The elements of two rows, one after the other, at `places`."""
    batch = np.broadcast_shapes(first.shape[:-1], second.shape[:-1])
    parts = [np.broadcast_to(x, batch + x.shape[-1:]) for x in (first, second)]
    return np.concatenate(parts, axis=-1)[..., places]


def circulant(c: Array) -> Array:
    """`scipy.linalg.circulant`: the matrix whose columns are `c`, (..., n), each turned on by one.

    Example:
        >>> from adjoint.scipy.linalg import circulant
        >>> circulant([1.0, 2.0, 3.0])
        array([[1., 3., 2.],
               [2., 1., 3.],
               [3., 2., 1.]])
    """
    c = np.atleast_1d(array(c))
    places = np.arange(c.shape[-1])
    return c[..., (places[:, None] - places[None, :]) % c.shape[-1]]
