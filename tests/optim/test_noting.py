"""A step notes what it wrote: all of it, whatever happens meanwhile, and in one entry."""

import copy

import numpy as np
import pytest

import adjoint as ad
from adjoint import optim
from adjoint.core.errors import InPlaceError
from adjoint.tape.writes import mutations


def parameters(n):
    return [ad.tensor(np.full(2, k + 1.0), requires_grad=True) for k in range(n)]


class Broken(optim.SGD):
    """Breaks off in the middle of its third parameter."""

    def update(self, data, grad, state, group, scratch):
        if data[0] == 3.0:
            data[0] = 0.0
            raise KeyboardInterrupt
        super().update(data, grad, state, group, scratch)


@pytest.mark.parametrize("k", range(4))
def test_a_graph_that_saved_what_a_broken_step_wrote_is_refused(k):
    ps = parameters(4)
    sum(np.sum(p * p) for p in ps).backward()
    loss = np.sum(ps[k] ** 2)
    with pytest.raises(KeyboardInterrupt):
        Broken(ps, lr=0.1).step()
    if k == 3:  # which was not reached
        loss.backward()
    else:
        with pytest.raises(InPlaceError):
            loss.backward()


@pytest.mark.parametrize("rule", [optim.SGD, optim.Adam])
def test_all_parameters_share_one_entry(rule, monkeypatch):
    ps, entries = parameters(5), []
    opt = rule(ps, lr=0.1)
    entry = mutations._entry
    monkeypatch.setattr(mutations, "_entry", lambda held: entries.append(held) or entry(held))
    for _ in range(3):
        opt.zero_grad()
        sum(np.sum(p * p) for p in ps).backward()
        loss = np.sum(ps[0] ** 2)
        opt.step()
        with pytest.raises(InPlaceError):
            loss.backward()
    assert len(entries) == len(ps)  # of the first step


def test_a_copy_of_an_optimizer_notes_for_itself():
    ps = parameters(2)
    opt = optim.SGD(ps, lr=0.1)
    sum(np.sum(p * p) for p in ps).backward()
    opt.step()
    other = copy.deepcopy(opt)
    before = mutations.latest()
    other.step()
    assert mutations.latest() != before
