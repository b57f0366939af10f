"""Loops with few snapshots: the loop's own gradients, and as few repeated steps as Revolve's theorem allows."""

import weakref
from functools import cache

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.tape.checkpoints import revolve

COUNTS = [(n, k) for n in (1, 2, 3, 7, 16, 33) for k in (1, 2, 3, 5, 33)]


@cache
def fewest(n, k):
    """The fewest repeated steps, found by trying every first stride."""
    if n <= 1 or k == 1:
        return n * (n - 1) // 2
    return min(m + fewest(m, k) + fewest(n - m, k - 1) for m in range(1, n))


def same(a, b):
    return all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


def problem(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3, 3)), rng.normal(size=3), {"x": rng.normal(size=(n, 3)), "b": rng.normal(size=n)}


def loss(w, h, xs, snapshots=None, log=None):
    """A recurrent net with noise and a counter, all of whose states are used."""
    rng = np.random.default_rng(3)

    def step(carry, x):
        if log is not None:
            log.append(carry["t"])
        new = np.tanh(carry["h"] @ w + x["x"]) * x["b"] + 0.1 * rng.normal(size=3)
        return {"h": new, "t": carry["t"] + 1}, {"twice": 2 * new, "old": carry["h"] * 1}

    n, carry = len(xs["b"]), {"h": h, "t": 0}
    if snapshots is None:
        ys = []
        for t in range(n):
            carry, y = step(carry, {"x": xs["x"][t], "b": xs["b"][t]})
            ys.append(y)
        ys = {key: np.stack([y[key] for y in ys]) for key in ys[0]}
    else:
        carry, ys = ad.checkpoint_scan(step, carry, xs, snapshots=snapshots)
    assert carry["t"] == n
    return np.sum(carry["h"] ** 2) + np.sum(ys["twice"] ** 3) * np.mean(ys["old"])


@pytest.mark.parametrize("n", range(1, 40))
def test_the_formula_is_the_optimum(n):
    assert [revolve.fewest_repeats(n, k) for k in range(1, 12)] == [fewest(n, k) for k in range(1, 12)]


def test_the_theorem_of_revolve():
    """β(k, r) steps need r repeats of none: Griewank's table for three snapshots."""
    assert [revolve.reach(3, r) for r in range(5)] == [1, 4, 10, 20, 35]
    assert [revolve.fewest_repeats(n, 3) for n in (1, 4, 10, 20)] == [0, 3, 15, 45]
    with pytest.raises(ad.ArgumentError, match="at least 0"):
        revolve.fewest_repeats(-1, 3)


@pytest.mark.parametrize(("n", "k"), COUNTS)
def test_gradients_are_the_loops_with_the_fewest_repeats(n, k):
    w, h, xs = problem(n)
    value = loss(w, h, xs)
    expected = ad.grad(loss, (0, 1))(w, h, xs)
    by_x = ad.grad(loss, 2)(w, h, xs)
    log = []
    got = ad.grad(lambda w, h: loss(w, h, xs, k, log), (0, 1))(w, h)
    assert same(got, expected)
    assert len(log) == n + fewest(n, k)
    assert same(ad.grad(loss, 2)(w, h, xs, k).values(), by_x.values())
    assert same([loss(w, h, xs, k)], [value])


@pytest.mark.parametrize(("n", "k"), COUNTS)
def test_no_more_states_are_alive_than_snapshots(n, k):
    alive, most = weakref.WeakSet(), [0]

    class Held:
        """Something that is carried on, and can be counted."""

        def __init__(self, t):
            self.t = t
            alive.add(self)

    def step(carry, _):
        x, held = carry
        most[0] = max(most[0], len(alive))
        return (np.sin(x), Held(held.t + 1)), None

    def f(x):
        (x, _), _ = ad.checkpoint_scan(step, (x, Held(0)), length=n, snapshots=k)
        return np.sum(x)

    ad.grad(f)(np.ones(2))
    assert most[0] <= k + 2  # and what goes into the step, and comes out of the one before


def test_the_graph_may_be_gone_through_again_and_differentiated():
    w, h, xs = problem(9)

    def twice(k):
        a = ad.tensor(w, requires_grad=True)
        value = loss(a, h, xs, k)
        value.backward()
        first, a.grad = a.grad.numpy().copy(), None
        value.backward()
        again, a.grad = a.grad.numpy().copy(), None
        value.backward(create_graph=True)
        g, a.grad = a.grad, None
        np.sum(g**2).backward()
        return first, again, a.grad.numpy()

    first, again, second = twice(2)
    expected, _, second_expected = twice(None)
    assert same([first, again], [expected, expected])
    np.testing.assert_allclose(second, second_expected, rtol=1e-10)
    hessian = ad.hessian(lambda h: loss(w, h, xs, 2))(h)
    np.testing.assert_allclose(hessian, ad.hessian(lambda h: loss(w, h, xs))(h), rtol=1e-10, atol=1e-12)


def test_freed_graphs_say_so():
    x = ad.tensor([0.5], requires_grad=True)
    (value,), _ = ad.checkpoint_scan(lambda x, _: (np.sin(x), None), x, length=5, snapshots=2)
    value.backward(retain_graph=False)
    with pytest.raises(ad.GraphFreedError):
        value.backward()


def test_other_modes_run_through_it():
    f = lambda x: ad.checkpoint_scan(lambda c, _: (np.sin(c) * x, c), x, length=6, snapshots=2)
    plain = lambda x: ad.checkpoint_scan(lambda c, _: (np.sin(c) * x, c), x, length=6, snapshots=6)
    x = np.array([0.3, 0.4])
    for g in (
        lambda f: ad.jvp(lambda x: f(x)[0], (x,), (x,))[1],
        lambda f: ad.vmap(lambda x: f(x)[1])(np.stack([x, x])),
    ):
        assert same([g(f)], [g(plain)])
    assert f(x)[1].shape == (6, 2)


def test_steps_that_write_in_place():
    def f(x, k):
        def step(c, _):
            c[0] = np.sin(c[1])
            c *= 1.5
            return c, c[0] * 1

        start = x * 1
        c, ys = ad.checkpoint_scan(step, start, length=8, snapshots=k)
        return np.sum(c**2) + np.sum(ys)

    x = np.array([0.3, 0.4])
    expected = ad.grad(f)(x, 8)
    for k in (1, 2, 3):
        np.testing.assert_allclose(ad.grad(f)(x, k), expected, rtol=1e-13)


def test_dropout_in_a_step_and_a_parameter():
    drop, layer = nn.Dropout(0.5, rng=0), nn.Linear(3, 3, rng=1)

    def gradient(k):
        drop.rng = np.random.default_rng(4)
        layer.zero_grad()
        c, _ = ad.checkpoint_scan(lambda c, _: (drop(np.tanh(layer(c))), None), np.ones(3), length=7, snapshots=k)
        np.sum(c**2).backward()
        return layer.weight.grad.numpy().copy(), drop.rng.random(3)

    assert same(gradient(2), gradient(7))
    c, _ = ad.checkpoint_scan(lambda c, _: (np.tanh(layer(c)), None), np.ones(3), length=7, snapshots=2)
    with ad.no_grad():
        layer.bias[0] = 3.0
    with pytest.raises(ad.InPlaceError, match="must run again"):
        np.sum(c).backward()


def test_a_step_that_changed_is_noticed():
    scale = [1.0]
    x = ad.tensor([0.5], requires_grad=True)
    c, _ = ad.checkpoint_scan(lambda c, _: (np.sin(c * scale[0]), None), x, length=5, snapshots=2)
    scale[0] = 2.0
    with pytest.raises(ad.GradientError, match="step 3 again"):
        c.backward()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f: ad.checkpoint_scan(f, 1.0, snapshots=2), ad.ArgumentError, "got neither"),
        (
            lambda f: ad.checkpoint_scan(f, 1.0, np.ones(3), 2, snapshots=2),
            ad.ArgumentError,
            "xs have 3, length=2|xs have 2",
        ),
        (
            lambda f: ad.checkpoint_scan(f, 1.0, [np.ones(3), np.ones(2)], snapshots=2),
            ad.ShapeError,
            "different lengths",
        ),
        (lambda f: ad.checkpoint_scan(f, 1.0, np.ones(3), snapshots=0), ad.ArgumentError, "at least 1"),
        (lambda f: ad.checkpoint_scan(f, 1.0, 3.0, snapshots=1), ad.ShapeError, "one is a single number"),
        (lambda f: ad.checkpoint_scan(f, 1.0, length=-1, snapshots=1), ad.ArgumentError, "0 or more; got -1"),
        (lambda f: ad.checkpoint_scan(f, 1.0, np.ones(4), 3, snapshots=1), ad.ArgumentError, "xs have 4, length=3"),
        (
            lambda f: ad.checkpoint_scan(lambda c, x: c, 1.0, np.ones(3), snapshots=1),
            ad.ArgumentError,
            "return carry, y",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(lambda c, x: (c, x))


def test_no_steps():
    assert ad.checkpoint_scan(lambda c, x: (c, x), 1.0, length=0, snapshots=1) == (1.0, None)
