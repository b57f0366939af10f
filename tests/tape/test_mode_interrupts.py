"""Ctrl-C at any moment leaves no mode switched, and the collector as it was."""

import contextlib
import gc
import os
import random
import signal

import numpy as np
import pytest
from scipy import optimize

import adjoint as ad
import adjoint.scipy
from adjoint.core import protocol
from adjoint.core.leaks import notes as leaks
from adjoint.core.rules import pullbacks
from adjoint.core.threads.collector import fewer_full
from adjoint.graph.captures import record
from adjoint.scipy import followed
from adjoint.tape.checkpoints import policies
from adjoint.tape.modes import recording_floor
from adjoint.tape.writes import foreign
from adjoint.twin import policy
from adjoint.twin.runtime import fresh
from tests.check_points import interrupted, points

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


MODES = [recording_floor.mode, record.RECORD, fresh._model, policy._here, followed._running, protocol.for_a_rule,
         leaks._mode, pullbacks._strict, foreign._mode, policies._replay]  # fmt: skip


def switched():
    """What each mode is."""
    return [mode.get() for mode in MODES]


def block(mode):
    def inside():
        with mode:
            assert switched() != before

    before = switched()
    return inside


def left(mode):
    """A mode that holds from its call on, taken back."""
    with mode:
        pass
    return mode


X = np.linspace(0.1, 1.0, 3)


def checkpointed():
    part = ad.checkpoint(lambda x: np.sin(ad.name(np.exp(x), "kept")), policy=ad.save_only_names("kept"))
    ad.grad(lambda x: np.sum(part(x)))(X)


def written_through_a_view():
    w = ad.tensor(X, requires_grad=True)
    y = w * 2.0
    y[:2][1] = 0.0
    np.sum(y).backward()


BLOCKS = {
    "recorded": lambda: ad.set_grad_enabled(False),
    "no_grad": ad.no_grad,
    "leaks": lambda: left(ad.leaks("error")),
    "through": lambda: left(ad.through("nothing.of.this.name")),
    "hooks": lambda: ad.saved_tensors_hooks(lambda a: a, lambda a: a),
    "lines": ad.source_lines,
    "anomaly": ad.detect_anomaly,
    "exact": ad.exact_checks,
    "strict": pullbacks.strict_cotangents,
    "symbols": record.recording,
    "constants": foreign.constants_seen,
}
CALLS = {
    "grad": lambda: ad.grad(lambda x: np.sum(np.sin(x) * x))(X),
    "second": lambda: ad.hessian(lambda x: np.sum(np.sin(x) * x))(X),
    "jvp": lambda: ad.jvp(lambda x: np.cumsum(x) @ np.sort(x), (X,), (X,)),
    "trace": lambda: ad.trace_backward(np.sum(ad.tensor(X, requires_grad=True) ** 2)),
    "checkpoint": checkpointed,
    "view": written_through_a_view,
    "capture": lambda: ad.capture(ad.grad(lambda x: np.sum(x * np.sin(x))), X),
    "solver": lambda: ad.grad(lambda a: adjoint.scipy.twin(optimize.brentq)(lambda x: x * x - a, 0.0, 3.0))(2.0),
}


@pytest.mark.parametrize("name", [*BLOCKS, *CALLS])
def test_an_interrupt_anywhere_leaves_every_mode_as_it_was(name):
    function = block(BLOCKS[name]()) if name in BLOCKS else CALLS[name]
    function()
    before = switched()
    last = points(function)
    assert switched() == before
    for number in range(1, last + 1, max(1, last // COUNT)):
        with np.errstate():  # NumPy's own functions leave theirs switched, if they are interrupted between two lines
            interrupted(function, number)
        assert switched() == before, number
