"""Gradients over Dask's arrays: what chunks cost beside an array in memory, and the memory that they need."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import Budget, Case, Samples

TITLE = "Arrays in chunks"
ABOUT = (
    "Wall time of the gradient of a logistic regression with 20 weights. *adjoint*: over a Dask array in 10 chunks on "
    "threads, graph and all; *value*: its value alone, likewise; *in memory*: the gradient over one array of NumPy's. "
    "*Memory*: the peak of a process that takes the gradient over data drawn chunk by chunk, less what it had before; "
    "*value* is the size of the data."
)


def loss(w: Any, x: Any, y: Any) -> Any:
    """The mean loss of a logistic regression, as one writes it for NumPy."""
    import numpy as np

    z = x @ w
    return np.mean(np.logaddexp(0.0, z) - y * z)


def times(rows: int, rounds: int) -> Samples:
    """Seconds, in turns."""
    from time import perf_counter

    import dask
    import dask.array as da
    import numpy as np

    import adjoint as ad

    rng, w = np.random.default_rng(0), np.linspace(-1, 1, 20)
    x, y = rng.normal(size=(rows, 20)), rng.integers(0, 2, rows).astype(float)
    lazy_x, lazy_y = da.from_array(x, chunks=(rows // 10, 20)), da.from_array(y, chunks=rows // 10)
    calls = {
        "adjoint": lambda: ad.grad(loss)(w, lazy_x, lazy_y).compute(),
        "value": lambda: loss(w, lazy_x, lazy_y).compute(),
        "in memory": lambda: ad.grad(loss)(w, x, y),
    }
    samples: Samples = {name: [] for name in calls}
    with dask.config.set(scheduler="threads"):
        np.testing.assert_allclose(calls["adjoint"](), calls["in memory"](), rtol=1e-10)
        for _ in range(rounds):
            for name, call in calls.items():
                start = perf_counter()
                call()
                samples[name].append(perf_counter() - start)
    return samples


def most() -> int:
    """The most bytes that this process had; what `resource` says begins with those of the process before."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def peak(rows: int) -> int:
    """The bytes that a gradient over `rows` rows, drawn in chunks of a million numbers, needs at most."""
    import dask
    import dask.array as da
    import numpy as np

    import adjoint as ad

    chunk = min(rows, 50_000)
    x = da.random.default_rng(0).normal(size=(rows, 20), chunks=(chunk, 20))
    y = (x[:, 0] > 0).astype(float)
    before = most()
    with dask.config.set(scheduler="threads"):
        ad.grad(loss)(np.zeros(20), x, y).compute()
    return most() - before


def memory(rows: int, rounds: int) -> Samples:
    """Bytes, each in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.workloads.lazy", str(rows)]
    found = [json.loads(subprocess.check_output(command, text=True, timeout=600)) for _ in range(min(rounds, 3))]
    return {"adjoint": found, "value": [rows * 20 * 8.0] * len(found)}


def cases(small: bool = False) -> Iterator[Case]:
    """One size to be timed, and data larger than the memory that they take."""
    try:
        import dask.array  # noqa: F401 - an extra, `cluster`
    except ImportError:
        return
    rows = 10_000 if small else 1_000_000
    yield Case(f"gradient, {rows:,} rows", measure=partial(times, rows))
    budgets = (Budget("value", 0.1),)
    yield Case(f"memory, {10 * rows:,} rows", measure=partial(memory, 10 * rows), unit="B", budgets=budgets)


if __name__ == "__main__":
    print(json.dumps(peak(int(sys.argv[1]))))
