"""Captured programs as native code: large arrays, many small operations, and what a call costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case, Samples, programs, timed
from benchmarks.peers import installed, load
from benchmarks.workloads.compile import cache_at

TITLE = "Native code"
ABOUT = (
    "The gradient of an elementwise program of 12 operations on large arrays; the gradient of 200 operations on "
    "numbers (ten rounds of a Rosenbrock-like sum over 10 variables, and one whose variables are separate numbers); "
    "how soon native code is ready for a small gradient that is new, against JAX's tracing, lowering and compiling; "
    "and a program of one addition, which is what a call costs. NumPy is adjoint's gradient as it runs eagerly."
)
Function = Callable[..., Any]


def _elementwise(xp: Any, x: Any) -> Any:
    return xp.sum(xp.tanh(x) * xp.exp(-x * x) + xp.log1p(x**2) * xp.sin(x) / xp.sqrt(1 + x * x))


def _rosenbrock(rounds: int, x: Any) -> Any:
    total = 0.0
    for _ in range(rounds):
        for i in range(9):
            total = total + 100.0 * (x[i + 1] - x[i] * x[i]) ** 2 + (1.0 - x[i]) ** 2
        x = [v * 0.99 for v in x] if isinstance(x, tuple | list) else x * 0.99
    return total


def _built(f: Function, *args: Any) -> Call:
    adjoint, native = load("adjoint"), load("adjoint.native")
    graph = adjoint.capture(f, *args).rewritten()
    run = native.build(graph.inputs, graph.outputs).run
    return lambda: run(*args)  # type: ignore[no-any-return]  # a list of arrays


def _jitted(f: Function, *args: Any) -> Call:
    jax = load("jax")
    jax.config.update("jax_enable_x64", True)
    compiled, given = jax.jit(f), [jax.numpy.asarray(a) for a in args]
    jax.block_until_ready(compiled(*given))

    def call() -> Any:
        found = jax.block_until_ready(compiled(*given))
        return list(found) if isinstance(found, tuple) else [found]

    return call


def _array(count: int, dtype: Any) -> np.ndarray:
    return np.random.default_rng(0).normal(size=count).astype(dtype)


def large(count: int, dtype: Any) -> dict[str, Callable[..., Call]]:
    """The gradient of the elementwise program, by peer."""
    x = _array(count, dtype)

    def with_torch() -> Call:
        torch = load("torch")
        t = torch.tensor(x, requires_grad=True)
        return lambda: list(torch.autograd.grad(_elementwise(torch, t), t))

    def eager() -> Call:
        gradient = load("adjoint").grad(lambda v: _elementwise(np, v))
        return lambda: [gradient(x)]

    return {
        "adjoint": lambda: _built(load("adjoint").grad(lambda v: _elementwise(np, v)), x),
        "NumPy": eager,
        "PyTorch": with_torch,
        "JAX jit": lambda: _jitted(load("jax").grad(lambda v: _elementwise(load("jax").numpy, v)), x),
    }


def many_small(rounds: int, separate: bool) -> dict[str, Callable[..., Call]]:
    """The gradient of the Rosenbrock-like sum, by one array of variables or by each as a number."""
    x = np.linspace(0.1, 1.0, 10)
    args = tuple(float(v) for v in x) if separate else (x,)
    places = tuple(range(10)) if separate else 0

    def f(*xs: Any) -> Any:
        return _rosenbrock(rounds, xs if separate else xs[0])

    def eager() -> Call:
        gradient = load("adjoint").grad(f, places)
        return lambda: list(gradient(*args)) if separate else [gradient(*args)]

    return {
        "adjoint": lambda: _built(load("adjoint").grad(f, places), *args),
        "NumPy": eager,
        "JAX jit": lambda: _jitted(load("jax").grad(f, places), *args),
    }


def one_call() -> dict[str, Callable[..., Call]]:
    """An addition of arrays of three elements."""
    x = np.ones(3)
    return {"adjoint": lambda: _built(np.add, x, x), "NumPy": lambda: lambda: [np.add(x, x)],
            "JAX jit": lambda: _jitted(lambda a, b: a + b, x, x)}  # fmt: skip


def until_ready(rounds: int) -> Samples:
    """From a new gradient of 12 operations to native code for it, for small arrays: none of it was made before."""
    x, samples = _array(1000, np.float64), dict[str, list[float]]()

    def elementwise(xp: Any, new: float) -> Function:
        return lambda v: _elementwise(xp, v * new)

    def ours(new: float) -> Any:
        return load("adjoint").compile(load("adjoint").grad(elementwise(np, new)), wait=True)(x)

    def theirs(new: float) -> Any:
        jax = load("jax")
        return jax.jit(jax.grad(elementwise(jax.numpy, new))).lower(x).compile()

    with cache_at("off"):
        for peer, make in {"adjoint": ours, "JAX jit": theirs}.items():
            if installed(peer):
                make(1.0)  # imports, and what is made once
                samples[peer] = [timed(partial(make, 1.0 + k / 64), 1) for k in range(1, rounds + 1)]
    return samples


def cases(small: bool = False) -> Iterator[Case]:
    """Large arrays in both precisions, many small operations, and one call."""
    count, rounds = (1000, 1) if small else (10**6, 10)
    budgets = (Budget("PyTorch", 0.67), Budget("JAX jit", 0.67))
    for dtype in (np.float64, np.float32):
        yield Case(f"12 operations, {count} elements, {np.dtype(dtype)}", programs(large(count, dtype)), 1, budgets)
    for separate, name in ((False, "an array"), (True, "numbers")):
        sums = many_small(1 if separate else rounds, separate)
        yield Case(f"sum over {name}", programs(sums), 1, (Budget("JAX jit", 0.2),))
    ready = (Budget("JAX jit", 0.25),) if installed("JAX jit") else ()
    yield Case("native code ready, 12 operations", measure=until_ready, budgets=ready)
    yield Case("one addition", programs(one_call()), 1, (Budget("JAX jit", 0.2),))
