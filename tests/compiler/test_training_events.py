"""Random training histories, compiled and plain: weights, gradients, states, buffers, notes and errors are the same.

Between steps, layers are frozen, swapped and tied, optimisers changed, states saved and loaded, hooks put on, models
copied and pickled, attributes set: `training_events`.
"""

import itertools

import numpy as np
import pytest

import adjoint as ad

from . import training_events
from .attacks.seen import close, close_but_for_zeros

HISTORIES = {"numpy": 8, "native": 1}  # of each number


def assert_same_history(seed, backend, events=3):
    rtol = 1e-7  # eager normalisation is one operation, which rounds otherwise
    plain = training_events.history(seed, lambda f: f, events)
    own = training_events.history(seed, lambda f: ad.compile(f, wait=True, backend=backend), events)
    with np.errstate(all="ignore"):
        for (label, expected), (_, found) in zip(plain, own, strict=True):
            for (path, x), (other, y) in itertools.zip_longest(expected, found, fillvalue=("nothing", None)):
                same = close(x, y, rtol) or (".grad" in path and close_but_for_zeros(x, y))
                assert path == other and same, f"history {seed}, {label}: {path} is {x!r}, compiled {other} {y!r}"  # noqa: PT018 - one sentence


@pytest.mark.parametrize("backend", HISTORIES)
@pytest.mark.parametrize("seed", range(25))
@pytest.mark.filterwarnings("ignore")  # of numbers that overflow, and of schedules that go on before a step
def test_histories(seed, backend):
    for k in range(HISTORIES[backend]):
        assert_same_history(1000 * k + seed, backend)
