"""Memory of a training step: the most that it holds at once, beyond what was there before."""

from __future__ import annotations

import ctypes
import gc
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
from benchmarks.workloads import chain, layers, mlp

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


def layer(name: str, peer: str, size: int) -> Call:
    """One of the networks of `layers`, `size` wide; its gradients are given up after the step."""
    build, shape = {
        "convolutions": (layers.convolutions, (64, 1, 28, 28)),
        "LSTM": (layers.recurrent, (50, 32, size // 2)),
        "GRU": (layers.gated, (50, 32, size // 2)),
        "attention": (layers.attention, (8, 64, size)),
    }[name]
    x: Any = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    if peer == "PyTorch":
        torch = load("torch")
        net, x, options = build(torch.nn, {}, size), torch.from_numpy(x), {}
    else:
        net, options = build(load("adjoint").nn, {"rng": 0, "dtype": np.float32}, size), {"retain_graph": False}

    def step() -> Any:
        out = net(x)
        out = out[0] if isinstance(out, tuple) else out
        (out * out).sum().backward(**options)
        net.zero_grad()

    return step


LAYERS = {"convolutions": 16, "LSTM": 128, "GRU": 128, "attention": 128}
PROGRAMS: dict[str, Callable[[str, int], Call]] = {
    "chain": chain_of,
    "network": network,
    **{name: partial(layer, name) for name in LAYERS},
}


def peak(peer: str, program: str, size: int) -> int:
    """Bytes that the third step takes at most. To be called in a process of its own."""
    step = PROGRAMS[program](peer, size)
    for _ in range(2):  # buffers that a library makes once
        step()
    gc.collect()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # what many small arrays left behind does not count
        trim(0)
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
    peers = [peer for peer in peers if peer != "NumPy" or program not in LAYERS]
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
    for name, width in LAYERS.items():
        size = 8 if small else width
        yield Case(
            f"{name}, {size} wide", measure=partial(measure, name, size), unit="B", budgets=(Budget("PyTorch", 1.01),)
        )


if __name__ == "__main__":
    one_thread()
    print(json.dumps(peak(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
