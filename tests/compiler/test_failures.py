"""What fails inside of compiled functions, and what ADJOINT_VERIFY and ADJOINT_DEBUG see."""

import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.core.errors import ArgumentError, WrongCodeError
from adjoint.graph.captures import record
from adjoint.native.call import segment

X = np.arange(1.0, 4.0)


class World:
    """A training step with dropout, a question, and a step that is NumPy's."""

    def __init__(self, compile=lambda f: f):
        self.layer = nn.Sequential(nn.Linear(3, 3, rng=0), nn.Dropout(0.5, rng=1))
        self.adam = optim.Adam(self.layer.parameters(), lr=0.1)
        self.f = compile(self.step)

    def step(self, x):
        self.adam.zero_grad()
        y = self.layer(x)
        if np.sum(x) > 100:
            y = y * 2
        loss = np.sum(np.sort(y * y)[..., 1:])
        loss.backward(retain_graph=False)
        self.adam.step()
        return loss

    def seen(self):
        state = self.layer[1].rng.bit_generator.state["state"]["state"]
        return [*(p.data for p in self.layer.parameters()), *(p.grad.numpy() for p in self.layer.parameters()),
                np.float64(state % 2**31), np.float64(self.adam.steps)]  # fmt: skip


@pytest.mark.parametrize("level", ["0", "1", "2", "3", "4"])
def test_held_against_numpy_at_each_call(monkeypatch, capsys, level):
    """Random numbers are drawn once, whatever is held against what."""
    monkeypatch.setenv("ADJOINT_VERIFY", "1")
    monkeypatch.setenv("ADJOINT_DEBUG", level)
    made, plain = World(lambda f: ad.compile(f, wait=True)), World()
    for x in (X, X + 1, X * 100, X, X * 50):
        np.testing.assert_allclose(made.f(x).item(), plain.f(x).item(), rtol=1e-12)
        for a, b in zip(made.seen(), plain.seen(), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    assert made.f._latest.runner.native is not None
    said = capsys.readouterr().err
    assert ("is native" in said) is (level >= "1")
    assert ("define " in said) is (level >= "4")


def test_what_is_to_be_said_is_a_number(monkeypatch):
    monkeypatch.setenv("ADJOINT_DEBUG", "yes")
    with pytest.raises(ArgumentError, match=r"from 0 .* to 4 .* got 'yes'"):
        ad.compile(lambda x: x + 1, wait=True)(X)


def test_a_wrong_program_is_caught(monkeypatch):
    monkeypatch.setenv("ADJOINT_VERIFY", "1")
    honest = segment._Instance.__init__

    def broken(self, owner, slow):
        honest(self, owner, slow)
        run = self.run
        self.run = lambda *args: [np.asarray(x) * 1.001 for x in run(*args)]

    monkeypatch.setattr(segment._Instance, "__init__", broken)
    f = ad.compile(lambda x: np.tanh(x) * 3.25 + 1, wait=True)
    with pytest.raises(WrongCodeError, match="ADJOINT_VERIFY"):
        f(X)


def test_memory_that_is_not_there(monkeypatch):
    """Without memory for the arena NumPy runs the program, and says why."""

    def none(*args):
        raise MemoryError("no room")

    monkeypatch.setattr(segment, "_Instance", none)
    f = ad.compile(lambda x: np.sum(np.tanh(x) * 2), wait=True)
    for _ in range(3):
        np.testing.assert_allclose(f(X), np.sum(np.tanh(X) * 2))
    assert "no room" in f.explain()


def test_results_that_do_not_fit_into_memory():
    f = ad.compile(lambda x: np.broadcast_to(x, (1 << 45,)) + 1.0, backend="native")
    for _ in range(3):
        with pytest.raises(MemoryError):
            f(1.0)


def test_a_numpy_step_that_raises():
    """Nothing is written, and the next call is as if it had not been."""

    def forward(x):
        if np.max(x) > 10:
            raise ValueError("too large")
        return x * 1.0

    gate = ad.op(forward, lambda g: g)
    w = ad.tensor(np.ones(3), requires_grad=True)
    sgd = optim.SGD([w], lr=0.5)

    @ad.compile(wait=True)
    def step(x):
        sgd.zero_grad()
        loss = np.sum(gate(w * x))
        loss.backward(retain_graph=False)
        sgd.step()
        return loss

    for _ in range(3):
        step(X)
    before = w.numpy().copy()
    with pytest.raises(ValueError, match="too large"):
        step(X * -100)
    np.testing.assert_array_equal(w.numpy(), before)
    assert w.grad is None  # as the plain function leaves it, which clears it first
    step(X)
    np.testing.assert_array_equal(w.numpy(), before - 0.5 * X)


def test_nan_and_infinities_go_through_products():
    f = ad.compile(lambda x, y: np.sum(x @ y, axis=0), wait=True)
    rng = np.random.default_rng(0)
    for bad in (np.nan, np.inf, -np.inf):
        x, y = rng.normal(size=(5, 4)), rng.normal(size=(4, 6))
        x[2, 1] = bad
        with np.errstate(invalid="ignore"):
            expected = np.sum(x @ y, axis=0)
        np.testing.assert_allclose(f(x, y), expected, rtol=1e-12)


def test_native_code_warns_of_nothing():
    """NumPy warns of a division by zero; native code gives the same infinity, and is silent."""
    f = ad.compile(lambda x: 1.0 / x, wait=True)
    f(X)
    f(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(f(np.array([0.0, 1.0, -2.0])), [np.inf, 1.0, -0.5])


@pytest.mark.parametrize("options", [{"wait": True}, {"wait": True, "backend": "numpy"}, {}])
def test_errors_of_numbers_are_raised_where_the_caller_says_so(options):
    f = ad.compile(lambda x: 1.0 / x, **options)
    for _ in range(3):
        f(X)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        f(np.zeros(3))
    seen = []
    with np.errstate(divide="call", call=lambda kind, _: seen.append(kind)):
        f(np.zeros(3))
    assert seen == ["divide by zero"]
    with np.errstate(all="ignore"):
        assert np.isinf(f(np.zeros(3))).all()
    assert "1 specialization" in f.explain()  # it is used again


def test_numpy_is_asked_once_for_each_state_of_errors(monkeypatch):
    asked, geterr = [], np.geterr
    monkeypatch.setattr(np, "geterr", lambda: asked.append(1) or geterr())
    with np.errstate(all="ignore"):
        assert [record.heeds_errors() for _ in range(3)] == [False] * 3
        with np.errstate(over="raise"):
            assert [record.heeds_errors() for _ in range(3)] == [True] * 3
        assert not record.heeds_errors()
    assert len(asked) == 2
