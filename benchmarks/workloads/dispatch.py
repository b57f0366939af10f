"""What a call of a compiled function costs where calls of many kinds come in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Case, Samples
from benchmarks.peers import load

TITLE = "Calls of many kinds"
ABOUT = (
    "A compiled function is called with arguments of so many kinds in turn, after each has been recorded: time a call, "
    "and that of calls of one kind alone (`one kind`)."
)
MICROSECOND = 1e-6

Calls = Sequence[tuple[Any, ...]]


def summed(x: Any, *flags: bool) -> Any:
    for k, flag in enumerate(flags):
        x = np.sin(x) * (k + 1) if flag else x
    return np.sum(x)


def shapes(count: int) -> tuple[Callable[..., Any], Calls]:
    return summed, [(np.ones(k + 3),) for k in range(count)]


def trees(count: int) -> tuple[Callable[..., Any], Calls]:
    return lambda p: np.sum(p["w"] * p["b"]), [({"w": np.ones(k + 1), "b": np.ones(k + 1)},) for k in range(count)]


def truths(count: int) -> tuple[Callable[..., Any], Calls]:
    return summed, [(np.ones(5), *flags) for flags in product((False, True), repeat=count.bit_length() - 1)]


def numbers(count: int) -> tuple[Callable[..., Any], Calls]:
    return lambda x, k: np.sum(np.sin(x) * k), [(np.ones(5), k) for k in range(count)]


def models(count: int) -> tuple[Callable[..., Any], Calls]:
    nn, optim = load("adjoint.nn"), load("adjoint.optim")
    each = [nn.Linear(4, 4) for _ in range(count)]

    def step(model: Any, optimizer: Any, x: Any) -> Any:
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, [(model, optim.SGD(model.parameters(), lr=0.1), np.ones((3, 4))) for model in each]


def measured(make: Callable[[int], tuple[Callable[..., Any], Calls]], count: int, rounds: int) -> Samples:
    """Seconds a call, of calls in turn, and of as many of one kind."""
    function, calls = make(count)
    compiled = load("adjoint").compile(function, wait=True)
    samples: Samples = {"adjoint": [], "one kind": []}
    for _ in range(3):
        for args in calls:
            compiled(*args)
    often = max(1, 512 // len(calls))
    for _ in range(rounds):
        for peer, each in (("adjoint", calls), ("one kind", calls[:1] * len(calls))):
            start = time.process_time()
            for _ in range(often):
                for args in each:
                    compiled(*args)
            samples[peer].append((time.process_time() - start) / (often * len(each)))
    return samples


KINDS = {"shapes": shapes, "trees": trees, "truth values": truths, "whole numbers": numbers, "models": models}


def cases(small: bool = False) -> Iterator[Case]:
    """For each sort of argument, few kinds and many; a call takes a few microseconds more."""
    for name, make in KINDS.items():
        for count in (2,) if small else (4, 16) if make is models else (4, 8, 64):
            yield Case(f"{count} {name}", measure=partial(measured, make, count),
                       budgets=(Budget("one kind", 8 * MICROSECOND, beyond=True),))  # fmt: skip
