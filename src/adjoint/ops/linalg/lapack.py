"""What rules of linear algebra share: transposes, sample matrices, and LAPACK's routines through SciPy, loaded late."""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np

from adjoint.core.rules.pullbacks import unbroadcast
from adjoint.core.types import Array, DType, Function, ShapeLike

_HALF = np.dtype(np.float16)


def conj(x: Array) -> Array:
    """The complex conjugate; a real array as it is."""
    return np.conj(x) if x.dtype.kind == "c" else x


def hermitian(x: Array) -> Array:
    """Transposed and, if complex, conjugated."""
    return conj(np.swapaxes(x, -1, -2))


def well_posed(r: Array, *shape: int) -> Array:
    """A sample matrix far from singular."""
    return r(*shape) + 4 * np.eye(shape[-1])


def unused(g: Array) -> bool:
    """Whether an output has no use: its cotangent is the one zero, shown everywhere, that stands for none.

    A cotangent of zeros is another thing: it may be a sum of terms that cancel, whose derivatives do not.
    """
    return isinstance(g, np.ndarray) and not any(g.strides) and (not g.size or not g[(0,) * g.ndim])


def fitted(c: Array, shape: ShapeLike) -> Array:
    """`c` summed over the axes along which an array of `shape` was repeated."""
    return c if c.shape == shape else unbroadcast(c, shape)


def routine(name: str, dtype: DType) -> Array:
    """The BLAS or LAPACK routine for arrays of `dtype`: ``routine("trsm", float64)`` is dtrsm."""
    if dtype.char not in "fdFD":
        raise TypeError(f"array type {dtype} is unsupported in linalg")
    return _loaded("sdcz"["fdFD".index(dtype.char)] + name)


@cache
def _loaded(name: str) -> Array:
    from scipy.linalg import blas, lapack

    return getattr(lapack, name, None) or getattr(blas, name)


def common(*arrays: Array) -> Array:
    """The dtype in which LAPACK computes with `arrays`."""
    dtype = np.result_type(*arrays)
    return dtype if dtype.kind in "fc" else np.dtype(float)


def each_matrix(function: Function, a: Array, b: Array) -> Array:
    """`function` of each matrix of two stacks that broadcast."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = np.empty((*batch, *b.shape[-2:]), common(a, b))
    a, b = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (a, b))
    for i in np.ndindex(batch):
        out[i] = function(a[i], b[i])
    return out


def triangle(c: Array, lower: bool, k: int = 0) -> Array:
    """One triangle of `c`, without its diagonal for `k` = 1; a plain array, which must be new, is changed in place."""
    if type(c) is not np.ndarray:
        return np.tril(c, -k) if lower else np.triu(c, k)
    c *= where_triangle(c.shape[-1], lower, k)
    return c


@lru_cache(8)
def where_triangle(n: int, lower: bool, k: int) -> Array:
    """Where one triangle lies, without its diagonal for `k` = 1."""
    ones = np.tri(n, k=-k, dtype=bool)
    return ones if lower else ones.T


def single_at_least(name: str, *arrays: Array) -> None:
    """Refuse half precision, which LAPACK does not know."""
    for x in arrays:
        if getattr(x, "dtype", None) == _HALF:
            raise TypeError(
                f"np.linalg.{name} takes float32 and wider; got float16: convert it by x.astype(np.float32)"
            )
