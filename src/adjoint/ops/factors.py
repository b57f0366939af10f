"""Triangular, LU and Cholesky factors, and equations solved with them: by LAPACK, through SciPy, loaded when needed.

NumPy has no triangular solve and keeps no factors. Rules: M. Giles, Collected matrix derivative results for forward
and reverse mode, 2008; S. Walter and L. Lehmann, Algorithmic differentiation of linear algebra functions, 2010.
Every function here takes matrices and stacks of them; right sides are columns.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numpy as np

from adjoint.core.backend import beside, is_foreign, maybe_all
from adjoint.core.box import raw
from adjoint.core.constructors import general
from adjoint.core.op import call
from adjoint.core.pullbacks import unbroadcast
from adjoint.core.types import Array, DType, ShapeLike
from adjoint.ops.order import on_values


def conj(x: Array) -> Array:
    """The complex conjugate; a real array as it is."""
    return np.conj(x) if x.dtype.kind == "c" else x


def hermitian(x: Array) -> Array:
    """Transposed and, if complex, conjugated."""
    return conj(np.swapaxes(x, -1, -2))


def well_posed(r: Array, *shape: int) -> Array:
    """A sample matrix far from singular."""
    return r(*shape) + 4 * np.eye(shape[-1])


def unused(g: Array) -> bool:
    """Whether an output has no use: its cotangent is the plain zeros that stand for none."""
    return isinstance(g, np.ndarray) and not g.any()


def fitted(c: Array, shape: ShapeLike) -> Array:
    """`c` summed over the axes along which an array of `shape` was repeated."""
    return c if c.shape == shape else unbroadcast(c, shape)


def routine(name: str, dtype: DType) -> Any:
    """The BLAS or LAPACK routine for arrays of `dtype`: ``routine("trsm", float64)`` is dtrsm."""
    if dtype.char not in "fdFD":
        raise TypeError(f"array type {dtype} is unsupported in linalg")
    return _loaded("sdcz"["fdFD".index(dtype.char)] + name)


@cache
def _loaded(name: str) -> Any:
    from scipy.linalg import blas, lapack

    return getattr(lapack, name, None) or getattr(blas, name)


def common(*arrays: Array) -> Array:
    """The dtype in which LAPACK computes with `arrays`."""
    dtype = np.result_type(*arrays)
    return dtype if dtype.kind in "fc" else np.dtype(float)


def _each(function: Any, a: Array, b: Array) -> Array:
    """`function` of each matrix of two stacks that broadcast."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = np.empty((*batch, *b.shape[-2:]), common(a, b))
    a, b = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (a, b))
    for i in np.ndindex(batch):
        out[i] = function(a[i], b[i])
    return out


# -- Triangles ----------------------------------------------------------------------------------------


def triangle(c: Array, lower: bool, k: int = 0) -> Array:
    """One triangle of `c`, without its diagonal for `k` = 1; a plain array, which must be new, is changed in place."""
    if type(c) is not np.ndarray:
        return np.tril(c, -k) if lower else np.triu(c, k)
    c *= _ones(c.shape[-1], lower, k)
    return c


@lru_cache(8)
def _ones(n: int, lower: bool, k: int) -> Any:
    ones = np.tri(n, k=-k, dtype=bool)
    return ones if lower else ones.T


def _by_elimination(a: Array, b: Array, trans: int, lower: bool, unit_diagonal: bool) -> Array:
    """A triangle's equation by the general solver, which other libraries have."""
    a = np.tril(a, -unit_diagonal) if lower else np.triu(a, unit_diagonal)
    if unit_diagonal:
        a = a + beside(a, np.eye(a.shape[-1], dtype=a.dtype))
    return np.linalg.solve((a, np.swapaxes(a, -1, -2), hermitian(a))[trans], b)


def _triangular_cotangents(
    g: Array, arrays: Array, out: Array, needs: Any, trans: int, lower: bool, unit_diagonal: bool
) -> list[Array]:
    """That of the right side solves the equation with the conjugate transpose."""
    a, b = arrays
    if trans == 1:  # the conjugate of the transpose's transpose
        h = triangular_solve(conj(a), g, trans=0, lower=lower, unit_diagonal=unit_diagonal)
    else:
        h = triangular_solve(a, g, trans=2 - trans, lower=lower, unit_diagonal=unit_diagonal)
    if 0 not in needs:
        return [None, fitted(h, b.shape)]
    c = np.matmul(-h, hermitian(out)) if trans == 0 else np.matmul(-out, hermitian(h))
    c = triangle(conj(c) if trans == 1 else c, lower, int(unit_diagonal))
    return [fitted(c, a.shape), fitted(h, b.shape)]


def _triangular_tangent(
    t: Array, arrays: Array, out: Array, trans: int, lower: bool, unit_diagonal: bool = False
) -> Array:
    """From ``da x + a dx = db``."""
    (ta, tb), a = t, arrays[0]
    if ta is not None:
        k = int(unit_diagonal)
        ta = np.tril(ta, -k) if lower else np.triu(ta, k)
        ta = (ta, np.swapaxes(ta, -1, -2), hermitian(ta))[trans]
        share = np.matmul(-ta, out)
        tb = share if tb is None else share + tb
    return triangular_solve(a, tb, trans=trans, lower=lower, unit_diagonal=unit_diagonal)


@general(
    vjp=_triangular_cotangents,
    jvp=_triangular_tangent,
    batch="columns",
    flags=("raises", "stacks", "selects", "own_order"),
    samples=lambda r: [
        call(well_posed(r, 3, 3), r(3, 2), lower=True),
        call(well_posed(r, 3, 3), r(3, 2), trans=1),
        call(well_posed(r, 3, 3), r(3, 1), lower=True, unit_diagonal=True),
        call(well_posed(r, 2, 3, 3), r(3, 1)),
        call(well_posed(r, 5, 2, 2), r(2, 3), lower=True, trans=1),
        *(call(well_posed(r, 2, 2) + 1j * r(2, 2), r(2, k) + 1j * r(2, k), trans=t) for t in (0, 1, 2) for k in (1, 2)),
    ],
    errors=lambda r: [call(np.zeros((2, 2)), r(2, 1)), call(r(2, 3), r(2, 1)), call(r(3, 3), r(2, 1))],
)
def triangular_solve(*arrays: Array, trans: int = 0, lower: bool = False, unit_diagonal: bool = False) -> Array:
    """The `x` of ``a @ x = b`` for `arrays` a and b; `trans` 1 takes the transpose of a, 2 its conjugate."""
    a, b = arrays
    n = a.shape[-1]
    if a.shape[-2] != n or b.shape[-2] != n:
        raise np.linalg.LinAlgError(f"expected a triangle (..., n, n) and a right side (..., n, k); got {a.shape} and "
                                    f"{b.shape}")  # fmt: skip
    if not unit_diagonal and not maybe_all(np.diagonal(a, axis1=-2, axis2=-1)):
        raise np.linalg.LinAlgError("singular matrix: a triangle with a zero on its diagonal")
    if is_foreign(a) or is_foreign(b):
        return _by_elimination(a, b, trans, lower, unit_diagonal)
    if a.ndim == b.ndim == 2:
        return _one_triangle(a, b, trans, lower, unit_diagonal) if b.size else np.zeros(b.shape, common(a, b))
    if math.prod(a.shape[:-2]) < n:
        return _each(lambda a, b: _one_triangle(a, b, trans, lower, unit_diagonal), a, b)
    if trans:
        a, lower = (hermitian(a) if trans == 2 else np.swapaxes(a, -1, -2)), not lower
    return _many_triangles(a, b, lower, unit_diagonal)


def _one_triangle(a: Array, b: Array, trans: int, lower: bool, unit_diagonal: bool) -> Array:
    """By BLAS, which counts columns first: the transposes of our arrays lie as it wants them."""
    dtype = common(a, b)
    a, b = np.ascontiguousarray(a, dtype), np.ascontiguousarray(b, dtype)
    if b.shape[1] != 1:
        solve = routine("trsm", dtype)
        return solve(1.0, a.T, b.T, side=1, lower=not lower, trans_a=trans, diag=unit_diagonal).T
    flip = trans == 2 and dtype.kind == "c"
    x = np.conj(b[:, 0]) if flip else b[:, 0]
    x = routine("trsv", dtype)(a.T, x, lower=not lower, trans=not trans, diag=unit_diagonal)
    return (np.conj(x) if flip else x)[:, None]


def _many_triangles(a: Array, b: Array, lower: bool, unit_diagonal: bool) -> Array:
    """Row by row, in all matrices of a stack at once."""
    n, batch = a.shape[-1], np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, batch + b.shape[-2:]), common(a, b))
    for i in range(n) if lower else reversed(range(n)):
        known = slice(0, i) if lower else slice(i + 1, n)
        x[..., i : i + 1, :] -= np.matmul(a[..., i : i + 1, known], x[..., known, :])
        if not unit_diagonal:
            x[..., i, :] /= a[..., i, i, None]
    return x


# -- LU factors ---------------------------------------------------------------------------------------


def rows_order(pivots: Array) -> Array:
    """The rows' order that a series of exchanges leads to."""
    rows = []
    for exchanges in pivots.reshape(math.prod(pivots.shape[:-1]), -1 if pivots.size else 0).tolist():
        order = list(range(len(exchanges)))
        for i, j in enumerate(map(int, exchanges)):
            order[i], order[j] = order[j], order[i]
        rows.append(order)
    return np.array(rows, int).reshape(pivots.shape)


def lu_of(a: Array) -> tuple[Array, Array]:
    """LAPACK's factors of one matrix, and the exchanges of rows as real numbers."""
    dtype = common(a)
    if not a.size:
        return np.zeros(a.shape, dtype), np.zeros(a.shape[-1], dtype.type(0).real.dtype)
    lu, pivots, _ = routine("getrf", dtype)(a)
    return lu, pivots.astype(lu.real.dtype)


def lu_cotangent(g: Array, lu: Array, pivots: Array) -> Array:
    """The cotangent of a matrix, for that of its packed factors."""
    zeros = np.equal(np.diagonal(lu, axis1=-2, axis2=-1), 0)
    if np.any(raw(zeros)):  # the factors of a singular matrix have no derivative
        lu = np.where(zeros[..., None] & np.eye(lu.shape[-1], dtype=bool), np.nan, lu)
    back: Any = np.argsort(on_values(rows_order, pivots), axis=-1)
    inner = _lu_by_blocks(g, lu) if type(g) is type(lu) is np.ndarray else _lu_whole(g, lu)
    return np.take_along_axis(inner, back[..., None], axis=-2)


def _lu_whole(g: Array, lu: Array) -> Array:
    """The cotangent of the matrix with its rows exchanged."""
    upper, below = np.triu(lu), np.tril(g, -1)
    inner = np.tril(below + np.matmul(hermitian(np.tril(lu, -1)), below), -1)
    inner = inner + np.triu(np.matmul(np.triu(g), hermitian(upper)))
    inner = triangular_solve(lu, inner, trans=2, lower=True, unit_diagonal=True)
    return hermitian(triangular_solve(upper, hermitian(inner)))


def _lu_by_blocks(g: Array, lu: Array) -> Array:
    """The same, for half of the matrix after the other: fewer operations, and most of them products."""
    n = lu.shape[-1]
    if n <= 64:
        return _lu_whole(g, lu)
    k = n // 2
    first, right = lu[..., :k, :k], lu[..., :k, k:]
    left, out = lu[..., k:, :k], np.empty_like(lu, order="C")
    out[..., k:, k:] = last = _lu_by_blocks(g[..., k:, k:], lu[..., k:, k:])
    below = hermitian(g[..., k:, :k] - np.matmul(last, hermitian(right)))
    out[..., k:, :k] = below = hermitian(triangular_solve(first, below))
    above = g[..., :k, k:] - np.matmul(hermitian(left), last)
    out[..., :k, k:] = above = triangular_solve(first, above, trans=2, lower=True, unit_diagonal=True)
    share = np.where(_ones(k, True, 1), np.matmul(above, hermitian(right)), np.matmul(hermitian(left), below))
    out[..., :k, :k] = _lu_by_blocks(g[..., :k, :k] - share, first)
    return out


def lu_tangent(t: Array, lu: Array, pivots: Array) -> Array:
    """The tangent of the packed factors: the triangles of ``L^-1 da U^-1``, each times its factor."""
    zeros = np.equal(np.diagonal(lu, axis1=-2, axis2=-1), 0)
    if np.any(raw(zeros)):  # the factors of a singular matrix have no derivative
        lu = np.where(zeros[..., None] & np.eye(lu.shape[-1], dtype=bool), np.nan, lu)
    inner = np.take_along_axis(t, on_values(rows_order, pivots)[..., None], axis=-2)
    inner = triangular_solve(lu, inner, lower=True, unit_diagonal=True)
    inner = hermitian(triangular_solve(lu, hermitian(inner), trans=2))
    below = np.tril(inner, -1)
    return below + np.matmul(np.tril(lu, -1), below) + np.matmul(np.triu(inner), np.triu(lu))


@general(
    vjp=lambda g, out: lu_cotangent(g[0], *out),
    jvp=lambda t, out: (lu_tangent(t, *out), None),
    multiple=True,
    batch="leading",
    samples=lambda r: [call(r(3, 3)), call(r(2, 2, 2)), call(r(2, 2) + 1j * r(2, 2))],
    flags=("raises",),
)
def packed_lu(a: Array, /) -> Array:
    """Both factors in one matrix, and the exchanges of rows: every output of an operation is real or complex."""
    if a.ndim == 2:
        return lu_of(a)
    pairs = [lu_of(one) for one in a.reshape(-1, *a.shape[-2:])]
    return tuple(np.stack(x).reshape(a.shape[:-2] + x[0].shape) for x in zip(*pairs, strict=True))


def _lu_solved_cotangents(g: Array, arrays: Array, out: Array, needs: Any, pivots: Array, trans: int) -> list[Array]:
    """The cotangent of the matrix is ``-p q^H``; of its factors, parts of its products with the other factor."""
    lu, b = arrays
    h = lu_solved(conj(lu), g, pivots=pivots) if trans == 1 else lu_solved(lu, g, pivots=pivots, trans=2 - trans)
    if 0 not in needs:
        return [None, fitted(h, b.shape)]
    h_b, x = h, out
    if len(x.shape) == 1:
        g, b, h, x = (y[:, None] for y in (g, b, h, x))
    b = np.broadcast_to(b, x.shape)
    p, q, of_p, of_q = ((h, x, g, b), (conj(x), conj(h), conj(b), conj(g)), (x, h, b, g))[trans]
    order = np.broadcast_to(rows_order(pivots)[..., None], (*p.shape[:-1], 1))
    p, of_q = np.take_along_axis(p, order, axis=-2), np.take_along_axis(of_q, order, axis=-2)
    left = triangular_solve(lu, of_p, trans=2)  # L^H p
    right = triangular_solve(lu, of_q, lower=True, unit_diagonal=True)  # U q
    below = _ones(lu.shape[-1], True, 1)
    c = np.where(below, np.matmul(-p, hermitian(right)), np.matmul(-left, hermitian(q)))
    return [fitted(c, lu.shape), fitted(h_b, arrays[1].shape)]


def _lu_solved_tangent(t: Array, arrays: Array, out: Array, pivots: Array, trans: int) -> Array:
    """With x the solution and y what stands between the factors: each factor's equation, varied."""
    (t_lu, tb), lu, x = t, arrays[0], out
    share = None if tb is None else lu_solved(lu, tb, pivots=pivots, trans=trans)
    if t_lu is None:
        return share
    vector = len(x.shape) == 1
    x = x[:, None] if vector else x
    below, above = np.tril(t_lu, -1), np.triu(t_lu)
    if trans == 0:
        y = triangular_solve(lu, np.matmul(-below, np.matmul(np.triu(lu), x)), lower=True, unit_diagonal=True)
        c = triangular_solve(lu, y - np.matmul(above, x))
    else:
        turned = hermitian if trans == 2 else np.matrix_transpose
        order = np.broadcast_to(rows_order(pivots)[..., None], (*x.shape[:-1], 1))
        x = np.take_along_axis(x, order, axis=-2)
        y = x + np.matmul(turned(np.tril(lu, -1)), x)
        y = triangular_solve(lu, np.matmul(-turned(above), y), trans=trans)
        c = triangular_solve(lu, y - np.matmul(turned(below), x), trans=trans, lower=True, unit_diagonal=True)
        c = np.take_along_axis(c, np.argsort(order, axis=-2), axis=-2)
    c = c[:, 0] if vector else c
    return c if share is None else c + share


@general(
    vjp=_lu_solved_cotangents,
    jvp=_lu_solved_tangent,
    batch="columns",
    flags=("raises", "stacks"),
    samples=lambda r: [
        call(well_posed(r, 3, 3), r(3, 1), pivots=np.array([1, 1, 2])),
        call(well_posed(r, 3, 3), r(3, 2), pivots=np.array([2, 2, 2]), trans=1),
        call(well_posed(r, 2, 2, 2), r(2, 1), pivots=np.array([[0, 1], [1, 1]])),
        *(
            call(well_posed(r, 2, 2) + 1j * r(2, 2), r(2, k) + 1j * r(2, k), pivots=np.array([1, 1]), trans=trans)
            for trans in (0, 1, 2)
            for k in (1, 2)
        ),
    ],
)
def lu_solved(*arrays: Array, pivots: Array = None, trans: int = 0) -> Array:
    """The `x` of ``a @ x = b`` for `arrays` lu, the packed factors of a, and b, which may be (n,); `trans` as above."""
    lu, b = arrays
    if lu.ndim == 2 and b.ndim <= 2 and b.size == len(lu) > 0:
        dtype = common(lu, b)
        return routine("getrs", dtype)(lu.astype(dtype, copy=False), pivots.astype(np.int32), b, trans=trans)[0]
    if b.ndim == 1:  # of no elements
        return b
    order = rows_order(pivots)[..., None]
    batch = np.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    b = np.broadcast_to(b, batch + b.shape[-2:])
    if trans == 0:
        b = np.take_along_axis(b, np.broadcast_to(order, (*batch, order.shape[-2], 1)), axis=-2)
        return triangular_solve(lu, triangular_solve(lu, b, lower=True, unit_diagonal=True))
    x = triangular_solve(lu, triangular_solve(lu, b, trans=trans), trans=trans, lower=True, unit_diagonal=True)
    back = np.argsort(order, axis=-2)
    return np.take_along_axis(x, np.broadcast_to(back, (*batch, order.shape[-2], 1)), axis=-2)


# -- Cholesky factors ---------------------------------------------------------------------------------


def _cholesky_solved_cotangents(g: Array, arrays: Array, out: Array, needs: Any, lower: bool) -> list[Array]:
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
    tb = _triangular_tangent((tc, tb), (c, b), half, first, lower)
    return _triangular_tangent((tc, tb), (c, half), out, last, lower)


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


def _on_diagonal(inner: Any, out: Array) -> Array:
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
def _lower_half(n: int, dtype: DType) -> Any:
    """Ones below the diagonal, and halves on it."""
    weights = np.tri(n, dtype=dtype)
    weights.flat[:: n + 1] = 0.5
    weights.flags.writeable = False
    return weights
