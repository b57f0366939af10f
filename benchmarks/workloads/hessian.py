"""A full Hessian: derivatives of derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case, programs
from benchmarks.peers import everyone, load

TITLE = "Hessian"
ABOUT = (
    "The whole matrix: of Rosenbrock's function of n variables, and of the loss of a small network by all its weights. "
    "PyTorch: `torch.autograd.functional.hessian(vectorize=True)`, the fastest of its ways. MyGrad has no second "
    "derivatives."
)
BUDGETS = (Budget("autograd", 0.5), Budget("PyTorch", 1.0))
DATA = np.random.default_rng(1).standard_normal((32, 6))


def rosenbrock(_: Any, x: Any) -> Any:
    """A long valley."""
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def network(xp: Any, x: Any) -> Any:
    """The loss of a network with 10 hidden units, by its 100 weights; `xp` is any peer's namespace."""
    inputs = DATA if xp.__name__ != "torch" else xp.from_numpy(DATA)
    hidden = xp.tanh(inputs @ x[:60].reshape(6, 10) + x[60:70])
    return ((hidden @ x[70:100].reshape(10, 3)) ** 2).mean()


def with_adjoint(f: Any, x: np.ndarray) -> Call:
    matrix = load("adjoint").hessian(lambda x: f(np, x))
    return lambda: [matrix(x)]


def by_hand(f: Any, x: np.ndarray) -> Call:
    return (lambda: [_of_rosenbrock(x)]) if f is rosenbrock else (lambda: [_of_network(x)])


def _of_rosenbrock(x: np.ndarray) -> np.ndarray:
    diagonal = np.zeros_like(x)
    diagonal[:-1] = 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
    diagonal[1:] += 200.0
    beside = -400.0 * x[:-1]
    return np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)


def _of_network(x: np.ndarray) -> np.ndarray:
    """The Jacobian of the residuals times itself, and the residuals' own curvature."""
    count, unit = len(DATA), np.eye(10)
    inputs = np.concatenate([DATA, np.ones((count, 1))], axis=1)  # what the biases are multiplied by, too
    hidden, last = np.tanh(inputs @ x[:70].reshape(7, 10)), x[70:].reshape(10, 3)
    slope, residual = 1.0 - hidden**2, hidden @ last
    rows = np.zeros((count, 3, 100))
    rows[:, :, :70] = np.einsum("ni,nj,jo->noij", inputs, slope, last).reshape(count, 3, 70)
    rows[:, :, 70:] = np.einsum("nj,op->nojp", hidden, np.eye(3)).reshape(count, 3, 30)
    total = np.tensordot(rows, rows, ((0, 1), (0, 1)))
    bend = -2.0 * hidden * slope * (residual @ last.T)
    total[:70, :70] += np.einsum("ni,nh,nj,jk->ijhk", inputs, inputs, bend, unit).reshape(70, 70)
    mixed = np.einsum("ni,nj,jk,no->ijko", inputs, slope, unit, residual).reshape(70, 30)
    total[:70, 70:] += mixed
    total[70:, :70] += mixed.T
    return np.asarray(total * (2.0 / residual.size))


def with_torch(f: Any, x: np.ndarray) -> Call:
    torch = load("torch")
    given = torch.from_numpy(x)
    return lambda: [torch.autograd.functional.hessian(lambda x: f(torch, x), given, vectorize=True)]


def with_jax(f: Any, x: np.ndarray) -> Call:
    jax, jnp = load("jax"), load("jax.numpy")
    matrix, given = jax.hessian(lambda x: f(jnp, x)), jnp.asarray(x)
    return lambda: [matrix(given).block_until_ready()]


def with_jit(f: Any, x: np.ndarray) -> Call:
    jax, jnp = load("jax"), load("jax.numpy")
    matrix, given = jax.jit(jax.hessian(lambda x: f(jnp, x))), jnp.asarray(x)
    return lambda: [matrix(given).block_until_ready()]


def with_autograd(f: Any, x: np.ndarray) -> Call:
    anp = load("autograd.numpy")
    matrix = load("autograd").hessian(lambda x: f(anp, x))
    return lambda: [matrix(x)]


EVERYONE = everyone(globals())


def cases(small: bool = False) -> Iterator[Case]:
    """Rosenbrock's function of few and of many variables, and the network."""
    rng = np.random.default_rng(0)
    for size in (4,) if small else (30, 100):
        given = rng.uniform(-1, 1, size)
        yield Case(f"{size} variables", programs(EVERYONE, rosenbrock, given), budgets=BUDGETS if size == 100 else ())
    yield Case("100 weights of a network", programs(EVERYONE, network, rng.uniform(-1, 1, 100)), budgets=BUDGETS)
