"""QR decompositions: orthonormal columns and a triangle. Stacks of matrices throughout."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjoint.core.backend import beside
from adjoint.core.box import Box
from adjoint.core.constructors import composite, general
from adjoint.core.errors import NotSupportedError
from adjoint.core.memory import axes_by, in_order, lies
from adjoint.core.op import call
from adjoint.core.protocol import in_graph
from adjoint.core.types import Array, Value
from adjoint.ops.linalg.lapack import hermitian
from adjoint.ops.linalg.matrices import diagonal_matrix, diagonals
from adjoint.ops.values import values_of


class QRResult(NamedTuple):
    """Orthonormal columns, and an upper triangle."""

    Q: Array
    R: Array


def _qr_cotangent(g: Array, out: Array) -> Array:
    """S. Walter and L. Lehmann, Algorithmic differentiation of linear algebra functions, 2010."""
    (gq, gr), (q, r) = g, out
    m = np.matmul(r, hermitian(gr)) - np.matmul(hermitian(gq), q)
    below = np.tril(m, -1)
    middle = below + hermitian(below) + diagonal_matrix(np.real(np.diagonal(m, axis1=-2, axis2=-1)))
    return _divided(gq + np.matmul(q, middle), hermitian(r))


def _divided(x: Array, r: Array) -> Array:
    """``x @ r⁻¹``, for each matrix of a stack; nan where the triangle `r` has no inverse."""
    independent = np.all(np.diagonal(r, axis1=-2, axis2=-1), axis=-1)[..., None, None]
    r = np.where(independent, r, beside(r, np.eye(np.shape(r)[-1]).astype(r.dtype)))
    return np.where(independent, hermitian(np.linalg.solve(hermitian(r), hermitian(x))), np.nan)


def _qr_tangents(t: Array, out: Array) -> tuple[Array, Array]:
    q, r = out
    w = _divided(t, r)
    m = np.matmul(hermitian(q), w)
    below = np.tril(m, -1)
    turn = below - hermitian(below)
    if m.dtype.kind == "c":  # the diagonal of r stays real
        turn = turn + diagonal_matrix(1j * np.imag(diagonals(m)))
    return w + np.matmul(q, turn - m), np.matmul(m - turn, r)


@general(
    vjp=_qr_cotangent,
    jvp=_qr_tangents,
    multiple=True,
    batch="leading",
    samples=lambda r: [call(r(4, 3)), call(r(2, 3, 3))],
)
def tall_qr(a: Array, /) -> Array:
    return tuple(np.linalg.qr(a))


@composite(
    np.linalg.qr,
    samples=lambda r: [call(r(4, 3)), call(r(2, 4)), call(r(2, 3, 2)), call(r(3, 2), "r"), call(r(3, 3), "complete")],
    errors=lambda r: [call(r(3, 2), "complete"), call(r(3)), call(r(3, 2), "raw")],
)
def qr(a: Array, mode: str = "reduced") -> Array:
    """`numpy.linalg.qr`, where the first columns are independent."""
    if np.ndim(a) < 2:
        raise np.linalg.LinAlgError(f"np.linalg.qr takes matrices, alone or in a stack; got shape {np.shape(a)}")
    if isinstance(a, Box) and not in_graph(a):
        found: Value = np.linalg.qr(values_of(a), mode)  # type: ignore[call-overload]  # any str
        return QRResult(*map(a.constant, found)) if isinstance(found, tuple) else a.constant(found)  # type: ignore[attr-defined]  # every box has it
    m, n = np.shape(a)[-2:]
    if mode not in ("reduced", "r", "complete") or (mode == "complete" and m > n):
        raise NotSupportedError(
            f"np.linalg.qr(mode={mode!r}) of a tensor of shape {np.shape(a)} has columns or a form that its input does "
            f"not determine; use mode='reduced'"
        )
    q, r = tall_qr(a[..., :m] if m < n else a)
    if m < n:
        r = np.concatenate([r, np.matmul(hermitian(q), a[..., m:])], axis=-1)
        if isinstance(model := lies(a), np.ndarray) and not (like := np.triu(model)).flags.c_contiguous:
            r = in_order(r, axes_by("K", like))
    return r if mode == "r" else QRResult(q, r)
