"""`SparseMatrix`: a sparse matrix whose stored values may be a tensor, with the methods of SciPy's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from adjoint.core.errors import NotSupportedError, ShapeError
from adjoint.core.types import Array, Axis, DType, Function, Index, Value
from adjoint.ops.indexing.reading import read
from adjoint.ops.linalg.lapack import conj
from adjoint.scipy.arrays import array
from adjoint.scipy.followed import assembled
from adjoint.scipy.sparse.arithmetic import Arithmetic, DenseMatrix, is_sparse
from adjoint.scipy.sparse.products import StoredPattern, sparse_product
from adjoint.twin.standins.values import carrier


@carrier
class SparseMatrix(Arithmetic):
    """A sparse matrix in compressed rows or columns whose stored values may be a tensor. Made by `csr`, and its kin.

    It has the methods of SciPy's that keep derivatives. Where the stored values lie is a constant.

    Args:
        values: (k,).
        pattern: where they lie, in compressed rows.
        transposed: whether this is the transpose of what the pattern says.
        format: SciPy's name of the storage, by which `data`, `row` and others are given.
        is_matrix: whether ``*`` is the product of matrices, as of SciPy's older classes.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy import sparse
        >>> S = sparse.csr(np.array([1.0, 2.0, 3.0]), [0, 1, 1], [0, 2, 3], (2, 2))
        >>> S @ np.array([1.0, 10.0])
        array([21., 30.])
    """

    never_changes = True  # but for its values
    __array_ufunc__ = None  # so that `array @ S` comes here
    __array_priority__ = 2000.0
    ndim = 2
    is_filled = False  # whether it is made to be written into
    filled: Function  # of a matrix and a format: one that is

    def __init__(
        self, values: Array, pattern: StoredPattern, transposed: bool = False, format: str = "", is_matrix: bool = False
    ) -> None:
        self.values, self.pattern, self.transposed = values, pattern, transposed
        self.format, self.is_matrix = format or ("csc" if transposed else "csr"), is_matrix

    # -- What it is -----------------------------------------------------------------------------------------

    @property
    def shape(self) -> Value:
        """Rows and columns."""
        return self.pattern.shape[::-1] if self.transposed else self.pattern.shape

    @property
    def dtype(self) -> Value:
        """That of the values."""
        return self.values.dtype

    @property
    def nnz(self) -> int:
        """How many values are stored."""
        return int(self.values.shape[0])

    size = nnz

    def getnnz(self) -> int:
        """How many values are stored."""
        return self.nnz

    @property
    def row(self) -> Array:
        """The row of each stored value."""
        return self.pattern.indices if self.transposed else self.pattern.rows

    @property
    def col(self) -> Array:
        """The column of each stored value."""
        return self.pattern.rows if self.transposed else self.pattern.indices

    @property
    def data(self) -> Array:
        """The stored values, in the order of `row` and `col`; those of one place are added."""
        self._refuse_diagonals()
        return self.values

    @data.setter
    def data(self, values: Array) -> None:
        self._refuse_diagonals()
        if np.shape(values) != self.values.shape:
            raise ShapeError(f"data of {self.nnz} stored values cannot become values of shape {np.shape(values)}")
        self.values = values

    def _refuse_diagonals(self) -> None:
        """Refuse `data` where SciPy's is a matrix with a row for each diagonal."""
        if self.format == "dia":
            raise NotSupportedError(
                "data of diagonals that hold a tensor is not there as SciPy's matrix of them: A.diagonal(k) gives one, "
                "A.tocoo().data all values"
            )

    @property
    def indices(self) -> Array:
        """The column of each value; of compressed columns, the row."""
        return self.pattern.indices

    @property
    def indptr(self) -> Array:
        """Where the values of each row, or column, begin."""
        return self.pattern.indptr

    def nonzero(self) -> tuple[Array, Array]:
        """The rows and columns of what is stored."""
        return self.row, self.col

    def rebuilt(self, values: Array, rows: Array, columns: Array, shape: tuple[int, int], format: str = "") -> Value:
        """Other values in other places, in the format of this one."""
        return of_triples(values, rows, columns, shape, format or self.format, self.is_matrix)

    def convert(self, x: Value) -> SparseMatrix:
        """Another sparse matrix, as one of these."""
        return ours(x)

    # -- The same values elsewhere --------------------------------------------------------------------------

    def with_values(self, values: Array) -> SparseMatrix:
        """Other values in the same places."""
        return SparseMatrix(values, self.pattern, self.transposed, self.format, self.is_matrix)

    def numbered(self) -> Value:
        """A matrix of SciPy's that stores the number of each value, counted from 1."""
        kind = sparse.coo_matrix if self.is_matrix else sparse.coo_array
        return kind((np.arange(1, self.nnz + 1), (self.row, self.col)), self.shape).tocsr()

    def moved(self, numbers: Value, format: str = "") -> Value:
        """What SciPy made of `numbered`, with the values in the places of their numbers."""
        if not sparse.issparse(numbers):
            padded = np.concatenate([np.zeros(1, self.dtype), self.values])
            return read(padded, np.asarray(numbers))
        if numbers.ndim != 2:
            raise NotSupportedError("a row of a sparse array that holds a tensor stays a matrix: A[[i], :]")
        numbers = numbers.tocoo()
        return of_triples(
            read(self.values, numbers.data - 1), numbers.row, numbers.col, numbers.shape,
            format or self.format, self.is_matrix,
        )  # fmt: skip

    def placed(self, move: Callable[[Value], Value], format: str = "") -> Value:
        """What `move` makes of a matrix of SciPy's, with the values in it."""
        me = self.summed()
        return me.moved(move(me.numbered()), format)

    def summed(self) -> SparseMatrix:
        """The same with the values of each place added up."""
        return self.rebuilt(self.values, self.row, self.col, self.shape) if self.pattern.repeats else self

    def asformat(self, format: str | None, copy: bool = False) -> Value:
        """The same, stored otherwise: "csr", "csc", "coo" and SciPy's others."""
        if format is None or format == self.format:
            return self
        if format in ("lil", "dok"):
            return self.filled(self, format)
        if (format == "csc") == self.transposed and format in ("csr", "csc", "coo"):
            return SparseMatrix(self.values, self.pattern, self.transposed, format, self.is_matrix)
        return of_triples(self.values, self.row, self.col, self.shape, format, self.is_matrix)

    def tocsr(self, copy: bool = False) -> Value:
        """In compressed rows."""
        return self.asformat("csr")

    def tocsc(self, copy: bool = False) -> Value:
        """In compressed columns."""
        return self.asformat("csc")

    def tocoo(self, copy: bool = False) -> Value:
        """By row and column of each value."""
        return self.asformat("coo")

    def tolil(self, copy: bool = False) -> Value:
        """As lists, which elements are written into."""
        return self.asformat("lil")

    def todok(self, copy: bool = False) -> Value:
        """As a dictionary, which elements are written into."""
        return self.asformat("dok")

    def tobsr(self, blocksize: object = None, copy: bool = False) -> Value:
        """In blocks, by name."""
        return self.asformat("bsr")

    def todia(self, copy: bool = False) -> Value:
        """In diagonals, by name."""
        return self.asformat("dia")

    def copy(self) -> SparseMatrix:
        """Another one, which writing into leaves alone."""
        return self.with_values(np.copy(self.values))

    def astype(self, dtype: DType, casting: str = "unsafe", copy: bool = True) -> SparseMatrix:
        """With values of another dtype."""
        return self.with_values(self.values.astype(dtype))

    @property
    def T(self) -> SparseMatrix:  # noqa: N802 - NumPy's name
        """The transpose, with the same values."""
        format = {"csr": "csc", "csc": "csr"}.get(self.format, self.format)
        return SparseMatrix(self.values, self.pattern, not self.transposed, format, self.is_matrix)

    def transpose(self, axes: Axis = None, copy: bool = False) -> SparseMatrix:
        """The transpose."""
        return self.T

    def conj(self, copy: bool = True) -> SparseMatrix:
        """The conjugate."""
        return self.with_values(conj(self.values))

    conjugate = conj

    @property
    def H(self) -> SparseMatrix:  # noqa: N802 - SciPy's name
        """The conjugate transpose."""
        return self.T.conj()

    def getH(self) -> SparseMatrix:  # noqa: N802 - SciPy's name
        """The conjugate transpose."""
        return self.H

    def reshape(self, *shape: Value, order: str = "C", copy: bool = False) -> Value:
        """In another shape."""
        return self.placed(lambda m: m.reshape(*shape, order=order))

    def eliminate_zeros(self) -> None:
        """Nothing: what is 0 here may have a derivative."""

    sum_duplicates = sort_indices = prune = eliminate_zeros

    def toarray(self, order: object = None, out: object = None) -> Array:
        """The same as a dense array, with its gradient."""
        return self.placed(lambda m: m.toarray())

    def todense(self, order: object = None, out: object = None) -> Value:
        """The same as a dense array; of SciPy's older classes this would be an `np.matrix`."""
        return DenseMatrix(self.toarray()) if self.is_matrix else self.toarray()

    def diagonal(self, k: int = 0) -> Array:
        """A diagonal, dense."""
        return self.placed(lambda m: m.diagonal(k))

    def __getitem__(self, index: Index) -> Value:
        found = self.placed(lambda m: m[index])
        return DenseMatrix(found) if not is_sparse(found) and np.ndim(found) == 2 else found

    def getrow(self, i: int) -> Value:
        """One row, as a matrix."""
        return self.placed(lambda m: m[[i], :])

    def getcol(self, j: int) -> Value:
        """One column, as a matrix."""
        return self.placed(lambda m: m[:, [j]])

    def __setitem__(self, index: Index, value: Value) -> None:
        filled = self.filled(self, "lil")
        filled[index] = value
        made = filled.asformat(self.format)
        self.values, self.pattern, self.transposed = made.values, made.pattern, made.transposed

    def setdiag(self, values: Value, k: int = 0) -> None:
        """Write a diagonal."""
        n = min(self.shape[0] - max(-k, 0), self.shape[1] - max(k, 0))
        at = np.arange(n)
        self[at + max(-k, 0), at + max(k, 0)] = np.broadcast_to(assembled(values), (n,))

    # -- Sums -----------------------------------------------------------------------------------------------

    def sum(self, axis: int | None = None, dtype: DType = None, out: object = None) -> Value:
        """The sum of all, of each column (axis 0) or of each row (axis 1)."""
        if axis is None:
            return np.sum(self.values, dtype=dtype)
        across = axis % 2
        total = self @ np.ones(self.shape[1]) if across else np.ones(self.shape[0]) @ self
        return DenseMatrix(np.expand_dims(total, across)) if self.is_matrix else total

    def mean(self, axis: int | None = None, dtype: DType = None, out: object = None) -> Value:
        """The mean of all, of each column (axis 0) or of each row (axis 1)."""
        if axis is None:
            return np.sum(self.values) / (self.shape[0] * self.shape[1])
        return (self / self.shape[axis % 2]).sum(axis)

    def trace(self, offset: int = 0) -> Array:
        """The sum of a diagonal."""
        return np.sum(self.diagonal(offset))

    def __iter__(self) -> Value:
        return iter(self.getrow(i) for i in range(self.shape[0]))

    def __bool__(self) -> bool:
        raise ValueError("The truth value of an array with more than one element is ambiguous.")

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use getnnz() or shape[0]")

    def __getattr__(self, name: str) -> Value:
        if name.startswith("__") or not any(hasattr(kind, name) for kind in (sparse.csr_matrix, sparse.coo_matrix)):
            raise AttributeError(f"'SparseMatrix' object has no attribute {name!r}")
        raise NotSupportedError(
            f"scipy.sparse's {name!r} is not there for a matrix that holds a tensor; toarray() gives a dense one"
        )

    def __repr__(self) -> str:
        return f"<sparse matrix of shape {self.shape}, {self.values.shape[0]} values>"


def ours(a: Value) -> SparseMatrix:
    """A matrix of SciPy's, or of ours."""
    if isinstance(a, SparseMatrix):
        return a.asformat("csr") if a.is_filled else a
    is_matrix, a = isinstance(a, sparse.spmatrix), a.tocsr()
    pattern = StoredPattern(np.array(a.indices), np.array(a.indptr), a.shape)
    values = a.data.copy() if a.dtype.kind in "fc" else a.data.astype(float)
    return SparseMatrix(values, pattern, is_matrix=is_matrix)


def of_triples(
    values: Array, rows: Array, columns: Array, shape: tuple[int, ...], format: str = "csr", is_matrix: bool = False
) -> SparseMatrix:
    """The matrix with `values` at `rows` and `columns`, in order; those of one place are added."""
    values, by_column = array(values), format == "csc"
    lines, across = (columns, rows) if by_column else (rows, columns)
    count, width = (shape[1], shape[0]) if by_column else shape
    places = np.asarray(lines, np.int64) * width + np.asarray(across, np.int64)
    kept, first, which = np.unique(places, return_index=True, return_inverse=True)
    if len(kept) == len(places):
        values = values if np.all(first[1:] > first[:-1]) else read(values, first)
    else:
        adding = StoredPattern(
            np.argsort(which, kind="stable"), np.searchsorted(np.sort(which), np.arange(len(kept) + 1)),
            (len(kept), len(places)),
        )  # fmt: skip
        values = sparse_product(np.ones(len(places)), values[:, None], pattern=adding)[:, 0]
    indptr = np.searchsorted(kept, np.arange(count + 1, dtype=np.int64) * width)
    pattern = StoredPattern((kept % width).astype(np.int32), indptr.astype(np.int32), (int(count), int(width)))
    return SparseMatrix(values, pattern, by_column, format, is_matrix)
