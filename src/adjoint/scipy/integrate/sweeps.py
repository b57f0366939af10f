"""Sweeps over the steps of an explicit method: how changes go forward through them, and cotangents backward.

In step m, from the state y_m, the slopes k_i are those of the field at the times t_m + c_i h_m and the states
y_m + h_m Σ a_ij k_j; the next state is y_m + h_m Σ b_i k_i. These are equations for all states and slopes. Of small
changes they are linear, and lower triangular.
"""

from __future__ import annotations

import numpy as np

from adjoint.batch.batched import Batched
from adjoint.batch.rules import everywhere
from adjoint.core.box import outermost
from adjoint.core.errors import NotSupportedError
from adjoint.core.types import Array, Value
from adjoint.tape.zeros.selected import Selected
from adjoint.transforms.custom_rules import Derivative, Leaves, carried_out, operations

SMALL = 16  # up to so many states a step is one matrix; beyond that the products of its matrices cost more


class StepEquations:
    """The equations of the steps, for small changes.

    Args:
        tableau: of the method: ``A`` (stages, stages), ``B`` (stages).
        lengths: of the steps.
        jacobians: of the field by the state, (steps, stages, n, n).
    """

    def __init__(self, tableau: Value, lengths: np.ndarray, jacobians: np.ndarray) -> None:
        self.a, self.b, self.h, self.jacobians = tableau.A, tableau.B, lengths, jacobians
        self.count, self.stages, self.n = jacobians.shape[:3]
        self.shapes = (self.count + 1, self.n), (self.count, self.stages, self.n)
        self.small = self.n <= SMALL
        if self.small:
            one, h = np.eye(self.n), lengths[:, None, None]
            self.by_state = np.empty_like(jacobians)  # of the slopes, by the state at the start of their step
            for i in range(self.stages):
                inner = one + h * _mixed(self.a[i, :i], self.by_state[:, :i])
                self.by_state[:, i] = np.matmul(jacobians[:, i], inner)
            self.across = list(one + h * _mixed(self.b, self.by_state))

    def forward(self, states: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The changes of all states (…, steps + 1, n) and slopes (…, steps, stages, n), for those of the equations."""
        states, slopes = states.copy(), slopes.copy()
        if self.small:
            return self._forward_by_matrices(states, slopes)
        for m, h in enumerate(self.h):
            y, k = states[..., m, :], slopes[..., m, :, :]
            for i in range(self.stages):
                inner = y + h * np.matmul(self.a[i, :i], k[..., :i, :]) if i else y
                k[..., i, :] += np.matmul(inner, self.jacobians[m, i].T)
            states[..., m + 1, :] += y + h * np.matmul(self.b, k)
        return states, slopes

    def _forward_by_matrices(self, states: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        h = self.h[:, None]
        for i in range(1, self.stages):
            inner = h * np.matmul(self.a[i, :i], slopes[..., :i, :])
            slopes[..., i, :] += np.matmul(self.jacobians[:, i], inner[..., None])[..., 0]
        states[..., 1:, :] += h * np.matmul(self.b, slopes)
        rows = np.moveaxis(states, -2, 0)
        y = rows[0]
        for row, matrix in zip(rows[1:], self.across, strict=True):
            row += np.matmul(y, matrix.T)
            y = row
        slopes += np.matmul(self.by_state, states[..., :-1, None, :, None])[..., 0]
        return states, slopes

    def backward(self, states: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The transpose of `forward`: the cotangents of the equations for those of all states and slopes."""
        states, slopes = states.copy(), slopes.copy()
        if self.small:
            return self._backward_by_matrices(states, slopes)
        for m in range(self.count - 1, -1, -1):
            after, k, h = states[..., m + 1, :], slopes[..., m, :, :], self.h[m]
            k += (h * self.b)[:, None] * after[..., None, :]
            total = states[..., m, :]
            total += after
            for i in range(self.stages - 1, -1, -1):
                share = np.matmul(k[..., i, :], self.jacobians[m, i])
                total += share
                if i:
                    k[..., :i, :] += (h * self.a[i, :i])[:, None] * share[..., None, :]
        return states, slopes

    def _backward_by_matrices(self, states: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        h = self.h[:, None, None]
        if slopes.any():
            shares = np.matmul(slopes[..., None, :], self.by_state)[..., 0, :]
            states[..., :-1, :] += np.sum(shares, axis=-2)
        rows = np.moveaxis(states, -2, 0)[::-1]
        after = rows[0]
        for row, matrix in zip(rows[1:], reversed(self.across), strict=True):
            row += np.matmul(after, matrix)
            after = row
        slopes += h * self.b[:, None] * states[..., 1:, None, :]
        for i in range(self.stages - 1, 0, -1):
            share = np.matmul(slopes[..., i, None, :], self.jacobians[:, i])
            slopes[..., :i, :] += h * self.a[i, :i, None] * share
        return states, slopes


def _mixed(weights: np.ndarray, matrices: np.ndarray) -> Value:
    """The weighted sum of matrices along the axis of the stages."""
    return np.tensordot(weights, matrices, (0, 1)) if len(weights) else 0.0


class Sweep(Derivative):
    """`StepEquations.forward` of arrays of every kind, or `backward`.

    Args:
        passes: how many passes through it may be recorded by ``create_graph`` yet.
    """

    name, ops, aside = "solve_ivp", operations("solve_ivp"), frozenset()

    def __init__(self, steps: StepEquations, passes: int, transposed: bool = False) -> None:
        self.steps, self.passes, self.transposed = steps, passes, transposed

    def value(self, xs: Leaves) -> list[Array]:
        top = outermost(xs)
        if top is None:
            return list((self.steps.backward if self.transposed else self.steps.forward)(*xs))
        level = top.level
        if isinstance(top, Selected):
            inside = [x.value if isinstance(x, Selected) and x.level == level else x for x in xs]
            return [top.replaced(out) for out in carried_out(self, inside)]
        layers = [x.layers if isinstance(x, Batched) and x.level == level else (x, False) for x in xs]
        count = next((data.shape[0] for data, stacked in layers if stacked), None)
        if count is None:
            return self.value([data for data, _ in layers])
        outs = self.value([everywhere(data, stacked, count) for data, stacked in layers])
        return [Batched.of((out, True), level) for out in outs]

    def forward(self, xs: Leaves) -> tuple[list[Array], Value]:
        return carried_out(self, xs), False

    def residual(self, xs: Leaves) -> Array:
        return True  # the pass is recorded

    def backward(self, residual: Array, gs: Leaves, wanted: object) -> list[Array]:
        if self.passes < 0:
            raise NotSupportedError(
                "through solve_ivp, backward(create_graph=True) gives first and second derivatives. For a third, nest "
                "transforms: ad.grad(ad.grad(ad.grad(f)))"
            )
        return carried_out(Sweep(self.steps, self.passes - bool(residual), not self.transposed), self._whole(gs))

    def push(self, xs: Leaves, ts: Leaves) -> tuple[list[Array], list[Array]]:
        return carried_out(self, xs), carried_out(self, self._whole(ts))

    def _whole(self, xs: Leaves) -> list[Array]:
        return [np.zeros(shape) if x is None else x for x, shape in zip(xs, self.steps.shapes, strict=True)]
