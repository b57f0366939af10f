"""Compiled functions that need a twin for derivatives: in transforms, around these, and in users' modules."""

import math
from functools import partial

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.tape.tensor import Tensor

X = np.array([0.3, 0.7, 1.1])


def fills(x):
    a = np.zeros(3)
    for i in range(3):
        a[i] = np.sin(x[i]) * i
    return np.sum(a**2)


def packs(x):
    return np.sum(np.array([x[0] * x[1], math.sin(x[2]), float(x[0])]) ** 2)


def asks(x):
    if isinstance(x, np.ndarray) and not hasattr(x[0], "__len__") and type(x) is np.ndarray:
        return np.sum(x**2)
    return np.sum(x)


def looks(x):
    return x[0] ** 2 if x.__class__ is np.ndarray else x[0]


def domains(x):
    try:
        return math.sqrt(x[0] + x[2] - 1.5)
    except ValueError:
        return math.sqrt(1.5 - x[0] - x[2])


def rows(x):
    out = np.ones((2, 3))
    first = out[0]
    first[:] = x
    out[1] += x**2 - out[1]
    return np.sum(out[0] * out[1])


def helped(x):
    def pair(a, b):
        made = np.zeros(2)
        made[0], made[1] = a, b
        return made

    return pair(x[0], x[1]) @ pair(x[1], x[2])


def inner(x):
    def loss(w):
        a = np.ones(3)
        a[1:] = w[1:] * x[0]
        return np.sum(a**3)

    return np.sum(ad.grad(loss)(x) ** 2)


def selects(x):
    return np.where(x > 0.5, x, 0.0)[1] * float(x[2])


FUNCTIONS = [fills, packs, asks, looks, domains, rows, helped, inner, selects]
AROUND = {
    "grad": ad.grad,
    "value_and_grad": ad.value_and_grad,
    "hessian": ad.hessian,
    "jvp": lambda f: lambda x: ad.jvp(f, (x,), (np.cos(x),)),
    "vmap": lambda f: lambda x: ad.vmap(f)(np.stack([x, 1.01 * x])),
}


def ratio(x):
    try:
        return 1.0 / float(x[0]) + math.log(x[1])
    except (ZeroDivisionError, ValueError):
        return x[2] ** 2


@pytest.mark.parametrize("around", ["grad", "hessian", "jvp"])
def test_errors_of_pythons_numbers(around):
    compiled, plain = ad.compile(AROUND[around](ratio), backend="numpy"), AROUND[around](ratio)
    inside = AROUND[around](ad.compile(ratio, backend="numpy"))
    for x in (X, np.array([0.0, 1.0, 2.0]), np.array([1.0, -1.0, 2.0]), 2.0 * X):
        equal(compiled(x), plain(x))
        equal(inside(x), plain(x))


def equal(found, wanted):
    for a, b in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]:
        assert type(a) is type(b)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_transforms_of_functions_that_need_a_twin(f, around):
    plain = AROUND[around](f)
    compiled = ad.compile(AROUND[around](f), backend="numpy")
    for k in (1.0, 0.9, 1.1):
        equal(compiled(k * X), plain(k * X))
    assert "runs as it is" not in compiled.explain() or f is domains, compiled.explain()


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_inside_of_transforms(f, backend):
    compiled = ad.compile(f, backend=backend, wait=True)
    for k in (1.0, 0.9, 2.1):
        equal(ad.grad(compiled)(k * X), ad.grad(f)(k * X))
        equal(compiled(k * X), f(k * X))
        equal(ad.hessian(compiled)(k * X), ad.hessian(f)(k * X))
        equal(ad.vmap(compiled)(np.stack([k * X, k * X[::-1]])), ad.vmap(f)(np.stack([k * X, k * X[::-1]])))
    assert sum(map(len, compiled._specializations.values())) >= 2  # in a transform, and outside


def test_what_is_refused_inside_a_transform_is_refused_still():
    table = np.zeros(3)

    def kept(x):
        table[0] = x[0]  # an array of somebody else's
        return np.sum(table * x)

    compiled = ad.compile(ad.grad(kept), backend="numpy")
    for f in (ad.grad(kept), compiled, compiled):
        with pytest.raises((ValueError, ad.AdjointError)):
            f(X)
    assert not table.any()


class Model(nn.Module):
    def __init__(self):
        self.w = nn.Parameter(np.array([1.0, 2.0, 3.0]))
        self.seen = 0


class Filled(Model):
    def forward(self, x):
        out = np.zeros(3)
        for i in range(3):
            out[i] = x[i] * self.w[i]
        return out


class OfNothing(Model):
    def forward(self, x):
        return np.zeros(3)


class Reading(Model):
    def forward(self, x):
        table = np.arange(3.0)
        made = np.zeros(3)
        made[0] = 1.0
        return np.cos(np.zeros(3)), table, made, x.copy(), x.copy().reshape(3, 1), table * x, [np.ones(2), np.cos(x)]


class Keeping(Model):
    def forward(self, x):
        self.seen += 1
        self.last = np.zeros(3)
        self.last[:] = self.w * x
        return np.sum(self.last**2)


class Helped(Model):
    def _made(self, a, b):
        made = np.empty(2)
        made[:] = (a, b)
        return made

    def forward(self, x):
        return np.array([self.w[0] * x[0], math.tanh(x[1])]) @ self._made(self.w[1], x[2])


MODELS = [Filled, OfNothing, Reading, Keeping, Helped]


def alike(found, wanted):
    assert isinstance(found, Tensor) == isinstance(wanted, Tensor)
    assert isinstance(found, Tensor) or type(found) is type(wanted)
    if isinstance(wanted, tuple | list):
        for a, b in zip(found, wanted, strict=True):
            alike(a, b)
    else:
        if isinstance(wanted, Tensor):
            assert found.requires_grad == wanted.requires_grad
            found, wanted = found.numpy(), wanted.numpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-13)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("given", [lambda x: x, ad.tensor, lambda x: ad.tensor(x, requires_grad=True)])
def test_modules(kind, given):
    model, plain = kind(), kind()
    compiled = ad.compile(model, backend="numpy")
    for k in (1.0, 0.9, 1.1):
        alike(compiled(given(k * X)), plain(given(k * X)))
        alike(getattr(model, "last", 0), getattr(plain, "last", 0))
        assert model.seen == plain.seen
    assert kind in (Reading, Keeping) or "runs as it is" not in compiled.explain(), compiled.explain()


@pytest.mark.parametrize("kind", [Filled, Helped])
def test_modules_are_trained(kind):
    results = []
    for compile in (lambda f: f, partial(ad.compile, wait=True)):
        model = kind()
        optimizer = optim.Adam(model.parameters(), lr=0.1)

        @compile
        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = np.sum(model(x) ** 2)
            loss.backward()
            optimizer.step()
            return loss

        losses = [step(X * k).item() for k in (1.0, 0.9, 1.1, 1.2)]
        results.append((losses, model.w.numpy()))
    assert "runs as it is" not in step.explain()
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)


def test_differentiable_functions():
    f = ad.differentiable(packs)
    compiled = ad.compile(f, backend="numpy")
    for k in (1.0, 0.9, 1.1):
        found = []
        for g in (f, compiled):
            t = ad.tensor(k * X, requires_grad=True)
            g(t).backward()
            found.append(t.grad.numpy())
        np.testing.assert_allclose(*found, rtol=1e-13)
        alike(compiled(k * X), f(k * X))
