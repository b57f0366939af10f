"""Riccati's equations of optimal control, continuous and discrete. Their derivatives solve Lyapunov's equations.

With the gain ``k`` at the solution ``x``, a change of ``a``, ``b``, ``q``, ``r`` changes the equation by one that is
linear in that of ``x``, with the matrix of the closed loop ``a - b @ k``.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from adjoint.core.box import raw
from adjoint.core.constructors import general
from adjoint.core.errors import ArgumentError
from adjoint.core.op import call
from adjoint.core.types import Array, Value
from adjoint.ops.linalg.lapack import hermitian
from adjoint.scipy.arrays import array, square
from adjoint.scipy.linalg.matrix_equations import solve_discrete_lyapunov, sylvester


def solve_continuous_are(
    a: Array, b: Array, q: Array, r: Array, e: Array = None, s: Array = None, balanced: bool = True
) -> Array:
    """`scipy.linalg.solve_continuous_are`: the stabilising `x` of ``a^H x + x a - x b r⁻¹ b^H x + q = 0``.

    With `e` and `s`: of ``e^H x a + a^H x e - (e^H x b + s) r⁻¹ (b^H x e + s^H) + q = 0``.

    Args:
        a, b, q, r: (n, n), (n, m), (n, n), (m, m); `q` and `r` are Hermitian.
        e, s: (n, n) and (n, m).
        balanced: as SciPy's.

    Raises:
        ArgumentError: if `q` or `r` is not Hermitian.
        numpy.linalg.LinAlgError: if there is no such solution.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import solve_continuous_are
        >>> one = np.eye(1)
        >>> ad.grad(lambda q: solve_continuous_are(0 * one, one, q * one, one)[0, 0])(4.0)  # of sqrt(q)
        np.float64(0.25)
    """
    return riccati(*_standard(a, b, q, r, e, s, discrete=False), discrete=False, balanced=balanced)


def solve_discrete_are(
    a: Array, b: Array, q: Array, r: Array, e: Array = None, s: Array = None, balanced: bool = True
) -> Array:
    """`scipy.linalg.solve_discrete_are`: the stabilising `x` of ``a^H x a - x - k^H (r + b^H x b) k + q = 0``.

    There ``k = (r + b^H x b)⁻¹ b^H x a`` is the gain. With `e`, ``e^H x e`` stands for ``x``; with `s`,
    ``b^H x a + s^H`` for ``b^H x a``.

    Args:
        a, b, q, r: (n, n), (n, m), (n, n), (m, m); `q` and `r` are Hermitian.
        e, s: (n, n) and (n, m).
        balanced: as SciPy's.

    Raises:
        ArgumentError: if `q` or `r` is not Hermitian.
        numpy.linalg.LinAlgError: if there is no such solution.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.linalg import solve_discrete_are
        >>> one = np.eye(1)
        >>> ad.grad(lambda q: solve_discrete_are(0 * one, one, q * one, one)[0, 0])(4.0)  # of q
        np.float64(1.0)
    """
    return riccati(*_standard(a, b, q, r, e, s, discrete=True), discrete=True, balanced=balanced)


def _standard(a: Array, b: Array, q: Array, r: Array, e: Array, s: Array, discrete: bool) -> tuple[Array, ...]:
    """The matrices of an equation with the same solution, without `e` and `s`."""
    name = f"solve_{'discrete' if discrete else 'continuous'}_are"
    a, b, q, r = square(name, a), array(b), square(name, q), square(name, r)
    for letter, matrix in (("q", raw(q)), ("r", raw(r))):
        if np.any(np.abs(matrix - hermitian(matrix)) > 1e-12 * np.max(np.abs(matrix), initial=0.0)):
            raise ArgumentError(f"{name}: {letter} must be Hermitian: {letter} == {letter}.conj().T; got {matrix}")
    if e is not None:
        inverse = np.linalg.inv(square(name, e))
        a, q = np.matmul(a, inverse), np.matmul(np.matmul(hermitian(inverse), q), inverse)
        s = None if s is None else np.matmul(hermitian(inverse), array(s))
    if s is not None:
        gain = np.linalg.solve(r, hermitian(array(s)))
        a, q = a - np.matmul(b, gain), q - np.matmul(array(s), gain)
    return a, b, q, r


def _loop(matrices: Array, x: Array, discrete: bool) -> tuple[Array, Array, Array]:
    """The gain, the matrix of the closed loop, and what a change of `a` is multiplied with."""
    a, b, r = matrices[0], matrices[1], _halved(matrices[3])
    bx = np.matmul(hermitian(b), x)
    gain = np.linalg.solve(r + np.matmul(bx, b), np.matmul(bx, a)) if discrete else np.linalg.solve(r, bx)
    closed = a - np.matmul(b, gain)
    return gain, closed, np.matmul(x, closed) if discrete else x


def _halved(m: Array) -> Array:
    return 0.5 * (m + hermitian(m))


def _tangent(t: Array, matrices: Array, out: Array, discrete: bool, balanced: bool) -> Array:
    ta, tb, tq, tr = t
    gain, closed, by = _loop(matrices, out, discrete)
    moved = [] if ta is None else [ta]
    moved += [] if tb is None else [-np.matmul(tb, gain)]
    total = sum(np.matmul(hermitian(by), m) for m in moved)
    total = total + hermitian(total) if moved else total
    total = total if tq is None else total + _halved(tq)
    total = total if tr is None else total + np.matmul(hermitian(gain), np.matmul(_halved(tr), gain))
    if discrete:
        return solve_discrete_lyapunov(hermitian(closed), total)
    return sylvester(hermitian(closed), closed, -total)


def _cotangents(g: Array, matrices: Array, out: Array, discrete: bool, balanced: bool, needs: Value) -> list[Array]:
    gain, closed, by = _loop(matrices, out, discrete)
    g = _halved(g)
    s = solve_discrete_lyapunov(closed, g) if discrete else sylvester(closed, hermitian(closed), -g)
    by_a = np.matmul(by, 2.0 * s)
    by_r = np.matmul(gain, np.matmul(s, hermitian(gain)))
    return [by_a, -np.matmul(by_a, hermitian(gain)), s, by_r]


def _stable(r: Value, n: int, m: int) -> list[Array]:
    q, w = r(n, n), r(m, m)
    return [r(n, n), r(n, m), q @ q.T + np.eye(n), w @ w.T + np.eye(m)]


@general(
    vjp=_cotangents,
    jvp=_tangent,
    samples=lambda r: [
        call(*_stable(r, 3, 2)),
        call(*_stable(r, 2, 1), discrete=True),
        call(*_stable(r, 2, 2), balanced=False),
    ],
    flags=("raises", "host"),
)
def riccati(*matrices: Array, discrete: bool = False, balanced: bool = True) -> Array:
    """The stabilising solution for `matrices` a, b and the Hermitian parts of q and r."""
    a, b, q, r = matrices
    solve = linalg.solve_discrete_are if discrete else linalg.solve_continuous_are
    try:
        return solve(a, b, _halved(q), _halved(r), balanced=balanced).astype(np.result_type(*matrices), copy=False)
    except ValueError as error:  # of a singular matrix, too
        raise np.linalg.LinAlgError(str(error)) from None
