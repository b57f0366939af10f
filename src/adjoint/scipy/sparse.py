"""Sparse matrices with tensors: products and equations, with gradients by vectors and by the stored values.

    from adjoint.scipy import sparse

    sparse.matmul(A, t)                                  # A from scipy.sparse, a constant
    S = sparse.csr(values, indices, indptr, shape)       # a matrix whose stored values have a gradient
    S @ t, S.T @ t, sparse.spsolve(S, t)

``A @ t`` and ``t @ A`` come here too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from adjoint.core.constructors import general
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.op import call
from adjoint.core.types import Array, Value
from adjoint.ops.linalg.lapack import conj
from adjoint.scipy.arrays import array as _array
from adjoint.scipy.arrays import plain as _plain


class _StoredPattern:
    """Where the stored values of a matrix lie; and the factors of the matrix with the values last solved with."""

    __slots__ = ("_factors", "_rows", "indices", "indptr", "shape")
    never_changes = True  # what it keeps, it computes: compiled functions know it by its identity

    def __init__(self, indices: Array, indptr: Array, shape: tuple[int, int]) -> None:
        self.indices, self.indptr, self.shape = indices, indptr, shape
        self._rows: Value = None
        self._factors: tuple[Value, Value] = (None, None)

    @property
    def rows(self) -> Array:
        """The row of each value."""
        if self._rows is None:
            self._rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        return self._rows

    def matrix(self, values: Array, transposed: bool) -> Array:
        """The matrix with `values`, or its transpose, as SciPy's."""
        if transposed:
            return sparse.csc_array((values, self.indices, self.indptr), self.shape[::-1])
        return sparse.csr_array((values, self.indices, self.indptr), self.shape)

    def factors(self, values: Array) -> Array:
        """LU factors of the *transpose*, whose columns are what is stored; made once for one array of values."""
        known, factors = self._factors
        if known is None or known.dtype != values.dtype or known.tobytes() != values.tobytes():
            matrix = sparse.csc_array((values.copy(), self.indices.copy(), self.indptr.copy()), self.shape[::-1])
            try:
                factors = linalg.splu(matrix)
            except RuntimeError as error:
                raise np.linalg.LinAlgError("spsolve: the sparse matrix is singular") from error
            self._factors = values.copy(), factors
        return factors


class SparseMatrix:
    """A sparse matrix in compressed rows whose stored values may be a tensor. Made by `csr`.

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

    def __init__(self, values: Array, pattern: _StoredPattern, transposed: bool = False) -> None:
        self.values, self.pattern, self.transposed = values, pattern, transposed

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.pattern.shape[::-1] if self.transposed else self.pattern.shape

    @property
    def T(self) -> SparseMatrix:  # noqa: N802 - NumPy's name
        """The transpose, with the same values."""
        return SparseMatrix(self.values, self.pattern, not self.transposed)

    def __matmul__(self, x: Array) -> Array:
        x = _array(x)
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise ShapeError(
                f"a sparse matrix of shape {self.shape} takes a vector ({self.shape[1]},) or a matrix "
                f"({self.shape[1]}, k); got shape {x.shape}"
            )
        columns = x[:, None] if x.ndim == 1 else x
        y = sparse_product(self.values, columns, pattern=self.pattern, transposed=self.transposed)
        return y[:, 0] if x.ndim == 1 else y

    def __rmatmul__(self, x: Array) -> Array:
        x = _array(x)
        return self.T @ x if x.ndim == 1 else (self.T @ x.T).T

    def toarray(self) -> Array:
        """The same as a dense array, with its gradient."""
        return self @ np.eye(self.shape[1], dtype=self.values.dtype)

    def __repr__(self) -> str:
        return f"<sparse matrix of shape {self.shape}, {self.values.shape[0]} values>"


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
    values, indices, indptr = _own(_array(values)), np.array(indices), np.array(indptr)
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
    return SparseMatrix(values, _StoredPattern(indices, indptr, (int(shape[0]), int(shape[1]))))


def _own(values: Array) -> Array:
    """`values`, in memory that nothing else writes to."""
    return values.copy() if isinstance(values, np.ndarray) else values


def _ours(a: Array) -> SparseMatrix:
    """A matrix of SciPy's, or of ours."""
    if isinstance(a, SparseMatrix):
        return a
    if not sparse.issparse(a) or a.ndim != 2:
        raise ArgumentError(
            f"a sparse matrix was expected, from scipy.sparse or adjoint.scipy.sparse.csr; got {type(a)}"
        )
    a = a.tocsr()
    return csr(a.data, a.indices, a.indptr, a.shape)


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
    left, right = (isinstance(x, SparseMatrix) or sparse.issparse(x) for x in (a, b))
    if left == right:
        raise ArgumentError("adjoint.scipy.sparse.matmul takes one sparse matrix and one dense array or tensor")
    return _ours(a) @ b if left else a @ _ours(b)


def _at_values(left: Array, right: Array, rows: Array, columns: Array) -> Array:
    """The elements of ``left @ right^H`` where values are stored."""
    if left.shape[1] == 1:
        return left[:, 0][rows] * conj(right[:, 0][columns])
    return np.sum(left[rows] * conj(right[columns]), axis=1)


def _values_cotangent(g: Array, x: Array, pattern: _StoredPattern, transposed: bool) -> Array:
    rows, columns = (pattern.indices, pattern.rows) if transposed else (pattern.rows, pattern.indices)
    return _at_values(g, x, rows, columns)


def _product_x(g: Array, values: Array, pattern: _StoredPattern, transposed: bool) -> Array:
    return sparse_product(conj(values), g, pattern=pattern, transposed=not transposed)


def _sample_pattern() -> _StoredPattern:
    return _StoredPattern(np.array([0, 2, 1, 0, 2]), np.array([0, 2, 3, 5]), (3, 3))


@general(
    vjps=(_values_cotangent, _product_x),
    flags=("multilinear", "host"),
    batch="columns",
    samples=lambda r: [
        call(r(5), r(3, 2), pattern=_sample_pattern()),
        call(r(5), r(3, 2), pattern=_sample_pattern(), transposed=True),
        call(r(5) + 1j * r(5), r(3, 1) + 1j * r(3, 1), pattern=_sample_pattern()),
    ],
)
def sparse_product(values: Array, x: Array, /, pattern: Value = None, transposed: bool = False) -> Array:
    """The matrix with `values`, or its transpose, times the columns of `x`."""
    return pattern.matrix(values, transposed) @ x


def spsolve(A: Array, b: Array, permc_spec: str | None = None, use_umfpack: bool = True) -> Array:  # noqa: N803 - SciPy's name
    """`scipy.sparse.linalg.spsolve`: the `x` of ``A @ x = b``, with gradients by `b` and by the values of `A`.

    The matrix is factorised once, for the solution and its gradient.

    Args:
        A: square, from `scipy.sparse` or `csr`.
        b: (n,) or (n, k).
        permc_spec, use_umfpack: accepted, without effect.

    Raises:
        ShapeError: if shapes do not fit.
        numpy.linalg.LinAlgError: if `A` is singular.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy import sparse
        >>> f = lambda v: sparse.spsolve(sparse.csr(v, [0, 1], [0, 1, 2], (2, 2)), np.ones(2)).sum()
        >>> ad.grad(f)(np.array([2.0, 4.0]))
        array([-0.25  , -0.0625])
    """
    return _solved(_ours(A), b)


def _solved(a: SparseMatrix, b: Array) -> Array:
    b = _array(b)
    if a.shape[0] != a.shape[1] or b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ShapeError(
            f"spsolve takes a square matrix (n, n) and a right side (n,) or (n, k); got {a.shape} and {b.shape}"
        )
    columns = b[:, None] if b.ndim == 1 else b
    x = sparse_solution(a.values, columns, pattern=a.pattern, form="T" if a.transposed else "N")
    return x[:, 0] if b.ndim == 1 else x


def factorized(A: Array) -> Callable[[Array], Array]:  # noqa: N803 - SciPy's name
    """`scipy.sparse.linalg.factorized`: a function that solves ``A @ x = b`` for any `b`, with `A` factorised once.

    Example:
        >>> import numpy as np, adjoint as ad, scipy.sparse
        >>> from adjoint.scipy import sparse
        >>> solve = sparse.factorized(scipy.sparse.eye_array(2) * 4.0)
        >>> ad.grad(lambda b: solve(b).sum())(np.ones(2))
        array([0.25, 0.25])
    """
    a = _ours(A)
    a.pattern.factors(_plain(a.values) if not isinstance(a.values, np.ndarray) else a.values)
    return lambda b: _solved(a, b)


# The matrix, its transpose, and the conjugates of both: which one belongs to each one's conjugate transpose.
_BACK = {"N": "H", "H": "N", "T": "C", "C": "T"}


def _solution_b(g: Array, values: Array, pattern: _StoredPattern, form: str) -> Array:
    return sparse_solution(values, g, pattern=pattern, form=_BACK[form])


def _solution_values(g: Array, values: Array, out: Array, pattern: _StoredPattern, form: str) -> Array:
    g_b = _solution_b(g, values, pattern, form)
    rows, columns = (pattern.rows, pattern.indices) if form in "NC" else (pattern.indices, pattern.rows)
    c = -_at_values(g_b, out, rows, columns)
    return conj(c) if form in "HC" else c


@general(
    vjps=(_solution_values, _solution_b),
    batch="columns",
    samples=lambda r: [
        *(call(r(5) + 4, r(3, 2), pattern=_sample_pattern(), form=form) for form in "NT"),
        *(call(r(5) + 4j, r(3, 1) + 1j * r(3, 1), pattern=_sample_pattern(), form=form) for form in "NTHC"),
    ],
    flags=("host",),
)
def sparse_solution(values: Array, b: Array, /, pattern: Value = None, form: str = "N") -> Array:
    """The solution with the matrix ("N"), its transpose ("T"), its conjugate transpose ("H") or its conjugate ("C")."""
    factors, trans = pattern.factors(values), "T" if form in "NC" else "N"
    b = b.conj() if form in "HC" else b
    if b.dtype.kind == "c" and values.dtype.kind != "c":
        x = factors.solve(np.ascontiguousarray(b.real), trans) + 1j * factors.solve(np.ascontiguousarray(b.imag), trans)
    else:
        x = factors.solve(np.ascontiguousarray(b, np.result_type(values, b)), trans)
    return x.conj() if form in "HC" else x
