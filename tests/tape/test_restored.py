"""Ctrl-C while a checkpoint's function runs a second time: what it uses is as it was before."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.tape.node import next_order
from adjoint.tape.reach import CallState
from tests.check_points import interrupted, points


class Part:
    """A module with all that a run may change."""

    def __init__(self):
        self.rng, self.legacy = np.random.default_rng(0), np.random.RandomState(0)
        self.count, self.kept, self.buffer = 0, np.zeros(2), ad.tensor(np.zeros(2))
        self.total = 0.0

    def __call__(self, x):
        self.count += 1
        self.total = self.total + self.rng.normal() + self.legacy.rand()
        self.kept += 1.0
        self.buffer = self.buffer + 1.0
        self.added = self.count
        return x * self.total

    def seen(self):
        draws = self.rng.bit_generator.state["state"]["state"], self.legacy.get_state()[2]
        names = vars(self).keys() - {"added"}
        return (self.count, self.total, self.kept.tolist(), self.buffer.numpy().tolist(), draws, names)


@pytest.mark.parametrize("where", ["/reach.py", "/reach.py|/contextlib.py|/test_restored.py"])
def test_an_interrupt_anywhere_leaves_what_there_was(where):
    part, x = Part(), np.ones(2)
    since, state = next_order(), CallState(part, (x,))
    part(x)
    state.settle(since)

    def again():
        with state.restored():
            part(x)

    before = part.seen()
    last = points(again, where)
    assert part.seen() == before
    for number in range(1, last + 1):
        interrupted(again, number, where)
        assert part.seen() == before, number


def test_the_second_run_begins_as_the_first_did():
    part, x = Part(), np.ones(2)
    state = CallState(part, (x,))
    first = part(x)
    after = part.seen()
    with state.restored():
        np.testing.assert_array_equal(part(x), first)
    assert part.seen() == after
