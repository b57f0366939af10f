"""Least squares and the pseudo-inverse; their derivatives are those at constant rank.

Rules: G. Golub and V. Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems, 1973.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from adjoint.core.backend import beside, surely_all
from adjoint.core.box import raw
from adjoint.core.constructors import composite, general
from adjoint.core.errors import ShapeError
from adjoint.core.op import call
from adjoint.core.protocol import detached
from adjoint.core.types import Array, Value
from adjoint.ops.linalg.factors.svd import svd_cotangent, svd_tangents
from adjoint.ops.linalg.lapack import hermitian, single_at_least, unused

# Singular values below this share of the largest are taken for 0 and not for small numbers.
NOISE = 1e-8
adjoint_of = hermitian  # where an argument has that name


def _pinv_cotangent(g: Array, a: Array, out: Array) -> Array:
    ah, ph, gh = hermitian(a), hermitian(out), hermitian(g)
    pph, php = np.matmul(out, ph), np.matmul(ph, out)
    first = np.matmul(gh, pph)
    last = np.matmul(php, gh)
    return (
        first
        - np.matmul(ph, np.matmul(ah, first))
        + last
        - np.matmul(np.matmul(last, ah), ph)
        - np.matmul(np.matmul(ph, g), ph)
    )


def _pinv_tangent(t: Array, a: Array, out: Array) -> Array:
    th, ph = hermitian(t), hermitian(out)
    inner = np.matmul(np.matmul(out, ph), th)  # p p^H da^H (1 - a p) + (1 - p a) da^H p^H p - p da p
    last = np.matmul(th, np.matmul(ph, out))
    return (
        inner
        - np.matmul(np.matmul(inner, a), out)
        + last
        - np.matmul(out, np.matmul(a, last))
        - np.matmul(np.matmul(out, t), out)
    )


@general(
    vjp=_pinv_cotangent,
    jvp=_pinv_tangent,
    batch="leading",
    samples=lambda r: [call(r(4, 2)), call(r(2, 2, 3)), call(r(3, 2) + 1j * r(3, 2))],
    flags=("raises",),
)
def pseudo_inverse(a: Array, /, rcond: Value = None, hermitian: bool = False) -> Array:
    return np.linalg.pinv(a, rcond=rcond, hermitian=hermitian)


@composite(np.linalg.pinv, samples=lambda r: [call(r(4, 2)), call(r(2, 2, 3)), call(r(3, 2), rcond=1e-10)])
def pinv(a: Array, rcond: Value = None, hermitian: bool = False, *, rtol: object = None) -> Array:
    """`numpy.linalg.pinv`; its derivative is that at constant rank, or of the singular values that `rcond` keeps."""
    rtol = None if rtol is np._NoValue else rtol
    rcond = rcond if rtol is None else rtol
    stack = np.shape(a)[:-2]
    if rcond is not None and np.broadcast_shapes(np.shape(rcond), stack) != stack:
        raise ShapeError(f"np.linalg.pinv: rcond is one number a matrix, so of shape {stack}; got {np.shape(rcond)}")
    if rcond is not None and _drops(a, rcond):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.matmul(adjoint_of(vh) * _reciprocals(s, rcond)[..., None, :], adjoint_of(u))
    return pseudo_inverse(a, rcond=rcond, hermitian=hermitian)


def _drops(a: Array, rcond: Value) -> bool:
    """Whether `rcond` counts singular values of `a` as 0 that are more than noise: then its rank is not that of `a`."""
    if not np.size(a) or not np.any(raw(np.greater(rcond, NOISE))) or not surely_all(np.isfinite(a)):
        return False
    s = np.linalg.svdvals(detached(a))
    largest = s[..., :1]
    return bool(np.any(raw((s <= np.asarray(rcond)[..., None] * largest) & (s > NOISE * largest))))


def _reciprocals(s: Array, rcond: object) -> Array:
    """One over each singular value that counts."""
    kept = s > beside(s, np.asarray(rcond)[..., None]) * s[..., :1]
    return np.where(kept, 1 / np.where(kept, s, 1), 0).astype(s.dtype)


def _least_squares_cotangents(g: Array, arrays: Array, out: Array, needs: Value, rcond: float) -> list[Array]:
    """With p the pseudo-inverse and r = b - a x: dx = p (db - da x) + p p^H da^H r + (1 - p a) da^H p^H x."""
    (a, b), (x, u, s, vh), gx = arrays, out, g[0]
    if all(isinstance(part, np.ndarray) for part in (u, s, vh)):
        # p is the product of these two, from right to left; its conjugate transpose, from left to right.
        factors = [hermitian(vh) * _reciprocals(s, rcond), hermitian(u)]
    else:
        factors = [np.linalg.pinv(a, rcond)]

    def p(y: Array) -> Array:
        return reduce(lambda y, m: np.matmul(m, y), reversed(factors), y)

    def ph(y: Array) -> Array:
        return reduce(lambda y, m: np.matmul(hermitian(m), y), factors, y)

    gb = ph(gx)
    if 0 not in needs:
        return [None, gb]
    y, w, r, across = ph(x), p(gb), b - np.matmul(a, x), gx - p(np.matmul(a, gx))
    left, right = [-gb, r, y], [x, w, across]
    if len(x.shape) == 1:
        left, right = ([v[:, None] for v in side] for side in (left, right))
    c = np.matmul(np.concatenate(left, axis=-1), hermitian(np.concatenate(right, axis=-1)))
    return [c if all(map(unused, g[1:])) else c + svd_cotangent(g[1:], out[1:]), gb]


def _solved_each(arrays: Array, rcond: float) -> Array:
    a, b = arrays
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    vector = np.ndim(b) == 2
    y = np.matmul(hermitian(u), b[..., None] if vector else b)
    x = np.matmul(hermitian(vh), y * _reciprocals(s, rcond)[..., None])
    return (x[..., 0] if vector else x), u, s, vh


def _least_squares_tangents(t: Array, arrays: Array, out: Array, rcond: float) -> Array:
    """By the same formula."""
    (ta, tb), (a, b), (x, u, s, vh) = t, arrays, out
    p = np.matmul(hermitian(vh) * _reciprocals(s, rcond)[..., None, :], hermitian(u))
    if ta is None:
        return np.matmul(p, tb), None, None, None
    th, ph, r = hermitian(ta), hermitian(p), b - np.matmul(a, x)
    across = np.matmul(th, np.matmul(ph, x))
    share = np.matmul(p, np.matmul(ph, np.matmul(th, r)) - np.matmul(ta, x) - np.matmul(a, across)) + across
    return share if tb is None else share + np.matmul(p, tb), *svd_tangents(ta, (u, s, vh))


@general(
    vjp=_least_squares_cotangents,
    jvp=_least_squares_tangents,
    batch=_solved_each,
    multiple=True,
    samples=lambda r: [
        call(r(4, 2), r(4), rcond=1e-9),
        call(r(4, 2), r(4, 3), rcond=1e-9),
        call(r(2, 4), r(2), rcond=1e-9),
    ],
    flags=("raises",),
)
def least_squares(*arrays: Array, rcond: float = 0.0) -> Array:
    """The solution of least norm for `arrays` a and b, and the singular values and vectors of a that gave it."""
    a, b = arrays
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    y = np.matmul(hermitian(u), b)
    weights = _reciprocals(s, rcond)
    return np.matmul(hermitian(vh), (y.T * weights).T), u, s, vh


@composite(
    np.linalg.lstsq,
    flags=("host",),
    samples=lambda r: [
        call(r(4, 2), r(4)),
        call(r(4, 2), r(4, 3)),
        call(r(2, 4), r(2)),
        call(r(3, 3), r(3), rcond=1e-9),
    ],
    errors=lambda r: [call(r(4, 2), r(3)), call(r(4), r(4))],
)
def lstsq(a: Array, b: Array, rcond: Value = None) -> Array:
    """`numpy.linalg.lstsq`: the solution, the residuals, the rank and the singular values."""
    a, b = (x if hasattr(x, "dtype") else np.asarray(x) for x in (a, b))
    if np.ndim(a) != 2 or np.ndim(b) not in (1, 2) or np.shape(a)[0] != np.shape(b)[0]:
        raise ShapeError(
            f"np.linalg.lstsq takes a matrix (m, n) and a right side (m,) or (m, k); got shapes {np.shape(a)} and "
            f"{np.shape(b)}"
        )
    single_at_least("lstsq", a, b)
    dtype = np.result_type(a, b, *[float] * (np.result_type(a, b).kind not in "fc"))
    a, b = (x if x.dtype == dtype else x.astype(dtype) for x in (a, b))
    m, n = np.shape(a)
    least = np.finfo(np.result_type(a, b)).eps
    # LAPACK takes its own for what is no fraction.
    rcond = least * max(m, n) if rcond is None else rcond if 0 < rcond < 1 else least
    if _drops(a, rcond):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        x = np.matmul(adjoint_of(vh) * _reciprocals(s, rcond), np.matmul(adjoint_of(u), b))
    else:
        x, _, s, _ = least_squares(a, b, rcond=float(rcond))
    rank = np.sum(np.greater(s, rcond * s[:1])).astype(np.int32)
    if rank == n and m > n:
        residuals = np.atleast_1d(np.sum(np.square(np.abs(b - np.matmul(a, x))), axis=0))
    else:
        residuals = np.zeros(0, s.dtype)
    return x, residuals, rank, s
