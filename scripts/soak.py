"""Hours of work in minutes: a million calls, a thousand recompilations, a thousand gradients; what grows meanwhile.

``python scripts/soak.py`` prints a line for each, and fails if objects or memory are left over. ``--calls 10000`` does
less. Memory is what /proc says of this process, so that it is looked at on Linux only.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import adjoint as ad
from adjoint import nn, optim

MEGABYTES = 8.0  # that may be left over: the allocator's, which does not give everything back


def resident() -> float:
    """Megabytes of memory that this process has."""
    path = Path("/proc/self/statm")
    return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6 if path.exists() else 0.0


def grown(name: str, work: Callable[[int], None], count: int) -> bool:
    """Do `work` so many times, after a tenth of that to get going; whether anything has grown by it."""
    for k in range(max(count // 10, 20)):
        work(k)
    gc.collect()
    objects, memory = len(gc.get_objects()), resident()
    for k in range(count):
        work(k)
    gc.collect()
    objects, memory = len(gc.get_objects()) - objects, resident() - memory
    print(f"{name:<40} {count:>9} times: {objects:+6} objects, {memory:+7.2f} MB", flush=True)
    return objects > 200 or memory > MEGABYTES


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--calls", type=int, default=1_000_000, help="calls of a small function; the rest in proportion"
    )
    count = parser.parse_args().calls
    few = max(count // 1000, 20)

    model = nn.Sequential(nn.Linear(4, 8, rng=0), nn.Tanh(), nn.Linear(8, 2, rng=1))
    adam = optim.Adam(model.parameters(), lr=1e-3)
    scale = ad.tensor(np.ones(4), requires_grad=True)
    x = np.ones((3, 4))

    @ad.compile(wait=True)
    def plain(x: np.ndarray) -> np.ndarray:
        return np.tanh(x) * 2.0 + np.sum(x)

    @ad.compile(wait=True)
    def step(x: np.ndarray) -> ad.Tensor:
        adam.zero_grad()
        loss = np.sum(model(x) ** 2)
        loss.backward(retain_graph=False)
        adam.step()
        return loss

    @ad.compile(wait=True)
    def loss(x: np.ndarray) -> ad.Tensor:
        return np.sum(np.tanh(x * scale) ** 2)  # type: ignore[return-value]  # NumPy's functions give tensors for tensors

    def gradient(k: int) -> None:
        scale.grad = None
        loss(x).backward()

    def compiled_anew(k: int) -> None:
        factor, width = 0.5 + k % 977, 1 + k % 13

        def f(x: np.ndarray) -> np.ndarray:
            return np.sum(np.sin(x * factor) * k, axis=0) - np.float64(k)

        made = ad.compile(f, wait=True)
        made(np.ones(width))
        made(np.ones(width))

    calls = {
        "calls of a function": (lambda k: plain(x), count),
        "calls of a training step": (lambda k: step(x), count),
        "calls that are refused first": (lambda k: plain(x[:, ::-1]), few * 10),
        "gradients by the way back": (gradient, few),
        "functions compiled and dropped": (compiled_anew, few),
    }
    worst = [name for name, (work, times) in calls.items() if grown(name, work, times)]
    print("nothing grows" if not worst else f"growing: {', '.join(worst)}")
    return bool(worst)


if __name__ == "__main__":
    sys.exit(main())
