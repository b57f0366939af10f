"""Loops of which a recording runs a few turns, since the others do the same, give what the plain ones give.

ADJOINT_FUZZ_SECONDS=300 in the environment runs random ones for five minutes; ADJOINT_FUZZ_SEED is the first.
"""

import numpy as np
import pytest

import adjoint as ad
from adjoint.compiler.trace.loops import settling
from tests.compiler.settling import TURNS, function, generate
from tests.long_search import long_search, seeds

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

X = np.random.default_rng(0).normal(size=(300, 2)) * 0.3


class Turns:
    """Counts what runs while a function is recorded."""

    def __init__(self, monkeypatch):
        self.count, last = 0, settling.Settling.end

        def end(light, *args):
            self.count += 1
            return last(light, *args)

        monkeypatch.setattr(settling.Settling, "end", end)


def rows(w, x):
    y = w[:2]
    for row in x:
        y = np.tanh(y * w[2] + row)
    return np.sum(y)


def places(w, x):
    y, out = w[:2], []
    for t in range(len(x) - 1):
        y = np.tanh(y * w[2] + x[t + 1, 0] - x[t] * 0.5)
        out.append(y[0])
    return np.sum(np.array(out) ** 2) + y[1]


def backwards(w, x):
    y = w[:2]
    for t in range(len(x) - 1, -1, -1):
        y = np.tanh(y * w[2] + x[t])
    return np.sum(y)


def no_number(w, x):
    y = w[:2]
    for _ in range(200):
        y = y + 0.01 * np.array([y[1], -np.sin(y[0]) * w[2]])
    return np.sum(y * x[0])


def two_rows(w, x):
    y, out = w[:2], []
    for row, u in zip(x[3:], x[:, 1], strict=False):
        y = np.tanh(y * w[2] + row * 0.3) * np.cos(u)
        out.append(y[0] * u)
    return np.sum(np.array(out) ** 2) + y[1]


def rows_of_others(w, x):
    y, total = w[:2], 0.0
    for t, row in zip(TIMES, x, strict=True):
        y = np.tanh(y * w[2] + row * t)
        total = total + np.sum((y - row) ** 2) * t
    return total


TIMES = np.linspace(0.0, 1.0, 300)


def numbered_rows(w, x):
    y, total = w[:2], 0.0
    for k, (t, row) in enumerate(zip(TIMES, x, strict=True), 1):
        y = np.tanh(y * w[2] + row * t)
        total = total + np.sum((y - row) ** 2) / k
    return total


def terms(w, x):
    term, total = w, w + x[0, 0]
    for k in range(1, 90):
        term = -term * w * w / ((2 * k) * (2 * k + 1))
        total = total + term * (1 - k % 3 / 7) + np.sqrt(k) / (k + 0.5)
    return np.sum(total)


def last_of_a_list(w, x):
    states = [w[:2]]
    for t in range(len(x)):
        half = states[-1] + 0.05 * np.array([states[-1][1], -np.sin(states[-1][0])])
        states.append(np.tanh(half * w[2] + x[t] / (t + 1)))
    return np.sum(np.stack(states) ** 2)


def two_before(w, x):
    a, b = [w[:2], w[1:]], [w[0]]
    for row in x:
        b.append(np.sin(b[-1]) + a[-1][0] * a[-2][1])
        a.append(np.tanh(a[-2] * 0.3 + a[-1] * w[2] + row))
        a.append(a[-1] * b[-1])
    return np.sum(np.stack(a)) + np.sum(np.stack(b) ** 2)


def determinants(w, x):
    a, total = np.diag(w), 0.0
    for row in x:
        a = 0.5 * a + np.eye(3) + row[0] * np.outer(w, w)
        total = total + np.log(np.linalg.det(a)) * row[1] + np.linalg.slogdet(a + w[1])[1]
    return total


@pytest.mark.parametrize(
    "f",
    [rows, places, backwards, no_number, two_rows, rows_of_others, numbered_rows, terms, last_of_a_list, two_before,
     determinants],
)  # fmt: skip
@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_a_few_turns_are_recorded(f, backend, monkeypatch):
    turns, w = Turns(monkeypatch), np.array([0.3, -0.2, 0.9])
    for transform in (lambda f: f, ad.grad):
        expected = transform(f)(w, X)
        turns.count = 0
        step = ad.compile(transform(f), wait=True, backend=backend)
        np.testing.assert_allclose(step(w, X), expected, rtol=1e-12)
        assert 0 < turns.count <= 6
        np.testing.assert_allclose(step(w * 2, X), transform(f)(w * 2, X), rtol=1e-12)


LIMITS = [0.1 * (i % 7) for i in range(200)]


def reads_a_list(w, x):
    y = w[:2]
    for t in range(200):
        y = np.tanh(y * w[2] + x[t] * LIMITS[t])
    return np.sum(y)


def asks_the_number(w, x):
    y = w[:2]
    for t in range(200):
        y = np.tanh(y * w[2] + x[t])
        if t == 150:
            y = y * 3.0
    return np.sum(y)


def remembers(w, x):
    y, seen = w[:2], []

    def factor():
        seen.append(1)
        return 0.5 if len(seen) > 150 else 1.0

    for t in range(200):
        y = np.tanh(y * w[2] + x[t]) * factor()
    return np.sum(y)


def squares(w, x):
    y = w[:2]
    for t in range(200):
        y = np.tanh(y * w[2] + x[t * t % 300])
    return np.sum(y)


def leaves_the_array(w, x):
    y = w[:2]
    for t in range(301):
        y = np.tanh(y * w[2] + x[t])
    return np.sum(y)


def beside_numbers(w, x):
    y = w[:2]
    for k, row in zip(range(300), x, strict=True):
        y = np.tanh(y * w[2] + row * x[k * k % 300])
    return np.sum(y)


def beside_a_list(w, x):
    y = w[:2]
    for limit, row in zip(LIMITS, x, strict=False):
        y = np.tanh(y * w[2] + row * limit)
    return np.sum(y)


def goes_on(w, x):
    y, pairs = w[:2], zip(x[:200], x[50:], strict=False)
    next(pairs)
    for a, b in pairs:
        y = np.tanh(y * w[2] + a - b)
    return np.sum(y) + len(list(pairs))


def rows_that_are_written(w, x):
    y, z = w[:2], x * w[2]
    for k, (a, b) in enumerate(zip(z, z[2:], strict=False)):
        y = np.tanh(y * w[2] + a - b)
        if k < 3:
            z[-1] = y
    return np.sum(y)


def divides_by_the_number(w, x):
    y = w[:2]
    for t in range(200):
        y = np.tanh(y * w[2] + x[t] * (1 / (t - 150)))
    return np.sum(y)


def grows_large(w, x):
    y = w[:2]
    for t in range(200):
        y = np.sin(y * w[2] + x[t] / (3 * t * t * t * t * t * t * t * t * t * 10**9 + 1))
    return np.sum(y)


def knows_how_many(w, x):
    states = [w[:2]]
    for t in range(200):
        states.append(np.tanh(states[-1] * w[2] + x[t]) * (0.5 if len(states) > 150 else 1.0))
    return np.sum(np.stack(states))


def far_back(w, x):
    states = [w[:2]] * 20
    for t in range(200):
        states.append(np.tanh(states[-20] * w[2] + x[t]))
    return np.sum(np.stack(states))


def in_the_last_element(w, x):
    states = [w[:2] * 1.0]
    for t in range(200):
        states.append(np.tanh(states[-1] * w[2] + x[t]))
        states[-2][0] = x[t, 1]
    return np.sum(np.stack(states))


def given_away(w, x):
    def second(pairs):
        next(pairs)
        return pairs

    y = w[:2]
    for k, (a, b) in enumerate(second(zip(x[:200], x[50:250], strict=True))):
        y = np.tanh(y * w[2] + a - b / (k + 1))
    return np.sum(y)


def asks_whether_names_are_one(w, x):
    a = b = w
    for row in x:
        a = np.sin(a) * (1.1 if a is b else 0.3) + row[0]
        b = a
    return np.sum(a)


def asks_whether_elements_are_one(w, x):
    a, states = w, [w]
    for row in x:
        a = np.sin(a) * (1.1 if states[-1] is a else 0.3) + row[0]
        states.append(a)
    return np.sum(np.stack(states))


def too_few(w, x):
    y = w[:2]
    for a, b in zip(x, x[9:], strict=True):
        y = np.tanh(y * w[2] + a - b)
    return np.sum(y)


def remembers_beside_rows(w, x):
    y, seen = w[:2], []
    for a, b in zip(x, x[9:], strict=False):
        seen.append(1)
        y = np.tanh(y * w[2] + a - b) * (0.5 if len(seen) > 150 else 1.0)
    return np.sum(y)


@pytest.mark.parametrize(
    "f",
    [reads_a_list, asks_the_number, remembers, squares, leaves_the_array, beside_numbers, beside_a_list, goes_on,
     rows_that_are_written, remembers_beside_rows, divides_by_the_number, grows_large, knows_how_many, far_back,
     in_the_last_element, given_away, asks_whether_names_are_one, asks_whether_elements_are_one, too_few],
)  # fmt: skip
def test_turns_that_differ_later(f):
    w = np.array([0.3, -0.2, 0.9])
    for transform in (lambda f: f, ad.grad):
        step = ad.compile(transform(f), wait=True)
        if f in (leaves_the_array, too_few, divides_by_the_number):
            for _ in range(2):
                with pytest.raises((IndexError, ValueError, ZeroDivisionError), match=r"out of bounds|zip|by zero"):
                    step(w, X)
            continue
        for scale in (1.0, 2.0):
            np.testing.assert_allclose(step(w * scale, X), transform(f)(w * scale, X), rtol=1e-12)


@pytest.mark.parametrize("f", [np.linalg.det, lambda a: np.linalg.slogdet(a)[0]])
def test_a_matrix_that_becomes_singular_in_turns(f):
    def total(w, x):
        found = w[0]
        for row in x:
            found = found + f((row[0] + w[0]) * np.ones((2, 2)) + (w[1] - w[2]) * np.eye(2)) * row[1]
        return found

    step = ad.compile(ad.grad(total), wait=True)
    for w in ([0.3, -0.2, 0.9], [0.3, -0.2, 0.9], [0.3, 0.5, 0.5], [0.3, 0.5, 0.5], [0.1, 0.2, 0.4]):
        np.testing.assert_allclose(step(np.array(w), X), ad.grad(total)(np.array(w), X), rtol=1e-12)


@pytest.mark.parametrize("stacked", [False, True])
def test_second_derivatives_where_a_matrix_becomes_singular_in_turns(stacked):
    rng = np.random.default_rng(0)
    flat, direction = np.matmul(*rng.normal(size=(2, 3, 3)) * np.array([1.0, 1.0, 0.0])), rng.normal(size=(3, 3))

    def total(a):
        found = 0.0
        for row in X:
            found = found + np.sum(np.linalg.det(np.stack([a * row[0], a]) if stacked else a * row[0])) * row[1]
        return found

    second = ad.grad(lambda a: np.sum(direction * ad.grad(total)(a)))
    step = ad.compile(second, wait=True, backend="numpy")
    for distance in (1.0, 0.5, 1e-6, 1e-14, 0.0):
        a = flat + distance * np.eye(3)
        np.testing.assert_allclose(step(a), second(a), rtol=1e-10, atol=1e-12)


def outcome(f, x):
    try:
        return f(x)
    except (ValueError, ArithmeticError, LookupError, TypeError, UnboundLocalError, StopIteration) as error:
        return type(error)


def assert_agrees(seed):
    text, rng = generate(seed), np.random.default_rng(seed)
    points = [rng.normal(size=3 * TURNS + 3) * scale for scale in (0.3, 1.0)]
    for transform in (lambda f: f, ad.grad):  # each function writes into its own module's things
        plain, step = transform(function(text)), ad.compile(transform(function(text)), wait=True, backend="numpy")
        for x in points:
            expected, found = outcome(plain, x.copy()), outcome(step, x.copy())
            if isinstance(expected, type):
                assert found is expected, text
                continue
            scale = np.max(np.abs(expected), initial=1e-30, where=np.isfinite(expected))
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * scale, err_msg=text)


@pytest.mark.parametrize("seed", range(3))
def test_random_programs(seed, monkeypatch):
    monkeypatch.setattr(settling, "LEAST", -1)
    assert_agrees(seed)


@long_search
def test_many_random_programs(monkeypatch):
    monkeypatch.setattr(settling, "LEAST", -1)
    for seed in seeds(1):
        assert_agrees(seed)
