"""``python -m benchmarks.cores``: what a second core gives compiled functions, beside JAX's jit on as many.

The workloads are the roofline page's. Each figure is the shortest time of a call: wall time, so nothing else may run.
JAX runs in processes of their own, since the number of its threads is fixed when it starts.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.peers import installed, load
from benchmarks.roofline import best, elementwise, option, shown, workloads

SECONDS = 1.0


def _peer() -> None:
    """The times of JAX's elementwise programs, in the order of ours."""
    import numpy as np

    jax = load("jax")
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(0)

    def timed(f: Callable[..., Any], *args: Any) -> float:
        compiled, given = jax.jit(f), [jax.numpy.asarray(a) for a in args]
        return best(lambda: jax.block_until_ready(compiled(*given)), SECONDS)

    for n in (10**6, 10**7):
        x, y = rng.normal(size=(2, n)).astype(np.float32)
        print(timed(partial(elementwise, jax.numpy), x, y))
    priced = partial(option, jax.numpy, jax.value_and_grad)
    print(timed(priced, rng.normal(size=10**6), 100.0, 0.2))


def _of_jax(cores: int) -> list[float]:
    if not installed("JAX jit"):
        return []
    few = sorted(os.sched_getaffinity(0))[:cores]
    done = subprocess.run([sys.executable, "-m", "benchmarks.cores", "peer"], capture_output=True, text=True,
                          check=True, preexec_fn=lambda: os.sched_setaffinity(0, few))  # fmt: skip
    return [float(line) for line in done.stdout.split()]


def main() -> None:
    """Measure, and print the page."""
    import adjoint as ad

    print("| workload | dtype | one core | two | speed-up | JAX, one core | two | ours / JAX, two |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    theirs = list(zip(_of_jax(1), _of_jax(2), strict=True))
    for work in workloads():
        times = []
        for cores in (1, 2):
            ad.set_threads(cores)
            work.call()
            times.append(best(work.call, SECONDS))
        one, two = times
        jax = theirs.pop(0) if theirs and work.is_large else None
        beside = f"{shown(jax[0])} | {shown(jax[1])} | {two / jax[1]:.2f}" if jax else "- | - | -"
        print(f"| {work.name} | {work.dtype} | {shown(one)} | {shown(two)} | {one / two:.2f} | {beside} |", flush=True)


if __name__ == "__main__":
    _peer() if "peer" in sys.argv else main()
