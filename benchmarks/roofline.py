"""``python -m benchmarks.roofline``: what this machine's limits allow each workload, and what compiled functions take.

The peak is measured with products and sums in registers; the bandwidth, by copying arrays that stay in the second cache
and ones that lie in memory. A workload's products and bytes are those of its plan, so the limit is that of this plan:
the time of its products at the peak, or of its bytes at the second cache's bandwidth (for arrays that do not fit there,
memory's), whichever is longer. What is neither a product nor a byte (functions, divisions, calls) has no limit here:
rows that consist of it show how much it is.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

from benchmarks.peers import one_thread

SECONDS = 3.0  # a workload is measured so long


class Workload(NamedTuple):
    """What is measured: a call of a compiled function; its products, where a loop hides them from the plan."""

    name: str
    call: Callable[[], Any]
    compiled: Any
    dtype: str = "f4"
    products: int = 0
    is_large: bool = False  # arrays do not fit into the second cache


def best(call: Callable[[], Any], seconds: float = 1.0) -> float:
    """The shortest time of a call within so many seconds: a machine that does other work has no other figure."""
    shortest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def peak(dtype: str) -> float:
    """Floating-point operations a second, of this dtype."""
    import numpy as np

    from adjoint.native.codegen import machine
    from adjoint.native.codegen.jit import NativeModule

    width, sums, turns = machine.vectors().bytes // int(dtype[1]), 12, 20000
    one, name = ("float", "f32") if dtype == "f4" else ("double", "f64")
    kind = f"<{width} x {one}>"
    word = f"llvm.fmuladd.v{width}{name}"
    lines = ["define void @peak(ptr %p) {", f"  %x = load {kind}, ptr %p, align 4", "  br label %turn", "turn:",
             "  %i = phi i64 [ 0, %0 ], [ %j, %turn ]"]  # fmt: skip
    lines += [f"  %s{k} = phi {kind} [ zeroinitializer, %0 ], [ %t{k}, %turn ]" for k in range(sums)]
    lines += [f"  %t{k} = call {kind} @{word}({kind} %x, {kind} %x, {kind} %s{k})" for k in range(sums)]
    lines += [
        "  %j = add i64 %i, 1",
        f"  %more = icmp ult i64 %j, {turns}",
        "  br i1 %more, label %turn, label %end",
        "end:",
    ]
    for k in range(sums):
        lines += [f"  %p{k} = getelementptr {kind}, ptr %p, i64 {k}", f"  store {kind} %t{k}, ptr %p{k}, align 4"]
    lines += ["  ret void", "}", f"declare {kind} @{word}({kind}, {kind}, {kind})"]
    module, memory = NativeModule("\n".join(lines)), np.zeros(16 * sums)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(module.address("peak"))
    return 2 * width * sums * turns / best(lambda: run(memory.ctypes.data))


def bandwidth(size: int) -> float:
    """Bytes a second that are read and written, where so many are copied at a time."""
    import numpy as np

    x, y = np.ones(size // 8), np.ones(size // 8)
    return 2 * size / best(lambda: np.copyto(y, x))


def _training(model: Any, x: Any, y: Any, loss: Callable[[Any, Any], Any]) -> tuple[Callable[[], Any], Any]:
    """A step of Adam, and the compiled function."""
    import adjoint as ad

    adam = ad.optim.Adam(model.parameters(), lr=1e-3)

    def train(x: Any, y: Any) -> Any:
        adam.zero_grad()
        error = loss(model(x), y)
        error.backward(retain_graph=False)
        adam.step()
        return error

    return _ready(train, x, y)


def _ready(f: Callable[..., Any], *args: Any) -> tuple[Callable[[], Any], Any]:
    import adjoint as ad

    compiled = ad.compile(f, wait=True)
    for _ in range(3):
        compiled(*args)
    return lambda: compiled(*args), compiled


def workloads() -> Iterator[Workload]:
    """Training steps, and programs of elementwise operations."""
    import numpy as np

    import adjoint as ad
    from adjoint import nn

    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 128)

    def linear(*sizes: int, dtype: Any) -> Any:
        layers = [nn.Linear(a, b, dtype=dtype) for a, b in pairwise(sizes)]
        return nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU())][:-1])

    def normal(*shape: int, dtype: Any = np.float32) -> Any:
        return rng.normal(size=shape).astype(dtype)

    def distance(a: Any, b: Any) -> Any:
        return np.mean((a - b) ** 2)

    f4: Any = {"dtype": np.float32}
    for sizes, dtype in (((784, 256, 128, 10), np.float32), ((784, 512, 512, 10), np.float64)):
        model, x = linear(*sizes, dtype=dtype), normal(128, 784, dtype=dtype)
        name = f"MLP {'-'.join(map(str, sizes))}, batch 128"
        yield Workload(name, *_training(model, x, labels, nn.cross_entropy), _key(dtype))
    x, y = normal(50, 32, 64), normal(50, 32, 128)
    step = _training(nn.GRU(64, 128, **f4), x, y, lambda a, b: distance(a[0], b))
    yield Workload("GRU 64-128, 50 steps, batch 32", *step, "f4", 6 * 50 * 32 * 384 * (64 + 128))
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, **f4), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Conv2d(16, 32, 3, padding=1, **f4), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Flatten(), nn.Linear(32 * 49, 10, **f4))  # fmt: skip
    step = _training(net, normal(64, 1, 28, 28), labels[:64], nn.cross_entropy)
    yield Workload("conv net 28x28, 16 and 32 channels, batch 64", *step)
    for dtype in (np.float32, np.float64):
        block = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True, dtype=dtype)
        x = normal(8, 64, 128, dtype=dtype)
        yield Workload("attention block, batch 8, length 64, width 128", *_training(block, x, x, distance), _key(dtype))
    for n in (10**6, 10**7):
        step = _ready(partial(elementwise, np), normal(n), normal(n))
        yield Workload(f"12 elementwise operations on {n:,} numbers", *step, is_large=True)
    step = _ready(partial(option, np, ad.value_and_grad), normal(10**6, dtype=float), 100.0, 0.2)
    yield Workload("Black-Scholes by 10^6 paths", *step, "f8", 0, True)
    yield Workload("tiny net 4-8-1, batch 1", *_training(linear(4, 8, 1, **f4), normal(1, 4), normal(1, 1), distance))


def elementwise(xp: Any, x: Any, y: Any) -> Any:
    """Twelve operations, by NumPy or a peer's likeness of it."""
    z = xp.tanh(x * y + 1) - xp.exp(-x * x) * y
    return z / (1 + z * z) + xp.sqrt(xp.abs(x))


def option(xp: Any, value_and_grad: Any, z: Any, price: Any, spread: Any) -> Any:
    """The value of an option and its derivatives by price and spread."""

    def value(price: Any, spread: Any) -> Any:
        end = price * xp.exp(0.03 - spread**2 / 2 + spread * z)
        return xp.mean(xp.maximum(end - 105.0, 0.0)) * xp.exp(-0.03)

    return value_and_grad(value, (0, 1))(price, spread)


def _key(dtype: Any) -> str:
    import numpy as np

    return f"f{np.dtype(dtype).itemsize}"


def main() -> None:
    """Measure, and print the page."""
    one_thread()  # before anything imports NumPy
    tops, near, far = {key: peak(key) for key in ("f4", "f8")}, bandwidth(1 << 19), bandwidth(1 << 26)
    print(f"peak: {tops['f4'] / 1e9:.0f} GFLOP/s float32, {tops['f8'] / 1e9:.0f} float64")
    print(f"bandwidth: {near / 1e9:.0f} GB/s in the second cache, {far / 1e9:.0f} in memory\n")
    print("| workload | dtype | operations | bytes | limit | ours | ours / limit |\n|---|---|---|---|---|---|---|")
    for work in workloads():
        rows = work.compiled.plan.rows
        products = work.products or sum(2 * prod(row.domain) for row in rows if row.by in ("product", "BLAS"))
        moved = sum(row.read + row.written for row in rows)
        speed = far if work.is_large else near
        limit, ours = max(products / tops[work.dtype], moved / speed), best(work.call, SECONDS)
        print(f"| {work.name} | {work.dtype} | {products / 1e6:.1f} M | {moved / 1e6:.1f} MB | {shown(limit)} "
              f"| {shown(ours)} | {ours / limit:.2f} |", flush=True)  # fmt: skip


def shown(seconds: float) -> str:
    """A time, with its unit."""
    return f"{seconds * 1e3:.2f} ms" if seconds > 1e-4 else f"{seconds * 1e6:.2f} us"


if __name__ == "__main__":
    main()
