"""Ctrl-C: it arrives while native code runs, and leaves parameters as they were or as they should become."""

import signal
import time

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.native.call import segment
from adjoint.native.codegen import jit
from tests.check_points import interrupted

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")


@pytest.fixture
def alarm():
    """Sets an alarm, which is Ctrl-C."""

    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


class World:
    """A step of many long operations on a long parameter."""

    def __init__(self, compile=lambda f: f, size=100_000, rounds=15):
        self.w = ad.tensor(np.full(size, 0.5), requires_grad=True)
        self.adam, self.rounds = optim.Adam([self.w], lr=0.01), rounds
        self.x = np.linspace(0.0, 1.0, size)
        self.f = compile(self.step)

    def step(self, x):
        self.adam.zero_grad()
        y = self.w * x
        for _ in range(self.rounds):
            y = np.tanh(y) * 1.01
            y = y - np.sum(y) / y.size
        loss = np.sum(y * y)
        loss.backward(retain_graph=False)
        self.adam.step()
        return loss

    def seen(self):
        return [
            self.w.data,
            self.w.grad.numpy(),
            *(x for s in self.adam.state_dict()["state"].values() for x in s.values()),
        ]


def many(count, world):
    for _ in range(count):
        world.f(world.x)


def test_a_long_call_is_stopped_and_its_state_is_whole(alarm, monkeypatch):
    monkeypatch.setattr(segment, "PATIENCE", 1 << 20)
    world, twin = World(lambda f: ad.compile(f, wait=True)), World()
    world.f(world.x)
    start = time.perf_counter()
    world.f(world.x)
    seconds = time.perf_counter() - start
    assert world.f._directs
    for k in range(8):
        before = world.adam.steps
        alarm(seconds * (0.3 + k / 5))
        with pytest.raises(KeyboardInterrupt):
            many(1000, world)
        assert world.adam.steps - before < 1000
        while twin.adam.steps < world.adam.steps:
            twin.step(twin.x)
        for a, b in zip(world.seen(), twin.seen(), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(world.f(world.x).item(), twin.step(twin.x).item(), rtol=1e-9)


def small():
    model = nn.Sequential(nn.Linear(3, 3, rng=0), nn.Dropout(0.5, rng=1), nn.Linear(3, 1, rng=2))
    return model, optim.Adam(model.parameters(), lr=0.1)


def step_of(model, adam, gate):
    def step(x):
        adam.zero_grad()
        loss = np.sum(gate(model(x)) ** 2)
        loss.backward(retain_graph=False)
        adam.step()
        return loss

    return step


def everything(model, adam):
    grads = [p.grad for p in model.parameters()]
    return [*(p.data.copy() for p in model.parameters()), adam.steps, grads, repr(model[1].rng.bit_generator.state)]


def alike(a, b):
    return all(x.tobytes() == y.tobytes() if isinstance(x, np.ndarray) else x == y for x, y in zip(a, b, strict=True))


def test_while_a_function_is_recorded():
    model, adam = small()
    armed = []

    def forward(x):
        if armed:
            armed.clear()
            raise KeyboardInterrupt
        return x * 1.0

    gate = ad.op(forward, lambda g: g)
    f = ad.compile(step_of(model, adam, gate), wait=True)
    x, before = np.ones((2, 3)), everything(model, adam)
    armed.append(True)
    with pytest.raises(KeyboardInterrupt):
        f(x)
    assert alike(everything(model, adam), before)
    other, plain = small()
    step = step_of(other, plain, gate)
    for _ in range(3):
        np.testing.assert_allclose(f(x).item(), step(x).item(), rtol=1e-12)
    assert f._specializations
    assert not f._reasons


def test_while_native_code_is_made(monkeypatch):
    model, adam = small()
    made = []

    def compiled(functions):
        made.append(True)
        raise KeyboardInterrupt

    f = ad.compile(step_of(model, adam, lambda x: x), wait=True)
    x, before = np.ones((2, 3)), everything(model, adam)
    with monkeypatch.context() as patch:
        patch.setattr("adjoint.native.program.compiled", compiled)
        with pytest.raises(KeyboardInterrupt):
            f(x)
    assert made
    assert alike(everything(model, adam), before)
    assert jit.COMPILING.acquire(blocking=False)
    jit.COMPILING.release()
    other, plain = small()
    step = step_of(other, plain, lambda x: x)
    for _ in range(3):
        np.testing.assert_allclose(f(x).item(), step(x).item(), rtol=1e-12)
    assert f._latest.runner.native is not None


class Training:
    """A small training: what its step changes, at each of its corners."""

    def __init__(self, kind):
        self.kind = kind
        between = nn.Dropout(0.5, rng=1) if kind == "dropout" else nn.Tanh()
        self.model = nn.Sequential(nn.Linear(3, 3, rng=0), between, nn.Linear(3, 1, rng=2))
        self.adam = optim.Adam(self.model.parameters(), lr=0.1)
        self.losses, self.best, self.total = [], {}, np.zeros(())
        self.x, self.rate = np.ones((2, 3)), np.array([0.5, 1.0])

    def step(self, x, rate):
        if self.kind != "summed":
            self.adam.zero_grad()
        loss = np.sum(self.model(x) ** 2 * rate[0])
        loss.backward(retain_graph=False)
        self.adam.step()
        if self.kind == "kept":
            self.losses.append(loss.item())
            self.best["last"] = self.model[0].weight.grad
            self.total += loss.item()
        elif self.kind == "written":
            rate *= 0.5
        elif self.kind == "cleared":
            self.adam.zero_grad()
        return loss

    def seen(self):
        """All that a step may change, as it is now."""
        state = [x for kept in self.adam.state_dict()["state"].values() for x in kept.values()]
        arrays = [*self.model.state_dict().values(), *state, self.rate, self.total, *self.losses]
        grads = [p.grad for p in self.model.parameters()]
        found = [np.array(x).tobytes() for x in arrays]
        found += [None if g is None else g.numpy().tobytes() for g in grads]
        found += [np.array(x.numpy()).tobytes() for x in self.best.values()]
        draws = [m.rng.bit_generator.state["state"]["state"] for m in self.model if hasattr(m, "rng")]
        return [*found, *draws, self.adam.steps]


# Where Python's part of a compiled call is: other code computes, and writes nothing.
WRITERS = r"^<|/compiler/\w*.py|/commit.py|/state.py|/mutations.py"
KINDS = ["plain", "dropout", "summed", "kept", "written", "cleared"]


@pytest.mark.parametrize("path", ["fast", "slow", "numpy", "recorded"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupt_anywhere_leaves_the_state_before_or_after(kind, path):
    ours, twin = Training(kind), Training(kind)
    options = {"backend": "numpy"} if path in ("numpy", "recorded") else {"wait": True}
    f, g = ad.compile(ours.step, **options), ad.compile(twin.step, **options)
    for _ in range(3):
        f(ours.x, ours.rate), g(twin.x, twin.rate)
    if path == "fast":
        assert f._directs
    number, step, before = 1, 1, twin.seen()
    g(twin.x, twin.rate)
    after = twin.seen()
    met = set()
    while True:
        if path == "slow":
            f._directs = ()
        elif path == "recorded":
            f, step = ad.compile(ours.step, **options), 1999
        reached = interrupted(lambda: f(ours.x, ours.rate), number, "" if path == "recorded" else WRITERS)
        now = ours.seen()
        met.add(now == after)
        assert now in ((before, after) if reached else (after,)), number
        if not reached:
            break
        if now == after:
            g(twin.x, twin.rate)
            before, after = after, twin.seen()
        number += step
    assert met == {True, False} or (path == "fast" and met == {True})  # Pythons look for signals at other points
    assert f._specializations
    assert not f._reasons
