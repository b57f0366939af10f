"""What a derivative needs is kept as it was, in whatever transform or program the array lives that is written later."""

import numpy as np
import pytest

import adjoint as ad

X, A = np.array([0.7, 0.4, 0.9]), np.array([2.0, 1.0, 3.0])


def factor(a):
    def inner(x):
        w = a * 1.0
        y = x * w
        w *= 0
        return (y * y).sum()

    return ad.grad(inner)(X)


def mask(a):
    def inner(x):
        m = a > 1.5
        y = np.where(m, x * a, 0)
        m[:] = False
        return (y**3).sum()

    return ad.grad(inner)(X)


def places(a):
    def inner(x):
        i = np.argsort(a)
        y = x * 1
        y[i] = x**2 * a
        z = np.outer(x, x)[i, 0]
        i[:] = 0
        return (y * z).sum()

    return ad.grad(inner)(X)


def exponent_and_view(a):
    def inner(x):
        p = a.copy()
        y = x[1:] ** p[1:]
        p -= 1
        return (y * p[1:]).sum()

    return ad.grad(inner)(X)


def running(a):
    def inner(x):
        w, seen = a * 1, []
        for _ in range(3):
            seen.append(w @ x**2)
            w += 1
        return seen[0] * seen[1] * seen[2]

    return ad.grad(inner)(X)


def argument(a):
    w = a * 1.0

    def inner(x):
        y = x * x * w
        w[:] = w * 2
        return (y * w).sum()

    return ad.grad(inner)(w)


def pullback(a):
    w = a.copy()
    _, pullback = ad.vjp(lambda x: x**2 * w, X)
    w *= 0
    return pullback(np.ones(3))[0]


def tangents(a):
    def inner(x):
        m = a > 1.5
        y = np.where(m, x * a, 0)
        m[:] = False
        return y**3

    return ad.jvp(inner, (X,), (X,))[1]


def sample(a):
    w = a * 1.0

    def inner(x):
        y = x * 2
        w[:] = 0
        return y * x

    return ad.vmap(inner)(w)


PROGRAMS = [factor, mask, places, exponent_and_view, running, argument, pullback, tangents, sample]


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("mode", ["jvp", "vmap", "vjp", "compile", "capture"])
def test_values(f, mode):
    run = {
        "jvp": lambda: ad.jvp(f, (A,), (A,))[0],
        "vmap": lambda: ad.vmap(f)(np.stack([A, A * 2]))[0],
        "vjp": lambda: ad.vjp(f, A)[0],
        "compile": lambda: [compiled := ad.compile(f), compiled(A), compiled(A)][-1],
        "capture": lambda: ad.capture(f, A)(A),
    }
    np.testing.assert_allclose(run[mode](), f(A))


@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives(f):
    step = 1e-6 * np.eye(3)
    expected = np.stack([(f(A + e) - f(A - e)) / 2e-6 for e in step], -1)
    for jacobian in (ad.jacfwd, ad.jacrev):
        np.testing.assert_allclose(jacobian(f)(A), expected, atol=1e-5)


def test_state_that_a_step_moves_on():
    class Net:
        def __init__(self):
            self.w = np.array([1.0, 2.0, 3.0])

        def __call__(self, x):
            y = x * self.w
            self.w += 0.5
            return y.sum()

    for slope in (ad.compile(ad.grad(Net())), ad.grad(ad.compile(Net())), ad.grad(Net())):
        assert [slope(X).tolist() for _ in range(4)] == [[1 + k, 2 + k, 3 + k] for k in (0, 0.5, 1, 1.5)]


def test_indices_in_a_tensor_of_whole_numbers():
    x, i = ad.tensor(X, requires_grad=True), ad.tensor([0, 1])
    y = np.sum(x[i] ** 2)
    i[:] = 2
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), [1.4, 0.8, 0.0])


def test_condition_beside_nan_in_forward_mode():
    def f(x):
        m = x > 0.5
        y = np.where(m, np.sqrt(x - 0.4), 0.0)
        m[:] = False
        return y * 2

    with np.errstate(all="ignore"):
        tangent = ad.jvp(f, (X,), (np.ones(3),))[1]
    np.testing.assert_allclose(tangent, [1 / np.sqrt(0.3), 0.0, 1 / np.sqrt(0.5)])


@pytest.mark.parametrize("wrap", [lambda f: f, ad.compile, lambda f: lambda x: ad.vmap(f)(np.stack([x, x]))[1]])
def test_elements_of_flat_are_read_when_asked_for(wrap):
    def f(x):
        a = np.outer(x, x)
        for element in a.flat:
            a[-1, -1] += element
        for k, element in enumerate(a.flat):
            if k < 8:
                a.flat[k + 1] = element + x[0]
        return a.sum()

    g = wrap(f)
    for _ in range(2):
        np.testing.assert_allclose(g(X), f(X))
    step = 1e-6 * np.eye(3)
    np.testing.assert_allclose(ad.grad(f)(X), [(f(X + e) - f(X - e)) / 2e-6 for e in step], atol=1e-6)
