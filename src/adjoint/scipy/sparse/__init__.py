"""Sparse matrices with tensors: products and equations, with gradients by vectors and by the stored values.

    from adjoint.scipy import sparse

    sparse.matmul(A, t)                                  # A from scipy.sparse, a constant
    S = sparse.csr(values, indices, indptr, shape)       # a matrix whose stored values have a gradient
    S @ t, S.T @ t, sparse.spsolve(S, t)

``A @ t`` and ``t @ A`` come here too. Inside transforms, so do SciPy's own classes and functions.
"""

from __future__ import annotations

from scipy import sparse as _theirs

from adjoint.core.types import Value
from adjoint.scipy.sparse import csgraph as csgraph
from adjoint.scipy.sparse import linalg as linalg
from adjoint.scipy.sparse.blocks import block_array, block_diag, bmat, hstack, kron, tril, triu, vstack
from adjoint.scipy.sparse.filling import FilledMatrix as FilledMatrix
from adjoint.scipy.sparse.linalg import factorized as factorized
from adjoint.scipy.sparse.linalg import spsolve as spsolve
from adjoint.scipy.sparse.making import (
    bsr_array,
    bsr_matrix,
    coo_array,
    coo_matrix,
    csc_array,
    csc_matrix,
    csr,
    csr_array,
    csr_matrix,
    dia_array,
    dia_matrix,
    diags,
    diags_array,
    dok_array,
    dok_matrix,
    issparse,
    isspmatrix,
    lil_array,
    lil_matrix,
    matmul,
    spdiags,
)  # fmt: skip
from adjoint.scipy.sparse.making import combined as combined
from adjoint.scipy.sparse.matrix import SparseMatrix as SparseMatrix
from adjoint.scipy.sparse.matrix import ours as _ours
from adjoint.scipy.sparse.products import sparse_product as sparse_product
from adjoint.scipy.sparse.products import sparse_solution as sparse_solution

__all__ = [
    "FilledMatrix", "SparseMatrix", "block_array", "block_diag", "bmat", "bsr_array", "bsr_matrix", "coo_array",
    "coo_matrix", "csc_array", "csc_matrix", "csgraph", "csr", "csr_array", "csr_matrix", "dia_array", "dia_matrix",
    "diags", "diags_array", "dok_array", "dok_matrix", "factorized", "hstack", "issparse", "isspmatrix", "kron",
    "lil_array", "lil_matrix", "linalg", "matmul", "sparse_product", "sparse_solution", "spdiags", "spsolve", "tril",
    "triu", "vstack",
]  # fmt: skip


class _MatrixOnDemand:
    """A matrix of SciPy's, made ours when a method of it is asked for."""

    def __init__(self, matrix: Value) -> None:
        self._matrix = matrix

    def __getattr__(self, name: str) -> Value:
        return getattr(_ours(self._matrix), name)


def of_scipy(made: Value) -> Value:
    """A matrix or factors that SciPy made, as ours; None for anything else."""
    if _theirs.issparse(made):
        return _MatrixOnDemand(made) if made.ndim == 2 else None
    return linalg.KnownFactors(made) if type(made).__name__ == "SuperLU" else None


def __dir__() -> list[str]:
    return __all__
