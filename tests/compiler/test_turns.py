"""Loops whose turns are recorded each for itself: compiled programs give what the plain ones give.

ADJOINT_FUZZ_SECONDS=300 in the environment runs random ones for five minutes; ADJOINT_FUZZ_SEED is the first.
"""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.graph.loops import roll
from tests.compiler.agreement import assert_near
from tests.compiler.looping import function, generate
from tests.graph.loops import KINDS, text
from tests.graph.loops import function as loop_function
from tests.long_search import long_search, seeds

LENGTHS = (14, 17, 24, 31, 40, 52)


def check(f, n, x, other):
    """A compiled program and its gradient, at two points, twice each; what it says of itself."""
    said = ""
    for target in (lambda x: (f(x, n),), ad.value_and_grad(lambda x: f(x, n))):
        compiled = ad.compile(target, wait=True)
        with np.errstate(all="ignore"):
            expected = [target(values) for values in (x, other)]
        for values, right in [*zip((x, other), expected, strict=True)] * 2:
            assert_near(compiled(values), right)
        said += compiled.explain()
    return said


@pytest.fixture
def small(monkeypatch):
    """Also small loops are loops."""
    monkeypatch.setattr(roll, "LEAST", 20)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed, small):
    n = LENGTHS[seed % 6]
    check(function(generate(seed)), n, *np.random.default_rng(seed).normal(size=(2, max(n, 20))))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@long_search
def test_many(small):
    for seed in seeds():
        n = LENGTHS[seed % 6]
        check(function(generate(seed)), n, *np.random.default_rng(seed).normal(size=(2, max(n, 20))))


ONE_LOOP = {"scalars", "runge kutta", "scan", "all states", "cell", "bodies", "accumulators", "two before", "asks",
            "a table", "masks", "indices"}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind, small):
    f = loop_function(text(*KINDS[kind]))
    said = check(f, 33, *np.random.default_rng(1).normal(size=(2, 40)))
    assert ("one loop" in said) >= (kind in ONE_LOOP)


def orbit(n):
    def loss(x):
        y = x
        for _ in range(n):
            y = y + 0.01 * np.stack([y[1], -y[0]]) * np.cos(y[0])
        return np.sum(y**2)

    return ad.value_and_grad(loss)


def test_size_does_not_grow_with_the_turns():
    lengths = []
    for n in (200, 400):
        step = ad.compile(orbit(n), wait=True)
        step(np.ones(2))
        lengths.append(len(step.plan.rows))
    assert lengths[1] <= lengths[0] + 32  # turns that are left over, where several are taken as one


def test_a_number_of_the_users_stays_one():
    def f(x):
        s, total = 1.0, x
        for t in range(60):
            s = s * 0.5 + x * 0.1
            total = total + s * t
        return total * np.float32(1.0)

    step = ad.compile(ad.value_and_grad(f), wait=True)
    for x in (0.3, 0.3, 0.7):
        assert_near(step(x), ad.value_and_grad(f)(x))


def test_modules_and_backward():
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.u = nn.Linear(3, 8, rng=0), nn.Linear(8, 8, rng=1)

        def forward(self, xs):
            h = np.zeros(8)
            for t in range(len(xs)):
                h = np.tanh(self.w(xs[t]) + self.u(h))
            return np.sum(h**2)

    def step(model, xs):
        for p in model.parameters():
            p.grad = None
        loss = model(xs)
        loss.backward()
        return loss

    xs = np.random.default_rng(0).normal(size=(100, 3))
    plain, fast = Cell(), Cell()
    compiled = ad.compile(lambda xs: step(fast, xs), wait=True)
    for _ in range(3):
        expected, found = step(plain, xs), compiled(xs)
        assert_near([found], [expected])
        assert_near([p.grad for p in fast.parameters()], [p.grad for p in plain.parameters()])
    assert "one loop" in compiled.explain()


@pytest.mark.parametrize(("kind", "steps"), [("RNNCell", 60), ("GRUCell", 24), ("LSTMCell", 20)])
def test_cells_ask_whether_their_input_is_an_array(kind, steps):
    def trained(compiled):
        cell, x = getattr(nn, kind)(3, 3, rng=0), np.random.default_rng(0).normal(size=(steps, 2, 3))

        def step():
            states = 2 if kind == "LSTMCell" else 1
            state = (np.zeros((2, 3)),) * states if states == 2 else np.zeros((2, 3))
            for row in x:
                state = cell(row, state)
            loss = np.sum((state[0] if states == 2 else state) ** 2)
            loss.backward()
            return loss.detach()

        run = ad.compile(step, wait=True) if compiled else step
        return [run(), *(p.grad for p in cell.parameters())], run

    found, run = trained(True)
    assert_near(found, trained(False)[0])
    assert "operations are one loop" in run.explain()
    assert "turn by turn" not in run.explain()


def test_what_an_array_has_is_that_of_the_plain_program(small):
    def f(w, xs):
        k, s, total = 0.5, w[0], np.zeros(3)
        for x in xs:
            total = total + x * w * (2.0 if hasattr(s, "shape") else 3.0)
            total = total + x * (0.1 if hasattr(k, "shape") else 0.2)
            s, k = s * 0.9 + 0.1 * np.sum(x), k * 0.9
        return np.sum(total**2) + s + k

    w, xs = np.array([0.1, 0.2, 0.3]), np.random.default_rng(0).normal(size=(40, 3))
    compiled = ad.compile(ad.grad(f), wait=True)
    assert_near([compiled(w, xs), compiled(2 * w, xs)], [ad.grad(f)(w, xs), ad.grad(f)(2 * w, xs)])


def test_results_go_on_in_a_graph():
    loss = ad.compile(lambda w: np.sum(swung(w) ** 2), wait=True)
    for _ in range(3):
        w = ad.tensor([1.0, 0.3], requires_grad=True)
        loss(w).backward()
        expected = ad.grad(lambda w: np.sum(swung(w) ** 2))(np.array([1.0, 0.3]))
        assert_near([w.grad], [expected])
    assert "one loop" in loss.explain()


def swung(y):
    for _ in range(150):
        y = y + 0.01 * np.stack([y[1], -np.sin(y[0])])
    return y


@pytest.mark.parametrize(
    "transform", [ad.hessian, ad.jacobian, lambda f: ad.grad(lambda x: np.sum(ad.grad(f)(x) ** 2))]
)
def test_higher_derivatives(transform):
    f = transform(lambda x: np.sum(swung(x) ** 2))
    step, x = ad.compile(f, wait=True), np.array([1.0, 0.3])
    for values in (x, x, x + 0.1):
        assert_near([step(values)], [f(values)])


def test_a_zero_that_a_selection_made_stays_one():
    def f(x):
        y = x
        for _ in range(80):
            y = np.stack([np.sqrt(y[1]) * 0.0 + y[0] * 0.9, y[1] * 1.0])
        return y[0]

    step, x = ad.compile(ad.grad(f), wait=True), np.array([0.5, 0.0])
    with np.errstate(all="ignore"):
        expected = ad.grad(f)(x)
    for _ in range(3):
        np.testing.assert_array_equal(step(x), expected)
    assert_near([step(np.ones(2))], [ad.grad(f)(np.ones(2))])


def test_recording_that_is_switched_off_within():
    def f(x):
        y = x
        for _ in range(60):
            y = y * 0.9 + frozen(x)
        return np.sum(y)

    def frozen(x):
        with ad.no_grad():
            return np.sin(x)

    step, x = ad.compile(ad.grad(f), wait=True), np.ones(2)
    for _ in range(3):
        assert_near([step(x)], [ad.grad(f)(x)])


def test_what_is_kept_elsewhere_is_not_lost():
    def f(x):
        class_like, y = {"y": x}, x
        keep = [lambda: y]
        for t in range(60):
            y = np.sin(y) + 0.1
            class_like["y"] = class_like["y"] * 0.5 + y
            if t == 30:
                keep.append(y)
        return np.sum(class_like["y"]) + np.sum(keep[0]()) + np.sum(keep[1])

    step, x = ad.compile(ad.value_and_grad(f), wait=True), np.ones(2)
    for _ in range(3):
        assert_near(step(x), ad.value_and_grad(f)(x))


def test_a_list_keeps_its_rows():
    def f(x):
        y, seen = x, []
        for _ in range(60):
            y = np.sin(y) + 0.1
            seen.append(y)
        return np.sum(np.stack(seen) ** 2) + np.sum(seen[7] * seen[-1]), seen[3]

    step, x = ad.compile(f, wait=True), np.ones(2)
    for _ in range(3):
        assert_near(step(x), f(x))


def test_what_the_process_computed_before_makes_no_difference():
    """Programs share nodes; how large the turns of a loop are is a matter of its own operations."""

    def series(x):
        term = total = x
        for k in range(1, 60):
            term = -term * x * x / ((2 * k) * (2 * k + 1))
            total = total + term
        return np.sum(total)

    x = np.linspace(0.1, 1.0, 7)
    compiled = [ad.compile(lambda x: series(x), wait=True, backend="numpy") for _ in range(3)]
    for step in compiled:
        np.testing.assert_allclose(step(x), series(x), rtol=1e-12)
    assert ["one loop" in step.explain() for step in compiled] == [True] * 3
