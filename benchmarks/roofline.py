"""``python -m benchmarks.roofline``: what this machine's limits allow each workload, and what compiled functions take.

The peak is measured with products and sums in registers; the bandwidth, by copying arrays that stay in the second cache
and ones that lie in memory. A workload's products and bytes are those of its plan, so the limit is that of this plan:
the time of its products at the peak, or of its bytes at the second cache's bandwidth, whichever is longer.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from benchmarks.peers import one_thread

Step = tuple[str, Callable[[], Any], Any]


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
    from adjoint.native.codegen.jit import Module

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
    module, memory = Module("\n".join(lines)), np.zeros(16 * sums)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(module.address("peak"))
    return 2 * width * sums * turns / best(lambda: run(memory.ctypes.data))


def bandwidth(size: int) -> float:
    """Bytes a second that are read and written, where so many are copied at a time."""
    import numpy as np

    x, y = np.ones(size // 8), np.ones(size // 8)
    return 2 * size / best(lambda: np.copyto(y, x))


def workloads() -> Iterator[Step]:
    """Training steps: a name, a call, and the compiled function."""
    import numpy as np

    import adjoint as ad
    from adjoint import nn, optim

    rng = np.random.default_rng(0)

    def step(model: Any, x: Any, y: Any, loss: Callable[[Any, Any], Any]) -> tuple[Callable[[], Any], Any]:
        adam = optim.Adam(model.parameters(), lr=1e-3)

        def train(x: Any, y: Any) -> Any:
            adam.zero_grad()
            error = loss(model(x), y)
            error.backward(retain_graph=False)
            adam.step()
            return error

        compiled = ad.compile(train, wait=True)
        for _ in range(3):
            compiled(x, y)
        return lambda: compiled(x, y), compiled

    f4: Any = {"dtype": np.float32}
    labels = rng.integers(0, 10, 128)
    mlp = nn.Sequential(
        nn.Linear(784, 256, **f4), nn.ReLU(), nn.Linear(256, 128, **f4), nn.ReLU(), nn.Linear(128, 10, **f4)
    )
    x = rng.normal(size=(128, 784)).astype(np.float32)
    yield "MLP 784-256-128-10, batch 128", *step(mlp, x, labels, nn.cross_entropy)
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, **f4), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Conv2d(16, 32, 3, padding=1, **f4), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Flatten(), nn.Linear(32 * 49, 10, **f4))  # fmt: skip
    x = rng.normal(size=(64, 1, 28, 28)).astype(np.float32)
    yield "conv net 28x28, 16 and 32 channels, batch 64", *step(net, x, labels[:64], nn.cross_entropy)
    block = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True, **f4)
    x = rng.normal(size=(8, 64, 128)).astype(np.float32)
    yield "attention block, batch 8, length 64, width 128", *step(block, x, x, lambda a, b: np.mean((a - b) ** 2))


def main() -> None:
    """Measure, and print the page."""
    one_thread()  # before anything imports NumPy
    top, near, far = peak("f4"), bandwidth(1 << 19), bandwidth(1 << 26)
    print(f"peak: {top / 1e9:.0f} GFLOP/s float32, {peak('f8') / 1e9:.0f} float64")
    print(f"bandwidth: {near / 1e9:.0f} GB/s in the second cache, {far / 1e9:.0f} in memory\n")
    print("| workload | operations | bytes | limit | ours | ours / limit |\n|---|---|---|---|---|---|")
    for name, call, compiled in workloads():
        rows = compiled.plan.rows
        products = sum(2 * prod(row.domain) for row in rows if row.by in ("product", "BLAS"))
        moved = sum(row.read + row.written for row in rows)
        limit, ours = max(products / top, moved / near), best(call, 3.0)
        print(f"| {name} | {products / 1e6:.0f} M | {moved / 1e6:.1f} MB | {limit * 1e3:.2f} ms | {ours * 1e3:.2f} ms "
              f"| {ours / limit:.2f} |")  # fmt: skip


if __name__ == "__main__":
    main()
