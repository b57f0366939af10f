"""Solutions of equations as functions of their parameters: the implicit function theorem.

Where ``F(z(θ), θ) = 0``, ``F_z dz = -F_θ dθ``: the cotangent of θ is ``-F_θ^T λ`` with ``F_z^T λ = g``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres, minres

from adjoint.core.box import raw, varies
from adjoint.core.errors import GradientError
from adjoint.core.protocol import in_graph
from adjoint.core.pulls import dtype_of
from adjoint.core.trees import flatten, is_leaf
from adjoint.scipy.derivatives import matrix, pulled
from adjoint.scipy.integrate.parameters import packed
from adjoint.tape.custom import op

DENSE = 256  # a larger system is solved by products only
Condition = Callable[[Any, Any], Any]


def is_followed(tree: Any) -> bool:
    """Whether there is something in `tree` that solutions must be functions of: in a graph, or one of many samples."""
    return any(in_graph(x) or varies(x) for x in flatten(tree)[0])


def as_vector(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The real and complex numbers in `tree` as one real vector, and the way back."""
    leaves, rebuild = flatten(tree)
    split = [dtype_of(x).kind == "c" if is_leaf(x) else False for x in leaves]
    vector, unpack = packed([(np.real(x), np.imag(x)) if s else x for x, s in zip(leaves, split, strict=True)])

    def back(vector: Any) -> Any:
        parts = zip(unpack(vector), split, strict=True)
        return rebuild([part[0] + 1j * part[1] if s else part for part, s in parts])

    return vector, back


@op
def solution(theta: Any, solve: Any = None, condition: Any = None, symmetric: bool = False) -> Any:
    """``solve(theta)``, a vector z at which ``condition(z, theta)``, of the length of z, is zero.

    Args:
        theta: a vector.
        solve: takes a plain vector.
        condition: NumPy functions of two vectors.
        symmetric: whether the derivative of the condition by z is.
    """
    return solve(theta)


@solution.backward
def _solution_cotangent(g: Any, theta: Any, out: Any, condition: Any, symmetric: bool) -> Any:
    residual, pullback = pulled(lambda z: condition(z, theta), out)
    if out.shape[0] <= DENSE:
        multiplier = _dense(matrix(pullback, out.shape[0]), g)
    else:
        multiplier = _by_products(g, theta, out, condition, symmetric)
    _check(g, out, multiplier, residual)
    return -pulled(lambda th: condition(out, th), theta)[1](multiplier)


def _check(g: Any, z: Any, multiplier: Any, residual: Any) -> None:
    """A solver that stopped early has another derivative: λᵀF is how far ``g @ z`` is off, to first order."""
    off, scale = np.abs(np.sum(multiplier * residual)), np.sum(np.abs(g) * np.maximum(np.abs(z), 1.0))
    if not np.all(raw(off) <= 1e-3 * raw(scale)):
        raise GradientError(
            f"the solver stopped before it came to a solution (its equations are off by up to "
            f"{np.abs(raw(residual)).max():.1e}), so it has no derivative yet. Ask for more: tol=1e-10, more iterations"
        )


def _dense(a: Any, b: Any) -> Any:
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        raise _not_isolated() from None


def _not_isolated() -> GradientError:
    return GradientError(
        "the solution has no derivative: the equations that define it are singular there, so other solutions lie "
        "beside it. Make it unique, for example by a small penalty on the parameters"
    )


def _by_products(g: Any, theta: Any, z: Any, condition: Condition, symmetric: bool) -> Any:
    """λ of ``F_z^T λ = g``, without the matrix. It is a solution itself, so it has derivatives of its own."""
    n, p = z.shape[0], theta.shape[0]

    def linear(multiplier: Any, parts: Any) -> Any:
        at, th, right = parts[:n], parts[n : n + p], parts[n + p :]
        return pulled(lambda z: condition(z, th), at)[1](multiplier) - right

    def solve(parts: Any) -> Any:
        _, product = pulled(lambda z: condition(z, parts[n : n + p]), parts[:n])
        system = LinearOperator((n, n), matvec=lambda v: product(np.ravel(v)), dtype=np.float64)
        right = parts[n + p :]
        found, _ = minres(system, right, rtol=1e-12) if symmetric else gmres(system, right, rtol=1e-12, restart=50)
        if not np.linalg.norm(system @ found - right) <= 1e-6 * np.linalg.norm(right):
            raise _not_isolated()
        return found

    return solution(np.concatenate([z, theta, g]), solve=solve, condition=linear, symmetric=symmetric)
