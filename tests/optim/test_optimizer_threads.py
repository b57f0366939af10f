"""Threads that step one optimiser, or prepare it: none meets a state that is half made."""

import sys
import threading

import numpy as np
import pytest

import adjoint as ad
from adjoint import optim


class Watched(dict):
    """A dictionary of states that notes those which were incomplete when they came in."""

    def __init__(self):
        super().__init__()
        self.incomplete = []

    def _seen(self, state):
        if set(state) != {"mean", "square", "step"}:
            self.incomplete.append(set(state))

    def __setitem__(self, key, state):
        self._seen(state)
        super().__setitem__(key, state)

    def setdefault(self, key, state=None):
        self._seen(state)
        return super().setdefault(key, state)


@pytest.mark.parametrize("call", ["prepare", "step"])
def test_states_come_in_whole(call):
    p = ad.tensor([1.0, 2.0], requires_grad=True)
    adam = optim.Adam([p])
    np.sum(p).backward()
    adam._state = Watched()
    getattr(adam, call)()
    assert len(adam._state) == 1
    assert adam._state.incomplete == []


def test_prepared_while_others_step():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    failed = []

    def work(adam, call):
        try:
            getattr(adam, call)()
        except KeyError as error:
            failed.append(error)

    try:
        for _ in range(50):
            parameters = [ad.tensor(np.ones(2), requires_grad=True) for _ in range(20)]
            for p in parameters:
                p.grad = np.ones(2)
            adam = optim.Adam(parameters)
            threads = [threading.Thread(target=work, args=(adam, call)) for call in ("prepare", "step", "prepare")]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failed == []
