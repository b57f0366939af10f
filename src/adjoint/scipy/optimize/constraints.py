"""Constraints on a tree of parameters, with derived Jacobians, in the form that each method takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import LinearConstraint, NonlinearConstraint

from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.objects.trees import flatten
from adjoint.core.protocol import in_graph
from adjoint.core.types import Array, Value
from adjoint.scipy.arrays import plain
from adjoint.scipy.integrate.parameters import numbers
from adjoint.scipy.optimize.functions import Posed, Residuals
from adjoint.scipy.optimize.layout import VectorLayout

EXAMPLE = '{"type": "ineq", "fun": lambda params: params["a"] - params["b"]}'


@dataclass
class Constraint:
    """``low <= f(tree, *args) <= high``, element by element.

    Attributes:
        posed: the function.
        args: its further arguments, which may be tensors.
        low, high: numbers, or arrays that fit the function's value.
        matrix: if the function is a product with this matrix.
        keep_feasible: SciPy's.
    """

    posed: Posed
    args: tuple[Value, ...]
    low: Array
    high: Array
    matrix: Array = None
    keep_feasible: object = False

    def residuals(self, record: bool = True) -> Residuals:
        args = numbers(self.args)
        return Residuals(lambda x: self.posed.vector(x, args), self.posed.layout, self.posed.name, record)

    def sides(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """The bounds of each element of the value, of which there are `size`."""
        try:
            low, high = (np.broadcast_to(np.asarray(side, float).ravel(), size) for side in (self.low, self.high))
        except ValueError:
            raise ShapeError(f"{self.posed.name} gives {size} numbers; its bounds have shapes {np.shape(self.low)} and "
                             f"{np.shape(self.high)}") from None  # fmt: skip
        return low, high

    def for_scipy(self, method: str) -> list[Array]:
        """The same in SciPy's words."""
        kept = self.residuals(record=method in ("slsqp", "trust-constr", "custom"))
        if method == "slsqp":
            return self._one_sided(kept)
        if self.matrix is not None:
            return [LinearConstraint(self.matrix, self.low, self.high, keep_feasible=self.keep_feasible)]
        if not kept.record:
            return [NonlinearConstraint(kept.fun, self.low, self.high)]
        low, high, keep = self.low, self.high, self.keep_feasible
        return [NonlinearConstraint(kept.fun, low, high, jac=kept.jac, hess=kept.weighted, keep_feasible=keep)]

    def _one_sided(self, kept: Residuals) -> list[Array]:
        """SLSQP's: what is zero, and what is not negative."""
        low, high = self.sides(np.size(kept.fun(self.posed.layout.x0)))
        equal = low == high
        found = []
        for kind, mask, sign, side in (
            ("eq", equal, 1.0, low),
            ("ineq", ~equal & np.isfinite(low), 1.0, low),
            ("ineq", ~equal & np.isfinite(high), -1.0, high),
        ):
            if mask.any():
                found.append({
                    "type": kind,
                    "fun": lambda x, m=mask, s=sign, b=side: s * (kept.fun(x)[m] - b[m]),
                    "jac": lambda x, m=mask, s=sign: s * kept.jac(x)[m],
                })  # fmt: skip
        return found


def constraints_of(layout: VectorLayout, constraints: object) -> list[Constraint]:
    """All of `constraints` in one form.

    Args:
        layout: of the parameters.
        constraints: one or several of SciPy's: ``{"type": "eq" or "ineq", "fun": f, "args": (…,)}``,
            ``NonlinearConstraint(f, lb, ub)``, ``LinearConstraint(A, lb, ub)``. Functions take the tree (and `args`)
            and give a number, an array or a tree of them; `A` has a column for each number of the tree, in order.

    Raises:
        ArgumentError: for anything else.
    """
    if constraints is None:
        return []
    if not isinstance(constraints, list | tuple):
        constraints = [constraints]
    return [_constraint(layout, c, f"constraint {i}") for i, c in enumerate(constraints)]


def _constraint(layout: VectorLayout, given: object, name: str) -> Constraint:
    if isinstance(given, Mapping):
        unknown = set(given) - {"type", "fun", "args"}
        kind = str(given.get("type")).lower()
        if unknown or "fun" not in given or kind not in ("eq", "ineq"):
            hint = "; its Jacobian is derived, so `jac` is left out" if "jac" in unknown else ""
            raise ArgumentError(f"{name}: a dictionary has `type` ('eq' or 'ineq'), `fun`, and may have `args`{hint}. "
                                f"For example: {EXAMPLE}")  # fmt: skip
        args = given.get("args", ())
        args = args if isinstance(args, tuple) else (args,)
        return Constraint(Posed(given["fun"], layout, name), args, 0.0, 0.0 if kind == "eq" else np.inf)
    if isinstance(given, LinearConstraint):
        a = given.A
        a = a if sparse.issparse(a) else np.atleast_2d(np.asarray(a, float))
        if a.shape[1] != layout.size:
            raise ShapeError(f"{name}: A has {a.shape[1]} columns for parameters of {layout.size} numbers")
        product = lambda tree: a @ layout.ravel(tree)  # noqa: E731 - a function of the tree, as all others are
        return Constraint(Posed(product, layout, name), (), given.lb, given.ub, a, given.keep_feasible)
    if isinstance(given, NonlinearConstraint):
        if any(in_graph(side) for side in flatten((given.lb, given.ub))[0]):
            raise ArgumentError(f"{name}: a bound is a tensor in a graph; subtract it in the function, and bound by 0")
        sides = (plain(given.lb), plain(given.ub))
        return Constraint(Posed(given.fun, layout, name), (), *sides, keep_feasible=given.keep_feasible)
    raise ArgumentError(f"{name} is {type(given).__name__}; pass a dictionary, for example {EXAMPLE}, or SciPy's "
                        f"NonlinearConstraint or LinearConstraint")  # fmt: skip
