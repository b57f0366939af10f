"""A cotangent that nobody else refers to becomes the gradient as it is; any other one is copied."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.scipy import linalg
from adjoint.tape import backward

KEPT = []

# What a rule gives, and whether it may become the gradient without a copy.
GIVES = {
    "new": (lambda g: g * 2.0, True),
    "transposed": (lambda g: np.multiply(g.T, 2.0).T, True),
    "reshaped": (lambda g: (g.ravel() * 2.0).reshape(g.shape), True),
    "kept": (lambda g: KEPT.append(g * 2.0) or KEPT[-1], False),
    "kept, of another shape": (lambda g: KEPT.append(g.ravel() * 2.0) or KEPT[-1].reshape(g.shape), False),
    "a view is kept": (lambda g: KEPT.append((c := g * 2.0)[0]) or c, False),
    "its memory is kept": (lambda g: KEPT.append(memoryview(c := g * 2.0)) or c, False),
    "backwards": (lambda g: (g * 2.0)[::-1], False),
    "a part": (lambda g: np.concatenate([g, g])[: len(g)] * 1.0 + np.concatenate([g, g])[: len(g)], True),
    "a part of more": (lambda g: (np.concatenate([g, g]) * 2.0)[: len(g)], False),
    "bytes": (lambda g: np.frombuffer(bytearray((g * 2.0).tobytes())).reshape(g.shape), False),
    "read-only": (lambda g: np.broadcast_to(2.0, g.shape), False),
}


def doubling(name):
    """A function whose rule gives the gradient so, and whether nobody else has that."""
    gives, alone = GIVES[name]
    KEPT.clear()

    @ad.custom_vjp
    def double(x):
        return x * 2.0

    double.defvjp(lambda x: (x * 2.0, None), lambda _, g: (gives(g),))
    return double, alone


@pytest.mark.parametrize("name", GIVES)
def test_only_what_is_kept_elsewhere_is_copied(name, monkeypatch):
    double, alone = doubling(name)
    copied = []
    finished = backward._finished
    monkeypatch.setattr(
        backward, "_finished", lambda g, leaf, owned: copied.append(not owned) or finished(g, leaf, owned)
    )
    monkeypatch.setattr(backward, "_SMALL", -1)  # smaller ones are copied without a look
    x = np.arange(6.0).reshape(3, 2)
    t = ad.tensor(x, requires_grad=True)
    np.sum(double(t)).backward()
    gradient = t.grad.numpy()
    np.testing.assert_array_equal(gradient, np.full((3, 2), 2.0))
    assert any(copied) is not alone
    for other in KEPT:
        assert not np.shares_memory(gradient, np.asarray(other))
        np.asarray(other)[...] = 7.0
    np.testing.assert_array_equal(t.grad.numpy(), np.full((3, 2), 2.0))


@pytest.mark.parametrize("name", GIVES)
def test_small_ones_are_nobody_elses_either(name):
    double, _ = doubling(name)
    t = ad.tensor(np.arange(6.0).reshape(3, 2), requires_grad=True)
    np.sum(double(t)).backward()
    for other in KEPT:
        np.asarray(other)[...] = 7.0
    np.testing.assert_array_equal(t.grad.numpy(), np.full((3, 2), 2.0))
    t.grad[0] = 3.0


def test_one_array_for_two_arguments_becomes_two():
    @ad.custom_vjp
    def add(x, y):
        return x + y

    def bwd(_, g):
        c = g * 1.0
        return c, c

    add.defvjp(lambda x, y: (x + y, None), bwd)
    a, b = (ad.tensor(np.ones(4), requires_grad=True) for _ in range(2))
    np.sum(add(a, b)).backward()
    a.grad[0] = 5.0
    np.testing.assert_array_equal(b.grad.numpy(), np.ones(4))


def test_the_cotangent_that_is_given_stays_the_callers():
    given = np.ones(3)
    t = ad.tensor(np.zeros(3), requires_grad=True)
    (t + 1.0).backward(given)
    t.grad[0] = 5.0
    np.testing.assert_array_equal(given, np.ones(3))


@pytest.mark.parametrize("vector", [True, False])
def test_the_gradient_of_a_triangle_is_not_copied(vector, monkeypatch):
    lower, b = np.tril(np.ones((4, 4))) + np.eye(4), np.arange(4.0) if vector else np.ones((4, 2))
    monkeypatch.setattr(backward, "_finished", None)
    leaves = [ad.tensor(a, requires_grad=True) for a in (lower, b)]
    np.sum(linalg.solve_triangular(*leaves, lower=True)).backward()
    h = np.linalg.solve(lower.T, np.ones_like(b))
    x = np.linalg.solve(lower, b)
    np.testing.assert_allclose(leaves[1].grad.numpy(), h, rtol=1e-12)
    outer = np.outer(h, x) if vector else h @ x.T
    np.testing.assert_allclose(leaves[0].grad.numpy(), -np.tril(outer), rtol=1e-12)
