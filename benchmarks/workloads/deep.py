"""Very deep chains: time and memory a node, and that nothing recurses. Each measurement has its own process."""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Case, Samples, fresh
from benchmarks.peers import everyone, installed, load, one_thread

TITLE = "Deep chains"
ABOUT = (
    "`sin`, as many times as the row says, of one number in an array. Memory is what the process grows by, per "
    "operation; NumPy by hand keeps the same arrays in a list. MyGrad's graphs are cycles, which wait for the garbage "
    "collector. JAX would have to compile the whole chain. At most three rounds; one for a million."
)

Run = tuple[Callable[[], Any], Callable[[Any], Any]]


def with_adjoint(x: np.ndarray, count: int) -> Run:
    ad = load("adjoint")
    return _tape(ad.Tensor(x, requires_grad=True), np.sin, count)


def with_torch(x: np.ndarray, count: int) -> Run:
    torch = load("torch")
    return _tape(torch.from_numpy(x).requires_grad_(), torch.sin, count)


def with_mygrad(x: np.ndarray, count: int) -> Run:
    mg = load("mygrad")
    return _tape(mg.Tensor(x), mg.sin, count)


def _tape(leaf: Any, sin: Callable[[Any], Any], count: int) -> Run:
    def forward() -> Any:
        t = leaf
        for _ in range(count):
            t = sin(t)
        return t

    def backward(t: Any) -> Any:
        t.sum().backward()
        return leaf.grad

    return forward, backward


def by_hand(x: np.ndarray, count: int) -> Run:
    def forward() -> Any:
        saved = [x]
        for _ in range(count):
            saved.append(np.sin(saved[-1]))
        return saved

    def backward(saved: Any) -> Any:
        g = np.ones_like(x)
        for a in reversed(saved[:-1]):
            g = g * np.cos(a)
        return g

    return forward, backward


def with_autograd(x: np.ndarray, count: int) -> Run:
    anp, autograd = load("autograd.numpy"), load("autograd")

    def program(t: Any) -> Any:
        for _ in range(count):
            t = anp.sin(t)
        return t

    return lambda: autograd.make_vjp(program)(x), lambda made: made[0](np.ones_like(x))


EVERYONE = everyone(globals())
PHASES = ("forward", "backward", "teardown")


def resident() -> int:
    """Bytes of memory that this process holds (Linux)."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def once(peer: str, count: int) -> dict[str, float]:
    """One chain by one peer: seconds of each phase, bytes after the forward pass, and the gradient."""
    x = np.array([0.5])
    forward, backward = EVERYONE[peer](x, 8)
    backward(forward())
    forward, backward = EVERYONE[peer](x, count)
    gc.collect()
    before, times = resident(), [time.process_time()]
    made = forward()
    times.append(time.process_time())
    grown = resident() - before
    times[-1], start = times[-1] - times[0], time.process_time()
    gradient = float(np.asarray(backward(made).tolist())[0])
    times.append(time.process_time() - start)
    start = time.process_time()
    del made, forward, backward
    times.append(time.process_time() - start)
    return {**dict(zip(PHASES, times[1:], strict=True)), "bytes": grown, "gradient": gradient}


def measure(count: int, peers: Sequence[str], rounds: int) -> dict[str, Samples]:
    """Samples of every phase by peer; a peer that fails at this depth has none."""
    found: dict[str, Samples] = {phase: {} for phase in (*PHASES, "bytes")}
    for _ in range(rounds):
        for peer in filter(installed, peers):
            result = fresh("-m", __name__, peer, str(count))
            for phase, samples in found.items():
                if result is not None:
                    samples.setdefault(peer, []).append(result[phase])
    return found


def cases(small: bool = False) -> Iterator[Case]:
    """Rows by depth and phase."""
    for count in (1000,) if small else (100_000, 1_000_000):
        found: dict[str, Samples] = {}

        def phase(name: str, rounds: int, count: int = count, found: dict[str, Samples] = found) -> Samples:
            if not found:
                # A million operations take MyGrad and autograd a minute: they are seen at 100 000.
                peers, most = (tuple(EVERYONE), 3) if count < 1_000_000 else (("adjoint", "NumPy", "PyTorch"), 1)
                found.update(measure(count, peers, min(rounds, most)))
            return found[name]

        depth = f"{count:,} deep".replace(",", " ")
        for name in PHASES:
            yield Case(f"{depth}: {name}", measure=partial(phase, name), per=count)
        memory = Budget("NumPy", 300.0, beyond=True)
        yield Case(f"{depth}: memory", measure=partial(phase, "bytes"), per=count, unit="B", budgets=(memory,))


if __name__ == "__main__":
    one_thread()
    print(json.dumps(once(sys.argv[1], int(sys.argv[2]))))
