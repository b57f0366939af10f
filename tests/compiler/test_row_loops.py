"""Loops through the rows of arrays whose turns ask for values: one loop, whatever the answers are."""

import numpy as np
import pytest

import adjoint as ad

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def best_sum(x, w):
    best = here = x[0]
    for v in x[1:]:
        here = max(v, here + v)
        best = max(best, here)
    return best


def learned(x, w):
    for row in x.reshape(6, 5):
        if row[0] * (row @ w) <= 0.3:
            w = w + 0.1 * row[0] * row
    return np.sum(w**2)


def numbered(x, w):
    total = 0.0 * w[0]
    for i, v in enumerate(x, 1):
        if v > w[1]:
            total = total + v * i
    return total


def side_by_side(x, w):
    total = 0.0 * w[0]
    for a, b in zip(x[:20], x[10:], strict=False):
        if a < b:
            total = total + a * b
        else:
            total = total - np.sin(b)
            total = total * 0.9
    return total


def from_the_end(x, w):
    peak = x[-1]
    for v in reversed(x):
        if v > peak:
            peak = v * w[0]
    return peak


def first_above(x, w):
    found = x[0]
    for v in x:
        found = v
        if v > 0.8:
            break
    return found * w[0]


def last_row(x, w):
    total = 0.0 * w[0]
    for v in x:
        if v > 0:
            total = total + v
    return total * v


def written_ahead(x, w):
    y = x * 1.0
    for i, v in enumerate(y):
        if v > 0:
            y[(i + 7) % 30] = -0.5 * v
    return np.sum(y)


def looked_up(x, w):
    total = 0.0 * w[0]
    for v in x:
        k = 0
        while k < 3 and w[k] < v:
            k += 1
        total = total + w[k] * v
    return total


def taken_apart(x, w):
    total = 0.0 * w[0]
    for i, (a, (b, c)) in enumerate(zip(x[:10], x[:20].reshape(10, 2), strict=False)):
        if a < b:
            total = total + c * i
    return total + a


def in_pairs(x, w):
    total = 0.0 * w[0]
    for pair in zip(x[:12], reversed(x), strict=False):
        if pair[0] < pair[1]:
            total = total + pair[0]
    return total + pair[1]


def within_rows(x, w):
    total = 0.0 * w[0]
    for row in x.reshape(15, 2):
        for v in row:
            if v > 0:
                total = total + v * w[1]
    return total


def bound_anew(x, w):
    total = 0.0 * w[0]
    for x in x:  # noqa: B020, PLR1704 - the name of the array is that of its rows
        if x > 0:
            total = total + x
    return total * x


PROGRAMS = [best_sum, learned, numbered, side_by_side, from_the_end, first_above, last_row, written_ahead, looked_up,
            taken_apart, in_pairs, within_rows, bound_anew]  # fmt: skip
MANY = {first_above, looked_up}  # how often it turns, or what a loop in it does, is another question


@pytest.mark.parametrize("mode", ["value", "gradient"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_rows(program, mode):
    f = program if mode == "value" else ad.grad(program, (0, 1))
    step = ad.compile(f, wait=True)
    rng = np.random.default_rng(1)
    for _ in range(6):
        x, w = rng.normal(size=30), np.sort(rng.normal(size=5))
        found, known = step(x, w), f(x, w)
        assert type(found) is type(known)
        pairs = zip(found, known, strict=True) if mode == "gradient" else [(found, known)]
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)
    assert "one loop" in step.explain()
    if program not in MANY:
        assert all(len(ways) <= 2 for ways in step._specializations.values()), step.explain()


def test_rows_of_an_array_that_is_empty_or_short():
    def f(x):
        total = np.sum(x) * 0.0
        for v in x:
            if v > 0:
                total = total + v
        return total

    step = ad.compile(f, wait=True)
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 3, 4, 5, 13):
        for _ in range(3):
            x = rng.normal(size=n)
            np.testing.assert_allclose(step(x), f(x), rtol=1e-12)


def test_taking_rows_apart_fails_as_it_does():
    def f(x):
        total = 0.0 * x[0, 0]
        for a, b in x:
            if a > 0:
                total = total + a * b
        return total

    step = ad.compile(f, wait=True)
    rng = np.random.default_rng(0)
    for _ in range(4):
        x = rng.normal(size=(20, 2))
        np.testing.assert_allclose(step(x), f(x), rtol=1e-12)
    for x in (np.ones((20, 3)), np.ones(20)):
        with pytest.raises((ValueError, TypeError, IndexError)) as known:
            f(x)
        with pytest.raises(known.type, match=str(known.value).split("(")[0]):
            step(x)
