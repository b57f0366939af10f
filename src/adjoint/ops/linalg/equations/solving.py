"""Equations solved with one matrix or a stack of them, inverses, and powers.

Where a rule comes from: M. Giles, Collected matrix derivative results for forward and reverse mode, 2008.
"""

from __future__ import annotations

import operator

import numpy as np

from adjoint.core.backend import beside, is_foreign
from adjoint.core.box import Box, goes_back, varies
from adjoint.core.constructors import composite, general
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.memory import axes_by, in_order, lies
from adjoint.core.op import call
from adjoint.core.rules.pullbacks import shape_of, unbroadcast
from adjoint.core.types import Array, Axis, Value
from adjoint.ops.linalg.factors.lu import lu_cotangent, lu_of, lu_solved, lu_tangent
from adjoint.ops.linalg.lapack import common, conj, hermitian, single_at_least, unused, well_posed
from adjoint.ops.shape.reshaping import lined_up, merged


def _solve_a(g: Array, a: Array, b_shape: Value, out: Array) -> Array:
    if len(b_shape) == 1:
        c = -np.linalg.solve(hermitian(a), g[..., None]) * np.conj(out)[..., None, :]
    else:
        c = -np.matmul(np.linalg.solve(hermitian(a), g), hermitian(out))
    return c if c.shape == np.shape(a) else unbroadcast(c, np.shape(a))


def _solve_b(g: Array, a: Array, b_shape: Value) -> Array:
    vector = len(b_shape) == 1
    c = np.linalg.solve(hermitian(a), g[..., None] if vector else g)
    c = c[..., 0] if vector else c
    return c if c.shape == b_shape else unbroadcast(c, b_shape)


def _solve_tangent_a(t: Array, a: Array, b_shape: Value, out: Array) -> Array:
    if len(b_shape) == 1:
        return np.linalg.solve(a, np.matmul(-t, out[..., None]))[..., 0]
    return np.linalg.solve(a, np.matmul(-t, out))


def _solved_each(a: Array, b: Array, stacked: tuple[bool, ...], n: int) -> Array:
    vector = np.ndim(b) - stacked[1] == 1
    columns = b[..., None] if vector else b
    if not stacked[0] and np.ndim(a) == 2 and np.ndim(columns) == 3:  # one matrix, for all samples' columns
        beside = merged(np.moveaxis(columns, 0, 1), 1)
        x = np.moveaxis(np.reshape(np.linalg.solve(a, beside), (columns.shape[1], n, columns.shape[2])), 1, 0)
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


def _solved_cotangents(g: Array, arrays: Array, out: Array, needs: Value) -> list[Array]:
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
    flags=("raises", "host"),
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
    single_at_least("solve", a, b)
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


@composite(
    np.linalg.matrix_power,
    samples=lambda r: [call(r(3, 3), 3), call(well_posed(r, 2, 2, 2), -2), call(r(2, 2), 1), call(r(2, 2), 0)],
    errors=lambda r: [call(r(2, 3), 2), call(r(2, 2), 0.5)],
)
def matrix_power(a: Array, n: int) -> Array:
    """`a` to the power `n`, by repeated squaring."""
    if np.ndim(a) < 2 or np.shape(a)[-1] != np.shape(a)[-2]:
        raise ShapeError(f"np.linalg.matrix_power takes square matrices; got shape {np.shape(a)}")
    if isinstance(n, Box) and not n.shape:
        n = operator.index(n)
    if not isinstance(n, int | np.integer):
        raise TypeError(f"np.linalg.matrix_power: the power must be a whole number; got {n!r}")
    if n == 0:
        eye = beside(a, np.eye(np.shape(a)[-1], dtype=a.dtype))
        made: Value = (np.zeros_like(a) + eye).astype(a.dtype)  # as `a` lies, on other libraries' arrays
        return made if is_foreign(model := lies(a)) else in_order(made, axes_by("K", model))
    a = np.linalg.inv(a) if n < 0 else a
    result: Array = None
    n, dtype = abs(n), a.dtype
    if n == 3:  # in NumPy's order
        return np.matmul(np.matmul(a, a), a).astype(dtype)
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
    if not shape:
        raise ShapeError("np.linalg.tensorinv takes an array of two axes or more; got a number")
    flat = np.reshape(a, (int(np.prod(shape[:ind])), -1))
    return np.reshape(np.linalg.inv(flat), shape[ind:] + shape[:ind])


@composite(np.linalg.tensorsolve, samples=lambda r: [call(r(2, 3, 6), r(2, 3)), call(r(2, 6, 3), r(2, 3), (1,))])
def tensorsolve(a: Array, b: Array, axes: Axis = None) -> Array:
    if axes is not None:
        a = np.moveaxis(a, axes, range(np.ndim(a) - len(axes), np.ndim(a)))
    shape = np.shape(a)[np.ndim(b) :]
    flat = np.reshape(a, (np.size(b), int(np.prod(shape))))
    return np.reshape(np.linalg.solve(flat, np.ravel(b)), shape)
