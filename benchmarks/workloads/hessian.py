"""A full Hessian: derivatives of derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Call, Case, programs
from benchmarks.peers import everyone, load

TITLE = "Hessian"
ABOUT = "Rosenbrock's function of n variables; the whole matrix. MyGrad has no second derivatives."


def program(x: Any) -> Any:
    """Rosenbrock's function."""
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def with_adjoint(x: np.ndarray) -> Call:
    f = load("adjoint").hessian(program)
    return lambda: [f(x)]


def by_hand(x: np.ndarray) -> Call:
    def matrix() -> Any:
        diagonal = np.zeros_like(x)
        diagonal[:-1] = 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
        diagonal[1:] += 200.0
        beside = -400.0 * x[:-1]
        return [np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)]

    return matrix


def with_torch(x: np.ndarray) -> Call:
    torch = load("torch")
    given = torch.from_numpy(x)
    return lambda: [torch.autograd.functional.hessian(program, given)]


def with_jax(x: np.ndarray) -> Call:
    f, given = load("jax").hessian(program), load("jax.numpy").asarray(x)
    return lambda: [f(given).block_until_ready()]


def with_jit(x: np.ndarray) -> Call:
    jax, given = load("jax"), load("jax.numpy").asarray(x)
    f = jax.jit(jax.hessian(program))
    return lambda: [f(given).block_until_ready()]


def with_autograd(x: np.ndarray) -> Call:
    load("autograd.numpy")
    f = load("autograd").hessian(program)
    return lambda: [f(x)]


EVERYONE = everyone(globals())


def cases(small: bool = False) -> Iterator[Case]:
    """One row."""
    size = 4 if small else 30
    x = np.random.default_rng(0).uniform(-1, 1, size)
    yield Case(f"{size} variables", programs(EVERYONE, x))
