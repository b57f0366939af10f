"""Values of a turn that are read after the loop: by a name, and in every other way out of it."""

from collections import deque

import numpy as np
import pytest

import adjoint as ad

X = np.array([1.0, 0.5, -0.3])


def in_a_dict(x):
    d = {}
    y = x
    for _t in range(100):
        y = np.sin(y) * 0.5 + np.cos(x)
        d["y"] = y
    return np.sum(d["y"])


def at_an_index(x):
    h = [None] * 100
    y = x
    for t in range(100):
        y = np.sin(y) * 0.5 + np.cos(x)
        h[t] = y
    return np.sum(h[50])


def in_a_deque(x):
    h = deque()
    y = x
    for _t in range(100):
        y = np.sin(y) * 0.5 + np.cos(x)
        h.append(y)
    return np.sum(h[50])


class Holder:
    pass


def in_an_object(x):
    o = Holder()
    o.h = x
    for _t in range(100):
        o.h = np.sin(o.h) * 0.5 + np.cos(x)
    return np.sum(o.h)


def in_a_queue(x):
    q = [x, x * 0.5]
    for _t in range(100):
        q.append(np.sin(q[0]) * 0.5 + q[1] * 0.3)
        q.pop(0)
    return np.sum(q[0] * q[1])


def one_turn_late(x):
    y = x
    for _t in range(100):
        prev = y
        y = np.sin(y) * 0.5 + x * 0.3
    return np.sum(prev**2)


def in_a_tuple_that_moves(x):
    st = (x, x * 2)
    for _t in range(100):
        st = (np.sin(st[0]) * 0.5 + x * 0.3, st[0])
    return np.sum(st[0] * st[1])


def in_a_list_made_before(x):
    h = [None] * 100
    y = x
    for t in range(100):
        y = np.sin(y) * 0.5 + np.cos(x)
        h[t] = y
    return np.sum(np.stack(h))


def in_a_closure(x):
    z = x

    def step(v):
        nonlocal z
        z = v

    y = x
    for _t in range(100):
        y = np.sin(y) * 0.5 + np.cos(x)
        step(y)
    return np.sum(z)


def in_a_list(x):
    h = []
    y = x
    for _t in range(100):
        y = np.sin(y) * 0.5 + np.cos(x)
        h.append(y)
    return np.sum(np.stack(h) ** 2)


def in_an_array(x):
    h = np.zeros_like(x, shape=(100, 3))
    y = x
    for t in range(100):
        y = np.sin(y) * 0.5 + np.cos(x)
        h[t] = y
    return np.sum(h**2)


def in_a_nested_list(x):
    d = {"a": [x]}
    y = x
    for _t in range(100):
        y = np.sin(y) * 0.5 + d["a"][-1] * 0.1
        d["a"].append(y)
    return np.sum(y)


def made_of_the_last(x):
    e = 0.0
    y = x
    for _t in range(100):
        y = np.sin(y) * 0.5 + np.cos(x)
        e = np.sum(y**2)
    return e


LOOPS = [
    in_a_dict,
    at_an_index,
    in_a_deque,
    in_an_object,
    in_a_queue,
    one_turn_late,
    in_a_tuple_that_moves,
    in_a_list_made_before,
    in_a_closure,
    in_a_list,
    in_an_array,
    in_a_nested_list,
    made_of_the_last,
]


def backward(f):
    def gradient(x):
        t = ad.tensor(x, requires_grad=True)
        f(t).backward()
        return t.grad.numpy()

    return gradient


MODES = {
    "value": lambda f: f,
    "grad": ad.grad,
    "backward": backward,
    "reverse over reverse": lambda f: ad.grad(lambda x: np.sum(ad.grad(f)(x))),
    "forward over reverse": lambda f: lambda x: ad.hvp(f, x, np.ones(3)),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_a_value_of_a_turn(loop, mode):
    f = MODES[mode](loop)
    compiled = ad.compile(f, wait=True)
    for x in (X, X, 0.7 * X):
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-9, atol=1e-12)
