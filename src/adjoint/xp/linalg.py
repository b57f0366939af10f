"""Linear algebra: the extension `linalg`, and the four functions of the main namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from adjoint.core.types import Array, Axes, DType, Value
from adjoint.ops.linalg.determinants import SlogdetResult
from adjoint.ops.linalg.factors.eigen import EighResult, EigResult
from adjoint.ops.linalg.factors.qr import QRResult
from adjoint.ops.linalg.factors.svd import SVDResult
from adjoint.xp.arrays import boxed, each, plain


def matmul(x1: Array, x2: Array, /) -> Array:
    return boxed(np.matmul(x1, x2))


def matrix_transpose(x: Array, /) -> Array:
    return boxed(np.matrix_transpose(x))


def tensordot(x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    return boxed(np.tensordot(x1, x2, axes))


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    vecdot_of: Value = np.linalg.vecdot  # its overloads know no axis
    return boxed(vecdot_of(x1, x2, axis=axis))


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    return boxed(np.linalg.cholesky(x, upper=upper))


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    return boxed(np.linalg.cross(x1, x2, axis=axis))


def det(x: Array, /) -> Array:
    return boxed(np.linalg.det(x))


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    return boxed(np.linalg.diagonal(x, offset=offset))


def eig(x: Array, /) -> EigResult:
    return EigResult(*each(np.linalg.eig(x)))


def eigvals(x: Array, /) -> Array:
    return boxed(np.linalg.eigvals(x))


def eigh(x: Array, /) -> EighResult:
    return EighResult(*each(np.linalg.eigh(x)))


def eigvalsh(x: Array, /) -> Array:
    return boxed(np.linalg.eigvalsh(x))


def inv(x: Array, /) -> Array:
    return boxed(np.linalg.inv(x))


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Value = "fro") -> Array:
    return boxed(np.linalg.matrix_norm(x, keepdims=keepdims, ord=ord))


def matrix_power(x: Array, n: int, /) -> Array:
    return boxed(np.linalg.matrix_power(x, n))


def matrix_rank(x: Array, /, *, rtol: object = None) -> Array:
    return boxed(np.linalg.matrix_rank(plain(x), rtol=plain(rtol)))


def outer(x1: Array, x2: Array, /) -> Array:
    return boxed(np.linalg.outer(x1, x2))


def pinv(x: Array, /, *, rtol: object = None) -> Array:
    return boxed(np.linalg.pinv(x) if rtol is None else np.linalg.pinv(x, rtol=plain(rtol)))


def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    return QRResult(*each(np.linalg.qr(x, mode)))


def slogdet(x: Array, /) -> SlogdetResult:
    return SlogdetResult(*each(np.linalg.slogdet(x)))


def solve(x1: Array, x2: Array, /) -> Array:
    return boxed(np.linalg.solve(x1, x2))


def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    return SVDResult(*each(np.linalg.svd(x, full_matrices)))


def svdvals(x: Array, /) -> Array:
    return boxed(np.linalg.svdvals(x))


def trace(x: Array, /, *, offset: int = 0, dtype: DType = None) -> Array:
    return boxed(np.linalg.trace(x, offset=offset, dtype=dtype))


def vector_norm(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False, ord: float = 2) -> Array:
    norm_of: Value = np.linalg.vector_norm  # its overloads know no None
    return boxed(norm_of(x, axis=axis, keepdims=keepdims, ord=ord))
