"""Arrays split, repeated and tiled under PyTorch's names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.core.constructors import composite
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.op import call
from adjoint.core.types import Array, Axis, Value


@composite(samples=lambda r: [call(r(5), 2), call(r(3, 5), [2, 3], 1)])
def split_by(a: Array, split_size: int | Sequence[int], axis: int = 0) -> list[Array]:
    """PyTorch's ``torch.split(a, size, dim)``: parts of so many elements along `axis`, the last perhaps shorter."""
    n = np.shape(a)[axis]
    if np.ndim(split_size):
        if sum(split_size) != n:  # type: ignore[arg-type]  # it has an axis
            raise ShapeError(f"split: the sizes {tuple(split_size)} are to make {n} along axis {axis}")  # type: ignore[arg-type]  # as above
        return np.split(a, np.cumsum(split_size)[:-1].tolist(), axis)
    if int(split_size) < 1:  # type: ignore[arg-type]  # it has none
        raise ArgumentError(f"split: a part has at least one element; got {split_size}")
    return np.split(a, range(int(split_size), n, int(split_size)), axis)  # type: ignore[arg-type]  # as above


@composite(samples=lambda r: [call(r(5), 2), call(r(3, 4), 2, 1)])
def chunk(a: Array, chunks: int, axis: int = 0) -> list[Array]:
    """At most `chunks` parts of `a` along `axis`, all of one length but perhaps the last."""
    if chunks < 1:
        raise ArgumentError(f"chunk: at least one part; got {chunks}")
    return split_by(a, max(-(-np.shape(a)[axis] // chunks), 1), axis)


@composite(samples=lambda r: [call(r(2, 3)), call(r(2, 3), 1)])
def unbind(a: Array, axis: int = 0) -> tuple[Array, ...]:
    """The parts of `a` along `axis`, which they lose."""
    before = (slice(None),) * (axis % np.ndim(a))
    return tuple(a[(*before, i)] for i in range(np.shape(a)[axis]))


@composite(samples=lambda r: [call(r(3, 5), 1, 2, 3)])
def narrow(a: Array, axis: int, start: int, length: int) -> Array:
    """`length` elements of `a` along `axis`, from `start` on."""
    return a[(*(slice(None),) * (axis % np.ndim(a)), slice(start, start + length))]


@composite(samples=lambda r: [call(r(2, 3, 4), 1), call(r(2, 3, 4), 0, 1)])
def flatten_axes(a: Array, start_dim: int = 0, end_dim: int = -1) -> Array:
    """PyTorch's ``torch.flatten(a, start, end)``: the axes from `start_dim` to `end_dim` as one."""
    shape, n = np.shape(a), np.ndim(a)
    if not n:
        return np.reshape(a, (1,))
    start, end = start_dim % n, end_dim % n
    return np.reshape(a, (*shape[:start], -1, *shape[end + 1 :]))


@composite(samples=lambda r: [call(r(2, 3, 4), 1, 2), call(r(2, 3, 4), (2, 0, 1)), call(r(2, 3))])
def transposed(a: Array, dim0: Value = None, dim1: Value = None, axes: Axis = None) -> Array:
    """``np.transpose(a, axes)``; with two numbers, PyTorch's ``torch.transpose(a, dim0, dim1)``."""
    return np.transpose(a, axes if dim0 is None else dim0) if dim1 is None else np.swapaxes(a, dim0, dim1)


@composite(samples=lambda r: [call(r(2, 3)), call(r(2))])
def t(a: Array) -> Array:
    """The transpose of a matrix."""
    return np.transpose(a)


def numel(a: Array) -> int:
    """How many elements `a` has."""
    return int(np.size(a))


@composite(samples=lambda r: [call(r(2, 6), 1, (3, -1))])
def unflatten(a: Array, axis: int, sizes: Sequence[int]) -> Array:
    """One axis of `a` as several, of the lengths `sizes`."""
    shape, axis = np.shape(a), axis % np.ndim(a)
    return np.reshape(a, (*shape[:axis], *sizes, *shape[axis + 1 :]))


@composite(samples=lambda r: [call(r(3, 4), r(3, 4), 0.25), call(r(3), r(3), r(3))])
def lerp(a: Array, end: Array, weight: Array) -> Array:
    """``a + weight * (end - a)``."""
    return a + weight * (end - a)


@composite(samples=lambda r: [call(r(3, low=0.5, high=2))])
def rsqrt(a: Array) -> Array:
    """``1 / np.sqrt(a)``."""
    return 1.0 / np.sqrt(a)


@composite(samples=lambda r: [call(r(2, 4), r(2, 3), r(3, 4), beta=0.5, alpha=2.0), call(r(4), r(2, 3), r(3, 4))])
def addmm(a: Array, mat1: Array, mat2: Array, *, beta: float = 1.0, alpha: float = 1.0) -> Array:
    """``beta * a + alpha * mat1 @ mat2``; of stacks of matrices, too."""
    product = np.matmul(mat1, mat2)
    return (a if beta == 1 else beta * a) + (product if alpha == 1 else alpha * product)


@composite(samples=lambda r: [call(r(3), r(3), r(3), value=0.5)])
def addcmul(a: Array, tensor1: Array, tensor2: Array, *, value: float = 1.0) -> Array:
    """``a + value * tensor1 * tensor2``."""
    return a + value * tensor1 * tensor2


@composite(samples=lambda r: [call(r(3), r(3), r(3, low=0.5, high=2), value=0.5)])
def addcdiv(a: Array, tensor1: Array, tensor2: Array, *, value: float = 1.0) -> Array:
    """``a + value * tensor1 / tensor2``."""
    return a + value * tensor1 / tensor2


@composite(samples=lambda r: [call(r(3, 4), r(2, 4)), call(r(2, 3, 4), r(2, 2, 4), p=1.0)])
def cdist(x1: Array, x2: Array, p: float = 2.0) -> Array:
    """The distances of each row of `x1` to each of `x2`, by the p-norm: (…, n, m) for (…, n, k) and (…, m, k)."""
    return np.linalg.norm(x1[..., :, None, :] - x2[..., None, :, :], p, axis=-1)


@composite(samples=lambda r: [call(r(3, 4), r(3, 4))])
def dist(a: Array, other: Array, p: float = 2.0) -> Array:
    """The p-norm of ``a - other``."""
    return np.linalg.norm(np.ravel(a - other), p)
