"""How a training would scale to many ranks: a SIMULATION, from step and message times measured on this machine.

    python scripts/simulate_ranks.py

measures a step on one rank, and messages between two (`benchmarks/workloads/ranks.py`), and prints the table. What is
given is not measured; figures of other machines are all given:

    python scripts/simulate_ranks.py --step 0.2 --bytes 40e6 --bandwidth 1.25e9 --latency 5e-6

Each rank keeps its batch size. Buckets of gradients become ready evenly over the backward pass, the last two thirds of
a step; each takes ``2 (n - 1)`` messages of latency and ``2 (n - 1) / n`` times its bytes over the bandwidth, one
bucket after another. A step ends when its last bucket has come back.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

NET, BATCH, LARGE = "784-512-512-10", 2048, 1 << 22
TIMES = 5  # of which the quickest counts: other work on the machine makes them longer


def step_time(ranks: int, step: float, size: float, bucket: float, bandwidth: float, latency: float) -> float:
    """Seconds of a step on so many ranks."""
    count = max(1, round(size / bucket))
    each = 2 * (ranks - 1) * latency + 2 * (ranks - 1) / ranks * (size / count) / bandwidth if ranks > 1 else 0.0
    free = 0.0
    for k in range(count):
        free = max(free, step / 3 + 2 * step / 3 * (k + 1) / count) + each
    return max(step, free)


def measured_step() -> tuple[float, float]:
    """Seconds of the processor that a training step takes on one rank, and the bytes of its gradients."""
    from benchmarks.workloads.ranks import net, seconds

    parameters = net(NET)[0].parameters()
    return min(seconds(1, net=NET, batch=BATCH)[0] for _ in range(TIMES)), float(sum(p.data.nbytes for p in parameters))


def measured_messages() -> tuple[float, float]:
    """Bytes a second between two ranks of this machine, and seconds of a message without content.

    An all-reduce of two ranks is two messages, one after the other, of 8 bytes; three, and its bytes, of many.
    """
    from benchmarks.workloads.ranks import seconds

    small, large = (min(seconds(2, bytes=size)[1] for _ in range(TIMES)) for size in (8, LARGE))
    return LARGE / (large - 1.5 * small), small / 2


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Simulate the scaling of a data parallel training.")
    parser.add_argument("--step", type=float, help="seconds of a step on one rank")
    parser.add_argument("--bytes", type=float, help="bytes of all gradients")
    parser.add_argument("--bandwidth", type=float, help="bytes a second that a rank sends")
    parser.add_argument("--latency", type=float, help="seconds of a message without content")
    parser.add_argument("--bucket", type=float, default=1 << 20, help="bytes of a bucket (%(default)s)")
    given = parser.parse_args()
    step, size = (given.step, given.bytes) if given.step and given.bytes else measured_step()
    bandwidth, latency = given.bandwidth, given.latency
    if not (bandwidth and latency):
        found = measured_messages()
        bandwidth, latency = bandwidth or found[0], latency or found[1]
    step, size = given.step or step, given.bytes or size
    print(
        f"A step of {step * 1e3:.1f} ms, {size / 1e6:.2f} MB of gradients, messages of {latency * 1e6:.0f} us, "
        f"{bandwidth / 1e9:.2f} GB/s"
    )
    print("SIMULATED, not measured\n ranks    step     efficiency")
    for power in range(11):
        seconds = step_time(1 << power, step, size, given.bucket, bandwidth, latency)
        print(f"{1 << power:6d}  {seconds * 1e3:8.1f} ms  {step / seconds:6.1%}")


if __name__ == "__main__":
    main()
