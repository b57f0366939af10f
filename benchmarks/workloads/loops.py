"""Users' programs that are loops: gradients through many turns, and how long it takes until native code is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Budget, Call, Case, Samples
from benchmarks.peers import installed, load
from benchmarks.workloads.compile import cache_at

TITLE = "Users' programs: loops"
ABOUT = (
    "Gradients through loops over NumPy arrays (values, where a row says so), written as a plain `for`, in double "
    "precision. JAX has `lax.scan`, whose body is compiled once. `eager` is adjoint without `ad.compile`. Native code "
    "is ready when the first call that waits for it returns: processor time, against JAX's tracing, lowering and "
    "compiling."
)


class Loop(NamedTuple):
    """A program that is a loop.

    Attributes:
        turn: the next state, from the namespace, the state, the parameters and the turn's row.
        start: the first state.
        rows: an array with a row for each turn.
        parameters: what the gradient is taken by.
        end: the loss, from the namespace and the last state.
    """

    turn: Callable[[Any, Any, Any, Any], Any]
    start: tuple[np.ndarray, ...]
    rows: np.ndarray
    parameters: tuple[np.ndarray, ...]
    end: Callable[[Any, Any], Any]

    def loss(self, xp: Any, parameters: Any) -> Any:
        """The program, turn by turn."""
        state = self.start
        for row in self.rows:
            state = self.turn(xp, state, parameters, row)
        return self.end(xp, state)


def runge_kutta(turns: int) -> Loop:
    """An oscillator of van der Pol's, by the classical method; its stiffness is the parameter."""

    def turn(xp: Any, state: Any, parameters: Any, h: Any) -> Any:
        def slope(y: Any) -> Any:
            return xp.stack([y[1], parameters[0][0] * (1.0 - y[0] ** 2) * y[1] - y[0]])

        (y,) = state
        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        k4 = slope(y + h * k3)
        return (y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4),)

    return Loop(
        turn, (np.array([1.0, 0.3]),), np.full(turns, 0.01), (np.array([1.2]),), lambda xp, s: xp.sum(s[0] ** 2)
    )


def linear_scan(turns: int) -> Loop:
    """A linear system with three states, driven by noise."""
    rng = np.random.default_rng(0)

    def turn(xp: Any, state: Any, parameters: Any, row: Any) -> Any:
        y, total = state
        y = parameters[0] @ y + row
        return y, total + xp.sum(y**2)

    start = np.zeros(3), np.zeros(())
    return Loop(turn, start, rng.normal(size=(turns, 3)), (rng.normal(size=(3, 3)) * 0.3,), lambda xp, s: s[1])


def bodies(turns: int) -> Loop:
    """Five bodies that attract one another; by their masses."""
    rng = np.random.default_rng(0)

    def turn(xp: Any, state: Any, parameters: Any, h: Any) -> Any:
        p, v = state
        d = p[:, None] - p[None]
        r = xp.sqrt(xp.sum(d**2, -1) + 0.1)
        v = v - h * xp.sum(parameters[0][:, None] * d / r[:, :, None] ** 3, 1)
        return p + h * v, v

    start = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    return Loop(turn, start, np.full(turns, 0.01), (np.ones(5),), lambda xp, s: xp.sum(s[0] * s[1]))


def cells(turns: int, width: int = 16) -> Loop:
    """Two layers of long short-term memory."""
    rng = np.random.default_rng(0)

    def cell(xp: Any, x: Any, h: Any, c: Any, w: Any, u: Any, b: Any) -> Any:
        z = x @ w + h @ u + b
        i, f, g, o = (z[k * width : (k + 1) * width] for k in range(4))
        c = c / (1.0 + xp.exp(-f)) + xp.tanh(g) / (1.0 + xp.exp(-i))
        return xp.tanh(c) / (1.0 + xp.exp(-o)), c

    def turn(xp: Any, state: Any, parameters: Any, row: Any) -> Any:
        h, c, h2, c2 = state
        h, c = cell(xp, row, h, c, *parameters[:3])
        h2, c2 = cell(xp, h, h2, c2, *parameters[3:])
        return h, c, h2, c2

    shapes = ((width, 4 * width), (width, 4 * width), (4 * width,)) * 2
    weights = tuple(rng.normal(size=shape) * 0.2 for shape in shapes)
    start = (np.zeros(width),) * 4
    return Loop(turn, start, rng.normal(size=(turns, width)), weights, lambda xp, s: xp.sum(s[2] ** 2))


def states(turns: int, count: int = 16) -> Loop:
    """So many numbers, each of which follows two others."""

    def turn(xp: Any, state: Any, parameters: Any, h: Any) -> Any:
        (p,), s = parameters, state
        return tuple(
            s[i] + h * (p[i] * xp.sin(s[(i + 1) % count]) - 0.1 * s[i] * s[(i + 5) % count]) for i in range(count)
        )

    start = tuple(np.float64(x) for x in np.linspace(-1.0, 1.0, count))
    return Loop(turn, start, np.full(turns, 0.01), (np.linspace(0.5, 1.5, count),), lambda xp, s: sum(x * x for x in s))


def _made(loop: Loop, gradient: bool = True, **options: Any) -> Call:
    ad = load("adjoint")
    function = ad.grad(partial(loop.loss, np)) if gradient else partial(loop.loss, np)
    run = ad.compile(function, **options) if options else function
    return lambda: list(run(loop.parameters)) if gradient else [run(loop.parameters)]


def _scan(loop: Loop, gradient: bool = True) -> Any:
    jax = load("jax")
    jax.config.update("jax_enable_x64", True)

    def loss(parameters: Any, start: Any, rows: Any) -> Any:
        state, _ = jax.lax.scan(lambda s, row: (loop.turn(jax.numpy, s, parameters, row), None), start, rows)
        return loop.end(jax.numpy, state)

    return jax.jit(jax.grad(loss) if gradient else loss), (loop.parameters, loop.start, loop.rows)


def _by_jax(loop: Loop, gradient: bool = True) -> Call:
    step, args = _scan(loop, gradient)
    wait = load("jax").block_until_ready
    return lambda: list(wait(step(*args))) if gradient else [wait(step(*args))]


EVERYONE = {"adjoint": partial(_made, wait=True), "eager": _made, "JAX jit": _by_jax}


def _programs(loop: Loop, gradient: bool = True) -> dict[str, Call]:
    return {peer: make(loop, gradient) for peer, make in EVERYONE.items() if peer == "eager" or installed(peer)}


def until_ready(loop: Loop, rounds: int) -> Samples:
    """Seconds of the processor's until native code is there, of a new function each time."""
    samples: Samples = {"adjoint": [], "JAX jit": []} if installed("JAX jit") else {"adjoint": []}
    with cache_at("off"):
        for number in range(min(rounds, 3) + 1):
            for peer, seconds in samples.items():
                if peer == "adjoint":
                    make: Callable[[], Any] = _made(loop, wait=True)
                else:
                    step, args = _scan(loop)
                    make = step.lower(*args).compile
                start = time.process_time()
                make()
                if number:  # the round before the first imports what is imported late
                    seconds.append(time.process_time() - start)
    return samples


def cases(small: bool = False) -> Iterator[Case]:
    """One row a program, for the call and for the time until native code is there."""
    rows = (("Runge and Kutta", runge_kutta, 1000, 0.5, None), ("linear scan", linear_scan, 2000, 0.7, 0.5),
            ("5 bodies", bodies, 500, 0.3, 0.7), ("two-layer LSTM, 16 wide", cells, 1000, 0.5, None),
            ("16 numbers", states, 614, 0.5, None))  # fmt: skip
    for name, make, turns, limit, of_value in rows:
        count = 20 if small else turns
        loop = make(count)
        yield Case(f"{name}, {count} turns", partial(_programs, loop), budgets=(Budget("JAX jit", limit),))
        if of_value is not None:
            value = partial(_programs, loop, gradient=False)
            yield Case(f"value, {name}, {count} turns", value, budgets=(Budget("JAX jit", of_value),))
        yield Case(f"native code ready, {name}, {count} turns", measure=partial(until_ready, loop))
