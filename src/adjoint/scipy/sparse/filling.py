"""Sparse matrices that elements are written into, one after another, such as stiffness matrices."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from scipy import sparse

from adjoint.core.box import Box
from adjoint.core.types import Array, DType, Index, Value
from adjoint.scipy.arrays import array
from adjoint.scipy.followed import assembled
from adjoint.scipy.sparse.arithmetic import DenseMatrix, is_sparse
from adjoint.scipy.sparse.matrix import SparseMatrix, of_triples, ours
from adjoint.twin.standins.values import carrier


@carrier
class FilledMatrix(SparseMatrix):
    """`scipy.sparse.lil_matrix`, `dok_matrix` and their kin, into which tensors are written.

    What was written is kept in pieces; a matrix of SciPy's stores which number in them stands where.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> def f(k):
        ...     K = sparse.lil_array((2, 2))
        ...     K[0, 0] = k
        ...     K[1, 1] += 2 * k
        ...     return (K.tocsr() @ np.ones(2)).sum()
        >>> float(ad.grad(f)(1.0))
        3.0
    """

    is_filled = True

    def __init__(self, numbers: Value, pieces: list[Array], format: str, is_matrix: bool) -> None:
        self.transposed = False
        self._numbers, self._pieces, self.format, self.is_matrix = numbers, pieces, format, is_matrix
        self._ends = [int(n) for n in np.cumsum([p.shape[0] for p in pieces])]
        self._dtype = np.result_type(*pieces)

    @classmethod
    def of(cls, matrix: SparseMatrix, format: str) -> FilledMatrix:
        """One with what is stored in `matrix`."""
        matrix = matrix.summed()
        return cls(matrix.numbered().tolil(), [matrix.values], format, matrix.is_matrix)

    @classmethod
    def made(cls, given: Value, shape: Value, dtype: DType, format: str, is_matrix: bool) -> FilledMatrix:
        """An empty one of a shape, or one of a dense matrix."""
        if isinstance(given, tuple) and len(given) == 2 and all(isinstance(n, int | np.integer) for n in given):
            kind = sparse.lil_matrix if is_matrix else sparse.lil_array
            kept = np.dtype(float if dtype is None or np.dtype(dtype).kind not in "fc" else dtype)
            return cls(kind(given, dtype=np.int64), [np.zeros(0, kept)], format, is_matrix)
        made = cls.made(np.shape(given), None, dtype, format, is_matrix)
        made[:, :] = given
        return made

    @property
    def values(self) -> Value:
        """What is stored, in rows."""
        return self._rows().values

    @property
    def pattern(self) -> Value:
        """Where it lies."""
        return self._rows().pattern

    def _rows(self) -> SparseMatrix:
        rows: SparseMatrix = self._of(self._numbers)
        return rows

    @property
    def shape(self) -> Value:
        """Rows and columns."""
        return self._numbers.shape

    @property
    def dtype(self) -> Value:
        """That of what was written."""
        return self._dtype

    def asformat(self, format: str | None, copy: bool = False) -> Value:
        """The same, stored otherwise; one of SciPy's if no tensor was written into it."""
        if format in (None, self.format, "lil", "dok"):
            return self
        rows = self._rows()
        if isinstance(rows.values, Box):
            return rows.asformat(format)
        kind = sparse.csr_matrix if self.is_matrix else sparse.csr_array
        return kind((rows.values, (rows.row, rows.col)), rows.shape).asformat(format)

    def copy(self) -> FilledMatrix:
        """Another one, which writing into leaves alone."""
        return FilledMatrix(self._numbers.copy(), list(self._pieces), self.format, self.is_matrix)

    @property
    def T(self) -> Value:  # noqa: N802 - NumPy's name
        """The transpose."""
        return self._rows().T

    def __setitem__(self, index: Index, value: Value) -> None:
        value = value.A if isinstance(value, DenseMatrix) else value
        value = ours(value).toarray() if is_sparse(value) else array(assembled(value))
        shape = np.shape(_dense(self._numbers[index]))
        if len(shape) == 2 and value.ndim < 2:
            value = np.reshape(value, (1, -1)) if value.ndim else value
        line = np.reshape(np.broadcast_to(value, shape), (-1,))
        numbers = np.arange(self._ends[-1] + 1, self._ends[-1] + 1 + line.shape[0])
        self._pieces.append(line)
        self._dtype = np.result_type(self._dtype, line)
        self._ends.append(self._ends[-1] + int(line.shape[0]))
        self._numbers[index] = np.reshape(numbers, shape) if shape else numbers[0]

    def __getitem__(self, index: Index) -> Value:
        numbers = self._numbers[index]
        if np.ndim(_dense(numbers)):
            return self._of(numbers)
        if not numbers:
            return self.dtype.type(0)
        which = bisect_left(self._ends, int(numbers))
        return self._pieces[which][int(numbers) - 1 - (self._ends[which - 1] if which else 0)]

    def _of(self, numbers: Value) -> Value:
        """The values in the places of their numbers, from the pieces that these are in."""
        dense = not sparse.issparse(numbers)
        used = np.asarray(numbers).ravel() if dense else numbers.tocoo().data
        which = np.unique(np.searchsorted(self._ends, used[used > 0]))
        starts = np.array([0, *self._ends])[which]
        kept = [self._pieces[k] for k in which]
        values = np.concatenate(kept) if kept else np.zeros(0, self.dtype)
        before = np.cumsum([0, *(p.shape[0] for p in kept)])[:-1]
        at = np.searchsorted(which, np.searchsorted(self._ends, used))
        moved = np.where(used > 0, used - starts[at] + before[at], 0) if len(which) else np.zeros_like(used)
        if dense:
            padded = np.concatenate([np.zeros(1, values.dtype), values])
            found = padded[np.reshape(moved, np.shape(numbers))]
            return DenseMatrix(found) if self.is_matrix and found.ndim == 2 else found
        places = numbers.tocoo()
        return of_triples(
            values[moved - 1], places.row, places.col, places.shape, "csr", self.is_matrix
        )  # fmt: skip


def _dense(found: Value) -> Value:
    return found.toarray() if sparse.issparse(found) else np.asarray(found)


SparseMatrix.filled = staticmethod(FilledMatrix.of)
