"""Forward mode against reverse mode: the value and a derivative, one operation at a time."""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case, Samples, interleaved
from benchmarks.peers import load
from benchmarks.workloads.chain import program

TITLE = "Forward mode"
ABOUT = (
    "`jvp` beside reverse mode, each with the value: a chain of small operations, then sample calls of all operations, "
    "each by its slowest sample: their geometric mean, and those whose `jvp` costs most."
)
WORST = 10
BUDGETS = (Budget("reverse", 1.5),)


def chain(count: int) -> dict[str, Call]:
    ad, x = load("adjoint"), np.linspace(-1.0, 1.0, 8)
    gradient, ones = ad.grad(lambda x: program(np, x, count).sum()), np.ones(8)
    return {
        "adjoint": lambda: [ad.jvp(lambda x: program(np, x, count), (x,), (ones,))[1]],
        "reverse": lambda: [gradient(x)],
    }


def call(case: Any) -> dict[str, Call]:
    """One sample call in both modes."""
    ad, flatten = load("adjoint"), load("adjoint.core.objects.trees").flatten
    arrays = [np.asarray(a) for a in case.arrays]
    leaves, rebuild = flatten(case.f(*arrays))
    ones = rebuild([np.ones_like(x) for x in leaves])
    return {"adjoint": lambda: ad.jvp(case.f, arrays, arrays), "reverse": lambda: ad.vjp(case.f, *arrays)[1](ones)}


def by_operation(rounds: int, names: tuple[str, ...] | None) -> dict[str, Samples]:
    """Times in both modes by operation, of its slowest sample; or of the operations `names` alone."""
    found: dict[str, Samples] = {}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for entry in load("adjoint.testing").walk():
            if names is not None and entry.name not in names:
                continue
            for case in load("adjoint.testing.cases").cases(entry):
                if case.arrays:
                    samples = interleaved(call(case), rounds, 0.001)
                    if entry.name not in found or ratio(samples) > ratio(found[entry.name]):
                        found[entry.name] = samples
    return found


def ratio(samples: Samples) -> float:
    return BUDGETS[0].value(samples)


def mean(found: dict[str, Samples]) -> Samples:
    """The geometric mean of the times of all operations, round by round."""
    return {
        peer: [
            math.exp(statistics.fmean(map(math.log, column)))
            for column in zip(*(samples[peer] for samples in found.values()), strict=True)
        ]
        for peer in ("adjoint", "reverse")
    }


def cases(small: bool = False) -> Iterator[Case]:
    """The chain, the mean, and the worst."""
    for module in ("linalg", "signal", "sparse"):
        load(f"adjoint.scipy.{module}")
    count = 8 if small else 1000
    yield Case(f"a chain of {count} operations", lambda: chain(count), per=count, budgets=BUDGETS)
    found = by_operation(3, ("sin", "matmul", "sort") if small else None)
    yield Case(f"{len(found)} operations, mean", measure=lambda _: mean(found), budgets=BUDGETS)
    for name in sorted(found, key=lambda name: -ratio(found[name]))[:WORST]:
        yield Case(name, measure=lambda _, name=name: found[name], budgets=BUDGETS)
