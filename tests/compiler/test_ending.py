"""Loops that end where values say: native loops give what the plain ones give, for other values and numbers of turns.

ADJOINT_FUZZ_SECONDS=300 in the environment runs random ones for five minutes; ADJOINT_FUZZ_SEED is the first.
"""

import os
import signal
import threading
import time

import numpy as np
import pytest

import adjoint as ad
from tests.compiler.agreement import assert_compiled_agrees, assert_near, outcome, random_points
from tests.compiler.ending import function, generate
from tests.long_search import long_search, seeds

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def newton(a, tol):
    x = a * 1.0
    dx = x
    while abs(dx) > tol:
        dx = (x * x - a) / (2.0 * x)
        x = x - dx
    return x


def counted(a, tol):
    x, k = a * 1.0, 0
    while abs(x * x - a) > tol and k < 60:
        x = x - (x * x - a) / (2.0 * x)
        k += 1
    return x + 0.01 * k


def bisection(a, tol):
    low, high = a * 0.0, a + 1.0
    while high - low > tol:
        middle = 0.5 * (low + high)
        if middle * middle > a:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high) * a


def golden_section(a, tol):
    def f(v):
        return (v - a) ** 2 + 0.1 * np.sin(v)

    g = 0.6180339887498949
    low, high = a - 2.0, a + 3.0
    c, d = high - g * (high - low), low + g * (high - low)
    while high - low > tol:
        if f(c) < f(d):
            high = d
        else:
            low = c
        c = high - g * (high - low)
        d = low + g * (high - low)
    return 0.5 * (low + high)


def fixed_point(a, tol):
    y = np.zeros(3)
    while True:
        new = np.cos(y) * 0.5 + np.array([a, a * 0.5, 0.1])
        error = np.max(np.abs(new - y))
        y = new
        if error < tol:
            break
    return np.sum(y**2)


def descent(a, tol):
    def f(v):
        return np.sum((v - a) ** 2) + np.sum(v**4)

    v = np.zeros(3)
    g = ad.grad(f)(v)
    while np.sum(g * g) > tol:
        v = v - 0.05 * g
        g = ad.grad(f)(v)
    return np.sum(v * np.array([1.0, 2.0, 3.0]))


def conjugate_gradients(a, tol):
    matrix, b = np.eye(3) * 3.0 + 0.5 * a, np.array([1.0, 2.0, 3.0])
    x = np.zeros(3)
    r = b - matrix @ x
    p, rs = r, r @ r
    while np.sqrt(rs) > tol:
        step = rs / (p @ (matrix @ p))
        x, r = x + step * p, r - step * (matrix @ p)
        new = r @ r
        p, rs = r + new / rs * p, new
    return np.sum(x**2)


def skips(a, tol):
    x, n = a * 1.0, 0
    while x > tol:
        n += 1
        if n % 3 == 0:
            x = x * 0.9
            continue
        x = x * 0.5 if x > 1.0 else x * 0.8
    return x + a * n


def exchanges(a, tol):
    s, r, b = a, np.cos(a), a * 3.0 + 1.0
    while b > tol + 0.1:
        if b < 0.2:
            s = np.sin(a)
        else:
            r = np.sin(a)
        s = r
        r, s = s * 0.5, np.tanh(np.sin(s) * a)
        b = b * 0.7 - 0.01
    return s + r


def for_a_while(a, tol):
    x = a * 1.0
    for k in range(100):  # noqa: B007  # it is used after the loop
        new = 0.5 * (x + a / x)
        if abs(new - x) < tol:
            break
        x = new
    return x + 0.01 * k


def until_it_returns(a, tol):
    x = a * 1.0
    while True:
        new = 0.5 * (x + a / x)
        if abs(new - x) < tol:
            return new
        x = new


def from_within_a_for(a, tol):
    x = a * 1.0
    for _ in range(100):
        new = 0.5 * (x + a / x)
        if abs(new - x) < tol:
            return new * 2.0
        x = new
    return x


def steps_of_metropolis(a, tol):
    noise, chance = np.cos(np.arange(60.0) ** 2), np.sin(np.arange(60.0) ** 3) ** 2
    x, total = a * 1.0, a * 0.0
    for t in range(60):
        y = x + noise[t] * 0.3
        if chance[t] < np.exp(x * x - y * y):
            x = y
        total = total + x * (0.1 * t + 1.0)
    return total


PROGRAMS = [
    newton,
    for_a_while,
    until_it_returns,
    from_within_a_for,
    steps_of_metropolis,
    counted,
    bisection,
    golden_section,
    fixed_point,
    descent,
    conjugate_gradients,
    skips,
]
MODES = {"value": lambda f: f, "gradient": ad.grad, "second order": lambda f: ad.grad(ad.grad(f))}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(program, mode):
    f = MODES[mode](program)
    step = ad.compile(f, wait=True)
    for a in (2.0, 3.0, 0.5, 30.0, 3.0, 1.1, 7.0):
        np.testing.assert_allclose(step(np.float64(a), 1e-9), f(np.float64(a), 1e-9), rtol=1e-7)
    said = step.explain()
    assert "are one loop" in said
    assert "runs as it is" not in said
    assert "run by NumPy" not in said
    assert len(step._specializations) == 1
    assert all(len(ways) <= 3 for ways in step._specializations.values())


def test_what_a_turn_reads_and_sets_to_something_else():
    f = MODES["second order"](exchanges)
    step = ad.compile(f, wait=True, backend="numpy")
    for a in (2.0, 2.0, 0.4, 5.0):
        np.testing.assert_allclose(step(np.float64(a), 1e-9), f(np.float64(a), 1e-9), rtol=1e-9)


def test_one_way_for_all_numbers_of_turns():
    step = ad.compile(ad.grad(newton), wait=True)
    for a in (2.0, 1e-6, 5.0, 1e12, 0.0):
        np.testing.assert_allclose(step(np.float64(a), 1e-3), ad.grad(newton)(np.float64(a), 1e-3), rtol=1e-9)
    assert "1 specialization" in step.explain()


def halved(x, tol):
    while np.sum(x * x) > tol:
        x = x * 0.999
    return np.sum(x**3)


def test_more_turns_than_there_is_room_for():
    step = ad.compile(ad.grad(halved), wait=True)
    for scale in (1.01, 1.001, 3.0, 50.0, 0.5, 3.0):
        x = np.ones(3) * scale
        assert_near([step(x, 3.0)], [ad.grad(halved)(x, 3.0)])


def test_a_loop_that_does_not_end_can_be_interrupted():
    step = ad.compile(halved, wait=True)
    step(np.ones(3) * 1.1, 3.0)
    assert step.plan is not None
    asked = []

    def interrupt():
        time.sleep(0.2)
        asked.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT) if os.name == "nt" else os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        step(np.ones(3), -1.0)
    other.join()
    assert step(np.ones(3), 4.0) == 3.0


def test_the_plan_says_so():
    step = ad.compile(newton, wait=True)
    step(np.float64(2.0), 1e-9)
    assert "until a condition ends them" in str(step.plan)


def in_a_list(a, tol):
    seen, x = [], a
    while x > tol:
        x = x * 0.5
        seen.append(x)
    return sum(seen) + a * 0.1


def in_a_dictionary(a, tol):
    d = {"x": a, "n": 0}
    while d["x"] > tol:
        d["x"] = d["x"] * 0.5
        d["n"] += 1
    return d["x"] + d["n"] * a


def in_an_object(a, tol):
    o = Holder()
    o.x, o.n = a, 0
    while o.x > tol:
        o.x = o.x * 0.5
        o.n += 1
    return o.x + o.n * a


class Holder:
    pass


def in_a_closure(a, tol):
    n = 0

    def count():
        nonlocal n
        n += 1

    x = a
    while x > tol:
        x = x * 0.5
        count()
    return x + n * a


def in_a_generator(a, tol):
    numbers = iter(range(100))
    x, n = a, 0
    while x > tol:
        x, n = x * 0.5, next(numbers)
    return x + n * a


def in_a_default(a, tol):
    def counting(v, calls=[0]):  # noqa: B006  # what is tested
        calls[0] += 1
        return v * 0.5 * calls[0] / (calls[0] + 1)

    x = a
    while x > tol:
        x = counting(x)
    return x


def by_an_index(a, tol):
    table, x, k = np.array([0.5, 0.7, 0.9, 0.3, 0.2, 0.6, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5] * 9), a, 0
    while x > tol:
        x, k = x * table[k], k + 1
    return x * k


def by_doubling(a, tol):
    x, k = a, 1
    while x > tol:
        x, k = x * 0.5, k * 2
    return x + 1e-3 * k * a


def by_adding(a, tol):
    x, k = a, 1
    while x > tol:
        x, k = x * 0.9, k + k
    return x + 1e-30 * k * a


def raises(a, tol):
    x, k = a, 0
    while x > tol:
        k += 1
        if k > 5:
            raise ValueError("far")
        x = x * 0.5
    return x


def flagged(a, tol):
    x, done = a, False
    while not done:
        x = x * 0.5
        if x < tol:
            done = True
    return x + 1.0


def returns(a, tol):
    x = a
    while True:
        x = x * 0.5
        if x < tol:
            return x


def bound_anew(a, tol):
    x = a
    for t in range(30):
        x = x * 0.9
        t = t + 1 if x > tol else t * 2
    return x + 0.01 * t


def goes_on_after_another_way(a, tol):
    x, s = a, 0.0
    for t in range(30):
        if x < tol and t < 29:
            s = s + t
        x = x * 0.8
    return x + s


def a_row_that_is_written(a, tol):
    rows, s = np.outer(np.arange(20.0), np.ones(2)) * a, a
    for t in range(20):
        row = rows[t]
        if s > tol:
            row += s
        s = s * 0.7 + np.sum(rows[t]) * 0.01
    return s + np.sum(rows)


def a_row_of_an_array_that_changes(a, tol):
    x = np.arange(20.0) * a
    for t in range(1, 20):
        s = x[t]
        if s > tol:
            x[t - 1] = s * 0.5
        else:
            x = x * 0.9
    return np.sum(x)


def a_constant_that_changes(a, tol):
    table, x, s = np.arange(20.0), a * 1.0, a
    for t in range(20):
        if x > tol:
            s = s + table[t] * x
        table[(t + 1) % 20] = 0.5
        x = x * 0.8
    return s


def rows_that_are_kept(a, tol):
    x, before, kept = np.sin(np.arange(20.0) * a), a, []
    for t in range(20):
        if x[t] > tol:
            before = x[t]
        kept = [before, x[t]]
    return before * 2.0 + kept[0] + kept[1] * 3.0


def places_that_leave_the_array(a, tol):
    x, s = np.arange(12.0) * a, a * 0.0
    for t in range(20):
        if s > 3.0 * tol:
            break
        s = s + x[t]
    return s


def an_end_at_a_row(a, tol):
    x, s = np.arange(1.0, 40.0), a
    for t in range(20, 0, -2):
        if x[t] * s < 40.0 * tol:
            break
        s = s * 0.8 + x[t - 1] * 0.001
    return s + x[t] * 0.1 + t


def is_unset(a, tol):
    while a > tol:
        a = a * 0.5
        last = a * a
    return last


OTHERS = [in_a_list, in_a_dictionary, in_an_object, in_a_closure, in_a_generator, in_a_default, by_an_index,
          by_doubling, by_adding, raises, flagged, returns, bound_anew, goes_on_after_another_way,
          a_row_that_is_written, a_row_of_an_array_that_changes, a_constant_that_changes, rows_that_are_kept,
          places_that_leave_the_array, an_end_at_a_row, is_unset]  # fmt: skip


@pytest.mark.parametrize("program", OTHERS, ids=lambda f: f.__name__)
def test_what_turns_do_besides(program):
    for mode in ("value", "gradient"):
        f = MODES[mode](program)
        step = ad.compile(f, wait=True, backend="numpy")
        for a in (4.0, 4.0, 1e-3, 900.0, 11.0, 0.2, 0.4, 1e6):
            a = np.float64(a)
            expected, found = outcome(f, a, 0.3), outcome(step, a, 0.3)
            if isinstance(expected, type):
                assert found is expected
            else:
                np.testing.assert_allclose(found, expected, rtol=1e-9)


def check(seed, backend="numpy"):
    """A random program, its gradient, and its second derivative now and then, at some points twice."""
    plain = function(generate(seed))
    points = random_points(seed, (1.0, 1.0, 2.0))
    found = [lambda x: plain(x, 5), ad.grad(lambda x: plain(x, 5))]
    if seed % 3 == 0:
        found.append(ad.grad(lambda x: np.sum(np.sin(ad.grad(lambda x: plain(x, 5))(x)))))
    for f in found:
        assert_compiled_agrees(f, (points[0], *points, *points), backend)


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed):
    check(seed)


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_natively(seed):
    check(seed, "native")


@long_search
def test_many():
    for seed in seeds():
        check(seed, "native" if seed % 5 == 0 else "numpy")


@pytest.mark.parametrize("number", [np.float64, np.float32, np.int64])
def test_numbers_of_branches_stay_numbers(number):
    def doubled(x):
        while x < 20:
            x = x * 2 if x > 3 else x + 1
        return x

    native = ad.compile(doubled, wait=True)
    for start in (7, 1, 30, 2):
        found = native(number(start))
        assert type(found) is number
        assert found == doubled(number(start))
