"""Two versions of adjoint beside each other: ``python -m benchmarks.versions OTHER [names…]``, OTHER a checkout.

The eager programs of the workloads, and some more. Each version has processes of its own, which run the same programs
in turns; a figure is the least processor time of a call. What a process has by chance (where memory lies, the order of
sets) is a few per cent of a short program, so there are several pairs of processes, and of each version the least of
all counts. Both keep the memory that a program frees: otherwise glibc gives it back to the system and takes it again
at each call, or does not, by the chance of what lies behind it, which is up to 15 % of a Hessian.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Call, Case, timed
from benchmarks.peers import load, one_thread

HERE = Path(__file__).parents[1]
#: The workloads with eager programs; then what only this file has.
WORKLOADS = ("chain", "fanout", "gru", "layers", "mlp", "filling", "hessian", "sparse", "forward", "vmap", "linalg",
             "equations", "loops", "contractions", "checkpoint")  # fmt: skip
MORE = ("networks", "constants", "recording")
#: How many rows of a workload are looked at, where those after them are measured otherwise, which takes minutes.
FIRST = {"forward": 1}


def networks(small: bool) -> Iterator[Case]:
    """The gradient by `grad` of a network in plain NumPy, by its dictionary of weights, and by single arrays."""
    rng = np.random.default_rng(0)

    def loss(p: Any, x: Any, y: Any) -> Any:
        hidden = np.maximum(x @ p["w1"] + p["b1"], 0)
        return np.mean((hidden @ p["w2"] + p["b2"] - y) ** 2)

    for inputs in (8,) if small else (64, 784):
        for dtype in ("float32", "float64"):
            for batch in (1, 32):
                p = {"w1": rng.normal(size=(inputs, 128)), "b1": np.zeros(128), "w2": rng.normal(size=(128, 10)),
                     "b2": np.zeros(10)}  # fmt: skip
                p = {name: (a / 28).astype(dtype) for name, a in p.items()}
                x, y = rng.normal(size=(batch, inputs)).astype(dtype), rng.normal(size=(batch, 10)).astype(dtype)
                yield _case(f"grad, {inputs}-128-10, batch {batch}, {dtype}", lambda ad: ad.grad(loss), p, x, y)


def constants(small: bool) -> Iterator[Case]:
    """The gradient by a tensor that is multiplied with a plain array, which the graph keeps as it was."""

    def eager(ad: Any) -> Call:
        def step(x: Any, *others: Any) -> Any:
            t = ad.Tensor(x, requires_grad=True)
            y = t
            for a in others:
                y = y * a
            np.sum(y).backward()
            return t.grad

        return step

    def product(x: Any, a: Any) -> Any:
        return np.sum(x * a)

    for size in (10,) if small else (10, 1000, 10_000, 100_000, 1_000_000, 8_000_000):
        x, a, b = (np.linspace(0.1, k, size) for k in (1.0, 2.0, 3.0))
        yield _case(f"x * a, {size} elements", eager, x, a)
        yield _case(f"x * a * b, {size} elements", eager, x, a, b)
        yield _case(f"grad of x * a, {size} elements", lambda ad: ad.grad(product), x, a)


def recording(small: bool) -> Iterator[Case]:
    """The second call of a compiled step, which records it, of a new function each time."""
    compiled = import_module("benchmarks.workloads.compile")

    def build() -> dict[str, Call]:
        data = compiled.TINY.data()

        def fresh() -> None:
            step = load("adjoint").compile(compiled._adjoint_step(compiled.TINY))
            step(*data)
            step(*data)

        return {"adjoint": fresh}

    yield Case("calls 1 and 2 of a new step", build)


def _case(name: str, make: Callable[[Any], Call], *args: Any) -> Case:
    return Case(name, lambda: {"adjoint": partial(make(load("adjoint")), *args)})


def cases(name: str, small: bool) -> list[Case]:
    """The rows of a workload that have programs."""
    found = globals()[name](small) if name in MORE else import_module(f"benchmarks.workloads.{name}").cases(small=small)
    return [case for case in islice(found, FIRST.get(name)) if case.measure is None]


# -- In a process of one version ----------------------------------------------------------------------


def serve(name: str, small: bool) -> None:
    """Build the programs that are asked for by number, and time them: one line of JSON for each line of input."""
    known = cases(name, small)
    program: Call | None = None
    for line in sys.stdin:
        what, number = json.loads(line)
        try:
            if what == "build":
                program = None
                built = known[number].build()
                program = built.get("eager") or built["adjoint"]
                program()
                answer: Any = min(timed(program, 1) for _ in range(3))
                gc.collect()
                gc.freeze()
            else:
                assert program is not None
                answer = timed(program, number)
        except Exception as error:  # one of the versions may not have what the program uses
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)


class Version:
    """A process with one version of adjoint, which runs the programs of one workload."""

    def __init__(self, root: Path, name: str, small: bool) -> None:
        paths = os.pathsep.join(map(str, (root / "src", HERE)))
        kept = dict.fromkeys(("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"), str(1 << 30))
        environment = os.environ | kept | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "benchmarks.versions", str(root), name, "--serve", *["--quick"] * small]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=HERE
        )

    def ask(self, what: str, number: int) -> Any:
        """A figure in seconds; or, as text, why there is none."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([what, number]), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


# -- In the process that compares ---------------------------------------------------------------------


def compare(other: Path, name: str, wanted: str, rounds: int, pairs: int, small: bool) -> Iterator[tuple[str, Any]]:
    """Each row's name, with the least seconds of this version and of the other one; or why there are none."""
    numbers = [i for i, case in enumerate(cases(name, small)) if wanted in case.name]
    least: dict[int, list[float]] = {}
    failed: dict[int, str] = {}
    for _ in range(pairs):
        versions = [Version(HERE, name, small), Version(other, name, small)]
        for i in numbers:
            first = [version.ask("build", i) for version in versions]
            if any(isinstance(seconds, str) for seconds in first):
                failed[i] = next(seconds for seconds in first if isinstance(seconds, str))
                continue
            loops = max(1, round(0.01 / max(first)))
            found = least.setdefault(i, [float("inf")] * 2)
            for turn in range(rounds):
                for k in (0, 1) if turn % 2 else (1, 0):
                    found[k] = min(found[k], versions[k].ask("time", loops))
        for version in versions:
            version.close()
    for i, case in enumerate(cases(name, small)):
        if i in numbers:
            yield case.name, failed.get(i) or least[i]


def main() -> None:
    """Compare, and print each row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions", description=__doc__)
    parser.add_argument("other", type=Path, help="the checkout of the other version")
    parser.add_argument("names", nargs="*", help=f"which workloads: {', '.join(WORKLOADS + MORE)} (all)")
    parser.add_argument("--only", default="", help="rows with this text in their names")
    parser.add_argument("--rounds", type=int, default=20, help="samples by process, of about 10 ms (%(default)s)")
    parser.add_argument("--pairs", type=int, default=3, help="pairs of processes (%(default)s)")
    parser.add_argument("--limit", type=float, default=1.02, help="mark ratios above it (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="the smallest sizes")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    one_thread()
    if given.serve:
        serve(given.names[0], given.quick)
        return
    for name in given.names or WORKLOADS + MORE:
        for row, found in compare(given.other, name, given.only, given.rounds, given.pairs, given.quick):
            if isinstance(found, str):
                print(f"{name:12} {row:50} left out: {found[:80]}")
                continue
            ours, theirs = found
            mark = "  *" if ours > given.limit * theirs else ""
            print(
                f"{name:12} {row:50} {1e6 * ours:11.1f} {1e6 * theirs:11.1f} us  {ours / theirs:.3f}{mark}", flush=True
            )


if __name__ == "__main__":
    main()
