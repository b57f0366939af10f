"""Ctrl-C: it arrives while native code runs, and leaves parameters as they were or as they should become."""

import signal
import time

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.native.call import segment
from adjoint.native.codegen import jit

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
