"""Sparse matrices made of others: products of Kronecker's, blocks, triangles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from adjoint.core.types import DType, Function, Value
from adjoint.ops.indexing.reading import read
from adjoint.scipy.sparse.making import any_matrix
from adjoint.scipy.sparse.matrix import SparseMatrix, of_triples


def kron(A: Value, B: Value, format: str | None = None) -> SparseMatrix:  # noqa: N803 - SciPy's names
    """`scipy.sparse.kron`: the Kronecker product of two matrices, dense or sparse.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> ad.grad(lambda d: sparse.kron(sparse.diags(d), np.ones((1, 2))).sum())(np.ones(2))
        array([2., 2.])
    """
    a, b = any_matrix(A), any_matrix(B)
    i, j = (np.ravel(k) for k in np.meshgrid(np.arange(a.nnz), np.arange(b.nnz), indexing="ij"))
    return of_triples(
        read(a.values, i) * read(b.values, j), a.row[i] * b.shape[0] + b.row[j], a.col[i] * b.shape[1] + b.col[j],
        (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]), format or "coo", a.is_matrix or b.is_matrix,
    )  # fmt: skip


def block_array(blocks: Sequence[Value], *, format: str | None = None, dtype: DType = None) -> SparseMatrix:
    """`scipy.sparse.block_array`: a matrix of blocks, dense or sparse; None is a block of zeros.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> f = lambda d: sparse.block_array([[sparse.diags(d), None], [np.ones((1, 2)), [[5.0]]]]).sum()
        >>> ad.grad(f)(np.ones(2))
        array([1., 1.])
    """
    made: list[list[Value]] = [[None if b is None else any_matrix(b) for b in row] for row in blocks]
    heights = [next(b.shape[0] for b in row if b is not None) for row in made]
    widths = [next(row[j].shape[1] for row in made if row[j] is not None) for j in range(len(made[0]))]
    up, left = np.cumsum([0, *heights]), np.cumsum([0, *widths])
    parts = [(b, up[i], left[j]) for i, row in enumerate(made) for j, b in enumerate(row) if b is not None]
    for i, row in enumerate(made):
        for j, b in enumerate(row):
            if b is not None and b.shape != (heights[i], widths[j]):
                raise ValueError(f"blocks[{i},{j}] has incompatible dimensions: {b.shape} for {heights[i], widths[j]}")
    return _of_parts(parts, (int(up[-1]), int(left[-1])), format, dtype)


def _of_parts(
    parts: list[tuple[SparseMatrix, int, int]], shape: tuple[int, int], format: str | None, dtype: DType
) -> SparseMatrix:  # fmt: skip
    """Matrices, each with the row and the column of its first element."""
    result = of_triples(
        np.concatenate([b.values for b, _, _ in parts]), np.concatenate([b.row + i for b, i, _ in parts]),
        np.concatenate([b.col + j for b, _, j in parts]), shape, format or "coo",
        any(b.is_matrix for b, _, _ in parts),
    )  # fmt: skip
    return result if dtype is None else result.astype(dtype)


def bmat(blocks: Sequence[Value], format: str | None = None, dtype: DType = None) -> SparseMatrix:
    """`scipy.sparse.bmat`: as `block_array`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> ad.grad(lambda d: sparse.bmat([[sparse.diags(d), None], [None, sparse.diags(d)]]).sum())(np.ones(2))
        array([2., 2.])
    """
    return block_array(blocks, format=format, dtype=dtype)


def hstack(blocks: Sequence[Value], format: str | None = None, dtype: DType = None) -> SparseMatrix:
    """`scipy.sparse.hstack`: matrices side by side.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> ad.grad(lambda d: (sparse.hstack([sparse.diags(d), np.eye(2)]) @ np.arange(4.0)).sum())(np.ones(2))
        array([0., 1.])
    """
    return block_array([list(blocks)], format=format, dtype=dtype)


def vstack(blocks: Sequence[Value], format: str | None = None, dtype: DType = None) -> SparseMatrix:
    """`scipy.sparse.vstack`: matrices below one another.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> ad.grad(lambda d: (sparse.vstack([sparse.diags(d), np.eye(2)]) @ np.array([2.0, 3.0])).sum())(np.ones(2))
        array([2., 3.])
    """
    return block_array([[b] for b in blocks], format=format, dtype=dtype)


def block_diag(mats: Sequence[Value], format: str | None = None, dtype: DType = None) -> SparseMatrix:
    """`scipy.sparse.block_diag`: matrices along the diagonal.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> ad.grad(lambda d: (sparse.block_diag([sparse.diags(d), np.eye(1)]) @ np.arange(3.0)).sum())(np.ones(2))
        array([0., 1.])
    """
    blocks = [any_matrix(m) for m in mats]
    ends = np.cumsum([(0, 0), *(b.shape for b in blocks)], axis=0)
    parts = [(b, int(i), int(j)) for b, (i, j) in zip(blocks, ends, strict=False)]
    return _of_parts(parts, (int(ends[-1, 0]), int(ends[-1, 1])), format, dtype)


def tril(A: Value, k: int = 0, format: str | None = None) -> SparseMatrix:  # noqa: N803 - SciPy's name
    """`scipy.sparse.tril`: what is on and below a diagonal.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> ad.grad(lambda a: sparse.tril(a).sum())(np.ones((2, 2)))
        array([[1., 0.],
               [1., 1.]])
    """
    return _triangle(sparse.tril, A, k, format)


def triu(A: Value, k: int = 0, format: str | None = None) -> SparseMatrix:  # noqa: N803 - SciPy's name
    """`scipy.sparse.triu`: what is on and above a diagonal.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> ad.grad(lambda a: sparse.triu(a).sum())(np.ones((2, 2)))
        array([[1., 1.],
               [0., 1.]])
    """
    return _triangle(sparse.triu, A, k, format)


def _triangle(of: Function, a: Value, k: int, format: str | None) -> SparseMatrix:
    part: SparseMatrix = any_matrix(a).placed(lambda m: of(m, k), format or "coo")
    return part
