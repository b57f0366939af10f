"""One tensor used a thousand times: its cotangents are summed once each, in place if a library can."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case, programs
from benchmarks.peers import everyone, load

TITLE = "A tensor used many times"
ABOUT = (
    "`total += x * w[i]` for numbers `w[i]`, and `total += x[i] * w[i]` for every element; forward + backward, time "
    "per use. XLA sees at compile time that the gradient does not depend on `x`, and computes nothing."
)


def scaled(x: Any, weights: list[float]) -> Any:
    """The whole of `x` is used once a weight."""
    total = x * weights[0]
    for w in weights[1:]:
        total = total + x * w
    return total.sum()


def elements(x: Any, weights: list[float]) -> Any:
    """Each element of `x` is read by itself."""
    total = x[0] * weights[0]
    for i in range(1, len(weights)):
        total = total + x[i] * weights[i]
    return total


def with_adjoint(program: Any, x: np.ndarray, weights: list[float]) -> Call:
    ad = load("adjoint")

    def step() -> Any:
        t = ad.Tensor(x, requires_grad=True)
        program(t, weights).backward()
        return [t.grad]

    return step


def by_hand(program: Any, x: np.ndarray, weights: list[float]) -> Call:
    def each() -> Any:
        program(x, weights)
        g = np.zeros_like(x)
        for i, w in enumerate(weights):
            g[i] += w
        return [g]

    def whole() -> Any:
        program(x, weights)
        one, g = np.ones_like(x), np.zeros_like(x)
        for w in reversed(weights):
            g += one * w
        return [g]

    return whole if program is scaled else each


def with_torch(program: Any, x: np.ndarray, weights: list[float]) -> Call:
    torch = load("torch")

    def step() -> Any:
        t = torch.from_numpy(x).requires_grad_()
        program(t, weights).backward()
        return [t.grad]

    return step


def with_jit(program: Any, x: np.ndarray, weights: list[float]) -> Call:
    jax, jnp = load("jax"), load("jax.numpy")
    given = jnp.asarray(x)
    f = jax.jit(jax.grad(lambda x: program(x, weights)))
    return lambda: [f(given).block_until_ready()]


def with_mygrad(program: Any, x: np.ndarray, weights: list[float]) -> Call:
    mg = load("mygrad")

    def step() -> Any:
        t = mg.Tensor(x)
        program(t, weights).backward()
        return [t.grad]

    return step


def with_autograd(program: Any, x: np.ndarray, weights: list[float]) -> Call:
    load("autograd.numpy")
    f = load("autograd").grad(lambda x: program(x, weights))
    return lambda: [f(x)]


EVERYONE = everyone(globals())


def cases(small: bool = False) -> Iterator[Case]:
    """Rows: the whole of a tensor, and its elements."""
    uses = 6 if small else 1000
    rng = np.random.default_rng(0)
    weights = rng.uniform(-1, 1, uses).tolist()
    budgets = (Budget("PyTorch", 0.4), Budget("MyGrad", 0.2), Budget("autograd", 0.12))
    for size in (8,) if small else (8, 10_000):
        x = rng.standard_normal(size)
        yield Case(
            f"all {size} elements, {uses} times",
            programs(EVERYONE, scaled, x, weights),
            per=uses,
            budgets=budgets if size == 8 else (),
        )
    x = rng.standard_normal(uses)
    yield Case(f"each of {uses} elements by itself", programs(EVERYONE, elements, x, weights), per=uses)
