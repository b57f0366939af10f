"""Loops within loops: both are loops natively, forward and back, and give what the plain ones give.

ADJOINT_FUZZ_SECONDS=300 in the environment runs random ones for five minutes; ADJOINT_FUZZ_SEED is the first.
"""

import numpy as np
import pytest

import adjoint as ad
from tests.compiler.agreement import assert_compiled_agrees, random_points
from tests.compiler.nesting import function, generate
from tests.long_search import long_search, seeds

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def for_in_for(p, turns=20):
    s = p[0]
    for i in range(turns):
        for j in range(100):
            s = s + 0.01 * np.sin(s * p[1] + j * 0.1) - 0.001 * i
    return s


def rows_and_columns(p, turns=15):
    table = np.reshape(np.outer(np.tile(p, 3), np.tile(p, 5))[:turns], (turns, 50))
    s = 0.0
    for i in range(turns):
        r = 0.0
        for j in range(50):
            r = r * 0.9 + np.sin(table[i, j]) * table[i, 49 - j] + np.cos(r) * np.sin(r * 0.3 + p[0])
        s = s + r * r * table[i, 3]
    return s


def three_deep(p, turns=15):
    s = p[0]
    for i in range(turns):
        for j in range(15):
            for k in range(30):
                s = s * 0.99 + 0.01 * np.sin(s + p[1] * k) * np.cos(s - 0.1 * i) + 0.001 * j
    return s


def newton_in_for(p, turns=20):
    s = 0.0
    for t in range(turns):
        x, dx = p[0] * p[0] + 0.1 * t + 1.0, 1.0
        while abs(dx) > 1e-10:
            dx = (x * x - p[1] * p[1] - t) / (2.0 * x)
            x = x - dx
        s = s + x
    return s


def ends_within(p, turns=20):
    s = 0.0
    for t in range(turns):
        x = p[0] * p[0] + 0.1 * t + 1.0
        while True:
            dx = (x * x - p[1] * p[1] - t) / (2.0 * x)
            x = x - dx
            if abs(dx) < 1e-10:
                break
        s = s + x
    return s


def while_in_while(p, turns=20):
    x, y = p[0] * p[0] + 3.0, 0.0
    while x > 1.0 / turns:
        y = x
        while y * y > x:
            y = y * 0.7
        x = x * 0.8 - 0.01 * y * y
    return x + y


def escape(p, turns=12):
    total = 0.0
    for a in range(turns):
        x, y, k = 0.0, 0.0, 0
        while x * x + y * y < 4.0 and k < 40:
            x, y = x * x - y * y + p[0] * 0.3 - 1.5 + 0.15 * a, 2.0 * x * y + p[1] * 0.3
            k += 1
        total = total + 0.01 * k + x * 0.001
    return total


def line_search(p, turns=20):
    def f(v):
        return np.sum((v - p) ** 2) + np.sum(v**4)

    x = np.zeros(len(p))
    for _ in range(turns):
        g = 2.0 * (x - p) + 4.0 * x**3
        step = 1.0
        while f(x - step * g) > f(x) - 0.3 * step * np.sum(g * g):
            step = step * 0.5
        x = x - step * g
    return np.sum(x * x)


PROGRAMS = [for_in_for, rows_and_columns, three_deep, newton_in_for, ends_within, while_in_while, escape, line_search]


@pytest.mark.parametrize("mode", ["value", "gradient"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(program, mode):
    f = program if mode == "value" else ad.grad(program)
    step = ad.compile(f, wait=True)
    rng = np.random.default_rng(0)
    for _ in range(4):
        p = rng.normal(size=10)
        np.testing.assert_allclose(step(p), f(p), rtol=1e-8, atol=1e-12)
    said = step.explain()
    assert said.count("are one loop") >= (2 if mode == "value" else 3), said
    assert "run by NumPy" not in said
    assert all(len(ways) <= 3 for ways in step._specializations.values())
    assert len(step.graph.nodes) < 2000  # three_deep has 54,000 operations turn by turn


def test_second_derivatives():
    def f(p):
        return np.sum(np.sin(ad.grad(newton_in_for)(p)))

    step = ad.compile(ad.grad(f), wait=True)
    for scale in (1.0, 1.5):
        p = np.linspace(0.5, 1.0, 10) * scale
        np.testing.assert_allclose(step(p), ad.grad(f)(p), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("program", [for_in_for, newton_in_for, three_deep], ids=lambda f: f.__name__)
def test_the_program_does_not_grow_with_the_turns(program):
    sizes = []
    for turns in (16, 40):
        step = ad.compile(ad.grad(program), wait=True, backend="numpy")
        step(np.linspace(0.1, 1.0, 10), turns)
        sizes.append(len(step.graph.nodes))
    assert sizes[0] == sizes[1]


def test_more_turns_within_than_there_is_room_for():
    def f(p, tol):
        s = 0.0
        for t in range(20):
            x = p[0] + 0.1 * t
            while x > tol:
                x = x * 0.9
            s = s + x * p[1]
        return s

    step = ad.compile(ad.grad(f), wait=True)
    p = np.array([1.0, 2.0])
    for tol in (0.5, 1e-1, 1e-6, 1e-12, 0.5, 1e-3):
        np.testing.assert_allclose(step(p, tol), ad.grad(f)(p, tol), rtol=1e-8)


def test_an_end_at_a_row_that_varies():
    def f(p, level):
        s = p[0] * 0.0
        for t in range(40):
            if p[t] > level:
                break
            s = s + p[t] * p[t]
        return s * (t + 1)

    step = ad.compile(ad.grad(f), wait=True)
    p = np.cumsum(np.linspace(0.1, 0.2, 40))
    for level in (1.0, 0.5, 2.0, 3.0, 4.0, 0.7, 1.3, 2.2):
        np.testing.assert_allclose(step(p, level), ad.grad(f)(p, level), rtol=1e-8)
    assert len(step._specializations) == 1
    assert all(len(ways) <= 2 for ways in step._specializations.values())


def check(seed, backend="numpy"):
    """A random program or its gradient, at some points twice."""
    plain = function(generate(seed))
    points = random_points(seed, (1.0, 1.0, 2.0))

    def f(x):
        return plain(x, 14)

    assert_compiled_agrees(ad.grad(f) if seed % 2 else f, (points[0], *points, points[0]), backend)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    check(seed)


@pytest.mark.parametrize("seed", range(12, 15))
def test_random_programs_natively(seed):
    check(seed, "native")


@long_search
def test_many_random_programs():
    for seed in seeds():
        check(seed, "numpy" if seed % 4 else "native")
