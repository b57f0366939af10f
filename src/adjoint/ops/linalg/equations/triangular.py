"""Equations solved with one triangle of a matrix, by BLAS. NumPy has no such function.

Rules: M. Giles, Collected matrix derivative results for forward and reverse mode, 2008. Right sides are columns.
"""

from __future__ import annotations

import math

import numpy as np

from adjoint.core.backend import beside, is_foreign, maybe_all
from adjoint.core.constructors import general
from adjoint.core.op import call
from adjoint.core.types import Array, Value
from adjoint.ops.linalg.lapack import common, conj, each_matrix, fitted, hermitian, routine, triangle, well_posed


def _by_elimination(a: Array, b: Array, trans: int, lower: bool, unit_diagonal: bool) -> Array:
    """A triangle's equation by the general solver, which other libraries have."""
    a = np.tril(a, -unit_diagonal) if lower else np.triu(a, unit_diagonal)
    if unit_diagonal:
        a = a + beside(a, np.eye(a.shape[-1], dtype=a.dtype))
    return np.linalg.solve((a, np.swapaxes(a, -1, -2), hermitian(a))[trans], b)


def _triangular_cotangents(
    g: Array, arrays: Array, out: Array, needs: Value, trans: int, lower: bool, unit_diagonal: bool
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


def triangular_tangent(
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
    jvp=triangular_tangent,
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
        return each_matrix(lambda a, b: _one_triangle(a, b, trans, lower, unit_diagonal), a, b)
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
