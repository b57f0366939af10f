"""A solution of equations as a function of everything that the equations use.

At the solution z of ``F(z) = 0``, F is evaluated on the tape, where all tensors take part. A is the Jacobian
of F with respect to z, a constant. Each step ``z ← z - A⁻¹ F(z)`` makes derivatives of one more order right.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.batch.batched import Batched
from adjoint.core.box import Box, raw
from adjoint.core.errors import GradientError, NotSupportedError, ShapeError
from adjoint.core.types import Array, Function, Value
from adjoint.forward.dual import Dual
from adjoint.tape.modes import no_grad
from adjoint.tape.tensor import Tensor
from adjoint.transforms.batch import vmap
from adjoint.transforms.custom_rules import Derivative, Leaves, carried_out, operations
from adjoint.transforms.linear_solve import custom_linear_solve
from adjoint.transforms.reverse import vjp

DENSE = 256  # a larger system is solved by products only
CLOSE = 1e-3  # a solution that Newton's step would move by more, relative to it or to 1, is none
STEPS = 8  # of Newton's, at most, to the solution
FINE = 1e-9  # … and one that it would move by less has derivatives as good as they get
NOT_ISOLATED = (
    "the solution has no derivative: the equations that define it are singular there, so other solutions lie beside "
    "it. Make it unique, for example by a small penalty on the parameters"
)


def levels(x: Array) -> set[int]:
    """The levels at which `x` is differentiated."""
    found = set()
    while isinstance(x, Box):
        x = x.settled()
        history: Value = x.node if isinstance(x, Tensor) else x.layers[1] if isinstance(x, Dual) else None
        if history is not None:
            found.add(x.level)
        x = None if x.held is x else x.held
    return found


class _NegatedInverse(Derivative):
    """Takes ``F(z)``, of which only changes count, to ``-A⁻¹ F(z)``.

    Args:
        equations: F.
        z: the solution, of numbers alone.
        symmetric: whether A is.
        near: how far the solution may be.

    Attributes:
        problem: why there is no derivative, if there is none.
    """

    name, ops, aside = "a solver's solution", operations("solution"), frozenset()

    def __init__(self, equations: Function, z: Array, symmetric: bool, near: float) -> None:
        self.symmetric, self.problem = symmetric, ""
        n = z.shape[0]
        with no_grad():
            off, pullback = vjp(equations, z)
            off = constant(off)
            if off.shape != z.shape:
                raise ShapeError(f"there are {off.size} equations for {n} unknowns; there must be as many")
            self.pullback = lambda g: pullback(g)[0]
            self.matrix = constant(vmap(self.pullback)(np.eye(n))) if n <= DENSE else None
        self.step = self._step(off, z, near)

    def _step(self, off: Array, z: Array, near: float) -> Array:
        """Newton's, relative to z or to 1."""
        try:
            step = self.solved(-off) if np.any(raw(off)) else np.zeros_like(off)
        except GradientError as error:
            self.problem = str(error)
            return np.zeros_like(off)
        size = np.max(raw(np.abs(step) / np.maximum(np.abs(z), 1.0)), initial=0.0)
        if not size <= near:
            self.problem = (
                f"the solver stopped before it came to a solution (its equations are off by up to "
                f"{np.max(np.abs(raw(off))):.1e}), so it has no derivative yet. Ask for more: "
                f"tol=1e-10, more iterations"
            )
            return np.zeros_like(off)
        return step if size > FINE else np.zeros_like(off)

    def solved(self, b: Array, transposed: bool = False) -> Array:
        """``A⁻¹ b``, or with A transposed.

        Raises:
            GradientError: if that does not exist.
        """
        if self.problem:
            raise GradientError(self.problem)
        if self.matrix is not None:
            a = np.swapaxes(self.matrix, 0, 1) if transposed else self.matrix
            try:
                return np.linalg.solve(a, b)
            except np.linalg.LinAlgError:
                raise GradientError(NOT_ISOLATED) from None
        with no_grad():
            backward = transposed or self.symmetric
            product = self.pullback if backward else vjp(self.pullback, np.zeros(b.shape))[1]
        pushed = product if backward else lambda v: product(v)[0]
        return custom_linear_solve(lambda v: constant(pushed(v)), b, self._by_products, symmetric=self.symmetric)

    def _by_products(self, product: Function, b: Array) -> Array:
        from scipy.sparse.linalg import LinearOperator, gmres, minres

        n = b.shape[0]
        system = LinearOperator((n, n), matvec=lambda v: product(np.ravel(v)), dtype=b.dtype)
        found, _ = minres(system, b, rtol=1e-12) if self.symmetric else gmres(system, b, rtol=1e-12, restart=50)
        if not np.linalg.norm(system @ found - b) <= 1e-6 * np.linalg.norm(b):
            raise GradientError(NOT_ISOLATED)
        return found

    def value(self, xs: Leaves) -> list[Array]:
        return [np.zeros_like(xs[0])]

    def forward(self, xs: Leaves) -> tuple[list[Array], Array]:
        return carried_out(self, xs), None

    def residual(self, xs: Leaves) -> Array:
        raise NotSupportedError(
            "backward(create_graph=True) through a solver would miss what its equations depend on. Nest transforms "
            "instead: ad.grad(ad.grad(f))"
        )

    def backward(self, residual: Array, gs: Leaves, wanted: Sequence[int]) -> list[Array]:
        return [-self.solved(gs[0], transposed=True)]

    def push(self, xs: Leaves, ts: Leaves) -> tuple[list[Array], list[Array]]:
        return carried_out(self, xs), [-self.solved(ts[0])]


def constant(x: Array) -> Array:
    """The numbers of `x`; inside `vmap` an array of them for each sample."""
    x = x.settled() if isinstance(x, Box) else x
    if not isinstance(x, Box) or x.held is x:
        return x
    inside = constant(x.held)
    return Batched.of((inside, True), x.level) if isinstance(x, Batched) and x.layers[1] else inside


def attached(z: Array, equations: Function, symmetric: bool = False, near: float = CLOSE) -> Array:
    """`z`, at which `equations` hold, as a function of everything that they use.

    Args:
        z: a vector of plain numbers; inside `vmap`, for each sample.
        equations: gives a vector as long as z, zero at the solution, by NumPy functions of a vector and of tensors.
        symmetric: whether their derivative by z is, as that of a gradient is.
        near: how far the solution may be, by Newton's step, relative to z or to 1.

    Returns:
        A tensor or its like with the numbers of `z`, or `z` itself where nothing is differentiated.

    Raises:
        ShapeError: if the equations are not as many as the unknowns.
        GradientError: when a derivative is asked for, if there is none: the solution is not isolated, or none.
    """
    off = equations(z)
    orders = len(levels(off))
    if not orders:
        return z
    inverse, start = _NegatedInverse(equations, z, symmetric, near), z
    for _ in range(STEPS):  # the value stays; derivatives are those of the solution nearby
        if not np.any(raw(inverse.step)):
            break
        z, off = z + inverse.step, None
        inverse = _NegatedInverse(equations, z, symmetric, near)
    change: object = 0.0
    for _ in range(orders):
        off = equations(z + change) if off is None else off
        change, off = change + carried_out(inverse, [off])[0], None
    solution = start + change
    equations(solution)  # last: what they keep for later, in a closure or an attribute, has its history
    return solution
