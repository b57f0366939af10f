"""Tensors without history that are other ones at each call: averages of losses, momenta; attributes, items, lists."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest

import adjoint as ad

WEIGHT = np.array([0.5, -1.0, 2.0])


def average(s, x):
    loss = np.sum(s.w * x)
    s.average = loss.detach() if s.average is None else 0.9 * s.average + 0.1 * loss.detach()
    return loss


def momentum(s, x):
    s.momentum = 0.9 * s.momentum + (s.w * x).detach()
    return np.sum(s.momentum)


def momenta(s, x):
    s.state["m"] = 0.9 * s.state["m"] + x
    s.state["v"] = 0.99 * s.state["v"] + 0.01 * s.state["m"] ** 2
    return s.state["m"] / np.sqrt(s.state["v"] + 1)


def in_place(s, x):
    s.momentum.mul_(0.9).add_(ad.tensor(x))
    total = np.sum(s.momentum)
    s.momentum = s.momentum * 1.5
    return total


def scalar_in_place(s, x):
    s.average = ad.tensor(1.0) if s.average is None else s.average * 2
    s.average += np.sum(x)
    return s.average * 1.0


def kept(s, x):
    s.old = s.momentum
    s.momentum = s.momentum + x
    return np.sum(s.old * s.momentum)


def kept_number(s, x):
    loss = np.sum(s.w * x).detach()
    s.average = loss if s.average is None or loss < s.average else s.average
    return loss


def given_back(s, x):
    before = s.momentum
    s.momentum = before * 0.5 + x
    return before


def view_given_back(s, x):
    before = s.momentum
    s.momentum = before * 0.5 + x
    return before[1:]


def two_names(s, x):
    s.other[0] = 7.0
    s.momentum = s.momentum + x
    s.other = s.momentum
    return np.sum(s.momentum)


def is_asked(s, x):
    same = s.momentum is s.other
    s.momentum = s.momentum + x
    s.other = s.momentum
    return np.sum(s.momentum) * (2.0 if same else 1.0)


def requiring(s, x):
    s.momentum.requires_grad_()
    loss = np.sum(s.momentum**2 * x)
    loss.backward()
    s.momentum = (s.momentum - 0.1 * s.momentum.grad).detach()
    return loss


def data_set(s, x):
    s.momentum = s.momentum + x
    old = s.other
    old.data = x * 2
    s.other = ad.tensor(x * 3)
    return np.sum(old)


def queue(s, x):
    s.queue.append((s.w * x).detach())
    s.queue.pop(0)
    return s.queue[0] + s.queue[-1]


def losses(s, x):
    loss = np.sum(s.w * x)
    s.losses.append(loss.detach())
    if len(s.losses) > 3:
        s.losses.pop(0)
    return loss


def in_loop(s, x):
    for _ in range(4):
        s.momentum = 0.5 * s.momentum + x
    return s.momentum * 2


def differentiated(s, x):
    loss = np.sum((s.w * s.momentum) ** 2)
    loss.backward()
    s.momentum = s.momentum + x
    return loss.detach()


PROGRAMS = (
    average, momentum, momenta, in_place, scalar_in_place, kept, kept_number, given_back, view_given_back, two_names,
    is_asked, requiring, data_set, queue, losses, in_loop, differentiated,
)  # fmt: skip


def world():
    made = SimpleNamespace(w=ad.tensor(WEIGHT.copy(), requires_grad=True), average=None, old=None)
    made.momentum = made.other = ad.tensor(np.zeros(3))
    made.state = {"m": ad.tensor(np.zeros(3)), "v": ad.tensor(np.ones(3))}
    made.queue, made.losses = [ad.tensor(np.zeros(3)), ad.tensor(np.ones(3))], []
    return made


def numbers(s):
    """All values of a world, and which of its tensors are one."""
    things = [s.w, s.w.grad, s.average, s.old, s.momentum, s.other, *s.state.values(), *s.queue, *s.losses]
    values = [None if t is None else (t.dtype, t.shape, t.requires_grad, t.numpy().round(4).tolist()) for t in things]
    return values, [[a is b for b in things] for a in things]


def untouched(s, k):
    """Nothing happens between calls."""


def rebound(s, k):
    s.momentum = ad.tensor(np.full(3, float(k)))


def other_dtype(s, k):
    s.momentum = ad.tensor(np.full(3, k, np.float32 if k % 2 else np.float64))


def other_shape(s, k):
    s.momentum = ad.tensor(np.ones((1 + k % 2, 3)))


def needing(s, k):
    s.momentum = ad.tensor(np.ones(3), requires_grad=k % 2 == 0)


def history(s, k):
    s.momentum = s.w * k if k % 3 == 2 else ad.tensor(np.ones(3))


def alike(s, k):
    s.other = s.momentum = ad.tensor(np.ones(3) * k)


def views(s, k):
    base = np.arange(4.0)
    s.momentum, s.other = ad.Tensor(base[:3]), ad.Tensor(base[1:] if k % 2 else base[:3])


def number(s, k):
    s.average = [None, ad.tensor(1.0), ad.tensor(np.float32(2.0)), ad.tensor(3), ad.tensor(np.ones(()))][k % 5]


CHANGES = (untouched, rebound, other_dtype, other_shape, needing, history, alike, views, number)


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_tensors_that_are_others_at_each_call(program, change):
    plain, ours = world(), world()
    compiled = ad.compile(lambda x: program(ours, x), wait=True)
    kept_of_both = []
    for k in range(9):
        x = np.array([1.0, 2.0, 3.0]) * (k - 4)
        change(plain, k)
        change(ours, k)
        found = []
        for call in (lambda x: program(plain, x), compiled):
            try:
                found.append(call(x))
            except Exception as error:
                found.append(error)
        if isinstance(found[0], Exception):
            assert type(found[1]) is type(found[0])
        else:
            np.testing.assert_allclose(found[1].numpy(), found[0].numpy(), rtol=1e-6, strict=True)
            assert found[1].requires_grad == found[0].requires_grad
            assert (found[1] is ours.momentum) == (found[0] is plain.momentum)
        assert numbers(ours) == numbers(plain)
        kept_of_both.append([(f.numpy(), s.momentum.numpy()) for f, s in zip(found, (plain, ours), strict=True)
                             if not isinstance(f, Exception)])  # fmt: skip
        for one in kept_of_both:  # nothing that was given back has changed otherwise
            if len(one) == 2:
                for a, b in zip(*one, strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("program", [average, momentum, momenta, in_loop, differentiated], ids=lambda f: f.__name__)
def test_they_are_recorded_once_or_twice(program):
    s = world()
    compiled = ad.compile(lambda x: program(s, x), wait=True)
    seen = set()
    for k in range(8):
        compiled(np.ones(3) * k)
        seen.add(copy.copy(str(compiled.explain())).count("runs as it is"))
    traces = [trace for traces in compiled._specializations.values() for trace in traces]
    assert seen == {0}
    assert traces[-1].used
    assert len(traces) <= 2
    before = set(map(id, traces))
    compiled(np.ones(3))
    assert {id(t) for ts in compiled._specializations.values() for t in ts} == before
