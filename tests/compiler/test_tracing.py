"""What is recorded, and that nothing outside changes meanwhile: a compiled function is what its twin did."""

import threading
from collections import defaultdict
from functools import partial

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.graph.graph import Graph

X = np.array([0.5, -1.25, 2.0])


@pytest.fixture(params=["numpy", "native"])
def compiled(request):
    return partial(ad.compile, wait=True, backend=request.param)


def recorded(f):
    """Whether `f` runs by traces alone; why not, otherwise."""
    assert "runs as it is" not in f.explain(), f.explain()
    return sum(map(len, f._specializations.values()))


class Model:
    def __init__(self):
        self.n, self.k, self.log = 0, 2.0, []

    def count(self, x):
        self.n += 1
        self.log.append(x[0])
        return x * self.n


def test_counters_and_logs(compiled):
    model, plain = Model(), Model()
    f = compiled(model.count)
    for k in range(5):
        np.testing.assert_array_equal(f(X + k), plain.count(X + k))
        assert (model.n, model.log) == (plain.n, plain.log)
    assert type(model.n) is int
    assert recorded(f) == 1


def test_containers_that_are_arguments(compiled):
    def f(d, xs, x):
        d["sum"] = np.sum(x)
        xs.append(x * 2.0)
        return d["k"] * x

    made = compiled(f)
    for k in range(3):
        a, b = ({"k": 1.0 + k}, []), ({"k": 1.0 + k}, [])
        np.testing.assert_array_equal(made(*a, X), f(*b, X))
        assert a[0] == b[0]
        np.testing.assert_array_equal(a[1], b[1])
    assert recorded(made) == 1


def test_a_step_of_tensors_that_are_arguments(compiled):
    def step(w, x):
        loss = np.sum((w * x - 1.0) ** 2)
        w.grad = None
        loss.backward()
        with ad.no_grad():
            w -= 0.1 * w.grad
        return loss

    made = compiled(step)
    a, b = (ad.tensor(np.ones(3), requires_grad=True) for _ in range(2))
    memory = a.held
    for _ in range(4):
        np.testing.assert_allclose(made(a, X).item(), step(b, X).item(), rtol=1e-13)
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-13)
    assert a.held is memory
    assert recorded(made) >= 1


def test_an_attribute_that_is_made_later(compiled):
    model = Model()
    f = compiled(lambda x: x * 3.0 if getattr(model, "noisy", False) else x)
    np.testing.assert_array_equal(f(X), X)
    model.noisy = True
    np.testing.assert_array_equal(f(X), X * 3.0)
    del model.noisy
    np.testing.assert_array_equal(f(X), X)
    assert recorded(f) == 2


def test_evaluation_that_was_never_called_before(compiled):
    model = nn.Sequential(nn.Linear(3, 8, rng=0), nn.Dropout(0.9, rng=1), nn.Linear(8, 2, rng=2))
    f = compiled(model)
    f(X)
    model.eval()
    np.testing.assert_allclose(f(X).numpy(), model(X).numpy(), rtol=1e-13)
    assert recorded(f) == 2


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_an_operation_that_fails_is_caught(compiled, shift):
    def f(k):
        try:
            return np.linalg.cholesky(k)
        except np.linalg.LinAlgError:
            return np.linalg.cholesky(k + 2.0 * np.eye(2))

    made = compiled(f)
    good, bad = np.array([[2.0, 0.5], [0.5, 1.0 + shift]]), np.array([[1.0, 1.5], [1.5, 1.0 + shift]])
    for k in (good, bad, good, bad):
        np.testing.assert_allclose(made(k), f(k), rtol=1e-13)
    assert recorded(made) == 2


def test_an_operation_that_fails_and_is_used_by_nobody(compiled):
    def f(k):
        try:
            np.linalg.inv(k)
        except np.linalg.LinAlgError:
            return k * 2.0
        return k

    made = compiled(f)
    for k in (np.eye(2), np.ones((2, 2)), np.eye(2), np.ones((2, 2))):
        np.testing.assert_array_equal(made(k), f(k))


def test_numbers_raise_as_pythons_do(compiled):
    made = compiled(lambda x, y: x / y)
    assert made(1.0, 2.0) == 0.5
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            made(1.0, 0.0)
        assert made(3.0, 2.0) == 1.5
    assert type(made(1.0, 4.0)) is float


def test_a_rate_of_numpys(compiled):
    w = nn.Parameter(np.ones(3))
    sgd, v = optim.SGD([w], lr=0.5), np.ones(3)

    def step(x):
        sgd.zero_grad()
        np.sum(w * x).backward()
        sgd.step()

    made = compiled(step)
    for k in range(6):
        sgd.lr = np.float64(0.5 / (k + 1))
        made(X)
        v = v - 0.5 / (k + 1) * X
        np.testing.assert_allclose(w.numpy(), v, rtol=1e-14)
    assert recorded(made) <= 2


class Strange(dict):
    def __getattr__(self, name):
        return self[name]


@pytest.mark.parametrize(
    "make", [lambda: defaultdict(float, a=2.0), lambda: {None: 1.0, "a": 2.0}, lambda: Strange(a=2.0)]
)
def test_strange_dictionaries_beside_the_function(compiled, make):
    held = make()
    made = compiled(lambda x: x * held["a"])
    for k in (2.0, 2.0, 3.0):
        held["a"] = k
        np.testing.assert_array_equal(made(X), X * k)


def test_nothing_outside_changes_while_a_function_is_recorded(compiled):
    """Another thread, which looks in the midst of the trace, sees arrays, and what was there before."""
    model, w = Model(), ad.tensor(np.ones(3), requires_grad=True)
    inside, seen = threading.Event(), threading.Event()

    def forward(x):
        inside.set()
        assert seen.wait(20)
        return x * 1.0

    gate = ad.op(forward, lambda g: g)

    @compiled
    def f(x):
        model.n += 1
        w.data *= 2.0
        return gate(x) * w.data + model.k

    thread = threading.Thread(target=f, args=(X,))
    thread.start()
    assert inside.wait(20)
    found = type(w.held), w.held.copy(), type(model.k), model.n
    seen.set()
    thread.join(20)
    assert found[0] is np.ndarray
    np.testing.assert_array_equal(found[1], np.ones(3))
    assert found[2:] == (float, 0)
    assert model.n == 1
    np.testing.assert_array_equal(w.data, np.full(3, 2.0))


def test_views_of_what_is_there_stay_views(compiled):
    made = compiled(lambda x: (x[1:], x.reshape(3, 1)))
    x = X.copy()
    for _ in range(3):
        for view in made(x):
            assert np.shares_memory(view, x)
    assert recorded(made) == 1


@pytest.mark.parametrize("f", [lambda x: print(end="") or x, lambda x: x + np.random.default_rng().normal()])
def test_what_is_not_known_is_refused_before_it_runs(compiled, f):
    made = compiled(f)
    made(X)
    assert "runs as it is" in made.explain()


def test_what_has_no_source_runs_as_it_is(compiled):
    scope = {}
    exec("def f(x): return x + 1.0", scope)
    made = compiled(scope["f"])
    np.testing.assert_array_equal(made(X), X + 1.0)
    assert "there is no source" in made.explain()


def test_the_call_that_is_recorded_computes_once(monkeypatch):
    """Its answer, and all that it writes, are what the trace saw."""
    model, plain = Model(), Model()
    w, v = X.copy(), X.copy()

    def step(of, w, x):
        w += x
        return of.count(w), w[1:], w

    def never(*_):
        raise AssertionError("it is run once more")

    f = ad.compile(step, backend="numpy")
    with monkeypatch.context() as patch:
        patch.setattr(Graph, "run", never)
        first = f(model, w, X)
    for a, b in zip(first, step(plain, v, X), strict=True):
        np.testing.assert_array_equal(a, b)
    assert first[2] is w
    assert np.shares_memory(first[1], w)
    assert (model.n, model.log, recorded(f)) == (plain.n, plain.log, 1)
    first[0][:] = 7.0  # the caller's own
    np.testing.assert_array_equal(f(model, w, X)[0], step(plain, v, X)[0])
