"""A differential equation: gradients of its end by the initial state and by a matrix of parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case, programs
from benchmarks.peers import load

TITLE = "Differential equation"
ABOUT = (
    "y' = tanh(W y) from t = 0 to 5 by RK45, rtol 1e-6. NumPy is the augmented equation, state, cotangent and W's "
    "gradient in one, written by hand and solved backward to the same tolerances: the same steps as with "
    "gradient='adjoint'. What adjoint adds is the eager gradient of the right side at each evaluation."
)
OPTIONS: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-8}


def _program(ways: str, w: np.ndarray, y0: np.ndarray) -> Call:
    ad, integrate = load("adjoint"), load("adjoint.scipy.integrate")

    def loss(y: Any, w: Any) -> Any:
        end = integrate.solve_ivp(
            lambda t, y, w: np.tanh(w @ y), (0.0, 5.0), y, t_eval=[5.0], args=(w,), gradient=ways, **OPTIONS
        )
        return np.sum(end.y[:, -1] ** 2)

    gradient = ad.grad(loss, (0, 1))
    return lambda: list(gradient(y0, w))


def by_hand(ways: str, w: np.ndarray, y0: np.ndarray) -> Call:
    solve, n = load("scipy.integrate").solve_ivp, len(y0)

    def augmented(t: float, z: np.ndarray) -> np.ndarray:
        y, h = z[:n], np.tanh(w @ z[:n])
        share = z[n : 2 * n] * (1 - h * h)
        return np.concatenate([h, -(w.T @ share), -np.outer(share, y).ravel()])

    def gradient() -> list[np.ndarray]:
        end = solve(lambda t, y: np.tanh(w @ y), (0.0, 5.0), y0, **OPTIONS).y[:, -1]
        z = solve(augmented, (5.0, 0.0), np.concatenate([end, 2 * end, np.zeros(n * n)]), **OPTIONS).y[:, -1]
        return [z[n : 2 * n], z[2 * n :].reshape(n, n)]

    return gradient


EVERYONE = {"adjoint": _program, "NumPy": by_hand}


def cases(small: bool = False) -> Iterator[Case]:
    """One row a way of going back, and size."""
    r = np.random.default_rng(0)
    for n in (3,) if small else (20, 100):
        w, y0 = r.standard_normal((n, n)) / np.sqrt(n) - np.eye(n), r.standard_normal(n)
        for ways in ("adjoint", "direct"):
            limit = 3.0 if n >= 100 else 5.0  # in small systems the eager gradient is most of the work
            yield Case(f"{n} states, {ways}", programs(EVERYONE, ways, w, y0), budgets=(Budget("NumPy", limit),))
