"""Eigenvalues and eigenvectors. Stacks of matrices throughout.

If eigenvalues are equal, up to rounding, the vectors have no derivative, and a gradient through them is nan; the values
do have one.
A decomposition leaves some things free (a vector's sign or phase). The result must not depend on these, or its gradient
means nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjoint.core.box import goes_back
from adjoint.core.constructors import composite, general
from adjoint.core.op import call
from adjoint.core.types import Array, Value
from adjoint.ops.linalg.factors.gaps import divided, gaps_between, turned
from adjoint.ops.linalg.factors.phases import phase_cotangent, phase_tangent, real_in_eig, real_in_eigh
from adjoint.ops.linalg.lapack import conj, hermitian, unused
from adjoint.ops.linalg.matrices import (
    as_hermitian,
    complex_positive,
    diagonal_matrix,
    diagonals,
    hermitian_part,
    positive,
)


class EighResult(NamedTuple):
    """Eigenvalues in rising order, and the eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    """Eigenvalues, and the eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


def _eigh_cotangent(g: Array, out: Array, uplo: Value) -> Array:
    (gw, gv), (w, v) = g, out
    if unused(gv):
        return np.matmul(v * gw[..., None, :], hermitian(v))
    gv = phase_cotangent(gv, v, real_in_eigh(v, uplo))
    turns = np.matmul(hermitian(v), gv)
    inner = diagonal_matrix(gw) + divided((turns - hermitian(turns)) / 2, gaps_between(w), w, gw, gv)
    return hermitian_part(np.matmul(np.matmul(v, inner), hermitian(v)))


def _eigh_tangents(t: Array, out: Array, uplo: Value) -> tuple[Array, Array]:
    w, v = out
    inner = np.matmul(np.matmul(hermitian(v), hermitian_part(t)), v)
    tv = np.matmul(v, turned(inner, gaps_between(w), w))
    return np.real(diagonals(inner)), phase_tangent(tv, v, real_in_eigh(v, uplo))


@general(
    vjp=_eigh_cotangent,
    jvp=_eigh_tangents,
    multiple=True,
    batch="leading",
    samples=lambda r: [
        call(positive(r, 3, 3)),
        call(positive(r, 2, 3, 3)),
        call(positive(r, 3, 3) + 0.3j * np.tril(r(3, 3), -1)),
        call(positive(r, 3, 3) + 0.3j * np.triu(r(3, 3), 1), uplo="U"),
    ],
    flags=("raises",),
)
def symmetric_eigen(a: Array, /, uplo: Value = "L", scipys: Value = None) -> Array:
    w, v = np.linalg.eigh(hermitian_part(a), uplo)
    return (w, v) if scipys is None else (w, _turned_as_scipys(v, a, uplo, scipys))


def _turned_as_scipys(v: Array, a: Array, uplo: str, subset: tuple[int, ...]) -> Array:
    """The eigenvectors `v` with the signs of SciPy's, whose routine is another one of LAPACK's; all, or a `subset`."""
    from scipy.linalg import eigh

    turned = np.array(v)
    first, last = subset or (0, np.shape(v)[-1] - 1)
    for k in np.ndindex(np.shape(v)[:-2]):
        theirs = eigh(a[k], lower=uplo == "L", subset_by_index=subset or None)[1]
        along = np.real(np.sum(np.conj(turned[k][:, first : last + 1]) * theirs, axis=0))
        turned[k][:, first : last + 1] *= np.where(along < 0, -1.0, 1.0)
    return turned


def _eigvalsh_cotangent(g: Array, a: Array) -> Array:
    _, v = symmetric_eigen(a)
    return np.matmul(v * g[..., None, :], hermitian(v))


def _eigvalsh_tangent(t: Array, a: Array) -> Array:
    _, v = symmetric_eigen(a)
    return np.real(np.sum(np.conj(v) * np.matmul(hermitian_part(t), v), axis=-2))


@general(
    vjp=_eigvalsh_cotangent,
    jvp=_eigvalsh_tangent,
    batch="leading",
    samples=lambda r: [call(positive(r, 3, 3)), call(positive(r, 2, 3, 3))],
    flags=("raises",),
)
def symmetric_eigenvalues(a: Array, /, uplo: Value = "L") -> Array:
    return np.linalg.eigvalsh(hermitian_part(a), uplo)


@composite(
    np.linalg.eigh,
    samples=lambda r: [call(positive(r, 3, 3)), call(positive(r, 2, 3, 3), "U")],
    errors=lambda r: [call(r(2, 3)), call(positive(r, 2, 2), "X")],
)
def eigh(a: Array, UPLO: str = "L") -> EighResult:  # noqa: N803 - NumPy's name
    """Eigenvalues and eigenvectors of the Hermitian part of `a`, so that the gradient is Hermitian too."""
    return EighResult(*symmetric_eigen(as_hermitian("eigh", a, UPLO), uplo=UPLO))


@composite(
    np.linalg.eigvalsh,
    samples=lambda r: [call(positive(r, 3, 3)), call(positive(r, 2, 3, 3)), call(complex_positive(r, 3))],
    errors=lambda r: [call(r(2, 3))],
)
def eigvalsh(a: Array, UPLO: str = "L") -> Array:  # noqa: N803 - NumPy's name
    """Eigenvalues of the Hermitian part of `a`; where some are equal, the gradient is still finite."""
    a = as_hermitian("eigvalsh", a, UPLO)
    # The gradient takes the vectors; they cost less now than later.
    return symmetric_eigen(a, uplo=UPLO)[0] if goes_back(a) else symmetric_eigenvalues(a, uplo=UPLO)


def _eig_cotangent(g: Array, out: Array) -> Array:
    """C. Boeddeker et al., On the computation of complex-valued gradients, 2017, section 4.3; columns have length 1."""
    (gw, gv), (w, v) = g, out
    vh = hermitian(v)
    inner = diagonal_matrix(gw)
    if not unused(gv):
        gv = phase_cotangent(gv, v, real_in_eig(v))
        along = np.real(np.sum(np.conj(v) * gv, axis=-2))
        turns = np.matmul(vh, gv) - np.matmul(vh, v) * along[..., None, :]
        inner = inner + divided(turns, conj(gaps_between(w)), w, gw, gv)
    return np.linalg.solve(vh, np.matmul(inner, vh))


def _eig_tangents(t: Array, out: Array) -> tuple[Array, Array]:
    w, v = out
    inner = np.linalg.solve(v, np.matmul(t, v))
    tv = np.matmul(v, turned(inner, gaps_between(w), w))
    along = np.real(np.sum(np.conj(v) * tv, axis=-2, keepdims=True))  # the length stays 1
    return diagonals(inner), phase_tangent(tv - v * along, v, real_in_eig(v))


@general(
    vjp=_eig_cotangent,
    jvp=_eig_tangents,
    multiple=True,
    batch="leading",
    samples=lambda r: [
        call(r(3, 3) / 8 + np.diag([1.0, 2.0, 4.0])),
        call((r(3, 3) + 1j * r(3, 3)) / 8 + np.diag([1.0, 2.0, 4.0])),
    ],
    flags=("raises",),
)
def eigen(a: Array, /) -> Array:
    return tuple(np.linalg.eig(a))


@composite(
    np.linalg.eig, samples=lambda r: [call(r(3, 3) / 8 + np.diag([1.0, 2.0, 4.0]))], errors=lambda r: [call(r(2, 3))]
)
def eig(a: Array) -> EigResult:
    """`numpy.linalg.eig`. Each eigenvector has length 1, and its largest component is real."""
    return EigResult(*eigen(a))


@composite(np.linalg.eigvals, samples=lambda r: [call(r(3, 3)), call(r(2, 2, 2) + 1j * r(2, 2, 2))])
def eigvals(a: Array) -> Array:
    return eigen(a)[0]
