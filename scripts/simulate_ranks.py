"""How a training would scale to many ranks: a SIMULATION, from step and message times that were measured elsewhere.

Each rank keeps its batch size. Buckets of gradients become ready evenly over the backward pass, the last two thirds of
a step; each takes ``2 (n - 1)`` messages of latency and ``2 (n - 1) / n`` times its bytes over the bandwidth, one
bucket after another. A step ends when its last bucket has come back.

    python scripts/simulate_ranks.py --step 0.2 --bytes 40e6 --bandwidth 1.25e9 --latency 5e-6
"""

from __future__ import annotations

import argparse


def step_time(ranks: int, step: float, size: float, bucket: float, bandwidth: float, latency: float) -> float:
    """Seconds of a step on so many ranks."""
    count = max(1, round(size / bucket))
    each = 2 * (ranks - 1) * latency + 2 * (ranks - 1) / ranks * (size / count) / bandwidth if ranks > 1 else 0.0
    free = 0.0
    for k in range(count):
        free = max(free, step / 3 + 2 * step / 3 * (k + 1) / count) + each
    return max(step, free)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Simulate the scaling of a data parallel training.")
    parser.add_argument("--step", type=float, required=True, help="seconds of a step on one rank")
    parser.add_argument("--bytes", type=float, required=True, help="bytes of all gradients")
    parser.add_argument("--bandwidth", type=float, required=True, help="bytes a second that a rank sends")
    parser.add_argument("--latency", type=float, required=True, help="seconds of a message without content")
    parser.add_argument("--bucket", type=float, default=1 << 20, help="bytes of a bucket (%(default)s)")
    given = parser.parse_args()
    print("SIMULATED, not measured\n ranks    step     efficiency")
    for power in range(11):
        seconds = step_time(1 << power, given.step, given.bytes, given.bucket, given.bandwidth, given.latency)
        print(f"{1 << power:6d}  {seconds * 1e3:8.1f} ms  {given.step / seconds:6.1%}")


if __name__ == "__main__":
    main()
