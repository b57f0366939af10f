"""Loops whose turns read at computed places or solve systems: native loops, with NumPy's errors."""

import numpy as np
import pytest

import adjoint as ad

R = np.random.default_rng(0)
WORDS, TOKENS = 0.5 * R.normal(size=(6, 4)), R.integers(-6, 6, 300)
NOISE = 0.1 * R.normal(size=(3, 3))


def markov(logits, emissions, seen):
    a, total = np.full(4, 0.25), 0.0
    for t in range(150):
        step = np.exp(logits) / np.sum(np.exp(logits), axis=1, keepdims=True)
        a = (a @ step) * emissions[seen[t]]
        s = np.sum(a)
        total, a = total + np.log(s), a / s
    return total


def tokens(w, words, seen):
    h = np.zeros(4)
    for t in range(200):
        h = np.tanh(w @ h + words[seen[t]])
    return np.sum(h**2)


def places_that_are_computed(w, words, seen):
    k, h = np.asarray(2), np.zeros(4)
    for t in range(120):
        k = (5 * k + seen[t]) % 6
        h = 0.9 * h + np.sin(w @ words[k])
    return np.sum(h)


def solved(noise, x):
    total = 0.0
    for t in range(100):
        s = noise + (2.0 + x[t]) * np.eye(3)
        total = total + np.sum(np.linalg.solve(s, np.ones(3)) ** 2)
    return total


def until(words, seen):
    h, t = np.zeros(4), 0
    while np.sum(h * h) < 3.0:
        h = h + 0.1 * np.abs(words[seen[t]])
        t += 1
    return np.sum(h)


W = 0.3 * R.normal(size=(4, 4))
PROGRAMS = {
    "markov": (markov, (R.normal(size=(4, 4)), R.random((6, 4)) + 0.1, TOKENS)),
    "tokens": (tokens, (W, WORDS, TOKENS)),
    "computed": (places_that_are_computed, (W, WORDS, TOKENS)),
    "solved": (solved, (NOISE, R.random(100))),
}


def compared(compiled, plain, args):
    for got, wanted in zip(_flat(compiled(*args)), _flat(plain(*args)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


def _flat(x):
    return [leaf for part in x for leaf in _flat(part)] if isinstance(x, tuple) else [x]


@pytest.mark.parametrize("mode", ["value", "gradient"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_native_loops(name, mode):
    f, args = PROGRAMS[name]
    plain = f if mode == "value" else ad.value_and_grad(f, (0, 1))
    compiled = ad.compile(plain, wait=True)
    for call in range(4):
        scaled = [x if x.dtype.kind == "i" else x * (1.0 + 0.1 * call) for x in args]
        if args[-1].dtype.kind == "i":
            scaled[-1] = np.roll(args[-1], call)
        compared(compiled, plain, scaled)
    plan = compiled.plan
    assert plan.count("loop") >= 1 + (mode == "gradient"), plan
    assert plan.count("NumPy") == 0, plan
    assert len(plan.rows) < 90, plan


@pytest.mark.parametrize("wrong", [6, -7, 1 << 40])
@pytest.mark.parametrize("f", [tokens, markov])
def test_a_place_that_is_not_there_raises_what_numpy_raises(f, wrong):
    args = PROGRAMS[f.__name__][1]
    compiled = ad.compile(ad.grad(f, (0, 1)), wait=True)
    for _ in range(3):
        before = compiled(*args)
    bad = TOKENS.copy()
    bad[77] = wrong
    with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for axis 0 with size 6"):
        compiled(*args[:2], bad)
    for got, wanted in zip(compiled(*args), before, strict=True):
        assert np.array_equal(got, wanted)


def test_a_matrix_that_is_singular_in_one_turn_raises_what_numpy_raises():
    x = R.random(100)
    compiled = ad.compile(solved, wait=True)
    for _ in range(3):
        compiled(NOISE, x)
    assert compiled.plan.count("loop") == 1
    x[40] = -2.0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        compiled(0.0 * NOISE, x)
    x[40] = 1.0
    compared(compiled, solved, (NOISE, x))


def test_what_may_raise_is_computed_even_if_nothing_uses_it():
    def checked(k):
        unused = 0.0
        for t in range(60):
            unused = unused + np.linalg.cholesky(k + 0.1 * t * np.eye(3))[0, 0]
        return np.sum(k)

    def checked_alone(k):
        for t in range(60):
            np.linalg.cholesky(k + 0.1 * t * np.eye(3))
        return np.sum(k)

    for f in (checked, checked_alone):
        for plain in (f, ad.grad(f)):
            compiled = ad.compile(plain, wait=True)
            for scale in (1.0, 2.0, 3.0):
                compared(compiled, plain, (scale * np.eye(3),))
            with pytest.raises(np.linalg.LinAlgError):
                compiled(-np.eye(3))


def test_a_turn_that_does_not_take_place_reads_nothing():
    compiled = ad.compile(until, wait=True)
    for shift in range(4):
        compared(compiled, until, (WORDS, np.roll(TOKENS, shift)))
    turns = _turns(WORDS, TOKENS)
    compared(compiled, until, (WORDS, np.concatenate([TOKENS[:turns], np.full(300 - turns, 99)])))


def _turns(words, seen):
    h, t = np.zeros(4), 0
    while np.sum(h * h) < 3.0:
        h, t = h + 0.1 * np.abs(words[seen[t]]), t + 1
    return t


def test_what_a_branch_does_not_read_need_not_be_there():
    def chosen(words, seen):
        h = np.zeros(4)
        for t in range(100):
            if seen[t] >= 6:
                h = 0.5 * h
                continue
            h = 0.9 * h + words[seen[t]]
        return np.sum(h**2)

    plain = ad.value_and_grad(chosen)
    compiled = ad.compile(plain, wait=True)
    for k in range(6):
        seen = np.random.default_rng(k).integers(0, 9, 100)
        compared(compiled, plain, (WORDS, seen))
