"""Linear algebra: solving, inverses, determinants, and the functions built on them. Stacks of matrices throughout.

Where a rule comes from: M. Giles, Collected matrix derivative results for forward and reverse mode, 2008.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint.core.backend import beside, maybe_any, surely_any
from adjoint.core.box import Box, goes_back, raw, varies
from adjoint.core.constructors import composite, constant, general
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.memory import axes_by, in_order, lies
from adjoint.core.op import call
from adjoint.core.protocol import detached
from adjoint.core.pullbacks import shape_of, unbroadcast
from adjoint.core.types import Array, Axis, DType
from adjoint.ops.factors import (
    common,
    conj,
    hermitian,
    lu_cotangent,
    lu_of,
    lu_solved,
    lu_tangent,
    routine,
    unused,
    well_posed,
)
from adjoint.ops.linear import vecdot
from adjoint.ops.shape import lined_up


def ranks(*xs: Array, **settings: Any) -> Array:
    """The ranks of a stack of matrices."""
    return np.linalg.matrix_rank(*xs, **settings)


(_ranks,) = constant(ranks, batch=lambda xs, settings: ranks(*xs, **settings))


@composite(np.linalg.matrix_rank, samples=lambda r: [call(r(3, 3)), call(r(3))], flags=("constant",))
def matrix_rank(A: Array, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Array:  # noqa: N803 - NumPy's name
    if np.ndim(A) > 1:
        given = {"tol": tol, "hermitian": hermitian or None, "rtol": rtol}
        return _ranks(A, **{name: setting for name, setting in given.items() if setting is not None})
    found: Any = np.any(A)  # a vector's is 1, unless it is 0: one of Python's numbers
    return found.astype(int).of_python() if isinstance(found, Box) else int(found)  # type: ignore[attr-defined]  # every box has both


def _solve_a(g: Array, a: Array, b_shape: Any, out: Array) -> Array:
    if len(b_shape) == 1:
        c = -np.linalg.solve(hermitian(a), g[..., None]) * np.conj(out)[..., None, :]
    else:
        c = -np.matmul(np.linalg.solve(hermitian(a), g), hermitian(out))
    return c if c.shape == np.shape(a) else unbroadcast(c, np.shape(a))


def _solve_b(g: Array, a: Array, b_shape: Any) -> Array:
    vector = len(b_shape) == 1
    c = np.linalg.solve(hermitian(a), g[..., None] if vector else g)
    c = c[..., 0] if vector else c
    return c if c.shape == b_shape else unbroadcast(c, b_shape)


def _solve_tangent_a(t: Array, a: Array, b_shape: Any, out: Array) -> Array:
    if len(b_shape) == 1:
        return np.linalg.solve(a, np.matmul(-t, out[..., None]))[..., 0]
    return np.linalg.solve(a, np.matmul(-t, out))


def _solved_each(a: Array, b: Array, stacked: tuple[bool, ...], n: int) -> Array:
    vector = np.ndim(b) - stacked[1] == 1
    columns = b[..., None] if vector else b
    if not stacked[0] and np.ndim(a) == 2 and np.ndim(columns) == 3:  # one matrix, for all samples' columns
        beside = np.reshape(np.moveaxis(columns, 0, 1), (columns.shape[1], -1))
        x = np.moveaxis(np.reshape(np.linalg.solve(a, beside), (columns.shape[1], n, -1)), 1, 0)
    else:
        x = np.linalg.solve(*lined_up((a, columns), stacked))
    return x[..., 0] if vector else x


@general(
    vjps=(_solve_a, _solve_b),
    batch=_solved_each,
    jvps=(_solve_tangent_a, lambda t, a: np.linalg.solve(a, t)),
    samples=lambda r: [
        call(well_posed(r, 2, 3, 3), r(3)),
        call(well_posed(r, 3, 3), r(2, 3, 1)),
        call(well_posed(r, 2, 3, 3) + 1j * r(2, 3, 3), r(2, 3, 1)),
    ],
    flags=("raises",),
)
def stacked_solve(a: Array, b: Array, /) -> Array:
    return np.linalg.solve(a, b)


def _solved_cotangents(g: Array, arrays: Array, out: Array, needs: Any) -> list[Array]:
    """By the factors that there are; where those vary, by the matrix itself."""
    a, (x, lu, pivots), (gx, g_lu, _) = arrays[0], out, g
    if isinstance(lu, np.ndarray) and isinstance(pivots, np.ndarray):
        h = lu_solved(lu, gx, pivots=pivots, trans=2)
    else:
        h = np.linalg.solve(hermitian(a), gx)
    if 0 not in needs:
        return [None, h]
    c = (-h)[:, None] * conj(x) if len(x.shape) == 1 else np.matmul(-h, hermitian(x))
    return [c if unused(g_lu) else c + lu_cotangent(g_lu, lu, pivots), h]


def _solved_tangents(t: Array, arrays: Array, out: Array) -> Array:
    (ta, tb), a, (x, lu, pivots) = t, arrays[0], out
    if ta is not None:
        share = np.matmul(-ta, x)
        tb = share if tb is None else share + tb
    plain = isinstance(lu, np.ndarray) and isinstance(pivots, np.ndarray)
    tx = lu_solved(lu, tb, pivots=pivots) if plain else np.linalg.solve(a, tb)
    return tx, None if ta is None else lu_tangent(ta, lu, pivots), None


@general(
    vjp=_solved_cotangents,
    jvp=_solved_tangents,
    multiple=True,
    samples=lambda r: [
        call(well_posed(r, 3, 3), r(3, 2)),
        call(well_posed(r, 3, 3), r(3)),
        call(well_posed(r, 2, 2) + 1j * r(2, 2), r(2, 1) + 1j * r(2, 1)),
    ],
    flags=("raises",),
)
def solve_keeping_factors(*arrays: Array) -> Array:
    """The solution `x` of ``a @ x = b`` for `arrays` a and b, and the factors that its gradient needs again."""
    a, b = arrays
    lu, pivots = lu_of(np.asarray(a, common(a, b)))
    if not lu.diagonal().all():
        raise np.linalg.LinAlgError("Singular matrix")
    return lu_solved(lu, b, pivots=pivots), lu, pivots


@composite(
    np.linalg.solve,
    samples=lambda r: [
        call(well_posed(r, 3, 3), r(3)),
        call(well_posed(r, 3, 3), r(3, 2)),
        call(well_posed(r, 2, 3, 3), r(3)),
        call(well_posed(r, 3, 3), r(2, 3, 1)),
        call(well_posed(r, 2, 3, 3) + 1j * r(2, 3, 3), r(2, 3, 1)),
    ],
    errors=lambda r: [call(np.ones((2, 2)), r(2)), call(r(2, 3), r(2)), call(well_posed(r, 3, 3), r(2))],
)
def solve(a: Array, b: Array) -> Array:
    """`numpy.linalg.solve`; of one matrix, the gradient takes the factors that the solution was found with."""
    shape, right = shape_of(a), shape_of(b)
    square = len(shape) == 2 and shape[0] == shape[1] and len(right) in (1, 2) and right[0] == shape[0]
    if square and goes_back(a, b) and not (varies(a) or varies(b)):
        return solve_keeping_factors(a, b)[0]
    return stacked_solve(a, b)


@general(
    np.linalg.inv,
    vjp=lambda g, out: -np.matmul(np.matmul(hermitian(out), g), hermitian(out)),
    jvp=lambda t, out: np.matmul(np.matmul(-out, t), out),
    batch="leading",
    samples=lambda r: [
        call(well_posed(r, 3, 3)),
        call(well_posed(r, 2, 3, 3)),
        call(well_posed(r, 2, 2) + 1j * r(2, 2)),
    ],
    errors=lambda r: [call(np.ones((2, 2))), call(r(2, 3))],
    flags=("raises",),
)
def inv(a: Array, /) -> Array:
    return np.linalg.inv(a)


def _cofactors(a: Array) -> Array:
    """The matrix of signed minors: the derivative of the determinant, singular or not."""
    n = np.shape(a)[-1]
    others = np.array([[k for k in range(n) if k != i] for i in range(n)], int).reshape(n, n - 1)
    rows = []
    for i in range(n):
        left = a[..., others[i], :]
        minors = np.stack([np.linalg.det(left[..., others[j]]) for j in range(n)], axis=-1)
        rows.append(minors * beside(a, (-1.0) ** np.arange(i, i + n)))
    return np.stack(rows, axis=-2)


def _det_cotangent(g: Array, a: Array, out: Array) -> Array:
    if surely_any(raw(out) == 0):
        return g[..., None, None] * conj(_cofactors(a)).astype(a.dtype)
    return (g * conj(out))[..., None, None] * hermitian(np.linalg.inv(a))


def _sum_of_products(a: Array, t: Array) -> Array:
    return np.sum(a * t, axis=(-2, -1))


def _det_tangent(t: Array, a: Array, out: Array) -> Array:
    if surely_any(raw(out) == 0):
        return _sum_of_products(_cofactors(a), t)
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
    """The inverse, by the factors that there are; where those vary, by the matrix itself."""
    if not isinstance(lu, np.ndarray) or not isinstance(pivots, np.ndarray) or not lu.size:
        return np.linalg.inv(a)
    inverse, singular = routine("getri", lu.dtype)(lu, pivots.astype(np.int32), lwork=64 * lu.shape[0])
    if singular:
        raise np.linalg.LinAlgError("Singular matrix")
    return inverse


def _sign_of(lu: Array, pivots: Array) -> Array:
    """The sign, or phase, of the determinant."""
    d = lu.diagonal()
    odd = np.count_nonzero(pivots != np.arange(len(pivots))) % 2
    sign = np.prod(d / np.where(d == 0, 1, np.abs(d)))
    return -sign if odd else sign


def _det_keeping(g: Array, a: Array, out: Array) -> Array:
    (g_det, g_lu, _), (det, lu, pivots) = g, out
    singular = np.equal(det, 0)
    c = g_det * conj(_cofactors(a)) if singular else (g_det * conj(det)) * hermitian(_inverse(a, lu, pivots))
    return c if unused(g_lu) else c + lu_cotangent(g_lu, lu, pivots)


def _det_keeping_tangent(t: Array, a: Array, out: Array) -> Array:
    return _det_tangent(t, a, out[0]), lu_tangent(t, out[1], out[2]), None


@general(
    vjp=_det_keeping,
    jvp=_det_keeping_tangent,
    multiple=True,
    samples=lambda r: [call(well_posed(r, 3, 3)), call(r(2, 2) + 1j * r(2, 2))],
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

    sign: Any
    logabsdet: Any


def _slogdet_factor(g: Array, a: Array, sign: Any) -> Array:
    gs, gl = g[:2]
    return gl - 1j * np.imag(np.conj(gs) * sign) if a.dtype.kind == "c" else gl


def _slogdet_tangents(t: Array, a: Array, out: Array) -> tuple[Array, Array]:
    turn = _sum_of_products(np.matrix_transpose(np.linalg.inv(a)), t)
    if a.dtype.kind == "c":
        return out[0] * (1j * np.imag(turn)), np.real(turn)
    return np.zeros_like(turn), turn


@general(
    jvp=_slogdet_tangents,
    vjp=lambda g, a, out: _slogdet_factor(g, a, out[0])[..., None, None] * hermitian(_inverse_or_nan(a)),
    multiple=True,
    batch="leading",
    samples=lambda r: [call(well_posed(r, 2, 3, 3)), call(well_posed(r, 2, 2) + 1j * r(2, 2))],
)
def sign_and_logdet(a: Array, /) -> Array:
    return tuple(np.linalg.slogdet(a))


def _slogdet_keeping(g: Array, a: Array, out: Array) -> Array:
    sign, _, lu, pivots = out
    inverse = _inverse(a, lu, pivots) if np.any(raw(sign)) or not a.shape[-1] else np.full(np.shape(a), np.nan, a.dtype)
    c = _slogdet_factor(g, a, sign) * hermitian(inverse)
    return c if unused(g[2]) else c + lu_cotangent(g[2], lu, pivots)


@general(
    vjp=_slogdet_keeping,
    jvp=lambda t, a, out: (*_slogdet_tangents(t, a, out), lu_tangent(t, out[2], out[3]), None),
    multiple=True,
    samples=lambda r: [call(well_posed(r, 3, 3)), call(well_posed(r, 2, 2) + 1j * r(2, 2))],
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


@composite(
    np.linalg.cond,
    flags=("number",),
    samples=lambda r: [call(r(3, 3)), call(r(2, 4, 3)), *(call(r(3, 3), p=p) for p in (2, -2, 1, np.inf, "fro"))],
    errors=lambda r: [call(r(3))],
)
def cond(x: Array, p: Array = None) -> Array:
    if np.ndim(x) < 2:
        raise ArgumentError(f"np.linalg.cond takes a matrix or a stack of them; got {np.ndim(x)} dimension(s)")
    if 0 in np.shape(x)[-2:]:
        raise np.linalg.LinAlgError(f"np.linalg.cond is not defined on empty arrays; got shape {np.shape(x)}")
    axes = (-2, -1)
    if p is None or p in (2, -2):
        lost = np.logical_not(np.all(np.isfinite(x), axis=axes))
        if surely_any(lost):
            np.linalg.cond(raw(x), p)  # which raises for nan before NumPy 2.5
        s = np.linalg.svdvals(np.where(lost[..., None, None], 1.0, x) if maybe_any(lost) else x)
        result = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
        result = np.where(lost, np.nan, 1.0) * result if maybe_any(lost) else result
    else:
        result = np.linalg.norm(x, p, axis=axes) * np.linalg.norm(_inverse_or_nan(x), p, axis=axes)
    hopeless = np.logical_and(np.isnan(result), ~np.any(np.isnan(x), axis=axes))  # singular, or infinite
    return np.where(hopeless, np.inf, result) if maybe_any(hopeless) else result


def _inverse_or_nan(x: Array) -> Array:
    singular = np.equal(detached(np.linalg.slogdet(x)[0]), 0)[..., None, None]
    if not maybe_any(singular):
        return np.linalg.inv(x)
    return np.where(singular, np.nan, np.linalg.inv(np.where(singular, beside(x, np.eye(np.shape(x)[-1])), x)))


@composite(
    np.linalg.matrix_power,
    samples=lambda r: [call(r(3, 3), 3), call(well_posed(r, 2, 2, 2), -2), call(r(2, 2), 1), call(r(2, 2), 0)],
    errors=lambda r: [call(r(2, 3), 2), call(r(2, 2), 0.5)],
)
def matrix_power(a: Array, n: int) -> Array:
    """`a` to the power `n`, by repeated squaring."""
    if np.ndim(a) < 2 or np.shape(a)[-1] != np.shape(a)[-2]:
        raise ShapeError(f"np.linalg.matrix_power takes square matrices; got shape {np.shape(a)}")
    if not isinstance(n, int | np.integer):
        raise TypeError(f"np.linalg.matrix_power: the power must be a whole number; got {n!r}")
    if n == 0:
        eye = beside(a, np.eye(np.shape(a)[-1], dtype=a.dtype))
        return in_order((a * 0 + eye).astype(a.dtype), axes_by("K", lies(a)))
    a = np.linalg.inv(a) if n < 0 else a
    result: Any = None
    n, dtype = abs(n), a.dtype
    while True:
        if n & 1:
            result = a if result is None else np.matmul(result, a)
        n >>= 1
        if not n:
            return result if result.dtype == dtype else result.astype(dtype)
        a = np.matmul(a, a)


@composite(np.linalg.tensorinv, samples=lambda r: [call(r(2, 3, 6)), call(r(6, 2, 3), ind=1)])
def tensorinv(a: Array, ind: int = 2) -> Array:
    if ind < 1:
        raise ArgumentError(f"np.linalg.tensorinv: ind must be positive; got {ind}")
    shape = np.shape(a)
    flat = np.reshape(a, (int(np.prod(shape[:ind])), -1))
    return np.reshape(np.linalg.inv(flat), shape[ind:] + shape[:ind])


@composite(np.linalg.tensorsolve, samples=lambda r: [call(r(2, 3, 6), r(2, 3)), call(r(2, 6, 3), r(2, 3), (1,))])
def tensorsolve(a: Array, b: Array, axes: Axis = None) -> Array:
    if axes is not None:
        a = np.moveaxis(a, axes, range(np.ndim(a) - len(axes), np.ndim(a)))
    shape = np.shape(a)[np.ndim(b) :]
    flat = np.reshape(a, (np.size(b), int(np.prod(shape))))
    return np.reshape(np.linalg.solve(flat, np.ravel(b)), shape)


# The array API's spellings, in numpy.linalg, of what numpy has under other rules.


@composite(np.linalg.cross, samples=lambda r: [call(r(2, 3), r(2, 3)), call(r(3, 2), r(3, 2), axis=0)])
def linalg_cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    return np.cross(x1, x2, axis=axis)


@composite(np.linalg.outer, samples=lambda r: [call(r(3), r(2))], errors=lambda r: [call(r(2, 2), r(2))])
def linalg_outer(x1: Array, x2: Array, /) -> Array:
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ShapeError(
            f"np.linalg.outer takes two vectors; got shapes {np.shape(x1)} and {np.shape(x2)}. np.outer flattens its "
            f"arguments"
        )
    return np.outer(x1, x2)


@composite(np.linalg.diagonal, samples=lambda r: [call(r(2, 3, 4)), call(r(3, 4), offset=1)])
def linalg_diagonal(x: Array, /, *, offset: int = 0) -> Array:
    return np.diagonal(x, offset, -2, -1)


@composite(np.linalg.trace, samples=lambda r: [call(r(2, 3, 4)), call(r(3, 4), offset=1)])
def linalg_trace(x: Array, /, *, offset: int = 0, dtype: DType = None) -> Array:
    return np.trace(x, offset, -2, -1, dtype)


@composite(np.linalg.matmul, samples=lambda r: [call(r(2, 3), r(3, 2))])
def linalg_matmul(x1: Array, x2: Array, /) -> Array:
    return np.matmul(x1, x2)


@composite(np.linalg.tensordot, samples=lambda r: [call(r(2, 3), r(3, 4), axes=1)])
def linalg_tensordot(x1: Array, x2: Array, /, *, axes: Axis = 2) -> Array:
    return np.tensordot(x1, x2, axes)


@composite(np.linalg.vecdot, samples=lambda r: [call(r(2, 3), r(3)), call(r(3, 2), r(3, 2), axis=0)])
def linalg_vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    return vecdot(x1, x2, axis=axis)


@composite(np.linalg.matrix_transpose, samples=lambda r: [call(r(2, 3, 4))])
def linalg_matrix_transpose(x: Array, /) -> Array:
    return np.matrix_transpose(x)
