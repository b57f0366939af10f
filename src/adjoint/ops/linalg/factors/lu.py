"""LU factors, and equations solved with them. NumPy keeps no factors.

Rules: S. Walter and L. Lehmann, Algorithmic differentiation of linear algebra functions, 2010. Matrices and stacks of
them; right sides are columns.
"""

from __future__ import annotations

import math

import numpy as np

from adjoint.core.box import raw
from adjoint.core.constructors import general
from adjoint.core.op import call
from adjoint.core.types import Array, Value
from adjoint.ops.linalg.equations.triangular import triangular_solve
from adjoint.ops.linalg.lapack import common, conj, fitted, hermitian, routine, well_posed, where_triangle
from adjoint.ops.shape.reshaping import merged
from adjoint.ops.values import on_values


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
    back: Value = np.argsort(on_values(rows_order, pivots), axis=-1)
    inner = _lu_by_blocks(g, lu) if type(g) is type(lu) is np.ndarray else _lu_whole(g, lu)
    return in_order(inner, back)


def in_order(x: Array, order: Array) -> Array:
    """The rows of a matrix, or of each matrix of a stack, in an order."""
    if type(x) is type(order) is np.ndarray and x.ndim == 2 and order.ndim == 1:
        return x[order]
    return np.take_along_axis(x, np.broadcast_to(order[..., None], (*x.shape[:-1], 1)), axis=-2)


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
    share = np.where(where_triangle(k, True, 1), np.matmul(above, hermitian(right)), np.matmul(hermitian(left), below))
    out[..., :k, :k] = _lu_by_blocks(g[..., :k, :k] - share, first)
    return out


def lu_tangent(t: Array, lu: Array, pivots: Array) -> Array:
    """The tangent of the packed factors: the triangles of ``L^-1 da U^-1``, each times its factor."""
    zeros = np.equal(np.diagonal(lu, axis1=-2, axis2=-1), 0)
    if np.any(raw(zeros)):  # the factors of a singular matrix have no derivative
        lu = np.where(zeros[..., None] & np.eye(lu.shape[-1], dtype=bool), np.nan, lu)
    inner = in_order(t, on_values(rows_order, pivots))
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
    flags=("raises", "host"),
)
def packed_lu(a: Array, /) -> Array:
    """Both factors in one matrix, and the exchanges of rows: every output of an operation is real or complex."""
    if a.ndim == 2:
        return lu_of(a)
    pairs = [lu_of(one) for one in merged(a, 0, a.ndim - 2)]
    return tuple(np.stack(x).reshape(a.shape[:-2] + x[0].shape) for x in zip(*pairs, strict=True))


def _lu_solved_cotangents(g: Array, arrays: Array, out: Array, needs: Value, pivots: Array, trans: int) -> list[Array]:
    """The cotangent of the matrix is ``-p q^H``; of its factors, parts of its products with the other factor."""
    lu, b = arrays
    if 0 not in needs:
        h = lu_solved(conj(lu), g, pivots=pivots) if trans == 1 else lu_solved(lu, g, pivots=pivots, trans=2 - trans)
        return [None, fitted(h, b.shape)]
    column = len(out.shape) == 1
    g, b, x = (y[:, None] for y in (g, b, out)) if column else (g, b, out)
    b = np.broadcast_to(b, x.shape)
    order = np.broadcast_to(rows_order(pivots), x.shape[:-1])
    of_p, of_q = ((g, b), (conj(b), conj(g)), (b, g))[trans]
    left = triangular_solve(lu, of_p, trans=2)  # L^H p
    right = triangular_solve(lu, in_order(of_q, order), lower=True, unit_diagonal=True)  # U q
    if trans == 0:
        p, q = triangular_solve(lu, left, trans=2, lower=True, unit_diagonal=True), x
        h = in_order(p, np.argsort(order, axis=-1))
    else:
        q = triangular_solve(lu, right)
        p, h = (in_order(conj(x), order), conj(q)) if trans == 1 else (in_order(x, order), q)
    c = _triangles(p, right, left, q)
    h = h[:, 0] if column else h
    return [fitted(c, lu.shape), fitted(h, arrays[1].shape)]


def _triangles(p: Array, right: Array, left: Array, q: Array) -> Array:
    """Below the diagonal ``-p right^H``, elsewhere ``-left q^H``; of large matrices only the blocks that count."""
    n = p.shape[-2]
    if n <= 128 or type(p) is not np.ndarray or type(left) is not np.ndarray:
        return np.where(where_triangle(n, True, 1), np.matmul(-p, hermitian(right)), np.matmul(-left, hermitian(q)))
    first, last = slice(n // 2), slice(n // 2, None)
    out = np.empty((*p.shape[:-1], n), np.result_type(p, right, left, q))
    out[..., last, first] = np.matmul(-p[..., last, :], hermitian(right[..., first, :]))
    out[..., first, last] = np.matmul(-left[..., first, :], hermitian(q[..., last, :]))
    for half in (first, last):
        out[..., half, half] = _triangles(*(x[..., half, :] for x in (p, right, left, q)))
    return out


def _lu_solved_tangent(t: Array, arrays: Array, out: Array, pivots: Array, trans: int) -> Array:
    """With x the solution and y the vector between the factors: each factor's equation, differentiated."""
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
        order = np.broadcast_to(rows_order(pivots), x.shape[:-1])
        x = in_order(x, order)
        y = x + np.matmul(turned(np.tril(lu, -1)), x)
        y = triangular_solve(lu, np.matmul(-turned(above), y), trans=trans)
        c = triangular_solve(lu, y - np.matmul(turned(below), x), trans=trans, lower=True, unit_diagonal=True)
        c = in_order(c, np.argsort(order, axis=-1))
    c = c[:, 0] if vector else c
    return c if share is None else c + share


@general(
    vjp=_lu_solved_cotangents,
    jvp=_lu_solved_tangent,
    batch="columns",
    flags=("raises", "stacks", "host"),
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
        return b.astype(common(lu, b))
    batch = np.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    b = np.broadcast_to(b, batch + b.shape[-2:])
    order = np.broadcast_to(rows_order(pivots), b.shape[:-1])
    if trans == 0:
        return triangular_solve(lu, triangular_solve(lu, in_order(b, order), lower=True, unit_diagonal=True))
    x = triangular_solve(lu, triangular_solve(lu, b, trans=trans), trans=trans, lower=True, unit_diagonal=True)
    return in_order(x, np.argsort(order, axis=-1))
