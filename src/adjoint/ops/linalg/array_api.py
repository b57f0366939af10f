"""The array API's versions, in `numpy.linalg`, of functions that NumPy has under other names."""

from __future__ import annotations

import numpy as np

from adjoint.core.constructors import composite
from adjoint.core.errors import ShapeError
from adjoint.core.op import call
from adjoint.core.rules.pullbacks import shape_of
from adjoint.core.types import Array, Axis, DType
from adjoint.ops.linalg.products import vecdot

# The array API's spellings, in numpy.linalg, of what numpy has under other rules.


@composite(
    np.linalg.cross,
    samples=lambda r: [call(r(2, 3), r(2, 3)), call(r(3, 2), r(3, 2), axis=0)],
    errors=lambda r: [call(r(2, 2), r(2, 2))],
)
def linalg_cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    if shape_of(x1)[axis] != 3 or shape_of(x2)[axis] != 3:  # `np.cross` of plain arrays takes two components, too
        raise ShapeError(f"np.linalg.cross takes vectors of 3 components; got shapes {np.shape(x1)} and {np.shape(x2)}")
    return np.cross(x1, x2, axis=axis)


@composite(np.linalg.outer, samples=lambda r: [call(r(3), r(2))], errors=lambda r: [call(r(2, 2), r(2))])
def linalg_outer(x1: Array, x2: Array, /) -> Array:
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ShapeError(
            f"np.linalg.outer takes two vectors; got shapes {np.shape(x1)} and {np.shape(x2)}. np.outer flattens its "
            f"arguments"
        )
    return np.outer(x1, x2)


@composite(np.linalg.diagonal, samples=lambda r: [call(r(2, 3, 4)), call(r(3, 4), offset=1)])
def linalg_diagonal(x: Array, /, *, offset: int = 0) -> Array:
    return np.diagonal(x, offset, -2, -1)


@composite(np.linalg.trace, samples=lambda r: [call(r(2, 3, 4)), call(r(3, 4), offset=1)])
def linalg_trace(x: Array, /, *, offset: int = 0, dtype: DType = None) -> Array:
    return np.trace(x, offset, -2, -1, dtype)


@composite(np.linalg.matmul, samples=lambda r: [call(r(2, 3), r(3, 2))])
def linalg_matmul(x1: Array, x2: Array, /) -> Array:
    return np.matmul(x1, x2)


@composite(np.linalg.tensordot, samples=lambda r: [call(r(2, 3), r(3, 4), axes=1)])
def linalg_tensordot(x1: Array, x2: Array, /, *, axes: Axis = 2) -> Array:
    return np.tensordot(x1, x2, axes)


@composite(np.linalg.vecdot, samples=lambda r: [call(r(2, 3), r(3)), call(r(3, 2), r(3, 2), axis=0)])
def linalg_vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    return vecdot(x1, x2, axis=axis)


@composite(np.linalg.matrix_transpose, samples=lambda r: [call(r(2, 3, 4))])
def linalg_matrix_transpose(x: Array, /) -> Array:
    return np.matrix_transpose(x)
