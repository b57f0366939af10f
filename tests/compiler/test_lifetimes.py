"""What goes with a compiled function, what stays, and copies of it."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim

X = np.arange(1.0, 4.0)


@ad.compile(wait=True)
def named(x):
    return np.sum(x * x)


def plain(x):
    return np.sum(x * 3.0)


class Scale:
    def __init__(self, k=1.0):
        self.w = ad.tensor(np.full(3, k), requires_grad=True)

    @ad.compile(wait=True)
    def loss(self, x):
        return np.sum(self.w * x)

    @ad.compile(wait=True)
    def twice(self, x):
        return self.loss(x) + self.loss(x)


class Equal(Scale):
    """Equal to every other one, and so without a hash."""

    __hash__ = None

    def __eq__(self, other):
        return True


class Slots:
    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k

    @ad.compile(wait=True)
    def scaled(self, x):
        return self.k * x


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 2, rng=0)

    @ad.compile(wait=True)
    def forward(self, x):
        return self.inner(x)


def gone(*references):
    gc.collect()
    return [name for name, reference in references if reference() is not None]


def parts(f):
    """Weak references to all that a compiled function has."""
    recording = f._latest
    native = recording.runner.native
    segment = native.driver.steps[0].segment
    return [
        ("function", weakref.ref(f)),
        ("recording", weakref.ref(recording)),
        ("runner", weakref.ref(recording.runner)),
        ("program", weakref.ref(native)),
        ("segment", weakref.ref(segment)),
        ("arena", weakref.ref(segment._instances[0].words)),
        *(("module", weakref.ref(module)) for module in native.modules),
    ]


def test_code_arena_and_closures_go_with_the_function():
    def used():
        big = np.ones(1000)
        f = ad.compile(lambda x: np.sum(np.sinh(x * big) * 0.987), wait=True)
        f(big)
        result = f(big * 2)
        assert f._directs
        return result, [*parts(f), ("array", weakref.ref(big))]

    result, references = used()
    assert gone(*references) == []
    np.testing.assert_allclose(result, np.sum(np.sinh(np.full(1000, 2.0)) * 0.987), rtol=1e-12)


def test_a_gradient_after_the_function_is_gone():
    def used():
        w = ad.tensor(0.1 * X, requires_grad=True)
        f = ad.compile(lambda x: np.sum(np.tanh(w * x) * 0.123), wait=True)
        f(X)
        loss, references = f(X), parts(f)
        del f
        gc.collect()
        loss.backward()
        return w.grad.numpy(), references

    slope, references = used()
    np.testing.assert_allclose(slope, 0.123 * X / np.cosh(0.1 * X * X) ** 2, rtol=1e-12)
    assert gone(*references) == []


def test_a_model_that_another_one_replaced():
    model = Scale(2.0)
    f = ad.compile(lambda x: np.sum(model.w.data * x), wait=True)
    f(X)
    f(X)
    assert f._directs
    old = [("model", weakref.ref(model)), ("parameter", weakref.ref(model.w))]
    model = Scale(3.0)
    assert f(X) == 18.0
    assert f(X) == 18.0
    assert gone(*old) == []


@pytest.mark.parametrize("kind", [Scale, Equal])
def test_instances_go_with_their_compiled_methods(kind):
    one = kind(2.0)
    assert [one.loss(X).item(), one.loss(X).item(), one.twice(X).item()] == [12.0, 12.0, 24.0]
    reference = weakref.ref(one)
    assert kind(3.0).loss(X).item() == 18.0  # equal, and another one
    del one
    assert gone(("instance", reference)) == []


def test_instances_without_attributes_of_their_own():
    a, b = Slots(2.0), Slots(3.0)
    assert [a.scaled(1.0), b.scaled(1.0), a.scaled(2.0)] == [2.0, 3.0, 4.0]


def test_layers_with_a_compiled_forward():
    layer = Layer()
    x = np.ones((2, 3))
    expected = layer.inner(x).numpy()
    for _ in range(3):
        np.testing.assert_allclose(layer(x).numpy(), expected, rtol=1e-14)
    assert list(layer.state_dict()) == ["inner.weight", "inner.bias"]
    assert repr(layer) == repr(Layer())
    reference = weakref.ref(layer)
    twin = copy.deepcopy(layer)
    twin.inner.weight.data[...] = 0.0
    assert not np.array_equal(twin(x).numpy(), expected)
    np.testing.assert_allclose(layer(x).numpy(), expected, rtol=1e-14)
    del layer
    assert gone(("layer", reference)) == []


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_objects_with_compiled_methods(copied):
    one = Scale(2.0)
    assert one.loss(X).item() == 12.0
    two = copied(one)
    two.w = ad.tensor(np.full(3, 5.0), requires_grad=True)
    assert [two.loss(X).item(), one.loss(X).item(), two.twice(X).item()] == [30.0, 12.0, 60.0]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_compiled_functions(copied):
    assert copied(named) is named  # as functions are
    f = ad.compile(plain, wait=True)
    f(X)
    g = copied(f)
    assert g is not f
    assert [g(X), g(2 * X), g.options] == [18.0, 36.0, f.options]


def test_a_copy_of_what_compiles_its_own_method():
    class Trainer:
        def __init__(self):
            self.w = ad.tensor(np.ones(3), requires_grad=True)
            self.sgd = optim.SGD([self.w], lr=0.5)
            self.step = ad.compile(self._step, wait=True)

        def _step(self, x):
            self.sgd.zero_grad()
            loss = np.sum(self.w * x)
            loss.backward(retain_graph=False)
            self.sgd.step()
            return loss

    one = Trainer()
    one.step(X)
    two = copy.deepcopy(one)
    two.step(X)
    two.step(X)
    np.testing.assert_array_equal(one.w.numpy(), 1 - 0.5 * X)
    np.testing.assert_array_equal(two.w.numpy(), 1 - 1.5 * X)
    reference = weakref.ref(one)
    del one
    assert gone(("trainer", reference)) == []


def test_a_lambda_is_not_pickled():
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(ad.compile(lambda x: x))


def objects_left(work, count):
    """How many objects there are more after `count` times, once it has been done as often before.

    What earlier tests have left to the background may go meanwhile. It goes once; what `work` leaves comes each time.
    """
    for k in range(count):
        work(k)
    for _ in range(3):
        gc.collect()
        before = len(gc.get_objects())
        for k in range(count):
            work(k)
        gc.collect()
        left = len(gc.get_objects()) - before
        if left >= 0:
            break
    return left


def test_nothing_is_left_of_calls():
    w = ad.tensor(X, requires_grad=True)
    sgd = optim.SGD([w], lr=1e-3)
    f = ad.compile(lambda x: np.tanh(x) * 2.0, wait=True)
    loss = ad.compile(lambda x: np.sum(np.tanh(w * x)), wait=True)

    @ad.compile(wait=True)
    def step(x):
        sgd.zero_grad()
        value = np.sum(w * w * x)
        value.backward(retain_graph=False)
        sgd.step()
        return value

    def gradient(k):
        w.grad = None
        loss(X).backward()

    for work in (lambda k: f(X), lambda k: f(X[::-1]), lambda k: step(X), gradient):
        assert objects_left(work, 300) < 30


def test_nothing_is_left_of_functions():
    def work(k):
        f = ad.compile(lambda x: np.sum(x[k % 2 :] * (k + 0.25)) + k, wait=True)
        f(np.ones(2 + k % 5))
        f(np.ones(2 + k % 5))

    assert abs(objects_left(work, 25)) < 100


def test_nothing_is_left_of_recordings_that_do_not_hold_any_more():
    scale = np.ones(3)
    f = ad.compile(lambda x: x * scale + shift, wait=True)
    shift = (0,)

    def work(k):
        nonlocal shift
        shift = (k,)
        f(X)

    assert abs(objects_left(work, 20)) < 100
