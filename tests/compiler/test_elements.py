"""Loops that write single elements, by places that they compute: native, forward and back, and as the plain ones.

ADJOINT_FUZZ_SECONDS=300 in the environment runs random ones for five minutes; ADJOINT_FUZZ_SEED is the first.
"""

import numpy as np
import pytest

import adjoint as ad
from tests.compiler.agreement import assert_compiled_agrees, random_points
from tests.compiler.elements import function, generate
from tests.long_search import long_search, seeds

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def time_warping(a, b):
    n, m = len(a), len(b)
    d = np.full((n + 1, m + 1), np.inf)
    d[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = (a[i - 1] - b[j - 1]) ** 2
            d[i, j] = cost + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d[n, m]


def edit_distance(a, b):
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1))
    d[:, 0], d[0, :] = np.arange(n + 1), np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if abs(a[i - 1] - b[j - 1]) < 0.3:
                d[i, j] = d[i - 1, j - 1] + 0.1 * a[i - 1]
            else:
                d[i, j] = 1.0 + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d[n, m]


def heat(a, b):
    u = a * 1.0
    for _ in range(20):
        v = np.zeros(len(u))
        for i in range(1, len(u) - 1):
            v[i] = u[i] + 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1])
        u = v
    return np.sum(u * b)


def heat_of_all_times(a, b):
    u = np.zeros((21, len(a)))
    u[0] = a
    for t in range(20):
        for i in range(1, len(a) - 1):
            u[t + 1, i] = u[t, i] + 0.1 * (u[t, i - 1] - 2 * u[t, i] + u[t, i + 1])
    return np.sum(u[20] * b)


def filled(a, b):
    y = np.zeros(60)
    for i in range(1, 60):
        if a[i % 14] > y[i - 1]:
            y[i] = np.sin(a[i % 14])
        else:
            y[i] = 0.5 * y[i - 1] + b[i % 3]
    return np.sum(y * y)


def histogram(a, b):
    y = np.zeros(5)
    for i in range(70):
        y[i % 5] += a[i % 14] * b[i % 3]
    return np.sum(y**2)


def knapsack(a, b):
    best = np.zeros(41)
    for i, weight in enumerate([7, 3]):
        for c in range(40, weight - 1, -1):
            best[c] = max(best[c], best[c - weight] + a[i] * b[c % 20])
    return best[40]


def relaxed(a, b):
    matrix, x = 0.02 * np.outer(a, b) + 3.0 * np.eye(20), np.zeros(20)
    for _ in range(20):  # by Gauss and Seidel
        for i in range(20):
            x[i] = x[i] + (b[i] - np.sum(matrix[i] * x)) / matrix[i, i]
    return x @ a


def relaxed_by_products(a, b):
    matrix, x = 0.02 * np.outer(a, b) + 3.0 * np.eye(20), np.zeros(20)
    for _ in range(20):
        for i in range(20):
            x[i] += (b[i] - matrix[i] @ x) / matrix[i, i]
    return x @ a


def extremes(a, b):
    y = np.tile(a, 3)
    for i in range(60):
        y[i] = 0.5 * y[i - 1] + 0.1 * np.max(y) - 0.2 * np.min(np.sin(y)) + 0.01 * np.mean(y) * b[i % 20]
    return np.sum(y**2)


PROGRAMS = [time_warping, edit_distance, heat, heat_of_all_times, filled, histogram, knapsack,
            relaxed, relaxed_by_products, extremes]  # fmt: skip


@pytest.mark.parametrize("mode", ["value", "gradient"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(program, mode):
    f = program if mode == "value" else ad.grad(program)
    step = ad.compile(f, wait=True)
    rng = np.random.default_rng(0)
    for _ in range(5):
        a, b = rng.normal(size=(2, 20))
        np.testing.assert_allclose(step(a, b), f(a, b), rtol=1e-9, atol=1e-12)
    said = step.explain()
    assert "one loop" in said, said
    assert "turn by turn" not in said, said
    assert "run by NumPy" not in said, said
    assert all(len(ways) == 1 for ways in step._specializations.values())
    assert len(step.graph.nodes) < 60


def test_second_derivatives():
    f = ad.grad(lambda a, b: np.sum(np.sin(ad.grad(filled)(a, b))))
    step = ad.compile(f, wait=True)
    a, b = np.linspace(-1.0, 1.5, 14), np.linspace(0.2, 0.4, 14)
    for scale in (1.0, 1.3):
        np.testing.assert_allclose(step(a * scale, b), f(a * scale, b), rtol=1e-8, atol=1e-12)


def test_who_else_has_the_array_sees_what_is_written():
    def f(a):
        y = np.zeros(40)
        view, held = y[3:9], {"y": y}
        for i in range(1, 40):
            y[i] = y[i - 1] * 0.5 + a[i]
        return np.sum(view) + held["y"][39] + np.sum(y)

    for each in (f, ad.grad(f)):
        step = ad.compile(each, wait=True)
        for scale in (1.0, 2.0, 3.0):
            a = np.linspace(0.1, 1.0, 40) * scale
            np.testing.assert_allclose(step(a), each(a), rtol=1e-12)


def test_an_array_that_is_seen_in_two_ways_within_a_turn():
    def f(a):
        y = np.zeros(40)
        other = y[1:]
        for i in range(1, 40):
            y[i] = other[i - 2] * 0.5 + a[i]
        return np.sum(y * a)

    for each in (f, ad.grad(f)):
        step = ad.compile(each, wait=True)
        for scale in (1.0, 2.0, 3.0):
            a = np.linspace(0.1, 1.0, 40) * scale
            np.testing.assert_allclose(step(a), each(a), rtol=1e-12)


def test_places_outside_raise_as_without_compiling():
    def f(a, k):
        y = np.zeros(40)
        for i in range(40):
            y[i] = a[i] * 2.0
            k = k + 1
            y[k] = 1.0
        return np.sum(y)

    step = ad.compile(f, wait=True)
    for _ in range(3):
        with pytest.raises(IndexError):
            step(np.ones(40), 0)


def test_a_way_that_raises_is_not_taken():
    def f(a):
        y = np.zeros(40)
        for i in range(40):
            if a[i] < 9.0:
                y[i] = a[i] * 0.5
            else:
                raise ValueError("too large")
        return np.sum(y)

    step = ad.compile(f, wait=True)
    a = np.linspace(0.0, 1.0, 40)
    for _ in range(3):
        np.testing.assert_allclose(step(a), f(a), rtol=1e-12)
    with pytest.raises(ValueError, match="too large"):
        step(a + 10.0)


def test_ranges_that_shrink_are_recorded_too():
    def f(a, b):
        n = len(a)
        A, x = np.outer(a, b) + 10.0 * np.eye(n), b * 1.0
        for k in range(n):
            for i in range(k + 1, n):
                factor = A[i, k] / A[k, k]
                for j in range(k, n):
                    A[i, j] = A[i, j] - factor * A[k, j]
                x[i] = x[i] - factor * x[k]
        return np.sum(x)

    step = ad.compile(f, wait=True, backend="numpy")
    rng = np.random.default_rng(0)
    for _ in range(3):
        a, b = rng.normal(size=(2, 7))
        np.testing.assert_allclose(step(a, b), f(a, b), rtol=1e-9)
    assert sum(map(len, step._specializations.values())) == 1


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 15, 16, 17, 23, 24, 25, 33])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("reduce", [np.sum, np.max, np.min, np.mean, np.any, lambda y: np.sum(y, keepdims=True)[0]])
def test_reductions_within_turns_of_each_length(n, dtype, reduce):
    def f(a):
        y = a * 1
        for i in range(n):
            y[i] = 0.5 * y[i - 1] + 0.1 * reduce(y) + a[0]
        return y

    step, rng = ad.compile(f, wait=True), np.random.default_rng(n)
    for special in (0.1, 0.2, np.nan, np.inf, -0.0):
        a = rng.normal(size=n).astype(dtype)
        a[-1] = special
        np.testing.assert_allclose(step(a), f(a), rtol=1e-12 if dtype is np.float64 else 1e-4, atol=1e-6)
        assert step(a).dtype == dtype


def check(seed, backend="numpy"):
    """A random program or its gradient, at some points."""
    plain = function(generate(seed))
    points = random_points(seed, (1.0, 0.5, 2.0))

    def f(x):
        return plain(x, 14)

    assert_compiled_agrees(ad.grad(f) if seed % 2 else f, (points[0], *points, points[0]), backend)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed):
    check(seed, "native" if seed % 3 == 0 else "numpy")


@long_search
def test_many_random_programs():
    for seed in seeds():
        check(seed, "native")
