"""Sparse matrices made of tensors, by the names of SciPy's classes and functions."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from adjoint.core.box import Box, has_box
from adjoint.core.errors import ArgumentError, NotSupportedError, ShapeError
from adjoint.core.types import Array, DType, Function, Value
from adjoint.ops.indexing.reading import read
from adjoint.scipy.arrays import array
from adjoint.scipy.followed import assembled
from adjoint.scipy.sparse.arithmetic import is_sparse
from adjoint.scipy.sparse.filling import FilledMatrix
from adjoint.scipy.sparse.matrix import SparseMatrix, of_triples, ours
from adjoint.scipy.sparse.products import StoredPattern


def csr(values: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> SparseMatrix:
    """A sparse matrix in compressed rows, as `scipy.sparse.csr_array((values, indices, indptr), shape)`.

    Args:
        values: (k,), an array or a tensor; it may have a gradient.
        indices: (k,) the values' columns.
        indptr: (rows + 1,) where each row's values begin.
        shape: rows and columns.

    Raises:
        ShapeError: if these do not fit together.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> f = lambda v: (sparse.csr(v, [0, 1, 1], [0, 2, 3], (2, 2)) @ np.array([1.0, 10.0])).sum()
        >>> ad.grad(f)(np.array([1.0, 2.0, 3.0]))
        array([ 1., 10., 10.])
    """
    values, indices, indptr = _own(array(values)), np.array(indices), np.array(indptr)
    if (
        values.ndim != 1
        or indices.shape != values.shape
        or indptr.shape != (shape[0] + 1,)
        or indptr[-1] != len(indices)
    ):
        raise ShapeError(
            f"csr takes as many column indices as values, and {shape[0] + 1} row starts that end with that number; got "
            f"values {values.shape}, indices {indices.shape}, indptr {indptr.shape}"
        )
    return SparseMatrix(values, StoredPattern(indices, indptr, (int(shape[0]), int(shape[1]))))


def _own(values: Array) -> Array:
    """`values`, in memory that nothing else writes to."""
    return values.copy() if isinstance(values, np.ndarray) else values


def matmul(a: Array, b: Array) -> Array:
    """The product of a sparse matrix and a dense array or tensor, in this order or the other.

    Args:
        a, b: one a matrix of `scipy.sparse` or from `csr`; the other (n,) or (n, k).

    Raises:
        ArgumentError: if neither, or both, are sparse.
        ShapeError: if shapes do not fit.

    Example:
        >>> import numpy as np, adjoint as ad, scipy.sparse
        >>> from adjoint.scipy import sparse
        >>> A = scipy.sparse.csr_array(np.array([[1.0, 0.0], [2.0, 3.0]]))
        >>> ad.grad(lambda x: sparse.matmul(A, x).sum())(np.ones(2))
        array([3., 3.])
    """
    left, right = map(is_sparse, (a, b))
    if left == right:
        raise ArgumentError("adjoint.scipy.sparse.matmul takes one sparse matrix and one dense array or tensor")
    return ours(a) @ b if left else a @ ours(b)


_NAMES = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv"}


def combined(name: str, x: Array, a: Value, reflected: bool) -> Value:
    """``x + a``, or with `reflected` ``a + x``, and other operators, of a tensor and a matrix of SciPy's."""
    method = f"__{'' if reflected else 'r'}{_NAMES.get(name)}__"
    return getattr(ours(a), method)(x) if hasattr(SparseMatrix, method) else NotImplemented


def _made_as(name: str) -> Function:
    """The class of SciPy's of this name, as a function that takes tensors too."""
    theirs = getattr(sparse, name)
    format, _, kind = name.partition("_")
    is_matrix = kind == "matrix"

    def make(
        arg1: Value, shape: Value = None, dtype: DType = None, copy: bool = False, *, maxprint: Value = None,
        blocksize: Value = None,
    ) -> Value:  # fmt: skip
        if format in ("lil", "dok") and not is_sparse(arg1):
            return FilledMatrix.made(arg1, shape, dtype, format, is_matrix)
        if not _holds_box(arg1):
            return theirs(arg1, shape=shape, dtype=dtype, copy=copy)
        made = _of_argument(name, format, arg1, shape, is_matrix)
        return made if dtype is None else made.astype(dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""`scipy.sparse.{name}` of what may hold tensors.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> ad.grad(lambda a: (sparse.{name}(a) @ np.array([2.0, 3.0])).sum())(np.eye(2))
        array([[2., 3.],
               [2., 3.]])
    """
    return make


def _holds_box(x: Value) -> bool:
    if isinstance(x, SparseMatrix):
        return True
    return isinstance(x, Box) or (isinstance(x, list | tuple) and has_box(x))


def _of_argument(name: str, format: str, given: Value, shape: Value, is_matrix: bool) -> SparseMatrix:
    if isinstance(given, SparseMatrix):
        made = given.asformat("csr") if isinstance(given, FilledMatrix) else given.copy()
        made.is_matrix = is_matrix
        changed: SparseMatrix = made.asformat(format)
        return changed
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], tuple | list) and format != "dia":
        values, (rows, columns) = _vector(given[0]), map(np.asarray, given[1])
        if shape is None:
            shape = (int(rows.max()) + 1, int(columns.max()) + 1)
        if values.shape != rows.shape or values.shape != columns.shape:
            raise ShapeError(
                f"scipy.sparse.{name} takes as many rows and columns as values; got values {values.shape}, rows "
                f"{rows.shape}, columns {columns.shape}"
            )
        if rows.size and (rows.max() >= shape[0] or columns.max() >= shape[1] or min(rows.min(), columns.min()) < 0):
            raise ShapeError(f"scipy.sparse.{name}: rows or columns lie outside of the shape {tuple(shape)}")
        return of_triples(values, rows, columns, tuple(map(int, shape)), format, is_matrix)
    if isinstance(given, tuple) and len(given) == 3 and format in ("csr", "csc"):
        values, indices, indptr = _vector(given[0]), np.asarray(given[1]), np.asarray(given[2])
        lines = len(indptr) - 1
        across = (int(indices.max()) + 1 if indices.size else 0) if shape is None else shape[format == "csr"]
        made = csr(values, indices, indptr, (lines, int(across)))
        return SparseMatrix(made.values, made.pattern, format == "csc", format, is_matrix)
    if isinstance(given, tuple) and len(given) == 2 and format == "dia":
        return _of_diagonals(array(assembled(given[0])), np.atleast_1d(given[1]), tuple(shape), format, is_matrix)
    if isinstance(given, tuple):
        raise NotSupportedError(
            f"scipy.sparse.{name} of this argument does not take tensors; give values and places: "
            f"scipy.sparse.coo_array((values, (rows, columns)), shape)"
        )
    dense = array(assembled(given))
    if dense.ndim != 2:
        raise ShapeError(f"scipy.sparse.{name} takes a matrix; got shape {dense.shape}")
    rows, columns = (np.ravel(i) for i in np.indices(dense.shape))
    return of_triples(np.reshape(dense, (-1,)), rows, columns, dense.shape, format, is_matrix)


def _vector(values: Value) -> Array:
    return np.reshape(array(assembled(values)), (-1,))


def _of_diagonals(
    data: Array, offsets: Array, shape: tuple[int, ...], format: str, is_matrix: bool
) -> SparseMatrix:  # fmt: skip
    """Rows of `data` along diagonals: the element in column j of each at column j of the matrix."""
    data = np.reshape(data, (len(offsets), -1))
    which, columns = np.reshape(np.indices(data.shape), (2, -1))
    rows = columns - offsets[which]
    within = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    which, rows, columns = which[within], rows[within], columns[within]
    return of_triples(read(data, (which, columns)), rows, columns, shape, format, is_matrix)


def _diagonal_matrix(
    diagonals: Value, offsets: Value, shape: Value, format: str | None, dtype: DType, is_matrix: bool
) -> SparseMatrix:  # fmt: skip
    given = np.atleast_1d(offsets)
    single = np.ndim(offsets) == 0 and not (isinstance(diagonals, list | tuple) and len(np.shape(diagonals[0])) > 0)
    lines = [array(assembled(d)) for d in ([diagonals] if single else diagonals)]
    lines = [np.reshape(d, (-1,)) for d in lines]
    if len(lines) != len(given):
        raise ValueError("Different number of diagonals and offsets.")
    if shape is None:
        n = lines[0].shape[0] + abs(int(given[0]))
        shape = (n, n)
    values, rows, columns = [], [], []
    for line, k in zip(lines, map(int, given), strict=True):
        n = min(shape[0] + min(k, 0), shape[1] - max(k, 0))
        if line.shape[0] not in (1, n):
            raise ValueError(f"Diagonal length (index {k}: {line.shape[0]} at offset {k}) does not agree with shape.")
        values.append(np.broadcast_to(line, (n,)))
        rows.append(np.arange(n) + max(-k, 0))
        columns.append(np.arange(n) + max(k, 0))
    made = of_triples(np.concatenate(values), np.concatenate(rows), np.concatenate(columns), tuple(shape),
                      format or "dia", is_matrix)  # fmt: skip
    return made if dtype is None else made.astype(dtype)


def diags(
    diagonals: Value, offsets: Value = 0, shape: Value = None, format: str | None = None, dtype: DType = None
) -> SparseMatrix:  # fmt: skip
    """`scipy.sparse.diags`: a matrix of diagonals, any of which may be a tensor.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> f = lambda d: (sparse.diags([d, d[1:]], [0, 1]) @ np.ones(3)).sum()
        >>> ad.grad(f)(np.ones(3))
        array([1., 2., 2.])
    """
    return _diagonal_matrix(diagonals, offsets, shape, format, dtype, True)


def diags_array(
    diagonals: Value, /, *, offsets: Value = 0, shape: Value = None, format: str | None = None, dtype: DType = None
) -> SparseMatrix:  # fmt: skip
    """`scipy.sparse.diags_array`: as `diags`.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> ad.grad(lambda d: (sparse.diags_array(d, offsets=1) @ np.arange(3.0)).sum())(np.ones(2))
        array([1., 2.])
    """
    return _diagonal_matrix(diagonals, offsets, shape, format, dtype, False)


def spdiags(
    data: Value, diags: Value, m: Value = None, n: int | None = None, format: str | None = None
) -> SparseMatrix:
    """`scipy.sparse.spdiags`: a matrix (m, n) of diagonals, the rows of `data`, each aligned by column.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> ad.grad(lambda d: sparse.spdiags(d, [0, 1], 2, 2).sum())(np.ones((2, 2)))
        array([[1., 1.],
               [0., 1.]])
    """
    shape = tuple(m) if n is None else (int(m), n)
    return _of_diagonals(array(assembled(data)), np.atleast_1d(diags), shape, format or "dia", True)


def any_matrix(a: Value) -> SparseMatrix:
    """A matrix, dense or sparse, as ours."""
    return ours(a) if is_sparse(a) else _of_argument("coo_array", "coo", array(assembled(a)), None, False)


def issparse(x: object) -> bool:
    """`scipy.sparse.issparse`: whether it is a sparse matrix, of SciPy's or one that holds a tensor.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> sparse.issparse(sparse.diags(ad.tensor([1.0, 2.0]))), sparse.issparse(np.eye(2))
        (True, False)
    """
    return is_sparse(x)


def isspmatrix(x: Value) -> bool:
    """`scipy.sparse.isspmatrix`: whether it is one of the older classes.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> d = ad.tensor([1.0, 2.0])
        >>> sparse.isspmatrix(sparse.diags(d)), sparse.isspmatrix(sparse.diags_array(d))
        (True, False)
    """
    return isinstance(x, sparse.spmatrix) or (isinstance(x, SparseMatrix) and x.is_matrix)


(csr_matrix, csr_array, csc_matrix, csc_array, coo_matrix, coo_array, dia_matrix, dia_array, bsr_matrix, bsr_array,
 lil_matrix, lil_array, dok_matrix, dok_array) = map(_made_as, (
    "csr_matrix", "csr_array", "csc_matrix", "csc_array", "coo_matrix", "coo_array", "dia_matrix", "dia_array",
    "bsr_matrix", "bsr_array", "lil_matrix", "lil_array", "dok_matrix", "dok_array"))  # fmt: skip
