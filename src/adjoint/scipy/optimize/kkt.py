"""The equations that a minimum satisfies, as functions of the problem's parameters (Karush, Kuhn and Tucker)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from adjoint.core.types import Array, Value
from adjoint.scipy.attached import constant
from adjoint.scipy.derivatives import jacobian_of, pulled
from adjoint.scipy.optimize.constraints import Constraint
from adjoint.tape.modes import no_grad
from adjoint.transforms.reverse import grad

NEAR = 1e-6  # how close to a bound counts as at it, and how small a multiplier counts as none
INTERIOR = 1e-3  # … for a method that stays a little inside


class Active(NamedTuple):
    """The elements of one constraint that hold with equality, and to what."""

    number: int
    rows: np.ndarray
    sides: np.ndarray


def _fitted(rows: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """The multipliers with which the gradients of constraints, `rows`, cancel the objective's `slope` best."""
    found: np.ndarray = np.linalg.lstsq(rows.T, -slope, rcond=None)[0]
    return found


class Optimality:
    """What holds at the minimum `x`: which bounds and constraints are active, and with which multipliers.

    The vector ``z`` is `x`, then one multiplier for each active constraint.

    Args:
        number: ``number(x, args)``, the objective.
        constraints: all of them.
        x: the minimum.
        bounds: SciPy's, or None.
        args, further: the plain arguments of the objective, and of each constraint.
        near: how close to a bound, relative to it or to 1, counts as at it.
    """

    def __init__(
        self,
        number: Callable[[Array, Array], Array],
        constraints: Sequence[Constraint],
        x: np.ndarray,
        bounds: Value,
        args: object,
        further: Sequence[object],
        near: float = NEAR,
    ) -> None:
        self.number, self.constraints, self.x, self.near = number, constraints, x, near
        with no_grad():
            slope = constant(grad(lambda x: number(x, args))(x))
        tiny = NEAR * max(1.0, float(np.abs(slope).max()))
        self.active: list[Active] = []
        multipliers, rows = np.zeros(0), np.zeros((0, x.size))
        found = [self._near(i, c) for i, c in enumerate(constraints)]
        self.free = np.ones(x.size, bool)
        self.active = [active for active, _, _ in found if active.rows.size]
        if self.active:
            rows = np.concatenate([jacobian for _, jacobian, _ in found])
            kinds = np.concatenate([kind for _, _, kind in found])
            at_bound = np.zeros(x.size, bool) if bounds is None else self._at(x, bounds.lb) | self._at(x, bounds.ub)
            multipliers = _fitted(rows[:, ~at_bound], slope[~at_bound])
            kept = (kinds == 0) | (multipliers * kinds > tiny)  # an inequality pushes to one side only
            self._keep(kept)
            rows = rows[kept]
            multipliers = _fitted(rows[:, ~at_bound], slope[~at_bound])
        if bounds is not None:
            push = slope + multipliers @ rows
            low, high = self._at(x, bounds.lb) & (push > tiny), self._at(x, bounds.ub) & (push < -tiny)
            self.free = ~(low | high | (bounds.lb == bounds.ub))
        self.held = x  # where numbers at a bound are
        self.z = np.concatenate([x, multipliers])

    def _at(self, x: np.ndarray, side: np.ndarray) -> Array:
        """Where `x` is as good as at a bound."""
        return np.isfinite(side) & (np.abs(x - side) <= self.near * np.maximum(1.0, np.abs(side)))

    def _near(self, i: int, constraint: Constraint) -> tuple[Active, np.ndarray, np.ndarray]:
        """The elements of constraint `i` that may be active, their gradients, and the sign of their multipliers."""
        with no_grad():
            value, pullback = pulled(lambda x: constraint.posed.vector(x, constraint.args), self.x)
            slopes = constant(jacobian_of(pullback, value, self.x.size))
        value = constant(value)
        low, high = constraint.sides(value.size)
        kind = np.where(low == high, 0, np.where(self._at(value, high), 1, -1))
        rows = np.flatnonzero((low == high) | self._at(value, low) | self._at(value, high))
        return Active(i, rows, np.where(kind > 0, high, low)[rows]), slopes[rows], kind[rows]

    def _keep(self, kept: np.ndarray) -> None:
        start, found = 0, []
        for active in self.active:
            mask = kept[start : start + active.rows.size]
            start += active.rows.size
            if mask.any():
                found.append(Active(active.number, active.rows[mask], active.sides[mask]))
        self.active = found

    def equations(self, z: Array, args: object, further: Sequence[object]) -> Array:
        """Zero at the minimum: the gradient of the Lagrangian, and what the active constraints are off by."""
        n = self.x.size

        def values(x: Array) -> list[Array]:
            return [
                self.constraints[active.number].posed.vector(x, further[active.number])[active.rows] - active.sides
                for active in self.active
            ]

        def lagrangian(x: Array) -> Array:
            total, start = self.number(x, args), n
            for value in values(x):
                total = total + np.sum(z[start : start + value.shape[0]] * value)
                start += value.shape[0]
            return total

        x = z[:n]
        head = grad(lagrangian)(x)
        head = head if self.free.all() else np.where(self.free, head, x - self.held)
        return np.concatenate([head, *values(x)]) if self.active else head
