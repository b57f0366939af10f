"""What recording systems fall into: each case gives here what the plain function gives."""

import copy
from functools import partial

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.core.objects.trees import flatten

COMPILE = ad.compile
rng = np.random.default_rng(0)


@pytest.fixture(params=["numpy", "native"], autouse=True)
def backend(request, monkeypatch):
    """Every case runs on NumPy, bit for bit, and on native code, but for rounding."""
    monkeypatch.setattr(ad, "compile", partial(COMPILE, wait=True, backend=request.param))
    return request.param


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    if a.dtype.kind in "fc":
        assert a.dtype == b.dtype or b.dtype.kind in "iu" or a.dtype == np.float64
        tolerance = 8 * np.finfo(a.dtype).eps
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(a, b)


def ways(f):
    """How many programs were recorded."""
    return sum(map(len, f._specializations.values()))


def test_closures_globals_and_attributes_are_read_afresh():
    scale, weights = 2.0, np.ones(3)

    class Settings:
        def __init__(self):
            self.power = 2.0
            self.offset = np.zeros(3)

    settings = Settings()

    @ad.compile
    def f(x):
        return scale * (x * weights) ** settings.power + settings.offset

    x = np.arange(3.0)
    same(f(x), 2 * x**2)
    weights[0] = 7.0  # the array that is there already
    same(f(x + 1), 2 * ((x + 1) * weights) ** 2)
    weights = np.full(3, 0.5)  # another one under the name
    same(f(x), 2 * (x * 0.5) ** 2)
    settings.offset = np.full(3, 10.0)
    same(f(x), 2 * (x * 0.5) ** 2 + 10)
    assert ways(f) == 1
    scale = 3.0
    same(f(x), 3 * (x * 0.5) ** 2 + 10)
    settings.power = 1.0
    same(f(x), 3 * x * 0.5 + 10)
    settings = Settings()
    same(f(x), 3 * (x * 0.5) ** 2)


GLOBAL = 1.0


def test_globals_that_are_rebound():
    global GLOBAL  # noqa: PLW0603 - that is the trap
    GLOBAL = 1.0
    f = ad.compile(lambda x: x + GLOBAL)
    assert f(1.0) == 2.0
    GLOBAL = 5.0
    assert f(1.0) == 6.0


def test_branches_on_values():
    @ad.compile
    def f(x):
        if np.sum(x) > 0:
            return x * 2
        return -x

    x = np.array([1.0, 2.0])
    for _ in range(2):
        same(f(x), x * 2)
        same(f(-x), x)
    assert ways(f) == 2


def test_loops_until_convergence():
    def root(a):
        x = a
        while abs(x * x - a) > 1e-12:
            x = (x + a / x) / 2
        return x

    f = ad.compile(root)
    for a in (2.0, 3.0, 10.0, 2.5, 2.0):
        assert f(a) == root(a)


def test_results_are_the_callers():
    f = ad.compile(lambda x: (x + 1, np.zeros(3)))
    first, zeros = f(np.ones(3))
    kept = first.copy()
    zeros[:] = 9
    second, again = f(np.full(3, 5.0))
    same(first, kept)
    same(again, np.zeros(3))
    assert not np.shares_memory(first, second)


def test_one_array_for_two_arguments():
    @ad.compile
    def f(x, y):
        x[0] = 5.0
        return x + y

    a, b = np.ones(3), np.ones(3)
    same(f(a, b), [6, 2, 2])
    c = np.ones(3)
    same(f(c, c), [10, 2, 2])
    same(c, [5, 1, 1])
    d = np.ones(3)
    same(f(d, d), [10, 2, 2])


def test_inputs_as_outputs_and_views():
    f = ad.compile(lambda x: (x, x[1:], x.T))
    x = rng.normal(size=(3, 2))
    for _ in range(2):
        a, b, c = f(x)
        same(a, x)
        same(b, x[1:])
        same(c, x.T)
    x[0, 0] = 100.0  # after the call
    same(f(x)[0], x)


@pytest.mark.parametrize(
    "layout",
    [lambda a: a[::-1], lambda a: a[::2], np.asfortranarray, lambda a: a.T, lambda a: np.broadcast_to(a[:1], a.shape)],
    ids=["reversed", "every other", "Fortran", "transposed", "repeated"],
)
def test_layouts(layout):
    def f(x):
        return np.tanh(x) @ x.T + np.sum(x, axis=0)[0]

    compiled = ad.compile(f)
    for a in (rng.normal(size=(4, 4)), rng.normal(size=(4, 4))):
        x = layout(a)
        same(compiled(x), f(x))
    assert ways(compiled) == 1


def test_other_shapes_and_dtypes():
    f = ad.compile(lambda x: np.sum(x * 0.5, axis=0))
    for x in (
        np.ones(3),
        np.ones((2, 3)),
        np.ones((2, 3), np.float32),
        np.arange(3),
        np.float32(2.0)[None],
        np.ones(3),
    ):
        found = f(x)
        same(found, np.sum(x * 0.5, axis=0))
        assert found.dtype == np.sum(x * 0.5, axis=0).dtype
    assert ways(f) == 5


def test_python_numbers():
    f = ad.compile(lambda x, n: x * np.ones(2, np.float32) + n)
    assert f(2.0, 1).dtype == np.float32
    same(f(3.0, 1), [4, 4])
    same(f(3.0, 2), [5, 5])
    assert ways(f) == 2  # a whole number is part of the program


def test_training_and_evaluation():
    model = nn.Sequential(nn.Linear(3, 3, rng=0), nn.Dropout(0.5, rng=1))
    f = ad.compile(lambda x: model(x))
    x = np.ones((2, 3))
    model.eval()
    quiet = f(x).numpy()
    same(quiet, model(x).numpy())
    model.train()
    assert not np.array_equal(f(x).numpy(), quiet)
    model.eval()
    same(f(x).numpy(), quiet)


def test_a_method_of_two_instances():
    class Scale:
        def __init__(self, k):
            self.k = k

        @ad.compile
        def __call__(self, x):
            return self.k * x

        @ad.compile
        def twice(self, x):
            return self(self(x))

    a, b = Scale(2.0), Scale(3.0)
    assert [a.twice(1.0), b.twice(1.0), a.twice(2.0), b.twice(2.0)] == [4, 9, 8, 18]
    a.k = 5.0
    assert a.twice(1.0) == 25


def test_exceptions_leave_everything_as_it_was():
    state = {"count": np.zeros(1)}

    @ad.compile
    def f(x):
        state["count"] = state["count"] + 1
        if np.any(x < 0):
            raise ValueError("negative")
        return x + state["count"]

    same(f(np.ones(1)), [2])
    with pytest.raises(ValueError, match="negative"):
        f(-np.ones(1))
    plain = {"count": np.array([2.0])}  # as Python does it: the count had been raised before
    same(state["count"], plain["count"])
    same(f(np.ones(1)), [4])


def test_prints_and_appends_happen_at_each_call(capsys):
    log = []

    @ad.compile
    def f(x):
        log.append(float(np.sum(x)))
        return x

    @ad.compile
    def g(x):
        print("called", np.sum(x))
        return x

    for k in range(3):
        f(np.full(2, float(k)))
        g(np.full(2, float(k)))
    assert log == [0.0, 2.0, 4.0]
    assert capsys.readouterr().out.count("called") == 3
    assert ways(f) == 1
    assert "print" in g.explain()


def test_values_pulled_out():
    @ad.compile
    def f(x):
        return float(np.sum(x))

    for k in range(40):
        found = f(np.full(3, float(k)))
        assert found == 3.0 * k
        assert type(found) is float
    assert ways(f) == 1


def test_writes_into_arguments():
    @ad.compile
    def f(x):
        x *= 2
        x[0] = 7.0
        return np.sum(x)

    for _ in range(3):
        x, y = np.arange(3.0), np.arange(3.0)
        y *= 2
        y[0] = 7.0
        assert f(x) == np.sum(y)
        same(x, y)


def test_inputs_overwritten_after_the_call():
    f = ad.compile(lambda x: x + 0)
    buffer = np.ones(3)
    results = []
    for k in range(4):
        buffer[:] = k
        results.append(f(buffer))
    same(results, np.arange(4.0)[:, None] * np.ones(3))


def step_of(model, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(x), y)
        loss.backward(retain_graph=False)
        optimizer.step()
        return loss

    return step


@pytest.mark.parametrize(
    "make",
    [
        lambda p: optim.SGD(p, lr=0.1),
        lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
        lambda p: optim.Adam(p, lr=0.05),
        lambda p: optim.AdamW(p, lr=0.05, weight_decay=0.1),
    ],
    ids=["sgd", "nesterov", "adam", "adamw"],
)
def test_a_training_step(make, backend):
    runs = []
    for wrap in (lambda f: f, ad.compile):
        model = nn.Sequential(nn.Linear(4, 8, rng=0), nn.Tanh(), nn.Linear(8, 3, rng=1)).astype(np.float32)
        optimizer = make(model.parameters())
        step = wrap(step_of(model, optimizer))
        data = np.random.default_rng(0)
        losses = []
        for k in range(6):
            optimizer.lr = 0.1 / (k + 1)
            losses.append(step(data.normal(size=(5, 4)).astype(np.float32), data.integers(0, 3, 5)).item())
        gradients = [p.grad.numpy().copy() for p in model.parameters()]
        runs.append((losses, model.state_dict(), gradients, copy.deepcopy(optimizer.state_dict())))
        if wrap is ad.compile:
            assert ways(step) == 1
    arrays = [[run[0], *run[1].values(), *run[2], *flatten(run[3]["state"])[0]] for run in runs]
    for a, b in zip(*arrays, strict=True):
        if backend == "numpy":
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    assert runs[0][3]["steps"] == runs[1][3]["steps"] == 6


def test_trees_and_keywords():
    @ad.compile
    def f(params, *, x, power=2):
        return {"y": params["w"] * x**power, "b": [params["b"]]}

    for k in (1.0, 2.0):
        found = f({"w": np.full(2, k), "b": k}, x=np.arange(2.0))
        same(found["y"], k * np.arange(2.0) ** 2)
        assert found["b"] == [k]
    same(f({"w": np.ones(2), "b": 0.0}, x=np.arange(2.0), power=3)["y"], np.arange(2.0) ** 3)


def test_no_grad_is_part_of_the_signature():
    t = ad.tensor([1.0, 2.0], requires_grad=True)
    f = ad.compile(lambda x: ad.grad(lambda y: np.sum(y * t))(x))
    assert f(np.ones(2)).requires_grad
    with ad.no_grad():
        assert not f(np.ones(2)).requires_grad
        t[0] = 5.0
    same(f(np.ones(2)).numpy(), [5, 2])


def test_what_is_a_view_depends_on_how_an_argument_lies_in_memory():
    def f(x):
        y = x * 1.0  # lies as x does
        y.reshape(-1)[:2] = 5.0
        z = np.ravel(y[0][::-1])  # a copy: NumPy's line has no gaps
        z[0] = 7.0
        return y, z

    compiled = ad.compile(f)
    x = rng.normal(size=(3, 4))
    for values in (x, x, x, np.asfortranarray(x), x, np.repeat(x, 2, 1)[:, ::2], np.asfortranarray(x), x[:, ::-1], x):
        for found, expected in zip(compiled(values), f(values), strict=True):
            same(found, expected)


def test_errors_of_a_way_that_is_not_gone():
    """NumPy's steps come when their arguments are there: what they refuse matters if the way is right."""

    def f(x, y):
        if np.linalg.det(x) == 0.0 and np.sum(x) > 5.0:
            return x * 0.0
        return np.linalg.inv(x) + y

    compiled = ad.compile(f)
    good, singular = np.eye(3), np.full((3, 3), 5.0)
    for x in (good, good, good, singular, singular, singular, good):
        same(compiled(x, 1.0), f(x, 1.0))
    for _ in range(3):
        with pytest.raises(np.linalg.LinAlgError):
            compiled(np.full((3, 3), 0.5), 1.0)
    same(compiled(good, 1.0), f(good, 1.0))
