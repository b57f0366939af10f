"""Equations that are linear in a matrix: Sylvester's and Lyapunov's."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from adjoint.core.constructors import general
from adjoint.core.errors import ShapeError
from adjoint.core.op import call
from adjoint.core.types import Array, Value
from adjoint.ops.linalg.lapack import hermitian, routine, well_posed
from adjoint.ops.shape.reshaping import merged
from adjoint.scipy.arrays import array, square


def solve_sylvester(a: Array, b: Array, q: Array) -> Array:
    """`scipy.linalg.solve_sylvester`: the `x` of ``a @ x + x @ b = q``.

    Args:
        a, b, q: (m, m), (n, n), (m, n), or stacks of these.

    Raises:
        ShapeError: if shapes do not fit.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import solve_sylvester
        >>> ad.grad(lambda a: solve_sylvester(a, [[1.0]], [[6.0]])[0, 0])(np.array([[2.0]]))
        array([[-0.66666667]])
    """
    a, b, q = square("solve_sylvester", a), square("solve_sylvester", b), array(q)
    if q.ndim < 2 or q.shape[-2:] != (a.shape[-1], b.shape[-1]):
        raise ShapeError(
            f"solve_sylvester: a of shape {a.shape} and b of shape {b.shape} take a right side of shape "
            f"{(*q.shape[:-2], a.shape[-1], b.shape[-1])}; got {q.shape}"
        )
    return sylvester(*_alike(a, b, q))


def _alike(*matrices: Array) -> list[Array]:
    """Stacks of matrices, all with the same leading axes."""
    batch = np.broadcast_shapes(*(m.shape[:-2] for m in matrices))
    return [m if m.shape[:-2] == batch else np.broadcast_to(m, batch + m.shape[-2:]) for m in matrices]


def _sylvester_cotangents(g: Array, matrices: Array, out: Array, needs: Value) -> list[Array]:
    a, b, _ = matrices
    s = sylvester(hermitian(a), hermitian(b), g)
    return [
        np.matmul(-s, hermitian(out)) if 0 in needs else None,
        np.matmul(hermitian(out), -s) if 1 in needs else None,
        s,
    ]


def _sylvester_tangent(t: Array, matrices: Array, out: Array) -> Array:
    (ta, tb, tq), (a, b, _) = t, matrices
    total: Array = 0.0 if tq is None else tq
    total = total if ta is None else total - np.matmul(ta, out)
    total = total if tb is None else total - np.matmul(out, tb)
    return sylvester(a, b, total)


@general(
    vjp=_sylvester_cotangents,
    jvp=_sylvester_tangent,
    batch="leading",
    samples=lambda r: [
        call(well_posed(r, 3, 3), well_posed(r, 2, 2), r(3, 2)),
        call(well_posed(r, 2, 2, 2), well_posed(r, 2, 3, 3), r(2, 2, 3)),
        call(well_posed(r, 2, 2) + 1j * r(2, 2), well_posed(r, 2, 2) + 0j, r(2, 2) + 1j * r(2, 2)),
    ],
    flags=("raises", "host"),
)
def sylvester(*matrices: Array) -> Array:
    a, b, q = matrices
    if a.shape[-2:] != 2 * q.shape[-2:-1] or b.shape[-2:] != 2 * q.shape[-1:]:  # LAPACK would read beyond the arrays
        raise ShapeError(
            f"scipy.linalg.solve_sylvester takes a (m, m), b (n, n), q (m, n); got {a.shape}, {b.shape} and {q.shape}"
        )
    if q.ndim == 2:
        return _doubled(a, q) if a is b else linalg.solve_sylvester(a, b, q)
    rows = zip(*(merged(m, 0, m.ndim - 2) for m in (a, b, q)), strict=True)
    return np.stack([linalg.solve_sylvester(*row) for row in rows]).reshape(q.shape)


def _doubled(a: Array, q: Array) -> Array:
    """The `x` of ``a @ x + x @ a = q``: one Schur decomposition is enough."""
    dtype = np.result_type(a, q)
    t, u = linalg.schur(a.astype(dtype, copy=False), output="complex" if dtype.kind == "c" else "real")
    x, scale, _ = routine("trsyl", t.dtype)(t, t, hermitian(u) @ q @ u)
    return u @ (x * scale) @ hermitian(u)


def solve_continuous_lyapunov(a: Array, q: Array) -> Array:
    """`scipy.linalg.solve_continuous_lyapunov`: the `x` of ``a @ x + x @ a^H = q``, all (..., n, n).

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import solve_continuous_lyapunov
        >>> ad.grad(lambda q: np.trace(solve_continuous_lyapunov(np.eye(2), q)))(np.eye(2))
        array([[0.5, 0. ],
               [0. , 0.5]])
    """
    a, q = square("solve_continuous_lyapunov", a), array(q)
    if a.ndim > 2 or q.shape != a.shape:
        return solve_sylvester(a, hermitian(a), q)
    return lyapunov(a, q)


def _lyapunov_cotangents(g: Array, matrices: Array, out: Array, needs: Value) -> list[Array]:
    s = lyapunov(hermitian(matrices[0]), g)
    if 0 not in needs:
        return [None, s]
    return [-(np.matmul(s, hermitian(out)) + np.matmul(hermitian(s), out)), s]


def _lyapunov_tangent(t: Array, matrices: Array, out: Array) -> Array:
    (ta, tq), a = t, matrices[0]
    if ta is None:
        return lyapunov(a, tq)
    share = -np.matmul(ta, out) - np.matmul(out, hermitian(ta))
    return lyapunov(a, share if tq is None else share + tq)


@general(
    vjp=_lyapunov_cotangents,
    jvp=_lyapunov_tangent,
    samples=lambda r: [
        call(well_posed(r, 3, 3), r(3, 3)),
        call(well_posed(r, 2, 2) + 1j * r(2, 2), r(2, 2) + 1j * r(2, 2)),
    ],
    flags=("raises", "host"),
)
def lyapunov(*matrices: Array) -> Array:
    """The `x` of ``a @ x + x @ a^H = q`` for `matrices` a and q."""
    a, q = matrices
    return linalg.solve_continuous_lyapunov(a, q).astype(np.result_type(a, q), copy=False)


def solve_discrete_lyapunov(a: Array, q: Array, method: str | None = None) -> Array:
    """`scipy.linalg.solve_discrete_lyapunov`: the `x` of ``a @ x @ a^H - x + q = 0``, all (n, n).

    Args:
        method: "direct" or "bilinear", as SciPy's; chosen by size if not given.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import solve_discrete_lyapunov
        >>> ad.grad(lambda a: solve_discrete_lyapunov(a, [[1.0]])[0, 0])(np.array([[0.5]]))  # of 1 / (1 - a²)
        array([[1.77777778]])
    """
    a, q = square("solve_discrete_lyapunov", a), square("solve_discrete_lyapunov", q)
    if a.shape != q.shape or a.ndim != 2:
        raise ShapeError(f"solve_discrete_lyapunov takes two matrices of one shape (n, n); got {a.shape} and {q.shape}")
    return discrete_lyapunov(a, q, method=method)


def _discrete_q(g: Array, a: Array, method: object) -> Array:
    return discrete_lyapunov(hermitian(a), g, method=method)


def _discrete_a(g: Array, a: Array, out: Array, method: object) -> Array:
    s = _discrete_q(g, a, method)
    sa = np.matmul(s, a)
    return np.matmul(sa, hermitian(out)) + np.matmul(np.matmul(hermitian(s), a), out)


def _discrete_tangent(t: Array, a: Array, out: Array, method: object) -> Array:
    ah, th = hermitian(a), hermitian(t)
    share = np.matmul(np.matmul(t, out), ah) + np.matmul(np.matmul(a, out), th)
    return discrete_lyapunov(a, share, method=method)


def _discrete_forth(t: Array, a: Array, method: object) -> Array:
    return discrete_lyapunov(a, t, method=method)


@general(
    vjps=(_discrete_a, _discrete_q),
    jvps=(_discrete_tangent, _discrete_forth),
    samples=lambda r: [
        call(r(3, 3) / 8, r(3, 3)),
        call(r(2, 2) / 8 + 1j * r(2, 2) / 8, r(2, 2) + 1j * r(2, 2)),
        call(r(2, 2) / 8, r(2, 2), method="bilinear"),
    ],
    flags=("raises", "host"),
)
def discrete_lyapunov(a: Array, q: Array, /, method: str | None = None) -> Array:
    return linalg.solve_discrete_lyapunov(a, q, method).astype(np.result_type(a, q), copy=False)
