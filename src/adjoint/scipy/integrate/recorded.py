"""The steps that a solver took, differentiated all at once.

The solver's steps are kept: times, states, and the slopes in them. The field is evaluated on the tape once, for all
slopes of all steps, by `vmap`, and not once for each. Sweeps over the steps do the rest. Each further evaluation makes
derivatives of one more order right, as for any solution of equations.
"""

from __future__ import annotations

import numpy as np

from adjoint.core.types import Array, Value
from adjoint.scipy.attached import constant, levels
from adjoint.scipy.derivatives import matrix
from adjoint.scipy.integrate.steps import EXPLICIT, Field, Taken, risen, rows_of_order_7, step
from adjoint.scipy.integrate.sweeps import StepEquations, Sweep
from adjoint.tape.modes import no_grad
from adjoint.transforms.batch import vmap
from adjoint.transforms.custom_rules import carried_out
from adjoint.transforms.reverse import vjp

MOST = 64  # with more states, the field's pullbacks cost less than its Jacobians
NUMBERS = 1 << 22  # in all Jacobians, at most
OFF = 1e-6  # the field's slopes may be off from the solver's by this, relative to the largest


class Recorder:
    """Keeps the steps that a solver of SciPy's takes.

    Args:
        method: a name in `EXPLICIT`.

    Attributes:
        solver: what `scipy.integrate.solve_ivp` takes as its method.
        grid: the times at which steps start, and that at which the last ends.
        states: at the times of the grid.
        slopes: in each step, (stages, n).
    """

    def __init__(self, method: str) -> None:
        self.method, base = method, EXPLICIT[method]
        grid: list[float] = []
        states: list[np.ndarray] = []
        slopes: list[np.ndarray] = []
        self.grid, self.states, self.slopes = grid, states, slopes

        class RecordingMethod(base):  # type: ignore[misc, valid-type]  # SciPy has no types
            def _step_impl(self) -> Value:
                if not grid:
                    grid.append(self.t)
                    states.append(self.y)
                done = super()._step_impl()
                if done[0]:
                    grid.append(self.t)
                    states.append(self.y)
                    slopes.append(self.K[: self.n_stages].copy())
                return done

        self.solver: Value = RecordingMethod

    def end_at(self, events: np.ndarray, field: Field) -> None:
        """Let the last step end at the last of `events`."""
        start, stop = self.grid[-2:]
        end = float(np.max(events) if stop > start else np.min(events))
        if end != stop:
            after, stages = step(field, EXPLICIT[self.method], start, self.states[-2], self.slopes[-1][0], end - start)
            self.grid[-1], self.states[-1], self.slopes[-1] = end, after, np.stack(stages[:-1])


def all_at_once(f: Field, plain: Field, recorded: Recorder, ends: tuple[Value, Value], y: Array) -> Taken | None:
    """The steps as functions of all that `f` uses; None if they must be taken again one by one.

    That is so if `vmap` does not take `f`, if `f` does not give again what it has given, or if there are many states.

    Args:
        plain: `f` with plain arguments.
    """
    states = recorded.states
    if not states or states[0].dtype != np.float64 or not 0 < states[0].shape[0] <= MOST:
        return None
    slopes = np.stack(recorded.slopes)
    if slopes.size * slopes.shape[-1] > NUMBERS:
        return None
    tableau = EXPLICIT[recorded.method]
    grid, whole = np.array(recorded.grid), np.stack(states)
    lengths = np.diff(grid)
    times = grid[:-1, None] + tableau.C * lengths[:, None]
    inside = _inside(tableau, whole, slopes, lengths)
    try:
        with np.errstate(all="ignore"):  # what is not finite is left to single steps, which say so
            jacobians = _jacobians(plain, times, inside, slopes)
    except Exception:  # the user's function, of many samples: step by step it may well do
        return None
    if jacobians is None or not np.isfinite(jacobians).all():
        return None
    return _AllAtOnce(f, recorded.method, StepEquations(tableau, lengths, jacobians), grid, ends, (whole, slopes), y)


def _inside(tableau: Value, states: Array, slopes: Array, lengths: Array) -> Array:
    """The states at which slopes are taken, (steps, stages, n)."""
    return states[:-1, None] + lengths[:, None, None] * np.matmul(tableau.A, slopes[..., : tableau.A.shape[1], :])


def _jacobians(f: Field, times: Array, states: Array, slopes: Array) -> Value:
    """Of `f` by the state; None if it gives other slopes."""
    n = states.shape[-1]
    places = np.reshape(times, (-1,))
    with no_grad():
        values, pullback = vjp(lambda y: vmap(f)(places, y), np.reshape(states, (-1, n)))
        values = constant(values)
        if values.shape != (len(places), n) or values.dtype != np.float64:
            return None
        if not np.max(np.abs(np.reshape(values, slopes.shape) - slopes)) <= OFF * np.max(np.abs(slopes)):
            return None
        like = values.shape
        found = constant(matrix(lambda row: pullback(np.broadcast_to(row, like))[0], n))
    return np.reshape(found, (*slopes.shape[:2], n, n))


class _AllAtOnce(Taken):
    """What `Taken` is, with derivatives of all steps at once."""

    def __init__(
        self,
        f: Field,
        method: str,
        steps: StepEquations,
        grid: Array,
        ends: tuple[Value, Value],
        found: tuple[Array, Array],
        y: Array,
    ) -> None:
        self.f, self.grid, self.direction = f, grid, 1.0 if grid[-1] >= grid[0] else -1.0
        self.tableau = EXPLICIT[method]
        self.times: Value = [ends[0], *map(float, grid[1:-1]), ends[1]]
        self._many, self._start = vmap(f), y
        varies = any(map(levels, ends))
        self._grid = np.concatenate([np.reshape(t, (1,)) for t in self.times]) if varies else grid
        self._lengths = self._grid[1:] - self._grid[:-1]
        states, slopes = self._followed(steps, *found)
        last = f(self.times[-1], states[-1])  # last: what `f` keeps for later has its history
        self._rows, self._slopes, self._after = states, slopes, np.concatenate([slopes[1:, 0], last[None]])

    @property
    def states(self) -> Value:
        return np.swapaxes(self._rows, 0, 1)

    def _between(self, which: Value, times: Value) -> Value:
        y, h, start = self._rows[which], self._lengths[which][:, None], self._grid[which][:, None]
        slopes, shares = self._slopes[which], (times[:, None] - start) / h
        if self.tableau is EXPLICIT["DOP853"]:
            stages = [slopes[:, i] for i in range(self.tableau.n_stages)] + [self._after[which]]
            many = lambda t, y: self._many(np.reshape(t, (-1,)), y)  # noqa: E731 - of times as a column
            rows = rows_of_order_7(many, stages, start, y, self._rows[which + 1], h)
            return np.swapaxes(y + risen(rows, shares), 0, 1)
        slopes = np.concatenate([slopes, self._after[which][:, None]], axis=1)
        weights = np.matmul(shares ** np.arange(1, self.tableau.P.shape[1] + 1), self.tableau.P.T)
        return np.swapaxes(y + h * np.matmul(weights[:, None, :], slopes)[:, 0], 0, 1)

    def _followed(self, steps: StepEquations, states: Array, slopes: Array) -> tuple[Array, Array]:
        """States and slopes as functions of all that their equations use."""
        off = self._off(states, slopes)
        found = levels(off[0]) | levels(off[1])
        rule = Sweep(steps, int(0 in found))
        orders = len(found) + rule.passes
        by: Value = (0.0, 0.0)
        for i in range(orders):
            off = self._off(states + by[0], slopes + by[1]) if i else off
            changes = carried_out(rule, [x - constant(x) if levels(x) else np.zeros(x.shape) for x in off])
            by = by[0] + changes[0], by[1] + changes[1]
        return states + by[0], slopes + by[1]

    def _off(self, states: Array, slopes: Array) -> tuple[Array, Array]:
        """The residuals: what the equations give for the states and slopes, less the states and slopes."""
        h, n = self._lengths, states.shape[-1]
        times = self._grid[:-1, None] + self.tableau.C * h[:, None]
        inside = _inside(self.tableau, states, slopes, h)
        values = self._many(np.reshape(times, (-1,)), np.reshape(inside, (-1, n)))
        after = states[:-1] + h[:, None] * np.matmul(self.tableau.B, slopes)
        return np.concatenate([self._start[None], after]) - states, np.reshape(values, slopes.shape) - slopes
