"""Searches by random programs that take as long as they are told.

ADJOINT_FUZZ_SECONDS=300 in the environment runs them for five minutes each; ADJOINT_FUZZ_SEED is the first seed.
"""

import os
import time

import pytest

SECONDS = "ADJOINT_FUZZ_SECONDS"


def long_search(test):
    """A test that runs only if it is told how long; the suite's limit of time is not for it."""
    skipped = pytest.mark.skipif(SECONDS not in os.environ, reason=f"long: {SECONDS}=300 runs it")
    return skipped(pytest.mark.timeout(0)(test))


def seconds():
    """How long to search."""
    return float(os.environ[SECONDS])


def first_seed(default):
    """The seed to begin with."""
    return int(os.environ.get("ADJOINT_FUZZ_SEED", default))


def seeds(first=1000):
    """One seed after another, until the time is over."""
    seed, until = first_seed(first), time.monotonic() + seconds()
    while time.monotonic() < until:
        yield seed
        seed += 1
