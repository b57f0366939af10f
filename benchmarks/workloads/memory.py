"""Memory of a training step: the most that it holds at once, beyond what was there before."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case, Samples, fresh
from benchmarks.peers import installed, load, one_thread
from benchmarks.workloads import chain, mlp

TITLE = "Memory of a training step"
ABOUT = (
    "The most memory that a process holds during its third step, beyond what it held after the second one (data, "
    "parameters, gradients, the buffers of its BLAS). Each in a fresh process, whose allocator gives large arrays back "
    "to the system at once; from Linux's own account (VmHWM). Saved values are freed as they are used, everywhere."
)
PEERS = ("adjoint", "NumPy", "PyTorch")


def chain_of(peer: str, size: int) -> Call:
    """Twenty elementwise operations on `size` numbers."""
    x = np.linspace(-1.0, 1.0, size).copy()
    if peer == "NumPy":
        return chain.by_hand(x, 20, True)
    leaf, xp = _library(peer)

    def step() -> Any:
        t = leaf(x, requires_grad=True)
        chain.program(xp, t, 20).sum().backward(retain_graph=False)
        return t.grad

    return step


def _library(peer: str) -> tuple[Any, Any]:
    """How `peer` shares an array with NumPy as a leaf, and its namespace."""
    if peer == "adjoint":
        return load("adjoint").Tensor, np
    torch = load("torch")
    return lambda x, requires_grad: torch.from_numpy(x).requires_grad_(requires_grad), torch


def network(peer: str, size: int) -> Call:
    """784 inputs, `size` hidden units, 10 outputs; four examples a hidden unit."""
    r = np.random.default_rng(0)
    shapes = ((size, 784), (size,), (10, size), (10,))
    arrays = [r.normal(size=shape).astype(np.float32) * 0.05 for shape in shapes]
    x, labels = r.normal(size=(4 * size, 784)).astype(np.float32), r.integers(0, 10, 4 * size)
    return mlp.EVERYONE[peer](arrays, x, labels, "SGD", **({} if peer == "NumPy" else {"retain_graph": False}))


PROGRAMS: dict[str, Callable[[str, int], Call]] = {"chain": chain_of, "network": network}


def peak(peer: str, program: str, size: int) -> int:
    """Bytes that the third step takes at most. To be called in a process of its own."""
    step = PROGRAMS[program](peer, size)
    for _ in range(2):  # buffers that a library makes once
        step()
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the account of the most begins anew
    step()
    return _status("VmHWM") - before


def _status(name: str) -> int:
    """A figure of this process in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def measure(program: str, size: int, rounds: int) -> Samples:
    """Every peer once a round, each in a process of its own."""
    seen = Path("/proc/self/clear_refs").exists()
    peers = [peer for peer in PEERS if seen and installed(peer) and peer != "compiled"]  # that has an arena: `compile`
    # Whatever is larger than this has pages of its own, which go back when it is freed.
    os.environ |= {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    samples: Samples = {peer: [] for peer in peers}
    for _ in range(min(rounds, 3)):  # it hardly varies
        for peer in peers:
            most: Any = fresh("-m", __name__, peer, program, str(size))
            if most is not None:
                samples[peer].append(most)
    return samples


def cases(small: bool = False) -> Iterator[Case]:
    """A row a program and size."""
    sizes = {"chain": (20_000,), "network": (32,)} if small else {"chain": (1_000_000,), "network": (2048,)}
    names = {"chain": "20 operations on {:,} numbers", "network": "784 - {0:,} - 10 network, {1:,} examples"}
    for program, each in sizes.items():
        for size in each:
            yield Case(
                names[program].format(size, 4 * size).replace(",", " "),
                measure=partial(measure, program, size),
                unit="B",
                budgets=(Budget("PyTorch", 1.01),),  # the same arrays, to the pages that an interpreter touches
            )


if __name__ == "__main__":
    one_thread()
    print(json.dumps(peak(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
