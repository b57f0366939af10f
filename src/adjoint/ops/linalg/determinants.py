"""Determinants, with their signs and logarithms. Stacks of matrices throughout.

Where a rule comes from: M. Giles, Collected matrix derivative results for forward and reverse mode, 2008.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjoint.core.backend import beside, in_turns, is_foreign, maybe_any, surely_all, surely_any
from adjoint.core.box import goes_back, raw, varies
from adjoint.core.constructors import composite, general
from adjoint.core.op import call
from adjoint.core.protocol import detached
from adjoint.core.rules.pullbacks import shape_of
from adjoint.core.types import Array
from adjoint.ops.linalg.factors.gaps import unsteady
from adjoint.ops.linalg.factors.lu import lu_cotangent, lu_of, lu_tangent
from adjoint.ops.linalg.lapack import conj, hermitian, routine, unused, well_posed
from adjoint.ops.linalg.minors import minors


def _in_rows(inverse: Array) -> Array:
    """The Hermitian transpose of an inverse, in C order as the factors of LAPACK give it."""
    return np.copy(hermitian(inverse), order="C")


def _by_inverse(a: Array, det: Array) -> bool:
    """Whether det(a) a^-1 gives the cofactors: to first order of regular matrices, to higher ones far from singular."""
    if type(a) is np.ndarray and isinstance(det, np.ndarray | np.generic):
        return bool(det.all())
    values, size = raw(a), np.abs(raw(det))
    if is_foreign(values) or in_turns(det):
        return not surely_any(size == 0)
    return surely_all(~_is_small(size, values))


def _is_small(size: Array, a: Array) -> Array:
    """Whether a determinant of this size is small beside Hadamard's bound for `a`; no of nan."""
    lengths = np.sqrt(np.sum(np.square(np.abs(a)), axis=-1))
    return size <= 1e-4 * np.prod(lengths, axis=-1)


def _det_cotangent(g: Array, a: Array, out: Array) -> Array:
    if not _by_inverse(a, out):
        return g[..., None, None] * conj(minors(a))
    inverse = _inverse_in_turns(a, out) if in_turns(out) else np.linalg.inv(a)
    return g[..., None, None] * (conj(out)[..., None, None] * _in_rows(inverse))


def _sum_of_products(a: Array, t: Array) -> Array:
    return np.sum(a * t, axis=(-2, -1))


def _det_tangent(t: Array, a: Array, out: Array) -> Array:
    if not _by_inverse(a, out):
        return _sum_of_products(minors(a), t)
    return out * _sum_of_products(np.matrix_transpose(np.linalg.inv(a)), t)


@general(
    vjp=_det_cotangent,
    jvp=_det_tangent,
    batch="leading",
    samples=lambda r: [call(r(2, 3, 3)), call(r(2, 2, 2) + 1j * r(2, 2, 2))],
)
def stacked_det(a: Array, /) -> Array:
    return np.linalg.det(a)


def _inverse(a: Array, lu: Array, pivots: Array) -> Array:
    """That of the Hermitian transpose, by the factors that there are; where those vary, by the matrix itself."""
    if not isinstance(lu, np.ndarray) or not isinstance(pivots, np.ndarray) or not lu.size:
        return _in_rows(np.linalg.inv(a))
    inverse, singular = routine("getri", lu.dtype)(lu, pivots.astype(np.int32), lwork=64 * lu.shape[0])
    if singular:
        raise np.linalg.LinAlgError("Singular matrix")
    return hermitian(inverse)


def _sign_of(lu: Array, pivots: Array) -> Array:
    """The sign, or phase, of the determinant."""
    d = lu.diagonal()
    odd = np.count_nonzero(pivots != np.arange(len(pivots))) % 2
    signs = d / np.where(d == 0, 1, np.abs(d))
    sign = np.prod(signs if d.dtype.kind == "c" else np.where(np.isnan(d), 1.0, signs))  # as NumPy
    return -sign if odd else sign


def _det_keeping(g: Array, a: Array, out: Array) -> Array:
    (g_det, g_lu, _), (det, lu, pivots) = g, out
    if not _by_inverse(a, det):
        c = g_det * conj(minors(a))
    elif in_turns(det):
        c = g_det * (conj(det) * _in_rows(_inverse_in_turns(a, det)))
    else:
        c = g_det * (conj(det) * _inverse(a, lu, pivots))
    return c if unused(g_lu) else c + lu_cotangent(g_lu, lu, pivots)


def _det_keeping_tangent(t: Array, a: Array, out: Array) -> Array:
    return _det_tangent(t, a, out[0]), lu_tangent(t, out[1], out[2]), None


@general(
    vjp=_det_keeping,
    jvp=_det_keeping_tangent,
    multiple=True,
    samples=lambda r: [call(well_posed(r, 3, 3)), call(r(2, 2) + 1j * r(2, 2))],
    flags=("host",),
)
def det_keeping_factors(a: Array, /) -> Array:
    """The determinant, and the factors that its gradient needs again."""
    lu, pivots = lu_of(a)
    odd = np.count_nonzero(pivots != np.arange(len(pivots))) % 2
    det = np.prod(lu.diagonal())
    return -det if odd else det, lu, pivots  # of the same dtype


@composite(
    np.linalg.det,
    samples=lambda r: [
        call(r(3, 3)),
        call(r(2, 3, 3)),
        call(r(1, 1)),
        call(np.outer(r(3), r(3))),
        call(r(2, 2) + 1j * r(2, 2)),
    ],
    errors=lambda r: [call(r(2, 3)), call(r(3))],
)
def det(a: Array) -> Array:
    """`numpy.linalg.det`; where it is 0, the gradient is the matrix of cofactors."""
    shape = shape_of(a)
    keeping = len(shape) == 2 and shape[0] == shape[1] and goes_back(a) and not varies(a)
    return det_keeping_factors(a)[0] if keeping else stacked_det(a)


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Array
    logabsdet: Array


def _slogdet_factor(g: Array, a: Array, sign: Array) -> Array:
    gs, gl = g[:2]
    return gl - 1j * np.imag(np.conj(gs) * sign) if a.dtype.kind == "c" else gl


def _slogdet_tangents(t: Array, a: Array, out: Array) -> tuple[Array, Array]:
    turn = _sum_of_products(np.matrix_transpose(inverse_or_nan(a)), t)
    if a.dtype.kind == "c":
        return out[0] * (1j * np.imag(turn)), np.real(turn)
    return np.zeros_like(turn), turn


def _slogdet_cotangent(g: Array, a: Array, out: Array) -> Array:
    if a.dtype.kind != "c" and unused(g[1]):
        return np.zeros_like(a)  # a sign does not change
    return _slogdet_factor(g, a, out[0])[..., None, None] * _in_rows(inverse_or_nan(a))


@general(
    jvp=_slogdet_tangents,
    vjp=_slogdet_cotangent,
    multiple=True,
    batch="leading",
    samples=lambda r: [call(well_posed(r, 2, 3, 3)), call(well_posed(r, 2, 2) + 1j * r(2, 2))],
)
def sign_and_logdet(a: Array, /) -> Array:
    return tuple(np.linalg.slogdet(a))


def _slogdet_keeping(g: Array, a: Array, out: Array) -> Array:
    sign, _, lu, pivots = out
    if a.dtype.kind != "c" and unused(g[1]) and unused(g[2]):
        return np.zeros_like(a)
    if in_turns(sign) and a.shape[-1]:
        inverse = _in_rows(_inverse_unless(np.equal(detached(sign), 0), a))
    elif np.any(raw(sign)) or not a.shape[-1]:
        inverse = _inverse(a, lu, pivots)
    else:
        inverse = np.full(np.shape(a), np.nan, a.dtype)
    c = _slogdet_factor(g, a, sign) * inverse
    return c if unused(g[2]) else c + lu_cotangent(g[2], lu, pivots)


@general(
    vjp=_slogdet_keeping,
    jvp=lambda t, a, out: (*_slogdet_tangents(t, a, out), lu_tangent(t, out[2], out[3]), None),
    multiple=True,
    samples=lambda r: [call(well_posed(r, 3, 3)), call(well_posed(r, 2, 2) + 1j * r(2, 2))],
    flags=("host",),
)
def slogdet_keeping_factors(a: Array, /) -> Array:
    """Sign and logarithm, and the factors that their gradient needs again."""
    lu, pivots = lu_of(a)
    with np.errstate(divide="ignore"):
        logarithm = np.sum(np.log(np.abs(lu.diagonal())))
    sign = _sign_of(lu, pivots)
    return (sign if logarithm != -np.inf else sign * 0), logarithm, lu, pivots


@composite(
    np.linalg.slogdet,
    samples=lambda r: [call(r(3, 3)), call(r(2, 3, 3)), call(well_posed(r, 2, 2) + 1j * r(2, 2))],
    errors=lambda r: [call(r(2, 3))],
)
def slogdet(a: Array) -> SlogdetResult:
    shape = shape_of(a)
    if len(shape) == 2 and shape[0] == shape[1] and goes_back(a) and not varies(a):
        return SlogdetResult(*slogdet_keeping_factors(a)[:2])
    return SlogdetResult(*sign_and_logdet(a))


def inverse_or_nan(x: Array) -> Array:
    singular = np.equal(detached(np.linalg.slogdet(x)[0]), 0)[..., None, None]
    if not maybe_any(singular):
        return np.linalg.inv(x)
    return _inverse_unless(singular, x)


def _inverse_in_turns(a: Array, det: Array) -> Array:
    """The inverse for the first derivative of a determinant. Where nan, or its derivative, comes of it, a loop ends."""
    det = detached(det)[..., None, None]
    small = _is_small(np.abs(det), detached(a)[..., None, None, :, :])
    return unsteady(_inverse_unless(np.equal(det, 0), a), np.where(small, 1, 0))


def _inverse_unless(singular: Array, x: Array) -> Array:
    """The inverse of a matrix; nan where it is singular, which in the turns of a loop gives them up."""
    return np.where(singular, np.nan, np.linalg.inv(np.where(singular, beside(x, np.eye(np.shape(x)[-1])), x)))
