"""Compiled functions inside of tapes, transforms and each other: they are what the plain function is."""

from functools import partial

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.core.errors import InPlaceError

Z = np.array([0.3, -1.2, 2.0])


@pytest.fixture(params=["numpy", "native"])
def compiled(request):
    return partial(ad.compile, wait=True, backend=request.param)


@pytest.fixture
def weights():
    return ad.tensor(np.random.default_rng(0).normal(size=(3, 3)), requires_grad=True)


def wave(x):
    return np.sum(np.sin(x) * x)


def gradients(f, *tensors):
    for t in tensors:
        t.grad = None
    f().backward()
    return [t.grad.numpy().copy() for t in tensors]


def test_in_the_middle_of_a_network(compiled, weights):
    def block(h):
        return np.tanh(h @ weights) + h

    made = compiled(block)
    x = ad.tensor(np.ones((2, 3)), requires_grad=True)

    def network(layer):
        h = x * 2
        for _ in range(3):
            h = layer(h)
        return np.sum(h**2)

    for _ in range(4):
        expected = gradients(lambda: network(block), weights, x)
        found = gradients(lambda: network(made), weights, x)
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-13)
    assert len(made.graph.outputs) > 1  # it was recorded, with a backward pass


def test_transforms(compiled):
    made = compiled(wave)
    for k in range(4):
        z = Z + k
        np.testing.assert_allclose(ad.grad(made)(z), ad.grad(wave)(z), rtol=1e-14)
        np.testing.assert_allclose(ad.jvp(made, (z,), (Z,))[1], ad.jvp(wave, (z,), (Z,))[1], rtol=1e-14)
    np.testing.assert_allclose(ad.hessian(made)(Z), ad.hessian(wave)(Z), rtol=1e-14)
    np.testing.assert_allclose(ad.vmap(made)(np.ones((4, 3))), ad.vmap(wave)(np.ones((4, 3))), rtol=1e-14)
    twice = [ad.grad(lambda z, f=f: np.sum(ad.grad(f)(z) ** 2))(Z) for f in (made, wave)]
    np.testing.assert_allclose(*twice, rtol=1e-14)


def test_a_gradient_of_the_gradient_goes_through_the_program(compiled):
    made = compiled(wave)
    found = []
    for f in (wave, made, made, made):
        t = ad.tensor(Z, requires_grad=True)
        f(t).backward(create_graph=True)
        g, t.grad = t.grad, None
        np.sum(g * g).backward()
        found.append(t.grad.numpy())
    for g in found[1:]:
        np.testing.assert_allclose(g, found[0], rtol=1e-13)


def test_a_compiled_function_in_another_one(compiled, weights):
    inner = compiled(lambda x: np.tanh(x @ weights))
    outer = compiled(lambda x: np.sum(inner(x) * inner(-x)))
    plain = lambda x: np.sum(np.tanh(x @ weights) * np.tanh(-x @ weights))
    for _ in range(3):
        np.testing.assert_allclose(outer(Z).item(), plain(Z).item(), rtol=1e-14)
        (a,), (b,) = gradients(lambda: outer(Z), weights), gradients(lambda: plain(Z), weights)
        np.testing.assert_allclose(a, b, rtol=1e-13)
    weights.data[...] *= 2.0
    np.testing.assert_allclose(outer(Z).item(), plain(Z).item(), rtol=1e-14)


def test_arrays_that_change_before_the_way_back(compiled, weights):
    made = compiled(lambda a: np.sum(np.tanh(a @ weights) ** 2))
    (expected,) = gradients(lambda: np.sum(np.tanh(Z @ weights) ** 2), weights)
    for _ in range(3):
        a = Z.copy()
        loss = made(a)
        a[...] = 100.0
        weights.grad = None
        try:
            loss.backward()
        except InPlaceError:
            continue
        np.testing.assert_allclose(weights.grad.numpy(), expected, rtol=1e-13)


def test_parameters_that_change_before_the_way_back(compiled, weights):
    made = compiled(lambda a: np.sum(np.tanh(a @ weights) ** 2))
    for _ in range(3):
        loss = made(ad.tensor(Z, requires_grad=True))
        with ad.no_grad():
            weights[...] = weights * 1.5
        with pytest.raises(InPlaceError):
            loss.backward()


def test_a_function_that_goes_backward_itself_to_no_leaf(compiled):
    def f(h):
        np.sum(h * h).backward()
        return np.sum(h)

    made = compiled(f)
    for _ in range(2):
        found = []
        for g in (f, made):
            x = ad.tensor(Z, requires_grad=True)
            g(x * 2)
            found.append(x.grad.numpy())
        np.testing.assert_array_equal(*found)


def test_parameters_inside_grad(compiled, weights):
    made = compiled(lambda x: np.sum(np.tanh(x @ weights)))
    plain = lambda x: np.sum(np.tanh(x @ weights))
    for _ in range(2):
        np.testing.assert_allclose(ad.grad(made)(Z).numpy(), ad.grad(plain)(Z).numpy(), rtol=1e-14)


def test_where_nothing_is_recorded(compiled, weights):
    made = compiled(lambda x: np.sum(np.tanh(x @ weights)))
    for _ in range(3):
        assert made(Z).requires_grad
        with ad.no_grad():
            assert not made(Z).requires_grad


def test_results_go_on_in_a_users_graph(compiled):
    model = nn.Sequential(nn.Linear(3, 4, rng=0), nn.Tanh(), nn.Linear(4, 1, rng=1))
    scale = ad.tensor([2.0], requires_grad=True)

    def f(x):
        return model(x) * scale, np.sum(x, axis=0)

    made = compiled(f)
    for _ in range(3):
        gradients = []
        for g in (f, made):
            for p in (*model.parameters(), scale):
                p.grad = None
            x = ad.tensor(np.random.default_rng(2).normal(size=(5, 3)), requires_grad=True)
            y, total = g(np.sin(x))
            (np.sum(y**2) + np.sum(total * 3.0) + np.sum(scale)).backward()
            gradients.append([p.grad.numpy().copy() for p in (*model.parameters(), scale, x)])
        for a, b in zip(*gradients, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)
    leaf = ad.tensor(np.random.default_rng(2).normal(size=(5, 3)), requires_grad=True)
    penalties = []
    for g in (f, made, made):
        leaf.grad = None
        np.sum(g(leaf)[0] ** 2).backward(create_graph=True)
        penalty = np.sum(leaf.grad**2)
        scale.grad = None
        penalty.backward()
        penalties.append(scale.grad.numpy().copy())
    np.testing.assert_allclose(penalties, penalties[:1] * 3, rtol=1e-12)


def test_recursion(compiled):
    @compiled
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    assert power(2.0, 10) == 1024.0
    assert power(3.0, 10) == 3.0**10


def test_detached_values_stay_constants_to_any_order(compiled):
    def f(w):
        return np.sum(w**2 * w.detach())

    def second(g):
        w = ad.tensor(Z, requires_grad=True)
        g(w).backward(create_graph=True)
        gradient, w.grad = w.grad, None
        np.sum(gradient).backward()
        return w.grad.numpy()

    made = compiled(f)
    for _ in range(3):
        np.testing.assert_allclose(second(made), second(f), rtol=1e-14)
    stopped = lambda x: np.sum(x**2 * ad.stop_gradient(x))
    graph = ad.capture(stopped, Z)
    np.testing.assert_allclose(ad.grad(graph)(Z), 2 * Z * Z, rtol=1e-14)
    np.testing.assert_allclose(ad.jvp(graph, (Z,), (Z,))[1], ad.jvp(stopped, (Z,), (Z,))[1], rtol=1e-14)
    np.testing.assert_allclose(ad.vmap(graph)(np.stack([Z, Z])), [np.sum(Z**3)] * 2, rtol=1e-14)
    np.testing.assert_allclose(compiled(ad.grad(stopped))(Z), 2 * Z * Z, rtol=1e-14)
