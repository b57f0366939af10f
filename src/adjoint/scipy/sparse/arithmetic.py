"""Sums and products of sparse matrices whose stored values may be tensors."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from adjoint.core.errors import NotSupportedError, ShapeError
from adjoint.core.types import Array, DType, Value
from adjoint.ops.indexing.reading import read
from adjoint.scipy.arrays import array
from adjoint.scipy.followed import assembled
from adjoint.scipy.sparse.products import sparse_product
from adjoint.twin.standins.values import carrier


class Arithmetic:
    """What a matrix of stored values, rows and columns computes; it says how it is rebuilt."""

    values: Value
    pattern: Value
    transposed: bool
    is_matrix: bool
    shape: Value
    row: Value
    col: Value

    def with_values(self, values: Array) -> Value:
        """Other values in the same places."""
        raise NotImplementedError

    def rebuilt(self, values: Array, rows: Array, columns: Array, shape: tuple[int, int], format: str = "") -> Value:
        """Other values in other places."""
        raise NotImplementedError

    def summed(self) -> Value:
        """The same with the values of each place added up."""
        raise NotImplementedError

    def convert(self, x: Value) -> Value:
        """Another sparse matrix, as one of these."""
        raise NotImplementedError

    def toarray(self) -> Array:
        """The same as a dense array."""
        raise NotImplementedError

    @property
    def T(self) -> Value:  # noqa: N802 - NumPy's name
        """The transpose."""
        raise NotImplementedError

    def __matmul__(self, x: Value) -> Value:
        if is_sparse(x):
            return _product(self, self.convert(x))
        x = array(assembled(x))
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise ShapeError(
                f"a sparse matrix of shape {self.shape} takes a vector ({self.shape[1]},) or a matrix "
                f"({self.shape[1]}, k); got shape {x.shape}"
            )
        columns = x[:, None] if x.ndim == 1 else x
        y = sparse_product(self.values, columns, pattern=self.pattern, transposed=self.transposed)
        return y[:, 0] if x.ndim == 1 else y

    def __rmatmul__(self, x: Value) -> Value:
        if is_sparse(x):
            return _product(self.convert(x), self)
        x = array(assembled(x))
        return self.T @ x if x.ndim == 1 else (self.T @ x.T).T

    def dot(self, x: Value) -> Value:
        """The product with a number, a vector or a matrix."""
        return self * x if _is_number(x) else self @ x

    def __mul__(self, x: Value) -> Value:
        if _is_number(x):
            return self.with_values(self.values * x)
        return self @ x if self.is_matrix else self.multiply(x)

    def __rmul__(self, x: Value) -> Value:
        if _is_number(x):
            return self.with_values(x * self.values)
        return x @ self if self.is_matrix else self.multiply(x)

    def __truediv__(self, x: Value) -> Value:
        return self.with_values(self.values / x) if _is_number(x) else self.multiply(1.0 / assembled(x))

    def __neg__(self) -> Value:
        return self.with_values(-self.values)

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return self.with_values(np.abs(self.values))

    def __add__(self, x: Value) -> Value:
        if is_sparse(x):
            x = self.convert(x)
            if x.shape != self.shape:
                raise ShapeError(f"the sum of sparse matrices takes equal shapes; got {self.shape} and {x.shape}")
            values = np.concatenate([self.values, x.values])
            rows, columns = np.concatenate([self.row, x.row]), np.concatenate([self.col, x.col])
            return self.rebuilt(values, rows, columns, self.shape)
        if _is_number(x):
            if isinstance(x, int | float | complex) and x == 0:
                return self
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        return DenseMatrix(self.toarray() + x) if self.is_matrix else self.toarray() + x

    __radd__ = __add__

    def __sub__(self, x: Value) -> Value:
        return self + (-self.convert(x) if is_sparse(x) else -x)

    def __rsub__(self, x: Value) -> Value:
        return -self + (self.convert(x) if is_sparse(x) else x)

    def __pow__(self, n: Value) -> Value:
        return self._matrix_power(n) if self.is_matrix else self.power(n)

    def _matrix_power(self, n: int) -> Value:
        made: Value = self
        if n < 1 or int(n) != n:
            raise NotSupportedError("a power of a sparse matrix that holds a tensor takes a whole number from 1 on")
        for _ in range(int(n) - 1):
            made = made @ self
        return made

    def power(self, n: Value, dtype: DType = None) -> Value:
        """Each value to the power `n`."""
        return self.with_values(self.values**n)

    def multiply(self, x: Value) -> Value:
        """The product element by element: with a number, a dense array that broadcasts, or a sparse matrix."""
        if _is_number(x):
            return self.with_values(self.values * x)
        if is_sparse(x):
            x = self.convert(x)
            if x.shape != self.shape:
                raise ShapeError(f"products of elements take equal shapes; got {self.shape} and {x.shape}")
            a, b = (m.summed() for m in (self, x))
            places = [np.asarray(m.row, np.int64) * m.shape[1] + m.col for m in (a, b)]
            common, i, j = np.intersect1d(*places, return_indices=True)
            values = read(a.values, i) * read(b.values, j)
            rows, columns = np.divmod(common, self.shape[1])
            return self.rebuilt(values, rows, columns, self.shape)
        x = np.broadcast_to(assembled(x), self.shape)
        return self.with_values(self.values * x[self.row, self.col])


@carrier
class DenseMatrix:
    """What would be an `np.matrix`: its array is `A`, or ``np.asarray`` of it, or in one line `A1`."""

    def __init__(self, A: Array) -> None:  # noqa: N803 - NumPy's name
        self.A = A

    @property
    def A1(self) -> Array:  # noqa: N802 - NumPy's name
        """The elements in one line."""
        return np.reshape(self.A, (-1,))

    def __array__(self, dtype: DType = None, copy: bool | None = None) -> Array:
        return self.A

    shape: Value = property(lambda self: self.A.shape)
    dtype: Value = property(lambda self: self.A.dtype)

    def sum(self) -> Array:
        """The sum of all."""
        return np.sum(self.A)

    def __getattr__(self, name: str) -> Value:
        if name.startswith("__") or not hasattr(np.matrix, name):
            raise AttributeError(name)
        raise NotSupportedError(
            f"np.matrix.{name} of what a sparse matrix with a tensor gives is not there: take its array, "
            f"np.asarray(m), or use scipy.sparse.csr_array, whose sums are arrays"
        )


def _is_number(x: Value) -> bool:
    return not is_sparse(x) and np.ndim(x) == 0


def is_sparse(x: object) -> bool:
    """Whether `x` is a sparse matrix, of SciPy's or of ours."""
    return isinstance(x, Arithmetic) or sparse.issparse(x)


def _product(a: Value, b: Value) -> Value:
    """The product of two sparse matrices, a sparse matrix."""
    if a.shape[1] != b.shape[0]:
        raise ShapeError(f"a product of sparse matrices of shapes {a.shape} and {b.shape} does not fit")
    b = b.asformat("csr")
    starts, counts = b.indptr[:-1][a.col], np.diff(b.indptr)[a.col]
    left = np.repeat(np.arange(a.nnz), counts)
    right = np.arange(len(left)) + np.repeat(starts - (np.cumsum(counts) - counts), counts)
    values = read(a.values, left) * read(b.values, right)
    return a.rebuilt(values, a.row[left], b.indices[right], (a.shape[0], b.shape[1]), "csr")
