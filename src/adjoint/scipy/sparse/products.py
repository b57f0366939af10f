"""Products and equations of sparse matrices, as operations on their stored values."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from adjoint.core.constructors import general
from adjoint.core.op import call
from adjoint.core.types import Array, Value
from adjoint.ops.linalg.lapack import conj


class StoredPattern:
    """Where the stored values of a matrix lie; and the factors of the matrix with the values last solved with."""

    __slots__ = ("_factors", "_repeats", "_rows", "indices", "indptr", "shape")
    never_changes = True  # what it keeps, it computes: compiled functions know it by its identity

    def __init__(self, indices: Array, indptr: Array, shape: tuple[int, int]) -> None:
        self.indices, self.indptr, self.shape = indices, indptr, shape
        self._rows: Value = None
        self._repeats: Value = None
        self._factors: tuple[Value, Value] = (None, None)

    @property
    def rows(self) -> Array:
        """The row of each value."""
        if self._rows is None:
            self._rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        return self._rows

    @property
    def repeats(self) -> bool:
        """Whether a place stands there more than once."""
        if self._repeats is None:
            places = self.rows.astype(np.int64) * self.shape[1] + self.indices
            self._repeats = len(np.unique(places)) < len(places)
        return bool(self._repeats)

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


def _at_values(left: Array, right: Array, rows: Array, columns: Array) -> Array:
    """The elements of ``left @ right^H`` where values are stored."""
    if left.shape[1] == 1:
        return left[:, 0][rows] * conj(right[:, 0][columns])
    return np.sum(left[rows] * conj(right[columns]), axis=1)


def _values_cotangent(g: Array, x: Array, pattern: StoredPattern, transposed: bool) -> Array:
    rows, columns = (pattern.indices, pattern.rows) if transposed else (pattern.rows, pattern.indices)
    return _at_values(g, x, rows, columns)


def _product_x(g: Array, values: Array, pattern: StoredPattern, transposed: bool) -> Array:
    return sparse_product(conj(values), g, pattern=pattern, transposed=not transposed)


def sample_pattern() -> StoredPattern:
    return StoredPattern(np.array([0, 2, 1, 0, 2]), np.array([0, 2, 3, 5]), (3, 3))


@general(
    vjps=(_values_cotangent, _product_x),
    flags=("multilinear", "host"),
    batch="columns",
    samples=lambda r: [
        call(r(5), r(3, 2), pattern=sample_pattern()),
        call(r(5), r(3, 2), pattern=sample_pattern(), transposed=True),
        call(r(5) + 1j * r(5), r(3, 1) + 1j * r(3, 1), pattern=sample_pattern()),
    ],
)
def sparse_product(values: Array, x: Array, /, pattern: Value = None, transposed: bool = False) -> Array:
    """The matrix with `values`, or its transpose, times the columns of `x`."""
    return pattern.matrix(values, transposed) @ x


# The matrix, its transpose, and the conjugates of both: which one belongs to each one's conjugate transpose.
_BACK = {"N": "H", "H": "N", "T": "C", "C": "T"}


def _solution_b(g: Array, values: Array, pattern: StoredPattern, form: str) -> Array:
    return sparse_solution(values, g, pattern=pattern, form=_BACK[form])


def _solution_values(g: Array, values: Array, out: Array, pattern: StoredPattern, form: str) -> Array:
    g_b = _solution_b(g, values, pattern, form)
    rows, columns = (pattern.rows, pattern.indices) if form in "NC" else (pattern.indices, pattern.rows)
    c = -_at_values(g_b, out, rows, columns)
    return conj(c) if form in "HC" else c


@general(
    vjps=(_solution_values, _solution_b),
    batch="columns",
    samples=lambda r: [
        *(call(r(5) + 4, r(3, 2), pattern=sample_pattern(), form=form) for form in "NT"),
        *(call(r(5) + 4j, r(3, 1) + 1j * r(3, 1), pattern=sample_pattern(), form=form) for form in "NTHC"),
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
