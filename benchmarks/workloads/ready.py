"""How soon a process runs a program natively that another process has compiled before."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Case, Samples, fresh
from benchmarks.peers import load, one_thread
from benchmarks.workloads.compile import cache_at

TITLE = "Native code from disk"
ABOUT = (
    "Processor time from the first call of a function in a new process to its native result, recording included: in a "
    "process that finds the program on disk, and in one that makes it (`cold`)."
)


def _trained(make: Callable[[Any], Any], loss: Callable[..., Any]) -> Callable[..., Any]:
    """A step with Adam of the module that `make` gives."""
    nn, optim = load("adjoint.nn"), load("adjoint.optim")
    model = make(nn)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)

    def step(*data: Any) -> Any:
        optimizer.zero_grad()
        value = loss(model, *data)
        value.backward()
        optimizer.step()
        return value.detach()

    return step


def network() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def make(nn: Any) -> Any:
        return nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 10))

    nn = load("adjoint.nn")

    def loss(model: Any, x: Any, y: Any) -> Any:
        return nn.cross_entropy(model(x), y)

    rng = np.random.default_rng(0)
    return _trained(make, loss), (rng.normal(size=(256, 64)), rng.integers(0, 10, 256))


def cell(kind: str, turns: int, states: int, width: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def make(nn: Any) -> Any:
        return getattr(nn, kind)(width, width)

    def loss(model: Any, x: Any) -> Any:
        state: Any = np.zeros((16, width)) if states == 1 else (np.zeros((16, width)),) * states
        for t in range(turns):
            state = model(x[t], state)
        return ((state if states == 1 else state[0]) ** 2).mean()

    return _trained(make, loss), (np.random.default_rng(0).normal(size=(turns, 16, width)),)


def _swinging(y: Any, k: Any) -> Any:
    return np.array([y[1], -k * np.sin(y[0])])


def runge_kutta(speed: Callable[..., Any], turns: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The gradient through Runge and Kutta's method."""

    def end(y: Any, k: Any, h: float = 0.01) -> Any:
        for _ in range(turns):
            a = speed(y, k)
            b = speed(y + h / 2 * a, k)
            c = speed(y + h / 2 * b, k)
            y = y + h / 6 * (a + 2 * b + 2 * c + speed(y + h * c, k))
        return np.sum(y**2)

    return load("adjoint").grad(end), (np.array([1.0, 0.5]), 2.0)


def transformer() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def make(nn: Any) -> Any:
        return nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0)

    def loss(model: Any, x: Any) -> Any:
        return (model(x) ** 2).mean()

    return _trained(make, loss), (np.random.default_rng(0).normal(size=(8, 32, 64)),)


PROGRAMS: dict[str, Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "64-128-128-10, batch 256, Adam": network,
    "GRU cell, 50 steps, Adam": partial(cell, "GRUCell", 50, 1, 64),
    "LSTM cell, 32 steps, Adam": partial(cell, "LSTMCell", 32, 2, 64),
    "pendulum, 200 steps, gradient": partial(runge_kutta, _swinging, 200),
    "transformer's block, Adam": transformer,
}


def measured(name: str, rounds: int) -> Samples:
    """Seconds of processes that make the program, and of ones that find it."""
    samples: Samples = {"adjoint": [], "cold": []}
    for _ in range(min(rounds, 3)):
        with tempfile.TemporaryDirectory() as folder, cache_at(folder):
            for peer in ("cold", "adjoint"):
                seconds = fresh("-m", __name__, name)
                if seconds is not None:
                    samples[peer].append(seconds)
    return samples


def cases(small: bool = False) -> Iterator[Case]:
    """One case a program."""
    for name in list(PROGRAMS)[: 1 if small else None]:
        yield Case(name, measure=partial(measured, name))


if __name__ == "__main__":
    one_thread()
    function, args = PROGRAMS[sys.argv[1]]()
    compiled = load("adjoint").compile(function, wait=True)
    start = time.thread_time()
    compiled(*args)
    print(json.dumps(time.thread_time() - start))
