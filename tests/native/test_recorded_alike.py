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
from adjoint.core.registry import op_named
from adjoint.graph.canonical import Canonical
from adjoint.graph.graph import Graph
from adjoint.graph.node import constant, placeholder
from adjoint.graph.rewriting.driver import made_call
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


def made(first):
    """A graph with two operations on constants, of which one was made first."""
    x, numbers = placeholder("x", (3,), np.dtype(float)), constant(np.arange(3.0) + 0.125)
    names = ("sin", "cos") if first == "sin" else ("cos", "sin")
    calls = {name: made_call(op_named(name), (numbers,)) for name in names}
    product = made_call(op_named("multiply"), (x, calls["sin"]))
    return Graph([x], [made_call(op_named("add"), (product, calls["cos"]))])


def test_what_was_made_earlier_is_no_part_of_the_data():
    first = Canonical().of(made("sin"))  # its nodes are gone when the next ones are made
    second = made("cos")
    assert Canonical().of(second) == first
    assert Canonical().of(made("sin")) == first  # with nodes of the second one's


def test_draws_in_another_order_are_another_program():
    def drawn(order):
        rng = np.random.default_rng(0)

        def f(x):
            draws = {name: rng.normal(size=3) if name == "a" else rng.random(3) for name in order}
            return x * draws["a"] + draws["b"]

        compiled = ad.compile(f, backend="numpy", wait=True)
        compiled(np.ones(3))
        return Canonical().of(compiled._latest.graph)

    assert drawn("ab") == drawn("ab")
    assert drawn("ab") != drawn("ba")
