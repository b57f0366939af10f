"""A chain of small operations: what a library's own work costs beside the arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case, programs
from benchmarks.peers import everyone, load

TITLE = "Chain of operations"
ABOUT = "`x * c`, `sin`, `x + c`, `tanh`, over and over; time per operation. Forward means: with its tape."

SCALE, SHIFT = 1.01, 0.1
SMALL = (Budget("PyTorch", 0.4), Budget("MyGrad", 0.2), Budget("autograd", 0.12))
LARGE = (Budget("NumPy", 1.1),)


def program(xp: Any, x: Any, count: int) -> Any:
    """The program, in the namespace of any peer."""
    for _ in range(count // 4):
        x = xp.tanh(xp.sin(x * SCALE) + SHIFT)
    return x


def with_adjoint(x: np.ndarray, count: int, backward: bool) -> Call:
    ad = load("adjoint")

    def step() -> Any:
        t = ad.Tensor(x, requires_grad=True)
        y = program(np, t, count)
        if not backward:
            return [y]
        y.sum().backward()
        return [t.grad]

    return step


def with_compile(x: np.ndarray, count: int, backward: bool) -> Call:
    ad = load("adjoint")

    def forward(x: Any) -> Any:
        return program(np, x, count)

    f = ad.compile(ad.grad(lambda x: forward(x).sum()) if backward else forward, wait=True)
    return lambda: [f(x)]


def by_hand(x: np.ndarray, count: int, backward: bool) -> Call:
    def step() -> Any:
        y, saved = x, []
        for _ in range(count // 4):
            a = y * SCALE
            y = np.tanh(np.sin(a) + SHIFT)
            saved.append((a, y))
        if not backward:
            return [y]
        g = np.ones_like(y)
        for a, out in reversed(saved):
            g = g * (1 - out * out)
            g = g * np.cos(a)
            g = g * SCALE
        return [g]

    return step


def with_torch(x: np.ndarray, count: int, backward: bool) -> Call:
    torch = load("torch")

    def step() -> Any:
        t = torch.from_numpy(x).requires_grad_()
        y = program(torch, t, count)
        if not backward:
            return [y]
        y.sum().backward()
        return [t.grad]

    return step


def with_jax(x: np.ndarray, count: int, backward: bool) -> Call:
    return _jax(x, count, backward, jit=False)


def with_jit(x: np.ndarray, count: int, backward: bool) -> Call:
    return _jax(x, count, backward, jit=True)


def _jax(x: np.ndarray, count: int, backward: bool, jit: bool) -> Call:
    jax, jnp = load("jax"), load("jax.numpy")
    x = jnp.asarray(x)

    def forward(x: Any) -> Any:
        return program(jnp, x, count)

    f = jax.grad(lambda x: forward(x).sum()) if backward else forward
    f = jax.jit(f) if jit else f
    return lambda: [f(x).block_until_ready()]


def with_mygrad(x: np.ndarray, count: int, backward: bool) -> Call:
    mg = load("mygrad")

    def step() -> Any:
        t = mg.Tensor(x)
        y = program(mg, t, count)
        if not backward:
            return [y]
        y.sum().backward()
        return [t.grad]

    return step


def with_autograd(x: np.ndarray, count: int, backward: bool) -> Call:
    anp = load("autograd.numpy")
    autograd = load("autograd")

    def step() -> Any:
        pullback, y = autograd.make_vjp(lambda x: program(anp, x, count))(x)
        return [pullback(np.ones_like(x))] if backward else [y]

    return step


EVERYONE = everyone(globals())
# Un-jitted JAX traces and compiles anew in each call; one size shows what that costs.
WITHOUT_JAX = {peer: builder for peer, builder in EVERYONE.items() if peer != "JAX"}


def cases(small: bool = False) -> Iterator[Case]:
    """Rows by number of elements; fewer operations where arrays are large."""
    sizes = ((1, 8), (8, 8)) if small else ((1, 1000), (8, 1000), (100, 1000), (10_000, 200), (1_000_000, 40))
    for size, count in sizes:
        x = np.linspace(-1.0, 1.0, size) if size > 1 else np.array([0.5])
        for backward in (False, True):
            what = "forward + backward" if backward else "forward"
            elements = f"{size:,} element{'s' * (size > 1)}".replace(",", " ")
            budgets = () if not backward else SMALL if size <= 100 else LARGE if size == 1_000_000 else ()
            yield Case(
                f"{elements}, {count} operations, {what}",
                programs(EVERYONE if size == 8 else WITHOUT_JAX, x, count, backward),
                per=count,
                budgets=budgets,
            )
