"""Inner loops whose ranges depend on what loops around go through: native, forward and back, and as the plain ones.

ADJOINT_FUZZ_SECONDS=300 in the environment runs random ones for five minutes; ADJOINT_FUZZ_SEED is the first.
"""

import ast

import numpy as np
import pytest

import adjoint as ad
from adjoint.twin.recording.liveness import live_names
from tests.compiler.agreement import assert_compiled_agrees, outcome
from tests.compiler.triangles import function, generate
from tests.long_search import long_search, seeds

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def elimination(a, n):
    A, x = np.outer(a[:n], a[1 : n + 1]) + 8.0 * np.eye(n), a[:n] * 1.0
    for k in range(n):
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            for j in range(k, n):
                A[i, j] = A[i, j] - factor * A[k, j]
            x[i] = x[i] - factor * x[k]
    for i in range(n - 1, -1, -1):
        s = x[i]
        for j in range(i + 1, n):
            s -= A[i, j] * x[j]
        x[i] = s / A[i, i]
    return np.sum(x)


def cholesky(a, n):
    A, L = np.outer(a[:n], a[:n]) + 4.0 * np.eye(n), np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                L[i, j] = np.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    return np.sum(L * np.arange(n))


def longest_rise(a, n):
    L = np.ones(n)
    for i in range(n):
        for j in range(i):
            if a[j] < a[i] and L[j] + 0.1 * a[i] + 1 > L[i]:
                L[i] = L[j] + 1 + 0.1 * a[i]
    return np.max(L)


def bubbles(a, n):
    x = a[:n] * 1.0
    for i in range(n):
        for j in range(n - i - 1):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return np.sum(x * np.arange(n))


def chain_of_matrices(a, n):
    p, m = np.abs(a[: n + 1]) + 0.5, np.zeros((n, n))
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            m[i, j] = np.inf
            for k in range(i, j):
                q = m[i, k] + m[k + 1, j] + p[i] * p[k + 1] * p[j + 1]
                if q < m[i, j]:  # noqa: PLR1730  # what is tested
                    m[i, j] = q
    return m[0, n - 1]


def pairs(a, n):
    s = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            d = a[i] - a[j]
            s += 1.0 / (d * d + 0.1)
    return s


PROGRAMS = [elimination, cholesky, longest_rise, bubbles, chain_of_matrices, pairs]


@pytest.mark.parametrize("mode", ["value", "gradient"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(program, mode):
    def plain(a):
        return program(a, 13)

    f = plain if mode == "value" else ad.grad(plain)
    step = ad.compile(f, wait=True)
    rng = np.random.default_rng(0)
    for _ in range(4):
        a = rng.normal(size=20)
        np.testing.assert_allclose(step(a), f(a), rtol=1e-9, atol=1e-12)
    said = step.explain()
    assert "one loop" in said, said
    assert "run by NumPy" not in said, said
    assert all(len(ways) == 1 for ways in step._specializations.values())
    assert len(step.graph.nodes) < (250 if program is pairs else 120)  # whose first turn makes another kind of number


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_turns(program, n):
    for f in (lambda a: program(a, n), ad.grad(lambda a: program(a, n))):
        step, a = ad.compile(f, wait=True, backend="numpy"), np.linspace(0.1, 1.0, 6)
        for scale in (1.0, -1.0, 2.0):
            expected, got = outcome(f, a * scale), outcome(step, a * scale)
            if isinstance(expected, type):
                assert got is expected
            else:
                np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_code_of_later_turns_is_not_run():
    turns = []

    def f(a):
        y = np.zeros(300)
        for i in range(300):
            for j in range(i):
                y[i] = y[i] + 0.01 * a[j] * y[j] + a[i]
        return np.sum(y)

    from adjoint.compiler.trace.loops.counted import Counted

    begin = Counted.open
    try:
        Counted.open = lambda self, space: (turns.append(1), begin(self, space))[1]
        step = ad.compile(f, wait=True, backend="numpy")
        a = np.linspace(0.1, 0.2, 300)
        np.testing.assert_allclose(step(a), f(a), rtol=1e-9)
    finally:
        Counted.open = begin
    assert 3 < len(turns) < 60


def test_loops_are_run_once(monkeypatch):
    from adjoint.graph.loops import results

    a, runs, counted = np.linspace(0.1, 1.0, 15), [], results.Results.of

    def of(self, run, xs, loop):
        return counted(self, lambda *x, **named: runs.append(1) or run(*x, **named), xs, loop)

    monkeypatch.setattr(results.Results, "of", of)
    counts = []
    for least in (np.inf, -1.0):
        monkeypatch.setattr(results, "WORTH", least)
        runs.clear()
        step = ad.compile(lambda a: elimination(a, 14), wait=True, backend="numpy")
        np.testing.assert_allclose(step(a), elimination(a, 14), rtol=1e-9)
        counts.append(len(runs))
    assert counts[1] < 0.7 * counts[0]


def test_errors_of_later_turns():
    def zero(a):
        y = np.zeros(30)
        for i in range(30):
            for j in range(i):
                y[i] = y[i] + a[j] * (1.0 / (j - 12))
        return np.sum(y)

    def outside(a):
        y = np.zeros(30)
        for i in range(30):
            for j in range(i + 2):
                y[j] = y[j] + a[i]
        return np.sum(y)

    def raising(a):
        y = np.zeros(30)
        for i in range(30):
            for j in range(i):
                if i * j > 200:
                    raise ValueError("too large")
                y[i] = y[i] + a[j]
        return np.sum(y)

    for f, kind in ((zero, ZeroDivisionError), (outside, IndexError), (raising, ValueError)):
        step = ad.compile(f, wait=True, backend="numpy")
        for scale in (1.0, 2.0):
            with pytest.raises(kind):
                step(np.linspace(0.1, 1.0, 30) * scale)


def test_another_way_that_divides_by_zero():
    def f(a, k):
        y = np.zeros(40)
        for i in range(40):
            y[i] = a[i] + 1.0 / (i - k)
        return np.sum(y)

    step, a = ad.compile(f, wait=True), np.ones(40)
    for k in (-1.5, -2.5, -3.5, -4.5):
        np.testing.assert_allclose(step(a, k), f(a, k), rtol=1e-12)
    with pytest.raises(ZeroDivisionError):
        step(a, 7.0)


def test_what_is_outside_of_the_arrays():
    count = [0]

    def counting(a):
        y = np.zeros(40)
        count[0] = 0
        for i in range(40):
            for j in range(i):
                count[0] += 1
                y[i] = y[i] + a[j] * (count[0] > 500)
        return np.sum(y)

    def popping(a):
        y, left = np.zeros(40), list(range(1600))
        for i in range(40):
            for j in range(i):
                y[i] = y[i] + a[j] * left.pop()
        return np.sum(y)

    def range_that_changes(a):
        y, m = np.zeros(40), 40
        for i in range(40):
            for j in range(i, m):
                y[i] = y[i] + a[j]
            if i > 20:
                m = 35
        return np.sum(y)

    def used_after(a):
        y = np.zeros(40)
        for i in range(40):
            for j in range(i):
                last = a[j] * 2.0
                y[i] = y[i] + last
        return np.sum(y) + j * a[0] + i + last

    for f in (counting, popping, range_that_changes, used_after):
        step = ad.compile(f, wait=True, backend="numpy")
        for scale in (1.0, 2.0, 3.0):
            a = np.linspace(-0.1, 1.0, 40) * scale
            np.testing.assert_allclose(step(a), f(a), rtol=1e-12)


def test_names_that_are_read():
    text = """
def f(x):
    c = t = last = 0
    for i in x:
        t = i * 2
        u = t + c
        if u > 3:
            w = u
        c = w
        for j in x:
            last = j + u
    g = lambda: u
    for i in x:
        print(i)
    return last, g
"""
    function = ast.parse(text).body[0]
    (first, second) = (loop for loop in function.body if isinstance(loop, ast.For))
    after, ahead = live_names(function)[first]
    assert after == {"x", "last", "u", "print"}
    assert ahead == {"x", "last", "u", "c", "w", "print"}
    assert live_names(function)[second][0] == {"last", "g", "u"}


def check(seed, backend="numpy"):
    """A random program or its gradient, at some points."""
    plain = function(generate(seed))
    rng = np.random.default_rng(seed)
    n = (13, 13, 13, 4, 1, 0, 7)[rng.integers(7)]
    points = [rng.normal(size=20) * scale for scale in (1.0, 0.5, 2.0)]

    def f(x):
        return plain(x, n)

    assert_compiled_agrees(ad.grad(f) if seed % 2 else f, (points[0], *points, points[0]), backend, assert_same)


def assert_same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    assert type(found) is type(expected)


@pytest.mark.parametrize("seed", [0, 4, 6, 10, 14, 17])
def test_random_programs(seed):
    check(seed, "native" if seed % 3 == 0 else "numpy")


@long_search
def test_many_random_programs():
    for seed in seeds():
        check(seed, "native")
