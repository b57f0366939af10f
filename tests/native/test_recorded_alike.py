"""A program is recorded alike in each process, wherever its objects lie, so that its plan is found on disk."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.graph.canonical import Canonical
from adjoint.native import stored

ROOT = Path(__file__).parents[2]


def trained(kind, states):
    """A training step of a cell, which runs three times."""
    cell = getattr(nn, kind)(3, 3)
    optimizer = optim.Adam(cell.parameters())

    def step(x):
        optimizer.zero_grad()
        state = np.zeros((2, 3)) if states == 1 else (np.zeros((2, 3)),) * states
        for t in range(len(x)):
            state = cell(x[t], state)
        loss = ((state if states == 1 else state[0]) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, np.ones((3, 2, 3))


def swung(y):
    """A pendulum."""
    for _ in range(30):
        a = np.array([y[1], -np.sin(y[0])])
        y = y + 0.1 * np.array([y[1] + 0.05 * a[1], -np.sin(y[0] + 0.05 * a[0])])
    return np.sum(y**2)


def guarded(x, w):
    """It asks for values, and leaves out some that may be infinite."""
    y = np.where(x > 0, np.log(x), x / np.sum(w))
    return np.sum(np.max(y, axis=0) * w) if np.all(w > 0) else np.sum(y)


PROGRAMS = {
    "GRU": lambda: trained("GRUCell", 1),
    "LSTM": lambda: trained("LSTMCell", 2),
    "pendulum": lambda: (ad.grad(swung), np.ones(2)),
    "guards": lambda: (ad.value_and_grad(guarded, (0, 1)), np.ones((3, 4)), np.ones(4)),
}


def key(name):
    function, *args = PROGRAMS[name]()
    compiled = ad.compile(function, backend="numpy")
    compiled(*args)
    return stored.key_of(Canonical(), compiled._latest.graph, {}, (False, "auto"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_recording_has_the_same_key(name, monkeypatch, tmp_path):
    monkeypatch.setenv("ADJOINT_CACHE", str(tmp_path))
    monkeypatch.setattr(stored, "_sources", lambda: "as it is")
    first, held = key(name), []
    assert first is not None
    for count in range(12):
        held.append([object() for _ in range(7 * count)])  # so that nodes lie elsewhere
        assert key(name) == first


def test_processes_with_other_hashes_find_the_same_keys(tmp_path):
    time.sleep(stored._SECOND)
    script = "from tests.native.test_recorded_alike import PROGRAMS, key\nprint(*map(key, PROGRAMS))"
    found = set()
    for seed in ("0", "1", "2"):
        surroundings = {**os.environ, "PYTHONHASHSEED": seed, "ADJOINT_CACHE": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT,
                              env=surroundings)  # fmt: skip
        found.add(done.stdout)
    assert len(found) == 1
    assert "None" not in found.pop()
