"""Recording on and off."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest

import adjoint as ad


@pytest.fixture
def w():
    return ad.tensor(3.0, requires_grad=True)


def test_no_grad_builds_no_graph(w):
    with ad.no_grad():
        assert not ad.is_grad_enabled()
        y = np.sin(w) * w + np.concatenate([w.reshape(1), w.reshape(1)]).sum()
    assert y.node is None
    assert ad.is_grad_enabled()


def test_nesting(w):
    with ad.no_grad():
        with ad.enable_grad():
            assert (w * 2).requires_grad
            with ad.set_grad_enabled(False):
                assert not (w * 2).requires_grad
            assert (w * 2).requires_grad
        assert not (w * 2).requires_grad
    assert (w * 2).requires_grad


def test_exceptions_restore(w):
    with pytest.raises(KeyError), ad.no_grad():
        raise KeyError
    assert (w * 2).requires_grad


@pytest.mark.parametrize("decorator", [ad.no_grad, ad.no_grad()])
def test_decorator(w, decorator):
    @decorator
    def f(depth):
        """Doc."""
        return f(depth - 1) if depth else w * 2

    assert not f(3).requires_grad
    assert (w * 2).requires_grad
    assert f.__name__ == "f"
    assert f.__doc__ == "Doc."


def test_each_thread_has_its_own(w):
    seen = []
    with ad.no_grad():
        thread = threading.Thread(target=lambda: seen.append((w * 2).requires_grad))
        thread.start()
        thread.join()
        assert not (w * 2).requires_grad
    assert seen == [True]


def test_each_task_has_its_own(w):
    async def quiet():
        with ad.no_grad():
            await asyncio.sleep(0)
            return (w * 2).requires_grad

    async def loud():
        await asyncio.sleep(0)
        return (w * 2).requires_grad

    async def both():
        return await asyncio.gather(quiet(), loud())

    assert asyncio.run(both()) == [False, True]


def test_a_derivative_inside_no_grad_is_computed_and_constant(w):
    with ad.no_grad():
        g = ad.grad(lambda x: x**2 * w)(2.0)
        nested = ad.grad(ad.grad(lambda x: x**3))(2.0)
    assert g.item() == 12.0
    assert not g.requires_grad
    assert nested == 12.0


def test_no_grad_inside_a_transform_is_a_constant():
    def f(x):
        with ad.no_grad():
            c = x * x
        return x * c

    assert ad.grad(f)(3.0) == 9.0


def test_threads_build_and_differentiate_at_once(w):
    def work(results, i):
        x = ad.tensor(np.linspace(0, 1, 50), requires_grad=True)
        y = x
        for _ in range(200):
            y = np.sin(y) * 1.01 + x
        y.sum().backward()
        results[i] = x.grad.numpy()

    results: list = [None] * 4
    threads = [threading.Thread(target=work, args=(results, i)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_threads_add_to_one_leaf_without_losing_a_gradient(w):
    big = ad.tensor(np.zeros(200_000), requires_grad=True)

    def work():
        for _ in range(20):
            (big * 1.0).backward(np.ones(200_000))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert big.grad.tolist() == [80.0] * 200_000


def test_threads_go_backward_through_one_graph_at_once():
    x = ad.tensor(np.linspace(0, 1, 1000), requires_grad=True)
    y = x
    for _ in range(100):
        y = np.sin(y) * 1.01 + x
    loss = y.sum()
    loss.backward()
    once = x.grad.numpy().copy()
    loss.null_gradients()
    threads = [threading.Thread(target=loss.backward) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    np.testing.assert_array_equal(x.grad.numpy(), 4 * once)
