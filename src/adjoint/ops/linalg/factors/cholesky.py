"""Cholesky factors, their derivatives, and equations solved with them. Stacks of matrices throughout.

Rules: I. Murray, Differentiation of the Cholesky decomposition, 2016. Right sides are columns.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from adjoint.core.backend import beside
from adjoint.core.constructors import composite, general
from adjoint.core.memory import NEW_C
from adjoint.core.op import call
from adjoint.core.types import Array, DType, Value
from adjoint.ops.linalg.equations.triangular import triangular_solve, triangular_tangent
from adjoint.ops.linalg.lapack import conj, fitted, hermitian, routine, triangle, well_posed
from adjoint.ops.linalg.matrices import as_hermitian, complex_positive, hermitian_part, positive


def _cholesky_solved_cotangents(g: Array, arrays: Array, out: Array, needs: Value, lower: bool) -> list[Array]:
    """With h that of the right side, the cotangent of the matrix is ``-h x^H``; it is symmetric in h and x."""
    (c, b), first, last = arrays, 0 if lower else 2, 2 if lower else 0
    v = triangular_solve(c, g, trans=first, lower=lower)
    h = triangular_solve(c, v, trans=last, lower=lower)
    if 0 not in needs:
        return [None, fitted(h, b.shape)]
    u = triangular_solve(c, np.broadcast_to(b, out.shape), trans=first, lower=lower)
    inner = np.matmul(-h, hermitian(u)) if lower else np.matmul(-v, hermitian(out))
    inner = inner + (np.matmul(-out, hermitian(v)) if lower else np.matmul(-u, hermitian(h)))
    return [fitted(triangle(inner, lower), c.shape), fitted(h, b.shape)]


def _cholesky_solved_tangent(t: Array, arrays: Array, out: Array, lower: bool) -> Array:
    (c, b), (tc, tb), first, last = arrays, t, 0 if lower else 2, 2 if lower else 0
    if tc is None:
        return cholesky_solved(c, tb, lower=lower)
    half = triangular_solve(c, b, trans=first, lower=lower)
    tb = triangular_tangent((tc, tb), (c, b), half, first, lower)
    return triangular_tangent((tc, tb), (c, half), out, last, lower)


@general(
    vjp=_cholesky_solved_cotangents,
    jvp=_cholesky_solved_tangent,
    batch="columns",
    flags=("raises", "stacks", "selects", "own_order"),
    samples=lambda r: [
        call(well_posed(r, 3, 3), r(3, 1), lower=True),
        call(well_posed(r, 3, 3), r(3, 2)),
        call(well_posed(r, 2, 2, 2), r(2, 1), lower=True),
        *(call(well_posed(r, 2, 2) + 1j * r(2, 2), r(2, 2) + 1j * r(2, 2), lower=lower) for lower in (False, True)),
    ],
)
def cholesky_solved(*arrays: Array, lower: bool = False) -> Array:
    """The `x` of ``a @ x = b`` for `arrays` c, the factor of a, `lower` or upper, and b. One triangle of c is read."""
    c, b = arrays
    half = triangular_solve(c, b, trans=0 if lower else 2, lower=lower)
    return triangular_solve(c, half, trans=2 if lower else 0, lower=lower)


def _on_diagonal(inner: Array, out: Array) -> Array:
    """`inner` without what is not on its diagonal."""
    eye = np.eye(out.shape[-1], dtype=out.dtype)
    return np.diagonal(inner, axis1=-2, axis2=-1)[..., None] * beside(out, eye)


def cholesky_cotangent(g: Array, out: Array) -> Array:
    """I. Murray, Differentiation of the Cholesky decomposition, 2016: equation 8, and for large factors by blocks."""
    if type(g) is type(out) is np.ndarray and out.shape[-1] > 1:
        return _by_blocks(g, out)
    inner = np.tril(np.matmul(hermitian(out), g))
    inner = inner - _on_diagonal(inner, out) / 2
    inner = hermitian(triangular_solve(out, inner, trans=2, lower=True))
    inner = triangular_solve(out, inner, trans=2, lower=True)
    return (inner + hermitian(inner)) / 2


def cholesky_tangent(t: Array, out: Array) -> Array:
    """Equation 4 there: L times the lower half of ``L^-1 da L^-H``."""
    inner = triangular_solve(out, (t + hermitian(t)) / 2, lower=True)
    inner = hermitian(triangular_solve(out, hermitian(inner), lower=True))
    half = np.tril(inner, -1) + _on_diagonal(inner, out) / 2
    return np.matmul(out, half)


def _by_blocks(g: Array, factor: Array) -> Array:
    """The same, for half of the matrix after the other: fewer operations, and most of them products."""
    n = factor.shape[-1]
    if n <= (96 if factor.ndim == 2 else 1):
        return _small_block(g, factor)
    k = n // 2
    top, left, corner = factor[..., :k, :k], factor[..., k:, :k], factor[..., k:, k:]
    out = np.empty_like(factor)
    out[..., k:, k:] = last = _by_blocks(g[..., k:, k:], corner)
    side = hermitian(g[..., k:, :k] - 2 * np.matmul(last, left))
    side = triangular_solve(top, side, trans=2, lower=True)
    out[..., :k, :k] = _by_blocks(g[..., :k, :k] - np.matmul(side, left), top)
    out[..., :k, k:] = side = side / 2
    out[..., k:, :k] = hermitian(side)
    return out


def _small_block(g: Array, factor: Array) -> Array:
    n = factor.shape[-1]
    if n == 1:
        return np.real(g) / (2 * np.real(factor)) + np.zeros_like(factor)
    inverse, _ = routine("trtri", factor.dtype)(factor.T, lower=0)  # the transpose of the factor's inverse
    inner = hermitian(factor) @ g
    inner *= _lower_half(n, factor.real.dtype)
    inner = conj(inverse) @ inner @ inverse.T
    inner = inner + hermitian(inner)
    inner *= 0.5
    return inner


@lru_cache(8)
def _lower_half(n: int, dtype: DType) -> Array:
    """Ones below the diagonal, and halves on it."""
    weights = np.tri(n, dtype=dtype)
    weights.flat[:: n + 1] = 0.5
    weights.flags.writeable = False
    return weights


@general(
    vjp=cholesky_cotangent,
    jvp=cholesky_tangent,
    batch="leading",
    samples=lambda r: [call(positive(r, 3, 3)), call(positive(r, 2, 3, 3))],
    flags=("raises",),
)
def cholesky_factor(a: Array, /) -> Array:
    return np.linalg.cholesky(hermitian_part(a))


@composite(
    np.linalg.cholesky,
    memory=NEW_C,
    samples=lambda r: [
        call(positive(r, 3, 3)),
        call(positive(r, 2, 3, 3)),
        call(positive(r, 3, 3), upper=True),
        call(complex_positive(r, 3)),
    ],
    errors=lambda r: [call(np.array([[1.0, 2.0], [2.0, 1.0]])), call(r(2, 3))],
)
def cholesky(a: Array, /, *, upper: bool = False) -> Array:
    """The Cholesky factor of the Hermitian part of `a`, so that the gradient is Hermitian too."""
    factor = cholesky_factor(as_hermitian("cholesky", a, "U" if upper else "L"))
    return hermitian(factor) if upper else factor
