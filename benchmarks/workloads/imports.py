"""How long an import takes, in an interpreter of its own."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.harness import Budget, Case, Samples, fresh
from benchmarks.peers import PEERS, installed

TITLE = "Import"
ABOUT = "Processor time of the import statement in a fresh interpreter, files already in the system's cache."

_TIMED = """
import sys, time
start = time.process_time()
import {module}
print(time.process_time() - start)
"""


def measure(rounds: int) -> Samples:
    """Import every peer once a round."""
    peers = [peer for peer in PEERS if peer not in ("JAX jit", "compiled") and installed(peer)]
    samples: Samples = {peer: [] for peer in peers}
    for number in range(rounds + 1):
        for peer in peers:
            seconds = fresh("-c", _TIMED.format(module=PEERS[peer]))
            if number and seconds is not None:  # the round before the first fills the caches
                samples[peer].append(seconds)
    return samples


def cases(small: bool = False) -> Iterator[Case]:
    """One row."""
    yield Case("import", measure=measure, budgets=(Budget("NumPy", 1.2),))
