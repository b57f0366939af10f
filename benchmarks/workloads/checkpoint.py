"""Checkpoints: what a chain of blocks needs in memory and time when it is cut into as many pieces as its root."""

from __future__ import annotations

import ctypes
import gc
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case, Samples, fresh
from benchmarks.peers import installed, load, one_thread
from benchmarks.workloads.deep import resident

TITLE = "Checkpoints"
ABOUT = (
    "A chain of n blocks `tanh(x @ w)`, cut into √n segments, of which all but the last are run again (PyTorch: "
    "`checkpoint_sequential`). *Live* is what the process has grown by after the forward pass, *peak* the most in a "
    "step, in an interpreter of its own. Of such a chain √n arrays between the segments and √n within one are needed."
)
ROWS, COLUMNS = 256, 512
OPTIMUM, WITHOUT = "2√n arrays", "all kept"

# A forward pass, and the backward pass from what it gave.
Step = tuple[Callable[[], Any], Callable[[Any], Any]]


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(ROWS, COLUMNS)), rng.normal(size=(COLUMNS, COLUMNS)) / math.sqrt(COLUMNS)


def with_adjoint(n: int, cut: bool = True) -> Step:
    ad = load("adjoint")
    x, w = (ad.tensor(a, requires_grad=True) for a in data())

    def block(x: Any) -> Any:
        return np.tanh(x @ w)

    def forward() -> Any:
        return np.sum(ad.checkpoint_sequential([block] * n, math.isqrt(n) if cut else 1, x))

    def backward(loss: Any) -> Any:
        x.grad = w.grad = None
        loss.backward(retain_graph=False)
        return [x.grad, w.grad]

    return forward, backward


def with_torch(n: int) -> Step:
    torch, tools = load("torch"), load("torch.utils.checkpoint")
    x, w = (torch.from_numpy(a).requires_grad_() for a in data())

    def block(x: Any) -> Any:
        return torch.tanh(x @ w)

    def forward() -> Any:
        return tools.checkpoint_sequential([block] * n, math.isqrt(n), x, use_reentrant=False).sum()

    def backward(loss: Any) -> Any:
        x.grad = w.grad = None
        loss.backward()
        return [x.grad, w.grad]

    return forward, backward


EVERYONE: dict[str, Callable[[int], Step]] = {
    "adjoint": with_adjoint,
    WITHOUT: partial(with_adjoint, cut=False),
    "PyTorch": with_torch,
}


def there(peer: str) -> bool:
    return peer == WITHOUT or installed(peer)


def step(peer: str, n: int) -> Call:
    forward, backward = EVERYONE[peer](n)
    return lambda: backward(forward())


def most_resident() -> int:
    """The most bytes of memory that this process has held (Linux)."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def once(peer: str, n: int) -> dict[str, float]:
    """Bytes that the process has grown by: after the forward pass, and at most."""
    forward, backward = EVERYONE[peer](4)
    backward(forward())
    forward, backward = EVERYONE[peer](n)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back, so that it is counted when it is taken again
    before = resident()
    made = forward()
    gc.collect()
    live = resident() - before
    backward(made)
    return {"live": live, "peak": most_resident() - before}


def measure(n: int, peers: Iterable[str] = EVERYONE) -> dict[str, Samples]:
    """Both figures of each of `peers`; memory needs no second round."""
    found: dict[str, Samples] = {what: {} for what in ("live", "peak")}
    for peer in filter(there, peers):
        result = fresh("-m", __name__, peer, str(n))
        for what, samples in found.items():
            if result is not None:
                samples[peer] = [float(result[what])]
    for samples in found.values():
        samples[OPTIMUM] = [2.0 * math.isqrt(n) * ROWS * COLUMNS * 8]
    return found


def cases(small: bool = False) -> Iterator[Case]:
    """Rows by length: live bytes, peak, time."""
    for n in (4,) if small else (16, 64, 256):
        found: dict[str, Samples] = {}

        def bytes_of(what: str, rounds: int, n: int = n, found: dict[str, Samples] = found) -> Samples:
            if not found:
                found.update(measure(n))
            return found[what]

        live = (Budget(OPTIMUM, 1.25),)
        yield Case(f"{n} blocks: live", measure=partial(bytes_of, "live"), unit="B", budgets=live)
        yield Case(f"{n} blocks: peak", measure=partial(bytes_of, "peak"), unit="B", budgets=(Budget("PyTorch", 1.0),))
        if n <= 64:
            calls = {peer: partial(step, peer) for peer in filter(there, EVERYONE)}
            yield Case(f"{n} blocks: step", lambda calls=calls, n=n: {p: c(n) for p, c in calls.items()}, per=n,
                       budgets=(Budget(WITHOUT, 1.35),))  # fmt: skip


if __name__ == "__main__":
    one_thread()
    print(json.dumps(once(sys.argv[1], int(sys.argv[2]))))
