"""Ctrl-C at any moment leaves no mode switched, and the collector as it was."""

import contextlib
import gc
import os
import random
import signal

import pytest

import adjoint as ad
from adjoint.core.collector import fewer_full

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
COUNT = int(os.environ.get("ADJOINT_INTERRUPTS", "300"))


@pytest.fixture
def interrupts():
    """Interrupts a function at random moments, until there were so many; calls another after each."""

    class Interrupted(BaseException):
        """Ctrl-C."""

    def stop(*_):
        raise Interrupted

    def run(function, check, count):
        draw, met = random.Random(0), 0
        for _ in range(100 * count):
            try:
                signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-5, 4e-4))
                while True:
                    function()
            except Interrupted:
                met += 1
            check()
            if met == count:
                return
        raise AssertionError(f"{met} interrupts only")

    before = signal.signal(signal.SIGALRM, stop)
    yield run
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def nested():
    with ad.no_grad():
        with ad.enable_grad():
            pass
        with ad.no_grad(), ad.set_grad_enabled(True):
            pass


@ad.no_grad
def decorated():
    return 1


@pytest.mark.parametrize("function", [nested, decorated])
def test_interrupts_leave_recording_on(function, interrupts):
    left = []
    interrupts(function, lambda: left.append(ad.is_grad_enabled()), COUNT)
    assert all(left), f"{left.count(False)} of {len(left)}"


def collected():
    with fewer_full(), fewer_full():
        pass


def test_interrupts_leave_the_collector_as_it_was(interrupts):
    left, before = [], gc.get_threshold()
    interrupts(collected, lambda: left.append(gc.get_threshold() == before), COUNT)
    assert all(left), f"{left.count(False)} of {len(left)}"


def test_modes_can_be_entered_by_hand_and_from_stacks_and_again():
    mode = ad.no_grad()
    mode.__enter__()
    assert not ad.is_grad_enabled()
    mode.__exit__(None, None, None)
    with contextlib.ExitStack() as stack:
        stack.enter_context(mode)
        with ad.enable_grad(), mode, mode:
            assert not ad.is_grad_enabled()
        assert not ad.is_grad_enabled()
    assert ad.is_grad_enabled()
    with pytest.raises(ZeroDivisionError), mode:
        1 / 0  # noqa: B018 - for its error
    assert ad.is_grad_enabled()
