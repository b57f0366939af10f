"""What it costs to record a function: its second call, beside the call of the same function uncompiled."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Case, Samples
from benchmarks.peers import load
from benchmarks.workloads.ready import cell, network, runge_kutta, transformer

TITLE = "Recording"
ABOUT = (
    "The second call of a function that `adjoint.compile` gives, which records it, and the call of the function itself "
    "(`eager`). The time is that of the thread that calls: another one makes the native code. Each round compiles the "
    "function anew, so that it is recorded each time; its twin is made once, in the first round."
)
EAGER = "eager"
Made = tuple[Callable[..., Any], tuple[Any, ...]]


def kalman() -> Made:
    """The gradient of a likelihood by the matrices of a filter over 50 measurements."""
    rng = np.random.default_rng(0)
    n, m = 4, 2
    measured = rng.normal(size=(50, m))

    def likelihood(p: Any) -> Any:
        state, spread, total = np.zeros(n), np.eye(n), 0.0
        for y in measured:
            state = p["A"] @ state
            spread = p["A"] @ spread @ p["A"].T + p["Q"]
            wrong = y - p["H"] @ state
            s = p["H"] @ spread @ p["H"].T + p["R"]
            gain = np.linalg.solve(s, p["H"] @ spread).T
            state = state + gain @ wrong
            spread = spread - gain @ p["H"] @ spread
            total = total + wrong @ np.linalg.solve(s, wrong) + np.log(np.linalg.det(s))
        return total

    p = {"A": 0.9 * np.eye(n) + 0.01 * rng.normal(size=(n, n)), "Q": 0.1 * np.eye(n),
         "H": rng.normal(size=(m, n)), "R": np.eye(m)}  # fmt: skip
    return load("adjoint").grad(likelihood), (p,)


def _speed(y: Any, k: Any) -> Any:
    return np.stack([y[1], -k * np.sin(y[0]) - 0.1 * y[1]])


def with_list() -> Made:
    """The gradient through a differential equation whose states are kept in a list."""

    def energy(y: Any, k: Any) -> Any:
        states = [y]
        for _ in range(100):
            half = states[-1] + 0.005 * _speed(states[-1], k)
            states.append(states[-1] + 0.01 * _speed(half, k))
        return np.sum(np.stack(states) ** 2)

    return load("adjoint").grad(energy), (np.array([1.0, 0.5]), 2.0)


def series() -> Made:
    """The gradient of a power series, whose turns use their number."""

    def total(x: Any) -> Any:
        term, result = x, x
        for k in range(1, 60):
            term = -term * x * x / ((2 * k) * (2 * k + 1))
            result = result + term
        return np.sum(result)

    return load("adjoint").grad(total), (np.linspace(0.1, 1.0, 100),)


def fitted() -> Made:
    """The gradient of a sum over measurements that `enumerate` and `zip` go through."""
    rng = np.random.default_rng(0)
    times, values = np.linspace(0.0, 1.0, 60), rng.normal(size=(60, 8))

    def wrong(p: Any) -> Any:
        state, total = p, 0.0
        for i, (t, y) in enumerate(zip(times, values, strict=True)):
            state = state + 0.1 * np.tanh(state * t)
            total = total + np.sum((state - y) ** 2) / (i + 1)
        return total

    return load("adjoint").grad(wrong), (rng.normal(size=8),)


PROGRAMS: dict[str, Callable[[], Made]] = {
    "64-128-128-10, batch 256, Adam": network,
    "transformer's block, Adam": transformer,
    "Kalman filter, 50 steps, gradient": kalman,
    "ODE with a list, 100 steps, gradient": with_list,
    "series of 60 terms, gradient": series,
    "LSTM cell, 32 steps, Adam": partial(cell, "LSTMCell", 32, 2, 64),
    "GRU cell, 50 steps, Adam": partial(cell, "GRUCell", 50, 1, 64),
    "Runge-Kutta, 100 steps, gradient": partial(runge_kutta, _speed, 100),
    "enumerate and zip, 60 turns, gradient": fitted,
}


def measured(make: Callable[[], Made], rounds: int) -> Samples:
    """Seconds of the call that records, and of the call of the function itself."""
    samples: Samples = {"adjoint": [], EAGER: []}
    adjoint = load("adjoint")
    for _ in range(rounds):
        function, args = make()
        function(*args)
        compiled = adjoint.compile(function)
        compiled(*args)
        gc.collect()
        gc.freeze()
        samples[EAGER].append(min(_seconds(partial(function, *args)) for _ in range(3)))
        samples["adjoint"].append(_seconds(partial(compiled, *args)))
        gc.unfreeze()
        _wait(compiled)
    return samples


def _seconds(call: Callable[[], Any]) -> float:
    start = time.thread_time()
    call()
    return time.thread_time() - start


def _wait(compiled: Any) -> None:
    """Wait until the other thread has made the native code, so that it is not at work while the next round runs."""
    runner = compiled._latest.runner
    while runner.native is None and not runner.reason:
        time.sleep(0.01)


def cases(small: bool = False) -> Iterator[Case]:
    """One case a program."""
    for name in list(PROGRAMS)[: 1 if small else None]:
        yield Case(name, budgets=(Budget(EAGER, 3.0),), measure=partial(measured, PROGRAMS[name]))


if __name__ == "__main__":
    from benchmarks.harness import run

    for case in cases():
        if all(text in case.name for text in sys.argv[1:]):
            row = run(case, 5)
            least = {peer: 1e3 * min(found) for peer, found in row.samples.items()}
            ratio = least["adjoint"] / least[EAGER]
            print(f"{case.name:40} {least[EAGER]:8.2f} ms {least['adjoint']:8.2f} ms {ratio:6.2f}")
