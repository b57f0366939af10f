"""Ctrl-C in the midst of an eager optimiser's step: all parameters are written then, or none."""

import signal
import threading
from functools import partial

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from tests.check_points import points

WRITERS = "/optim/|/commit.py"
MAKERS = {
    "SGD": partial(optim.SGD, lr=0.1, momentum=0.9, weight_decay=0.1),
    "Adam": partial(optim.Adam, lr=0.1),
    "RMSprop": partial(optim.RMSprop, lr=0.1),
}


def trained(make):
    """A model whose gradients are there, its optimiser, and what both hold."""
    model = nn.Sequential(nn.Linear(2, 3, rng=0), nn.Linear(3, 1, rng=1))
    optimizer = make(model.parameters())
    for _ in range(2):
        np.sum(model(np.ones((2, 2))) ** 2).backward()
        optimizer.step()
    np.sum(model(np.ones((2, 2))) ** 2).backward()
    return model, optimizer


def held(model, optimizer):
    states = [x for kept in optimizer.state_dict()["state"].values() for x in kept.values()]
    return [optimizer.steps, *(x.tobytes() for x in (*model.state_dict().values(), *states))]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_step_is_made_as_a_whole_or_not_at_all(make):
    model, optimizer = trained(make)
    before = held(model, optimizer)
    last = points(optimizer.step, WRITERS)
    after = held(model, optimizer)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    seen = set()
    for number in range(1, last + 1):
        model, optimizer = trained(make)
        with pytest.raises(KeyboardInterrupt):
            points(optimizer.step, WRITERS, number, partial(signal.raise_signal, signal.SIGINT))
        now = held(model, optimizer)
        assert now in (before, after), number
        seen.add(now == after)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert seen == {True, False}


def test_an_error_of_the_step_and_ctrl_c_both_come():
    _, optimizer = trained(MAKERS["SGD"])
    optimizer.update = lambda *args: signal.raise_signal(signal.SIGINT) or 1 / 0
    with pytest.raises(KeyboardInterrupt) as caught:
        optimizer.step()
    assert isinstance(caught.value.__context__, ZeroDivisionError)


def test_other_threads_make_steps_too():
    _, optimizer = trained(MAKERS["SGD"])
    before = optimizer.steps
    thread = threading.Thread(target=optimizer.step)
    thread.start()
    thread.join()
    assert optimizer.steps == before + 1


def test_who_listens_to_ctrl_c_is_asked_at_the_end():
    model, optimizer = trained(MAKERS["SGD"])
    heard, update = [], optimizer.update
    optimizer.update = lambda *args: (signal.raise_signal(signal.SIGINT), update(*args))
    usual = signal.signal(signal.SIGINT, lambda number, frame: heard.append((number, held(model, optimizer))))
    try:
        optimizer.step()
    finally:
        signal.signal(signal.SIGINT, usual)
    assert heard == [(signal.SIGINT, held(model, optimizer))]
    assert ad.is_grad_enabled()


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL], ids=["ignored", "of the system"])
def test_steps_where_no_function_handles_ctrl_c(handler):
    _, optimizer = trained(MAKERS["SGD"])
    before = optimizer.steps
    usual = signal.signal(signal.SIGINT, handler)
    try:
        if handler is signal.SIG_IGN:
            update = optimizer.update
            optimizer.update = lambda *args: signal.raise_signal(signal.SIGINT) or update(*args)
        optimizer.step()
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, usual)
    assert optimizer.steps == before + 1
