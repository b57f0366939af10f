"""A differential equation: gradients of its end by the initial state and by a matrix of parameters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case, programs
from benchmarks.peers import load

TITLE = "Differential equation"
ABOUT = (
    "y' = tanh(W y) from t = 0 to 5 by RK45, rtol 1e-6. NumPy is the augmented equation, state, cotangent and W's "
    "gradient in one, written by hand and solved backward to the same tolerances: the same steps as with "
    "gradient='adjoint'. What adjoint adds is the eager gradient of the right side at each evaluation. "
    "Lotka and Volterra's equations from t = 0 to 20: beside one plain solution, the gradient of the end by the state "
    "and four parameters, and the Jacobian of 20 states by the parameters."
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


def _hunt(t: float, y: Any, p: Any) -> Any:
    return [p[0] * y[0] - p[1] * y[0] * y[1], p[3] * y[0] * y[1] - p[2] * y[1]]


HUNTERS = np.array([10.0, 5.0]), np.array([1.1, 0.4, 0.4, 0.1])


def _derivative(what: str) -> Call:
    ad, integrate = load("adjoint"), load("adjoint.scipy.integrate")
    times = np.linspace(0.0, 20.0, 20)

    def states(y0: Any, p: Any, t_eval: Any = None) -> Any:
        return integrate.solve_ivp(_hunt, (0.0, 20.0), y0, args=(p,), t_eval=t_eval, **OPTIONS).y

    if what == "gradient":
        gradient = ad.grad(lambda y0, p: np.sum(states(y0, p)[:, -1] ** 2), (0, 1))
        return lambda: list(gradient(*HUNTERS))
    jacobian = ad.jacobian(lambda y0, p: states(y0, p, times), 1)
    return lambda: [jacobian(*HUNTERS)]


def _solution() -> Call:
    solve = load("scipy.integrate").solve_ivp
    return lambda: [solve(_hunt, (0.0, 20.0), HUNTERS[0], args=(HUNTERS[1],), **OPTIONS).y]


def _beside_one(what: str) -> dict[str, Call]:
    return {"adjoint": _derivative(what), "one solution": _solution()}


EVERYONE = {"adjoint": _program, "NumPy": by_hand}


def cases(small: bool = False) -> Iterator[Case]:
    """One row a way of going back, and size."""
    r = np.random.default_rng(0)
    for n in (3,) if small else (20, 100):
        w, y0 = r.standard_normal((n, n)) / np.sqrt(n) - np.eye(n), r.standard_normal(n)
        for ways in ("adjoint", "direct"):
            limit = 3.0 if n >= 100 else 5.0  # in small systems the eager gradient is most of the work
            yield Case(f"{n} states, {ways}", programs(EVERYONE, ways, w, y0), budgets=(Budget("NumPy", limit),))
    for what, limit in (("gradient", 4.0), ("Jacobian by 4 parameters", 8.0)):
        yield Case(f"2 states, {what}", partial(_beside_one, what), budgets=(Budget("one solution", limit),))
