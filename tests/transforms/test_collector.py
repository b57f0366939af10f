"""Full collections of garbage are rare while a function is recorded, and as before when it has been."""

import gc
import threading

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.threads.collector import fewer_full


@pytest.fixture(autouse=True)
def thresholds():
    """Those that Python begins with, and after each test those that were there before."""
    before, enabled = gc.get_threshold(), gc.isenabled()
    gc.set_threshold(700, 10, 10)
    gc.enable()
    yield (700, 10, 10)
    gc.set_threshold(*before)
    (gc.enable if enabled else gc.disable)()


def deep(x, steps=100_000):
    for _ in range(steps):
        x = np.sin(x)
    return np.sum(x)


def test_a_long_tape_is_hardly_looked_through():
    full = []

    def seen(phase, info):
        full.extend([phase] * (phase == "start" and info["generation"] == 2))

    gc.callbacks.append(seen)
    try:
        ad.grad(deep)(np.ones(3))
    finally:
        gc.callbacks.remove(seen)
    assert len(full) <= 1


def test_young_garbage_is_collected_meanwhile():
    class Ring:
        alive = 0

        def __init__(self):
            self.me = self
            Ring.alive += 1

        def __del__(self):
            Ring.alive -= 1

    def program(x):
        for _ in range(50_000):
            Ring()
        assert Ring.alive < 25_000
        return x * 2.0

    assert ad.grad(program)(1.0) == 2.0


def test_thresholds_are_back_after_a_call(thresholds):
    inside = []

    def program(x):
        inside.append(gc.get_threshold())
        return np.sum(x**2)

    ad.grad(program)(np.ones(2))
    ad.hessian(program)(np.ones(2))
    ad.grad(lambda x: ad.grad(program)(x) * x)(1.0)
    ad.vjp(program, np.ones(2))[1](1.0)
    assert all(third > 10 for _, _, third in inside)
    assert gc.get_threshold() == thresholds
    assert gc.isenabled()


def test_thresholds_are_back_after_an_exception(thresholds):
    def program(x):
        raise KeyboardInterrupt

    for transform in (ad.grad, ad.hessian, lambda f: ad.grad(ad.grad(f)), lambda f: lambda x: ad.vjp(f, x)):
        with pytest.raises(KeyboardInterrupt):
            transform(program)(1.0)
        assert gc.get_threshold() == thresholds


@pytest.mark.parametrize("chosen", [(700, 10, 10), (0, 10, 10), (700, 10, 500), (50, 5, 3)])
def test_what_the_user_sets_stays(chosen):
    gc.set_threshold(*chosen)
    ad.grad(np.sin)(1.0)
    assert gc.get_threshold() == chosen

    def program(x):
        gc.set_threshold(900, 20, 30)
        gc.disable()
        return x * 2.0

    ad.grad(program)(1.0)
    assert gc.get_threshold() == (900, 20, 30)
    assert not gc.isenabled()
    ad.grad(np.sin)(1.0)
    assert not gc.isenabled()


@pytest.mark.parametrize("first", [0, 1])
def test_threads_that_overlap_leave_what_was_there(thresholds, first):
    """Two threads are inside at once; either ends first."""
    inside, ends = threading.Barrier(3), [threading.Event(), threading.Event()]

    def program(k):
        def of(x):
            inside.wait()
            assert ends[k].wait(20)
            return x * 2.0

        return of

    threads = [threading.Thread(target=ad.grad(program(k)), args=(1.0,)) for k in range(2)]
    for thread in threads:
        thread.start()
    inside.wait()
    for k in (first, 1 - first):
        ends[k].set()
        threads[k].join()
    assert gc.get_threshold() == thresholds


def test_many_threads(thresholds):
    def work():
        for _ in range(200):
            with fewer_full(), fewer_full():
                pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gc.get_threshold() == thresholds
