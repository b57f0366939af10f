"""States of PyTorch's optimisers and schedules are taken as they are; values are PyTorch's."""

import inspect
import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.optim.pytorch_state import NAMES


def stepped(optimizer, p, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        (p**2).sum().backward()
        optimizer.step()
    return p.detach().numpy().copy()


def made(name, values):
    settings = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
    settings |= {"amsgrad": True} if name.startswith("Adam") and name in ("Adam", "AdamW") else {}
    p = nn.Parameter(values.copy())
    return p, getattr(optim, name)([{"params": [p], "lr": 0.05}], **settings)


def in_pytorchs_form(name, state):
    """A state as PyTorch's optimiser of this name would give it, with counters that are real numbers."""
    theirs = {ours: word for word, ours in NAMES[name].items()}
    parts = {theirs[word]: np.array(value) for word, value in state["state"]["0"].items() if word in theirs}
    parts["step"] = np.array(float(state["steps"]))
    group = {word: value for word, value in state["param_groups"][0].items() if word != "count"}
    group |= {"params": [0], "foreach": None, "fused": None}
    return {"state": {0: parts}, "param_groups": [group]}


@pytest.mark.parametrize("name", NAMES)
def test_training_goes_on_from_a_state_in_pytorchs_form(name):
    start = np.array([[1.0, -2.0], [0.5, 3.0]])
    p, optimizer = made(name, start)
    middle = stepped(optimizer, p, 3)
    state = in_pytorchs_form(name, optimizer.state_dict())
    expected = stepped(optimizer, p, 3)
    q, other = made(name, middle)
    other.param_groups[0]["lr"] = 1.0
    other.load_state_dict(state)
    np.testing.assert_array_equal(stepped(other, q, 3), expected)
    assert other.steps == 6


def test_each_optimiser_is_in_the_table():
    kinds = {name for name, kind in vars(optim).items() if inspect.isclass(kind) and issubclass(kind, optim.Optimizer)}
    assert kinds - NAMES.keys() == {"Optimizer", "LBFGS", "Lion"}  # PyTorch has no Lion


def test_a_state_of_pytorchs_own():
    """``torch.optim.Adam([torch.ones(2)], lr=0.1)`` after three steps by gradients of 1, and the fourth step."""
    state = {"step": 3.0, "exp_avg": np.full(2, 0.271), "exp_avg_sq": np.full(2, 0.002997001)}
    group = {"lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "params": [5, 6]}
    p, q = nn.Parameter(np.full(2, 0.7)), nn.Parameter(np.zeros(2))
    adam = optim.Adam([q, p], lr=1.0)
    adam.load_state_dict({"state": {6: state}, "param_groups": [group]})
    p.grad = ad.ones(2)
    adam.step()
    np.testing.assert_allclose(p.numpy(), 0.6, rtol=1e-8)
    np.testing.assert_array_equal(q.numpy(), 0)


def test_states_that_do_not_fit():
    p = nn.Parameter(np.ones(2))
    group = {"lr": 0.1, "params": [0]}
    with pytest.raises(ad.ArgumentError, match="no exp_avg"):
        optim.SGD([p], lr=0.1).load_state_dict({"state": {0: {"exp_avg": np.ones(2)}}, "param_groups": [group]})
    with pytest.raises(ad.ArgumentError, match="begin with a new one"):
        optim.LBFGS([p]).load_state_dict({"state": {0: {"d": np.ones(2)}}, "param_groups": [group]})
    with pytest.raises(ad.ArgumentError, match="groups of"):
        optim.SGD([p], lr=0.1).load_state_dict({"state": {}, "param_groups": [{"lr": 0.1, "params": [0, 1]}]})
    with pytest.raises(ad.ShapeError, match="mean"):
        optim.Adam([p]).load_state_dict({"state": {0: {"exp_avg": np.ones(3)}}, "param_groups": [group]})


def test_milestones_are_counted_as_pytorch_keeps_them():
    sgd = optim.SGD([nn.Parameter(np.ones(2))], lr=1.0)
    schedule = optim.lr_scheduler.MultiStepLR(sgd, [1])
    schedule.load_state_dict({"milestones": Counter({3: 2, 4: 1}), "gamma": 0.1, "last_epoch": 1, "base_lrs": [1.0]})
    rates = []
    for _ in range(4):
        schedule.step()
        rates.append(sgd.lr)
    np.testing.assert_allclose(rates, [1.0, 0.01, 0.001, 0.001])


@pytest.mark.parametrize("kind", ["SequentialLR", "ChainedScheduler"])
def test_combined_schedules_in_pytorchs_form(kind):
    schedules = optim.lr_scheduler

    def made(milestone):
        sgd = optim.SGD([nn.Parameter(np.ones(2))], lr=1.0)
        parts = [schedules.LinearLR(sgd, 0.1, total_iters=2), schedules.ExponentialLR(sgd, 0.9)]
        if kind == "SequentialLR":
            return sgd, schedules.SequentialLR(sgd, parts, milestones=[milestone])
        return sgd, schedules.ChainedScheduler(parts)

    sgd, schedule = made(2)
    for _ in range(3):
        schedule.step()
    state = {("_" + k if k in ("schedulers", "milestones") else k): v for k, v in schedule.state_dict().items()}
    other_sgd, other = made(4)
    other_sgd.load_state_dict(sgd.state_dict())
    other.load_state_dict(state)
    for _ in range(3):
        schedule.step()
        other.step()
        assert other_sgd.lr == sgd.lr


class Theirs:
    """What `to_pytorch` asks of PyTorch's optimisers."""

    def __init__(self, groups):
        self.param_groups = [{"params": params, "lr": 9.0} for params in groups]

    def state_dict(self):
        counts = iter(range(9))
        groups = [{"params": [next(counts) for _ in g["params"]], "lr": g["lr"]} for g in self.param_groups]
        return {"state": {}, "param_groups": groups}

    def load_state_dict(self, state):
        self.loaded = state


@pytest.mark.parametrize("name", sorted(NAMES.keys() - {"Adafactor", "Muon"}))
def test_states_go_to_pytorch_and_back(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(from_numpy=np.asarray, tensor=np.asarray))

    def steps(optimizer, count):
        for _ in range(count):
            optimizer.zero_grad()
            sum(np.sum(p**2) for g in optimizer.param_groups for p in g["params"]).backward()
            optimizer.step()

    def made(x, y):
        v, w = nn.Parameter(np.array(x)), nn.Parameter(np.array(y))
        settings = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
        return getattr(optim, name)([{"params": [v], "lr": 0.05}, {"params": [w], "lr": 0.02}], **settings), v, w

    ours, v, w = made([1.0, 2.0, -3.0], [[0.5]])
    steps(ours, 3)
    theirs = type(name, (Theirs,), {})([[v], [w]])
    optim.to_pytorch(ours, theirs)
    assert [g["lr"] for g in theirs.loaded["param_groups"]] == [0.05, 0.02]
    again, x, y = made(v.tolist(), w.tolist())
    again.load_state_dict(theirs.loaded)
    steps(ours, 3)
    steps(again, 3)
    np.testing.assert_array_equal(x.detach(), v.detach())
    np.testing.assert_array_equal(y.detach(), w.detach())
    with pytest.raises(ad.ArgumentError, match="groups"):
        optim.to_pytorch(ours, type(name, (Theirs,), {})([[v, w]]))
    with pytest.raises(ad.ArgumentError, match="got Other"):
        optim.to_pytorch(ours, type("Other", (Theirs,), {})([[v], [w]]))
