"""Singular values and their vectors. Stacks of matrices throughout.

If singular values are equal, up to rounding, the vectors have no derivative, and a gradient through them is nan; the
values do have one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjoint.core.backend import maybe_all, surely_all
from adjoint.core.box import Box, goes_back
from adjoint.core.constructors import composite, general
from adjoint.core.errors import NotSupportedError
from adjoint.core.op import call
from adjoint.core.protocol import detached, in_graph
from adjoint.core.types import Array
from adjoint.ops.linalg.factors.gaps import divided, gaps_between, infinite_diagonal, turned
from adjoint.ops.linalg.lapack import hermitian, unused
from adjoint.ops.linalg.matrices import diagonal_matrix, diagonals
from adjoint.ops.values import values_of


class SVDResult(NamedTuple):
    """Left vectors as columns, singular values in falling order, right vectors as rows."""

    U: Array
    S: Array
    Vh: Array


def svd_cotangent(g: Array, out: Array) -> Array:
    """J. Townsend, Differentiating the singular value decomposition, 2016; complex phases as they turn freely."""
    (gu, gs, gvh), (u, s, vh) = g, out
    uh, v = hermitian(u), hermitian(vh)
    if unused(gu) and unused(gvh):
        return np.matmul(u * gs[..., None, :], vh)
    inner = diagonal_matrix(gs)
    total = 0.0
    gv = hermitian(gvh)
    ju, jv = np.matmul(uh, gu), np.matmul(vh, gv)
    ku, kv = (ju - hermitian(ju)) / 2, (jv - hermitian(jv)) / 2
    together, opposed = gaps_between(s), _sums_of(s)  # vectors of both sides turn in the same way, or in opposite ways
    inner = inner + divided(ku + kv, together, s, gs, gu, gv) + divided(ku - kv, opposed, s, gs, gu, gv)
    each = s[..., None, :]
    if u.dtype.kind == "c":
        inner = inner + 1j * divided(diagonal_matrix(np.imag(diagonals(ju))), each, s, gs, gu)
    m, n = np.shape(u)[-2], np.shape(vh)[-1]
    if m > np.shape(s)[-1]:
        total = total + np.matmul(divided(gu - np.matmul(u, ju), each, s, gs, gu), vh)
    if n > np.shape(s)[-1]:
        total = total + np.matmul(u, hermitian(divided(gv - np.matmul(v, jv), each, s, gs, gv)))
    return total + np.matmul(np.matmul(u, inner), vh)


def svd_tangents(t: Array, out: Array) -> tuple[Array, Array, Array]:
    u, s, vh = out
    uh, v, k = hermitian(u), hermitian(vh), np.shape(s)[-1]
    tv, thu = np.matmul(t, v), np.matmul(hermitian(t), u)
    inner = np.matmul(uh, tv)
    mirrored, each = hermitian(inner), s[..., None, :]
    together = turned((inner + mirrored) / 2, gaps_between(s), s)
    opposed = turned((inner - mirrored) / 2, _sums_of(s), s)
    left, right = together + opposed, together - opposed
    if u.dtype.kind == "c":
        left = left + 1j * turned(diagonal_matrix(np.imag(diagonals(inner))), each, s)
    tu, tvs = np.matmul(u, left), np.matmul(v, right)
    if np.shape(u)[-2] > k:
        tu = tu + turned(tv - np.matmul(u, inner), each, s)
    if np.shape(vh)[-1] > k:
        tvs = tvs + turned(thu - np.matmul(v, mirrored), each, s)
    return tu, np.real(diagonals(inner)), hermitian(tvs)


def _sums_of(s: Array) -> Array:
    """s[i] + s[j]; infinite on the diagonal, as gaps are."""
    return s[..., None, :] + s[..., :, None] + infinite_diagonal(s)


@general(
    vjp=svd_cotangent,
    jvp=svd_tangents,
    multiple=True,
    batch="leading",
    samples=lambda r: [call(r(4, 2)), call(r(2, 2, 3)), call(r(3, 3))],
    flags=("raises",),
)
def thin_svd(a: Array, /) -> Array:
    if not maybe_all(np.isfinite(a)):  # which LAPACK may never return from
        raise np.linalg.LinAlgError("SVD did not converge: there are infinities or NaN in the matrix")
    return tuple(np.linalg.svd(a, full_matrices=False))


def _svdvals_cotangent(g: Array, a: Array) -> Array:
    finite = np.all(np.isfinite(a), axis=(-2, -1), keepdims=True)
    u, _, vh = thin_svd(np.where(finite, a, 0.0))
    return np.where(finite, np.matmul(u * g[..., None, :], vh), np.nan)


def _svdvals_tangent(t: Array, a: Array) -> Array:
    finite = np.all(np.isfinite(a), axis=(-2, -1), keepdims=True)
    u, _, vh = thin_svd(np.where(finite, a, 0.0))
    tangent = np.real(np.sum(np.conj(u) * np.matmul(t, hermitian(vh)), axis=-2))
    return np.where(finite[..., 0], tangent, np.nan)


@general(
    vjp=_svdvals_cotangent,
    jvp=_svdvals_tangent,
    batch="leading",
    samples=lambda r: [call(r(3, 3)), call(r(2, 4)), call(r(3, 2) + 1j * r(3, 2))],
    flags=("raises",),
)
def singular_values(a: Array, /) -> Array:
    return np.linalg.svd(a, compute_uv=False)


@composite(
    np.linalg.svdvals,
    samples=lambda r: [call(r(3, 3)), call(r(2, 4)), call(r(2, 3, 2)), call(r(3, 2) + 1j * r(3, 2))],
    errors=lambda r: [call(r(3))],
)
def svdvals(x: Array, /) -> Array:
    """`numpy.linalg.svdvals`; where some are equal, the gradient is still finite."""
    if np.ndim(x) < 2:
        raise np.linalg.LinAlgError(f"np.linalg.svdvals takes matrices, alone or in a stack; got shape {np.shape(x)}")
    return thin_svd(x)[1] if goes_back(x) and surely_all(np.isfinite(x)) else singular_values(x)


def _hermitian_svd(a: Array, compute_uv: bool) -> Array:
    """From the eigenvalues: singular values are their sizes, and the right vectors take their signs."""
    if not compute_uv:
        return np.sort(np.abs(np.linalg.eigvalsh(a)), axis=-1)[..., ::-1]
    w, v = np.linalg.eigh(a)
    order = np.argsort(np.abs(detached(w)), axis=-1)[..., ::-1]
    signs = np.take_along_axis(np.sign(detached(w)), order, -1)
    u = np.take_along_axis(v, order[..., None, :], -1)
    vh = np.conj(np.swapaxes(u * signs[..., None, :], -1, -2))
    return SVDResult(u, np.abs(np.take_along_axis(w, order, -1)), vh)


@composite(
    np.linalg.svd,
    samples=lambda r: [
        call(r(3, 3)),
        call(r(4, 2), full_matrices=False),
        call(r(2, 2, 3), False),
        call(r(4, 2), compute_uv=False),
        call(r(3, 3), compute_uv=False, hermitian=True),
    ],
    errors=lambda r: [call(r(4, 2)), call(r(3))],
)
def svd(a: Array, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Array:
    if np.ndim(a) < 2:
        raise np.linalg.LinAlgError(f"np.linalg.svd takes matrices, alone or in a stack; got shape {np.shape(a)}")
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    if not compute_uv:
        return np.linalg.svdvals(a)
    if full_matrices and isinstance(a, Box) and not in_graph(a):
        return SVDResult(*map(a.constant, np.linalg.svd(values_of(a))))  # type: ignore[attr-defined]  # every box has it
    if full_matrices and np.shape(a)[-1] != np.shape(a)[-2]:
        raise NotSupportedError(
            f"np.linalg.svd of a tensor of shape {np.shape(a)} with full_matrices=True has columns that its input does "
            f"not determine; write np.linalg.svd(a, full_matrices=False)"
        )
    return SVDResult(*thin_svd(a))
