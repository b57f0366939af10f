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
    "Processor time of one step on two ranks (*adjoint*, the slower rank) and on one, with the same batch, eager and "
    "on one core each; the median of 15 steps. Waiting is not in it, but in the *wall* times; on a machine that does "
    "other work, these measure the others too. Part of each step does not get smaller with the batch: "
    "optimizer and messages, by the number of parameters. *All-reduce*: adding arrays of so many bytes on two ranks."
)
MPIEXEC = Path(sys.executable).parent / "mpiexec"


def net(name: str) -> tuple[Any, tuple[int, ...], int]:
    """A network of this name, the shape of an example, and the number of classes."""
    from adjoint import nn

    if name == "convolutions":
        parts: list[Any] = []
        for n, m in ((1, 16), (16, 32)):
            parts += [nn.Conv2d(n, m, 3, padding=1, rng=n, dtype="float32"), nn.ReLU(), nn.MaxPool2d(2)]
        return nn.Sequential(*parts, nn.Flatten(), nn.Linear(32 * 7 * 7, 10, rng=0, dtype="float32")), (1, 28, 28), 10
    widths = [int(n) for n in name.split("-")]
    layers: list[Any] = []
    for k, (n, m) in enumerate(pairwise(widths)):
        layers += [nn.Linear(n, m, rng=k, dtype="float32"), nn.ReLU()]
    return nn.Sequential(*layers[:-1]), (widths[0],), widths[-1]


def step(name: str, batch: int) -> Any:
    """The training step of a network, of this rank's rows of the batch."""
    import numpy as np

    from adjoint import distributed as dist
    from adjoint import nn, optim

    plain, shape, classes = net(name)
    model, adam = dist.DataParallel(plain), optim.Adam(plain.parameters(), lr=1e-3)
    rng = np.random.default_rng(0)
    x, y = dist.shard(rng.normal(size=(batch, *shape)).astype("float32"), rng.integers(0, classes, batch))

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
    """On each rank: time what the arguments say; rank 0 prints seconds of the slower rank's processor, and of wall."""
    from statistics import median
    from time import perf_counter, process_time

    import numpy as np

    from adjoint import distributed as dist

    what = json.loads(sys.argv[1])
    call = step(what["net"], what["batch"]) if "net" in what else all_reduce(what["bytes"])
    times = []
    for k in range(18):
        dist.barrier()
        start = perf_counter(), process_time()
        call()
        busy = process_time() - start[1]
        dist.barrier()
        if k > 2:
            times.append((busy, perf_counter() - start[0]))
    medians = dist.all_reduce(np.array([median(t) for t in zip(*times, strict=True)]), "max")
    if dist.rank() == 0:
        print(json.dumps(medians.tolist()))


def seconds(ranks: int, **what: Any) -> tuple[float, float]:
    """What one step takes on so many ranks: of the processor, and of wall."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [str(MPIEXEC), "-n", str(ranks), sys.executable, "-m", "benchmarks.workloads.ranks", json.dumps(what)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, env=os.environ | threads)
    busy, wall = json.loads(done.stdout)
    return float(busy), float(wall)


def measure(what: dict[str, Any], alone: bool, rounds: int) -> Samples:
    """Two ranks, and one, in turns."""
    samples: Samples = {"adjoint": [], "one rank": [], "wall": [], "wall, one rank": []}
    for _ in range(rounds):
        for ranks in (2, 1) if alone else (2,):
            for name, figure in zip(("adjoint", "wall") if ranks == 2 else ("one rank", "wall, one rank"),
                                    seconds(ranks, **what), strict=True):  # fmt: skip
                samples[name].append(figure)
    return {name: figures for name, figures in samples.items() if figures}


def cases(small: bool = False) -> Iterator[Case]:
    """Steps above 20 ms; small and large arrays. The last net has more parameters than its batch has work for."""
    if not MPIEXEC.exists():
        return
    budget = (Budget("one rank", 1 / 1.6),)
    nets: tuple[tuple[str, int, tuple[Budget, ...]], ...] = (
        ("convolutions", 128, budget),
        ("784-512-512-10", 2048, budget),
        ("784-1024-1024-1024-10", 512, ()),
    )
    for name, batch, budgets in (("8-8-2", 8, ()),) if small else nets:
        what = {"net": name, "batch": batch}
        yield Case(f"{name}, batch {batch}", measure=partial(measure, what, True), budgets=budgets)
    for name, size in (("all-reduce, 8 B", 8), ("all-reduce, 4 MB", 1 << 22))[: 1 if small else 2]:
        yield Case(name, measure=partial(measure, {"bytes": size}, False))


if __name__ == "__main__":
    main()
