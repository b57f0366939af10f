"""How things are measured: peers take turns in rounds; medians are shown, and ratios within a round.

The clock is the processor time of this process, all its threads together: on a machine that does other
work too, wall time would measure the others. The garbage collector is on, as in users' programs (without it
MyGrad, whose graphs are cycles, would slow down), but what was there before is frozen: it need not look
through everything that seven libraries made when they were imported.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.peers import installed

Call = Callable[[], Any]
Samples = dict[str, list[float]]


@dataclass(frozen=True)
class Budget:
    """The most that adjoint may cost, as a multiple of `peer`; or, with `beyond`, in units more than `peer`."""

    peer: str
    limit: float
    beyond: bool = False

    def value(self, samples: Samples) -> float:
        """What was measured, to hold against `limit`: the median over rounds."""
        ours, theirs = samples["adjoint"], samples[self.peer]
        return statistics.median(a - b if self.beyond else a / b for a, b in zip(ours, theirs, strict=True))


@dataclass(frozen=True)
class Case:
    """One row: what is computed, by whom, and what it may cost.

    Attributes:
        name: what distinguishes this row from the others of its workload.
        build: makes the program of each peer that is installed. A program computes once and gives its
            results, the same for every peer, in that peer's own arrays.
        per: by how many operations (or steps, …) the time is divided.
        budgets: what adjoint may cost at most.
        measure: instead of timing the programs: gives samples by peer, for a number of rounds.
        unit: ``s``, ``B``, or ``n^`` for the exponent of a growth.
        parts: what `measure` finds of each part of this row, by its name: adjoint's time as a multiple of the peer's.
    """

    name: str
    build: Callable[[], dict[str, Call]] = dict
    per: int = 1
    budgets: tuple[Budget, ...] = ()
    measure: Callable[[int], Samples] | None = None
    unit: str = "s"
    parts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """What was measured for a case: samples by peer, one a round."""

    case: Case
    samples: Samples = field(default_factory=dict)

    def median(self, peer: str) -> float:
        return statistics.median(self.samples[peer]) / self.case.per

    def ratio(self, peer: str) -> float:
        """What adjoint costs as a multiple of `peer`: the median over rounds; JAX's jit stands beside compiled code."""
        ours = "compiled" if peer == "JAX jit" and "compiled" in self.samples else "adjoint"
        pairs = zip(self.samples[ours], self.samples[peer], strict=True)
        return statistics.median(a / b for a, b in pairs)


def programs(builders: Mapping[str, Callable[..., Call]], *args: Any) -> Callable[[], dict[str, Call]]:
    """The `build` of a case: the programs of those peers that are installed, each made with `args`."""
    return lambda: {peer: builder(*args) for peer, builder in builders.items() if installed(peer)}


def run(case: Case, rounds: int) -> Row:
    """Measure one case."""
    return Row(case, case.measure(rounds) if case.measure else interleaved(case.build(), rounds))


def interleaved(calls: Mapping[str, Call], rounds: int, seconds: float = 0.02) -> Samples:
    """Time of one call by peer, one sample a round. Peers take turns, and another one begins each round."""
    loops = {}
    for peer, call in calls.items():
        call()  # compiles, fills caches, takes memory from the system
        loops[peer] = max(1, round(seconds / timed(call, 1)))
    samples: Samples = {peer: [] for peer in calls}
    order = list(calls)
    gc.collect()
    gc.freeze()
    try:
        for _ in range(rounds):
            for peer in order:
                samples[peer].append(timed(calls[peer], loops[peer]))
            order.append(order.pop(0))
    finally:
        gc.unfreeze()
    return samples


def timed(call: Call, loops: int) -> float:
    """Processor seconds of one call, as a mean over `loops`; never 0."""
    gc.collect()
    start = time.process_time()
    for _ in range(loops):
        call()
    return max(time.process_time() - start, 1e-9) / loops


def fresh(*arguments: str) -> Any:
    """Run a new interpreter with `arguments`; what it prints is JSON. None if it fails."""
    # Modules keep their bytecode, as installed packages do, whatever this shell says.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, env=environment)
    return json.loads(done.stdout) if done.returncode == 0 else None


def plain(results: Any) -> list[np.ndarray]:
    """A program's results as NumPy arrays, whichever peer's they are."""
    return [np.asarray(r.detach() if hasattr(r, "detach") else r) for r in results]
