"""A training step on two ranks against one, with the same batch; and what ranks do together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.harness import Budget, Case, Samples

TITLE = "Several ranks"
ABOUT = (
    "Wall time of one step on two ranks (*adjoint*) and on one, with the same batch, eager and on one core each; the "
    "median of the ranks' steps, of which there are 15 a sample. Two ranks share the memory bus. *All-reduce* on two "
    "ranks: what it takes to add arrays of so many bytes."
)
MPIEXEC = Path(sys.executable).parent / "mpiexec"


def step(widths: tuple[int, ...], batch: int) -> Any:
    """The training step of a multilayer perceptron, of this rank's rows of the batch."""
    import numpy as np

    from adjoint import distributed as dist
    from adjoint import nn, optim

    layers: list[Any] = []
    for k, (n, m) in enumerate(pairwise(widths)):
        layers += [nn.Linear(n, m, rng=k, dtype="float32"), nn.ReLU()]
    net = nn.Sequential(*layers[:-1])
    model, adam = dist.DataParallel(net), optim.Adam(net.parameters(), lr=1e-3)
    rng = np.random.default_rng(0)
    x, y = dist.shard(rng.normal(size=(batch, widths[0])).astype("float32"), rng.integers(0, widths[-1], batch))

    def once() -> None:
        adam.zero_grad()
        nn.cross_entropy(model(x), y).backward(retain_graph=False)
        adam.step()

    return once


def all_reduce(size: int) -> Any:
    """The sum over ranks of an array of so many bytes."""
    import numpy as np

    from adjoint import distributed as dist

    x = np.ones(size // 4, np.float32)
    return lambda: dist.all_reduce(x)


def main() -> None:
    """On each rank: time what the arguments say; rank 0 prints seconds."""
    from statistics import median
    from time import perf_counter

    from adjoint import distributed as dist

    what = json.loads(sys.argv[1])
    call = step(tuple(what["widths"]), what["batch"]) if "widths" in what else all_reduce(what["bytes"])
    times = []
    for k in range(18):
        dist.barrier()
        start = perf_counter()
        call()
        dist.barrier()
        if k > 2:
            times.append(perf_counter() - start)
    if dist.rank() == 0:
        print(json.dumps(median(times)))


def seconds(ranks: int, **what: Any) -> float:
    """What one step takes on so many ranks."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [str(MPIEXEC), "-n", str(ranks), sys.executable, "-m", "benchmarks.workloads.ranks", json.dumps(what)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, env=os.environ | threads)
    return float(json.loads(done.stdout))


def measure(what: dict[str, Any], alone: bool, rounds: int) -> Samples:
    """Two ranks, and one, in turns."""
    samples: Samples = {"adjoint": [], **({"one rank": []} if alone else {})}
    for _ in range(rounds):
        for column, times in samples.items():
            times.append(seconds(2 if column == "adjoint" else 1, **what))
    return samples


def cases(small: bool = False) -> Iterator[Case]:
    """Steps above 20 ms; small and large arrays."""
    if not MPIEXEC.exists():
        return
    for name, widths, batch in (
        ("784-512-512-10, batch 1024", (784, 512, 512, 10), 1024),
        ("784-1024-1024-1024-10, batch 512", (784, 1024, 1024, 1024, 10), 512),
    )[: 1 if small else 2]:
        what = {"widths": (8, 8, 2) if small else widths, "batch": 8 if small else batch}
        yield Case(name, measure=partial(measure, what, True), budgets=(Budget("one rank", 1 / 1.6),))
    for name, size in (("all-reduce, 8 B", 8), ("all-reduce, 4 MB", 1 << 22))[: 1 if small else 2]:
        yield Case(name, measure=partial(measure, {"bytes": size}, False))


if __name__ == "__main__":
    main()
