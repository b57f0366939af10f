"""Algorithms as they are written in plain Python: one recording serves all inputs."""

import numpy as np
import pytest

import adjoint as ad


def bubble_sort(x, w):
    a = x.copy()
    n = len(a)
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                swapped = True
        if not swapped:
            break
    return np.sum(a * w)


def insertion_sort(x, w):
    a = x.copy()
    for i in range(1, len(a)):
        v = a[i]
        j = i - 1
        while j >= 0 and a[j] > v:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = v
    return np.sum(a * w)


def solved(x, w):
    """A system, by elimination with partial pivoting."""
    n = 4
    a, b = np.outer(x[:n], w[:n]) + np.diag(w[2 : 2 + n] * 3.0), x[2 : 2 + n].copy()
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        for j in range(n):
            a[k, j], a[p, j] = a[p, j], a[k, j]
        b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            m = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= m * a[k, j]
            b[i] -= m * b[k]
    return np.sum(b * w[:n])


def read_in_turns(x, w):
    """A flag that turns read: every second value above zero counts."""
    total, odd = 0.0 * w[0], False
    for v in x:
        if v > 0.0:
            odd = not odd
            if odd:
                total = total + v * w[1]
    return total * (2.0 if odd else 3.0)


def first_found(x, w):
    found, total = False, x[0] * 0.0
    for i in range(len(x)):
        if x[i] > 0.8 and not found:
            found = True
            total = total + w[i]
        total = total + 0.1 * x[i]
    return total if found else -total


def left_unread(x, w):
    """A flag that only code after the loop reads, as a number and as itself."""
    total, changed = x[0], False
    for i in range(1, len(x)):
        if x[i] > total:
            total = 0.5 * (x[i] + total) * w[i]
            changed = True
    return total + (1.0 if changed is True else 2.0) + changed


def of_two_kinds(x, w):
    """A flag that is Python's in some turns, and NumPy's in others."""
    above, total = False, w[0]
    for v in x:
        total = total + (v if above else 0.5 * v)
        above = v > 0.3 if v > -0.5 else False
    return total


def spread(x, w):
    """Places that are elements of an array of whole numbers."""
    a, order = np.zeros(len(x)), np.argsort(x)
    for i in range(len(x)):
        a[i] = a[i] + w[i]
        if x[i] > 0.0:
            a[order[i]] = a[i] + x[order[-1 - i]]
    return np.sum(a * w)


def packed(x, w):
    """The best choice of things of whole weights."""
    weights = np.array([1, 3, 2, 4, 2, 1, 5])
    best = np.zeros(9)
    for i in range(len(x)):
        for c in range(8, -1, -1):
            if c >= weights[i] and best[c - weights[i]] + x[i] * w[i] > best[c]:
                best[c] = best[c - weights[i]] + x[i] * w[i]
    return best[8]


ONE = [bubble_sort, insertion_sort, solved, left_unread, spread]


@pytest.mark.parametrize("mode", ["value", "gradient"])
@pytest.mark.parametrize("program", [*ONE, packed, read_in_turns, first_found, of_two_kinds], ids=lambda f: f.__name__)
def test_algorithms(program, mode):
    f = program if mode == "value" else ad.grad(program)
    step, rng = ad.compile(f, wait=True), np.random.default_rng(0)
    for _ in range(9):
        x, w = rng.normal(size=(2, 7))
        expected, found = f(x, w), step(x, w)
        assert type(found) is type(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    if program is not of_two_kinds:
        assert "one loop" in step.explain()
    if program in ONE:
        (specializations,) = step._specializations.values()
        assert len(specializations) <= 2
