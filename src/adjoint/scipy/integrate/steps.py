"""The steps that an explicit Runge-Kutta solver took, taken again on tensors: the *direct* gradient.

SciPy's solver chooses the steps; their lengths then are constants, and what is differentiated is what was computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

METHODS: dict[str, Any] = {"RK45": integrate.RK45, "RK23": integrate.RK23}


def taken_again(f: Callable[..., Any], grid: Any, ends: tuple[Any, Any], y: Any, method: str, t_eval: Any) -> Any:
    """The states at `t_eval`, or without it at each point of `grid`, as columns.

    Args:
        f: ``f(t, y)``.
        grid: the solver's own times, plain.
        ends: the first and the last of them, as they were given; the first and the last step have gradients by them.
        y: the initial state.
        method: a name in `METHODS`.
        t_eval: times, in the order of the grid.
    """
    tableau = METHODS[method]
    direction = 1.0 if grid[-1] >= grid[0] else -1.0
    plain_times = None if t_eval is None else direction * np.asarray(getattr(t_eval, "numpy", lambda: t_eval)())
    times: list[Any] = [ends[0], *map(float, grid[1:-1]), *([ends[1]] if len(grid) > 1 else [])]
    columns = [y[:, None]] if t_eval is None else []
    done = 0
    slope = f(times[0], y)
    for i in range(len(grid) - 1):
        t, h = times[i], times[i + 1] - times[i]
        after, stages = _step(f, tableau, t, y, slope, h)
        if plain_times is None:
            columns.append(after[:, None])
        else:
            stop = int(np.searchsorted(plain_times, direction * grid[i + 1], side="right"))
            if stop > done:
                columns.append(_between(tableau, stages, y, h, (t_eval[done:stop] - t) / h))
                done = stop
        y, slope = after, stages[-1]
    return np.concatenate(columns, axis=1) if columns else np.zeros((y.shape[0], 0), y.dtype)


def _step(f: Callable[..., Any], tableau: Any, t: Any, y: Any, slope: Any, h: Any) -> tuple[Any, list[Any]]:
    """The state after one step, and the slopes met on the way; the last is that at its end."""
    stages = [slope]
    for weights, c in zip(tableau.A[1:], tableau.C[1:], strict=True):
        k = len(stages)
        stages.append(f(t + float(c) * h, y + h * _combined(weights[:k], stages)))
    after = y + h * _combined(tableau.B, stages)
    stages.append(f(t + h, after))
    return after, stages


def _combined(weights: Any, stages: list[Any]) -> Any:
    return np.matmul(weights.astype(stages[0].dtype), np.stack(stages))


def _between(tableau: Any, stages: list[Any], y: Any, h: Any, s: Any) -> Any:
    """The solver's polynomial at the shares `s` of a step."""
    powers = np.stack([s**k for k in range(1, tableau.P.shape[1] + 1)])
    shape = np.matmul(tableau.P.T.astype(stages[0].dtype), np.stack(stages))  # (order, n)
    return y[:, None] + h * np.matmul(shape.T, powers)
