"""Loops whose names have one of Python's floats in some turns, and one of NumPy's in others."""

import numpy as np
import pytest

import adjoint as ad

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def sum_of_some(x, w):
    total = 0.0
    for v in x:
        if v > 0:
            total = total + v * w[0]
    return total


def waiting(x, w):
    queue = total = 0.0
    for i in range(len(x)):
        queue = max(0.0, queue + x[i] * w[0])
        total = total + queue
    return total


def begun_again(x, w):
    s, k = 0.0, 0
    while k < 29:
        s = s + x[k] if x[k] > 0 else 0.0
        k += 1
    return s * w[0]


def given_back(x, w):
    s = 0.0
    for v in x:
        if v > 1.8:
            s = v
        elif v < -1:
            s = 0.5
    return s


def divided(x, w):
    m, s = 1.0, 0.0
    for v in x:
        if v > 0.5:
            m = v
        elif v < -1.5:
            m = 0.0
        s = s + v / m
    return s * w[0]


def exchanged(x, w):
    s, t = 0.0, 1.0
    for v in x:
        if v > 0:
            s, t = t * v, s
    return s + t * w[1]


def largest_of_rows(x, w):
    rows, found = x.reshape(6, 5), np.zeros(6)
    for i in range(6):
        best = -1.0
        for j in range(5):
            best = max(best, rows[i, j] * w[j])
        found[i] = best
    return np.sum(found**2)


PROGRAMS = [sum_of_some, waiting, begun_again, given_back, divided, exchanged, largest_of_rows]


@pytest.mark.parametrize("mode", ["value", "gradient"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_kinds(program, mode):
    f = program if mode == "value" else ad.grad(program, (0, 1))
    step = ad.compile(f, wait=True)
    rng = np.random.default_rng(1)
    for scale in (1.0, 1.0, 1.0, 0.1, 1.0, -0.2, 1.0, 1.0, 3.0, 1.0):
        x, w = rng.normal(size=30) * scale, rng.normal(size=5)
        x = np.abs(x) * np.sign(scale) if abs(scale) == 0.2 else x
        found, known = step(x, w), f(x, w)
        assert type(found) is type(known)
        pairs = zip(found, known, strict=True) if isinstance(known, tuple) else [(found, known)]
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)
    said = step.explain()
    assert "one loop" in said
    assert "part of the program" not in said
    assert "turn by turn" not in said


def test_kinds_that_are_asked_for():
    def f(x):
        m = total = 0.0
        for v in x:
            if v > 0.5:
                m = v
            elif v < -0.5:
                m = 0.25
            total = total + (2.0 if type(m) is float else 1.0) * v
        return total

    step = ad.compile(f, wait=True)
    rng = np.random.default_rng(1)
    for _ in range(6):
        x = rng.normal(size=30)
        np.testing.assert_allclose(step(x), f(x), rtol=1e-10)
