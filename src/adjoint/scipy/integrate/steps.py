"""The steps that a solver took, taken again on tensors: the *direct* gradient.

SciPy's solver chooses the steps; their lengths are then constants. Explicit methods take the very same steps. The steps
of the others (Radau, BDF, LSODA) are taken by the Radau method of order 5 (E. Hairer and G. Wanner, Solving ordinary
differential equations II, 1996, IV.8), whose stages start from SciPy's solution and keep its values.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import integrate

from adjoint.core.constructors import general
from adjoint.core.errors import ShapeError
from adjoint.core.op import call
from adjoint.core.rules.pullbacks import shape_of
from adjoint.core.types import Array, Value
from adjoint.scipy.attached import attached, constant, levels

Field = Callable[[Value, Value], Value]
EXPLICIT: dict[str, Value] = {"RK45": integrate.RK45, "RK23": integrate.RK23, "DOP853": integrate.DOP853}
_ROOT = 6.0**0.5
RADAU_PLACES = np.array([(4 - _ROOT) / 10, (4 + _ROOT) / 10, 1.0])
RADAU = np.array([
    [(88 - 7 * _ROOT) / 360, (296 - 169 * _ROOT) / 1800, (-2 + 3 * _ROOT) / 225],
    [(296 + 169 * _ROOT) / 1800, (88 + 7 * _ROOT) / 360, (-2 - 3 * _ROOT) / 225],
    [(16 - _ROOT) / 36, (16 + _ROOT) / 36, 1 / 9],
])  # fmt: skip
# Takes what the three stages add to the state to the coefficients of the cubic through them.
_CUBIC = np.linalg.inv(RADAU_PLACES[:, None] ** np.arange(1, 4))


class Taken:
    """The solution on a grid of times, as a function of all that the field uses.

    Args:
        f: ``f(t, y)`` gives a vector.
        grid: the solver's own times, plain.
        ends: the first and the last of them, as they were given: the first and the last step have gradients by them.
        y: the initial state.
        method: a name in `EXPLICIT`; any other is treated as an implicit one.
        guess: the solution as a function of time, plain; for implicit methods.

    Attributes:
        times: those of the grid, as they were given.
    """

    def __init__(
        self,
        f: Field,
        grid: Value,
        ends: tuple[Value, Value],
        y: Array,
        method: Value,
        guess: Callable[[float], Value] | None,
    ) -> None:
        self.f, self.grid, self.direction = f, grid, 1.0 if grid[-1] >= grid[0] else -1.0
        self._states, self._parts = [y], []
        self.times: list[Value] = [ends[0], *map(float, grid[1:-1]), *([ends[1]] if len(grid) > 1 else [])]
        take = _Explicit(f, EXPLICIT[method]) if method in EXPLICIT else _Implicit(f, guess)
        for i in range(len(grid) - 1):
            t, h = self.times[i], self.times[i + 1] - self.times[i]
            y, between = take(t, y, h, float(grid[i]), float(grid[i + 1] - grid[i]))
            self._states.append(y)
            self._parts.append(between)

    @property
    def states(self) -> Value:
        """The states at each time of the grid, (n, times)."""
        return np.stack(self._states, axis=1)

    def at(self, times: Value) -> Value:
        """The states at `times`, (n, times); plain times, or tensors.

        By a time itself, the solution's derivatives are the field's, of every order that a step has; the polynomial
        between two steps would lose one order with each.
        """
        if levels(times):
            fixed = constant(times)
            there, lags = self.at(fixed), times - fixed
            after = [self._later(t, there[:, i], lags[i]) for i, t in enumerate(fixed)]
            return np.stack(after, axis=1) if after else there
        values = self.direction * np.asarray(getattr(times, "numpy", lambda: times)())
        if len(self.grid) < 2:
            return np.stack([self._states[0]] * len(values), axis=1)
        # As SciPy does: a time on the grid belongs to the interval before it.
        which = np.clip(np.searchsorted(self.direction * self.grid, values, side="left") - 1, 0, len(self.grid) - 2)
        return self._between(which, times)

    def _between(self, which: Value, times: Value) -> Value:
        """The states at `times`, which are in the steps `which`."""
        columns = []
        done = 0
        while done < len(which):
            i, stop = which[done], done
            while stop < len(which) and which[stop] == i:
                stop += 1
            t, h = self.times[i], self.times[i + 1] - self.times[i]
            columns.append(self._parts[i]((times[done:stop] - t) / h))
            done = stop
        return np.concatenate(columns, axis=1) if columns else np.zeros((self._states[0].shape[0], 0))

    def _later(self, t: Array, y: Array, lag: Value) -> Array:
        """The state a step of `lag`, of no length, after `t`, where it is `y`."""
        return step(self.f, integrate.DOP853, t, y, self.f(t, y), lag)[0]


class _Explicit:
    """Steps of a Runge-Kutta method, of which the slope at the end of one is that at the start of the next."""

    def __init__(self, f: Field, tableau: Value) -> None:
        self.f, self.tableau, self.slope = f, tableau, None

    def __call__(self, t: Array, y: Array, h: Array, *_: float) -> tuple[Value, Callable[[Value], Value]]:
        slope = self.f(t, y) if self.slope is None else self.slope
        after, stages = step(self.f, self.tableau, t, y, slope, h)
        self.slope = stages[-1]
        if self.tableau is integrate.DOP853:
            return after, lambda s: _of_order_7(self.f, stages, t, y, after, h, s)
        return after, lambda s: _between(self.tableau, stages, y, h, s)


class _Implicit:
    """Steps of Radau's method: its equations are solved from a guess, and followed."""

    def __init__(self, f: Field, guess: Value) -> None:
        self.f, self.guess = f, guess

    def __call__(
        self, t: Array, y: Array, h: Array, start: float, length: float
    ) -> tuple[Value, Callable[[Value], Value]]:
        n = y.shape[0]
        known = self.guess(start)
        z = np.concatenate([self.guess(start + float(c) * length) - known for c in RADAU_PLACES])

        def off(z: Array) -> Array:
            parts = [z[i * n : (i + 1) * n] for i in range(3)]
            slopes = [self.f(t + float(c) * h, y + part) for c, part in zip(RADAU_PLACES, parts, strict=True)]
            return np.concatenate([
                parts[i] - h * sum(float(RADAU[i, j]) * slopes[j] for j in range(3)) for i in range(3)
            ])  # fmt: skip

        z = attached(z, off, near=np.inf)
        stages = np.stack([z[i * n : (i + 1) * n] for i in range(3)], axis=1)
        cubic = np.matmul(stages, _CUBIC.T)  # (n, 3)
        return y + z[2 * n :], lambda s: y[:, None] + np.matmul(cubic, np.stack([s, s**2, s**3]))


def step(f: Field, tableau: Value, t: Array, y: Array, slope: Value, h: Array) -> tuple[Value, list[Value]]:
    """The state after one step, and the slopes met on the way; the last is that at its end."""
    stages = [slope]
    for weights, c in zip(tableau.A[1:], tableau.C[1:], strict=True):
        stages.append(f(t + float(c) * h, _advanced(y, h, weights, stages)))
    after = _advanced(y, h, tableau.B, stages)
    stages.append(f(t + h, after))
    return after, stages


def _advanced(y: Array, h: Array, weights: Array, stages: list[Value]) -> Array:
    """``y`` and `h` times the weighted sum of the stages."""
    used = [(float(w), k) for w, k in zip(weights, stages, strict=False) if w]
    if isinstance(h, float):
        return weighted_sum(y, *(k for _, k in used), weights=(1.0, *(h * w for w, _ in used)))
    return y + h * weighted_sum(*(k for _, k in used), weights=tuple(w for w, _ in used))


def _shares(g: Array, weights: tuple[float, ...], needs: tuple[int, ...]) -> list[Array]:
    return [w * g if i in needs else None for i, w in enumerate(weights)]


@general(
    vjp=_shares,
    batch="leading",
    linear=True,
    samples=lambda r: [call(r(3), r(3), weights=(0.5, -2.0)), call(r(2, 2), weights=(3.0,))],
)
def weighted_sum(*xs: Array, weights: tuple[float, ...] = ()) -> Array:
    """The sum of arrays of one shape, each times its weight, in one operation.

    Raises:
        ShapeError: if the shapes differ.
    """
    if len(set(map(shape_of, xs))) > 1:
        raise ShapeError(f"weighted_sum takes arrays of one shape; got {', '.join(str(np.shape(x)) for x in xs)}")
    total = weights[0] * xs[0]
    for w, x in zip(weights[1:], xs[1:], strict=True):
        total += w * x
    return total


def _between(tableau: Value, stages: list[Value], y: Array, h: Array, s: Array) -> Array:
    """The solver's polynomial at the shares `s` of a step."""
    powers = np.stack([s**k for k in range(1, tableau.P.shape[1] + 1)])
    shape = np.matmul(tableau.P.T.astype(stages[0].dtype), np.stack(stages))  # (order, n)
    return y[:, None] + h * np.matmul(shape.T, powers)


def _of_order_7(f: Field, stages: list[Value], t: Array, y: Array, after: Value, h: Array, s: Array) -> Array:
    """DOP853's polynomial at the shares `s` of a step."""
    return y[:, None] + risen([row[:, None] for row in rows_of_order_7(f, stages, t, y, after, h)], s)


def rows_of_order_7(f: Field, stages: list[Value], t: Array, y: Array, after: Value, h: Array) -> list[Value]:
    """The coefficients of DOP853's polynomial, for which it takes three more slopes. Of many steps too, as rows."""
    tableau, slopes = integrate.DOP853, list(stages)
    for weights, c in zip(tableau.A_EXTRA, tableau.C_EXTRA, strict=True):
        slopes.append(f(t + float(c) * h, _advanced(y, h, weights[: len(slopes)], slopes)))
    rise = after - y
    rows = [rise, h * slopes[0] - rise, 2.0 * rise - h * (stages[-1] + slopes[0])]
    return rows + [h * weighted_sum(*slopes, weights=tuple(map(float, row))) for row in tableau.D]


def risen(rows: list[Value], s: Array) -> Array:
    """What that polynomial adds to the state."""
    total: Array = 0.0
    for i, row in enumerate(reversed(rows)):
        total = (total + row) * (s if i % 2 == 0 else 1.0 - s)
    return total
