"""What rules of decompositions share: Hermitian parts, diagonals, and what is square."""

from __future__ import annotations

import numpy as np

from adjoint.core.backend import beside
from adjoint.core.box import raw
from adjoint.core.errors import ArgumentError
from adjoint.core.protocol import detached
from adjoint.core.types import Array
from adjoint.ops.linalg.lapack import hermitian


def positive(r: Array, *shape: int) -> Array:
    """A symmetric, positive definite matrix with eigenvalues apart."""
    half = r(*shape)
    return half @ half.swapaxes(-1, -2) / 4 + np.diag(np.arange(1.0, 1 + shape[-1]))


def complex_positive(r: Array, n: int) -> Array:
    half = r(n, n) + 1j * r(n, n)
    return half @ half.conj().T / 8 + np.diag(np.arange(1.0, 1 + n))


def hermitian_part(a: Array) -> Array:
    """The Hermitian part: what a decomposition of a Hermitian matrix is a function of."""
    return a if isinstance(a, np.ndarray) and np.array_equal(a, hermitian(a)) else (a + hermitian(a)) / 2


def as_hermitian(name: str, a: Array, uplo: str = "L") -> Array:
    """`a`; of a matrix that is far from Hermitian, the triangle that NumPy reads, and its mirror image."""
    if uplo.upper() not in ("L", "U"):
        raise ArgumentError(f"np.linalg.{name}: UPLO is 'L' or 'U'; got {uplo!r}")
    numbers = raw(square(name, a))
    if 0 in np.shape(a) or (isinstance(numbers, np.ndarray) and np.array_equal(numbers, hermitian(numbers))):
        return a
    if numbers.dtype.kind in "biu":  # whose differences wrap round
        a = a.astype(float)
    mirrored = _mirrored(a, uplo.upper() == "L")
    return np.where(_far_from_hermitian(detached(a)), mirrored, a)


def _mirrored(a: Array, lower: bool) -> Array:
    """One triangle and the real part of the diagonal of `a`, and the mirror image of the triangle."""
    strict = np.tril(a, -1) if lower else np.triu(a, 1)
    return strict + hermitian(strict) + diagonal_matrix(np.real(diagonals(a)))


def _far_from_hermitian(a: Array) -> Array:
    """Of each matrix, whether it differs from its mirror image by more than 1 %, or is not finite on one side only."""
    mirror = hermitian(a)
    alike = np.logical_or(np.equal(a, mirror), np.logical_and(np.isnan(a), np.isnan(mirror)))
    parts = np.abs(np.where(alike, 0.0, a - mirror)), np.abs(np.where(np.isfinite(a), a, 0.0))
    off, size = (np.max(x, axis=(-2, -1), keepdims=True) for x in parts)
    return np.logical_not(off <= 0.01 * size)  # also where `off` is nan


def diagonal_matrix(x: Array) -> Array:
    """A matrix with `x` on its diagonal, for each row of a stack."""
    return x[..., None] * beside(x, np.eye(np.shape(x)[-1], dtype=x.dtype))


def square(name: str, a: Array) -> Array:
    shape = np.shape(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise np.linalg.LinAlgError(f"np.linalg.{name} takes square matrices, alone or in a stack; got shape {shape}")
    return a


def diagonals(x: Array) -> Array:
    return np.diagonal(x, axis1=-2, axis2=-1)
