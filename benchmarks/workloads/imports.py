"""How long an import takes, in an interpreter of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType

from benchmarks.harness import Budget, Case, Samples, fresh
from benchmarks.peers import PEERS, installed

TITLE = "Import"
ABOUT = "Processor time of the import statement in a fresh interpreter, files already in the system's cache."

_TIMED = """
import sys, time
start = time.process_time()
import {module}
{use}
print(time.process_time() - start)
"""

#: What makes a peer load what its arrays need.
_USES = {
    "adjoint": "adjoint.tensor(1.0)",
    "NumPy": "numpy.zeros(1)",
    "PyTorch": "torch.tensor(1.0)",
    "JAX": "jax.numpy.zeros(1)",
    "autograd": "autograd.numpy.zeros(1)",
    "MyGrad": "mygrad.tensor(1.0)",
}


def measure(rounds: int, uses: Mapping[str, str] = MappingProxyType({})) -> Samples:
    """Import every peer once a round, and run what `uses` says of it."""
    peers = [peer for peer in PEERS if peer not in ("JAX jit", "compiled") and installed(peer)]
    samples: Samples = {peer: [] for peer in peers}
    for number in range(rounds + 1):
        for peer in peers:
            seconds = fresh("-c", _TIMED.format(module=PEERS[peer], use=uses.get(peer, "")))
            if number and seconds is not None:  # the round before the first fills the caches
                samples[peer].append(seconds)
    return samples


def cases(small: bool = False) -> Iterator[Case]:
    """Two rows."""
    yield Case("import", measure=measure, budgets=(Budget("NumPy", 1.2),))
    yield Case("import and the first array", measure=partial(measure, uses=_USES), budgets=(Budget("NumPy", 1.4),))
