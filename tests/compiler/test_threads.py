"""Compiled functions called from several threads, from within themselves, and from what interrupts them."""

import asyncio
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.compiler.call import selecting
from adjoint.native.call import segment

COUNT = 8


@pytest.fixture(autouse=True)
def often():
    """Threads take turns often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(work):
    """Calls ``work(k)`` in each thread, all at once, and gives what they gave."""
    gate = threading.Barrier(COUNT)

    def begin(k):
        gate.wait()
        return work(k)

    with ThreadPoolExecutor(COUNT) as pool:
        return list(pool.map(begin, range(COUNT)))


def ways(f):
    return sum(map(len, f._specializations.values()))


def waves(x):
    for k in range(4):
        x = np.tanh(x) * 1.1 + k
        x = x - np.sum(x) / x.size
    return x


@pytest.mark.parametrize("size", [7, 200_000], ids=["short", "long"])
@pytest.mark.parametrize("wait", [True, False], ids=["wait", "beside"])
def test_functions_without_state(size, wait):
    f = ad.compile(waves, wait=wait)
    inputs = [np.random.default_rng(k).normal(size=size) for k in range(COUNT)]
    expected = [waves(x) for x in inputs]
    for _ in range(3):
        for a, b in zip(together(lambda k: f(inputs[k])), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    assert ways(f) == 1


def test_new_kinds_while_others_call():
    f = ad.compile(waves, wait=True)
    shapes = [(3,), (4,), (2, 3), (5,)]

    def work(k):
        rng = np.random.default_rng(k)
        for i in range(12):
            x = rng.normal(size=shapes[(i * (k + 1)) // 3 % len(shapes)])
            np.testing.assert_allclose(f(x), waves(x), rtol=1e-10, atol=1e-12)

    together(work)
    assert ways(f) == len(f._specializations) <= len(shapes)


class World:
    def __init__(self, compile=lambda f: f):
        self.model = nn.Sequential(nn.Linear(4, 8, rng=0), nn.Tanh(), nn.Dropout(0.1, rng=2), nn.Linear(8, 1, rng=1))
        self.adam = optim.Adam(self.model.parameters(), lr=1e-3)
        self.f = compile(self.step)

    def step(self, x):
        self.adam.zero_grad()
        loss = np.sum(self.model(x) ** 2)
        loss.backward(retain_graph=False)
        self.adam.step()
        return loss

    def arrays(self):
        return [p.held for p in self.model.parameters()]


@pytest.mark.parametrize("wait", [True, False], ids=["wait", "beside"])
def test_steps_that_share_parameters(wait):
    world = World(lambda f: ad.compile(f, wait=wait))
    step = world.f

    def work(k):
        for i in range(15):
            with suppress(ad.InPlaceError):  # eager code sees that another thread writes what its gradient needs
                assert np.isfinite(step(np.ones((1 + i * (k + 1) // 5 % 4, 4))).item())

    together(work)
    assert all(type(x) is np.ndarray and np.isfinite(x).all() for x in world.arrays())
    assert ways(step) == len(step._specializations) <= 4  # none holds what another thread wrote
    other = World()  # from here on, alone, everything is as if nothing had happened
    other.model.load_state_dict(world.model.state_dict())
    other.adam.load_state_dict(world.adam.state_dict())
    other.model[2].rng.bit_generator.state = world.model[2].rng.bit_generator.state
    for rows in (1, 2, 3):
        np.testing.assert_allclose(step(np.ones((rows, 4))).item(), other.step(np.ones((rows, 4))).item(), rtol=1e-9)
    for a, b in zip(world.arrays(), other.arrays(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_two_threads_that_wait_for_each_other(monkeypatch):
    """One records and waits for a lock that is the other's, who waits for the trace: neither waits for long."""
    monkeypatch.setattr("adjoint.compiler.compiled.PATIENCE", 0.1)
    lock, inside, w = threading.Lock(), threading.Event(), ad.tensor([2.0], requires_grad=True)

    def forward(x):
        inside.set()
        with lock:
            return x * 1.0

    gate = ad.op(forward, lambda g: g)
    slow = ad.compile(lambda x: gate(x) * w, wait=True)
    quick = ad.compile(lambda x: x * w, wait=True)
    with lock:
        thread = threading.Thread(target=slow, args=(np.ones(1),))
        thread.start()
        inside.wait()
        assert quick(np.ones(1)) is not None
    thread.join(20)
    assert not thread.is_alive()
    np.testing.assert_array_equal(slow(np.ones(1)).numpy(), [2.0])


def test_a_function_inside_of_its_own_call():
    """A NumPy step calls the function that it is a step of."""
    depth = []

    def forward(x):
        depth.append(len(depth))
        return f(x / 2) if np.max(x) > 1 else x

    halved = ad.op(forward, lambda g: g)
    f = ad.compile(lambda x: np.exp(-np.sum(halved(x) * 2.0)) + np.zeros(2), wait=True)

    def plain(x):
        return np.exp(-np.sum((plain(x / 2) if np.max(x) > 1 else x) * 2.0)) + np.zeros(2)

    for k in (0.5, 3.0, 9.0, 3.0):
        np.testing.assert_allclose(f(np.full(2, k)), plain(np.full(2, k)), rtol=1e-14)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_a_signal_that_calls_the_function_that_it_interrupts(monkeypatch):
    monkeypatch.setattr(segment, "PATIENCE", 1 << 20)
    f = ad.compile(waves, wait=True)
    x, met = np.linspace(0, 1, 100_000), []
    expected = waves(x)
    f(x)
    before = signal.signal(signal.SIGALRM, lambda *_: met.append(f(x)))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.01)
        end = time.monotonic() + 20
        while len(met) < 5 and time.monotonic() < end:
            np.testing.assert_allclose(f(x), expected, rtol=1e-10, atol=1e-12)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(met) >= 5
    for y in met:
        np.testing.assert_allclose(y, expected, rtol=1e-10, atol=1e-12)


def test_tasks():
    f = ad.compile(lambda x: np.sum(np.tanh(x) ** 2), wait=True)
    xs = [np.full(3, 0.1 * k) for k in range(10)]

    async def one(x):
        await asyncio.sleep(0)
        here = f(x)
        return here, await asyncio.to_thread(ad.grad(f), x)

    async def all_of_them():
        return await asyncio.gather(*map(one, xs))

    for x, (value, slope) in zip(xs, asyncio.run(all_of_them()), strict=True):
        np.testing.assert_allclose(value, np.sum(np.tanh(x) ** 2), rtol=1e-14)
        np.testing.assert_allclose(slope, 2 * np.tanh(x) / np.cosh(x) ** 2, rtol=1e-13)


def test_fast_paths_are_chosen_among_while_another_thread_puts_others_in_their_place(monkeypatch):
    """Whoever writes the choice has the table as it was; here it is replaced in the middle."""
    f = ad.compile(lambda x: np.sum(x * 2), wait=True)
    for n in range(1, 5):
        for _ in range(3):
            f(np.ones(n))
    selector, grouped = f._selector, selecting._grouped

    def meanwhile(*args):
        selector.known = dict(list(selector.known.items())[:1])
        return grouped(*args)

    assert len(selector.known) > 1
    monkeypatch.setattr(selecting, "_grouped", meanwhile)
    selector._write()
    assert [f(np.ones(n)) for n in range(1, 5)] == [2.0, 4.0, 6.0, 8.0]
