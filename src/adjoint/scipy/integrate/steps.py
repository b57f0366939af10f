"""The steps that an explicit Runge-Kutta solver took, taken again on tensors: the *direct* gradient.

SciPy's solver chooses the steps; their lengths then are constants, and what is differentiated is what was computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from adjoint.core.constructors import general
from adjoint.core.op import call

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
        stages.append(f(t + float(c) * h, _advanced(y, h, weights, stages)))
    after = _advanced(y, h, tableau.B, stages)
    stages.append(f(t + h, after))
    return after, stages


def _advanced(y: Any, h: Any, weights: Any, stages: list[Any]) -> Any:
    """``y`` and `h` times the weighted sum of the stages."""
    used = [(float(w), k) for w, k in zip(weights, stages, strict=False) if w]
    if isinstance(h, float):
        return weighted_sum(y, *(k for _, k in used), weights=(1.0, *(h * w for w, _ in used)))
    return y + h * weighted_sum(*(k for _, k in used), weights=tuple(w for w, _ in used))


def _shares(g: Any, weights: tuple[float, ...], needs: tuple[int, ...]) -> list[Any]:
    return [w * g if i in needs else None for i, w in enumerate(weights)]


@general(
    vjp=_shares,
    batch="leading",
    linear=True,
    samples=lambda r: [call(r(3), r(3), weights=(0.5, -2.0)), call(r(2, 2), weights=(3.0,))],
)
def weighted_sum(*xs: Any, weights: tuple[float, ...] = ()) -> Any:
    """The sum of arrays of one shape, each times its weight, in one operation."""
    total = weights[0] * xs[0]
    for w, x in zip(weights[1:], xs[1:], strict=True):
        total += w * x
    return total


def _between(tableau: Any, stages: list[Any], y: Any, h: Any, s: Any) -> Any:
    """The solver's polynomial at the shares `s` of a step."""
    powers = np.stack([s**k for k in range(1, tableau.P.shape[1] + 1)])
    shape = np.matmul(tableau.P.T.astype(stages[0].dtype), np.stack(stages))  # (order, n)
    return y[:, None] + h * np.matmul(shape.T, powers)
