"""Loops that are rolled: the value, the gradient and the guards of the unrolled program, by NumPy and natively.

ADJOINT_FUZZ_SECONDS=300 in the environment runs random ones for five minutes; ADJOINT_FUZZ_SEED is the first.
"""

import re

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.compiler.backend import _check
from adjoint.graph.graph import SEEN
from adjoint.graph.loops import roll as rolling
from adjoint.graph.loops.loop import LOOP
from adjoint.graph.loops.row import FEWEST
from adjoint.graph.rewriting.rules import EXACT
from tests.graph.loops import KINDS, function, generate, text
from tests.long_search import long_search, seeds

WITHOUT = {"fill columns": "another axis", "asks in turns": "", "whole numbers": ""}  # kinds of which no loop comes


def roll(graph, monkeypatch, least=20):
    monkeypatch.setattr(rolling, "LEAST", least)
    return rolling.roll(graph, native.not_native)


def captured(f, n, x):
    with np.errstate(all="ignore"):
        return ad.capture(ad.value_and_grad(lambda x: f(x, n)), x)


def built(graph):
    simple = graph.rewritten(EXACT)
    checks = [_check(guard) for guard in simple.guards if guard.question not in SEEN]
    return native.build(simple.inputs, simple.outputs, exact=True, checks=checks)


def assert_near(found, expected):
    """Equal but for the order of sums, whatever is nan."""
    for x, y in zip(found, expected, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        scale = np.max(np.abs(y), initial=1e-30, where=np.isfinite(y))
        np.testing.assert_allclose(x, y, rtol=0, atol=64 * float(np.finfo(y.dtype).eps) * scale)


def check(source, n, seed, monkeypatch):
    """What was rolled, if anything; the results of the loops are those of the graph."""
    x, other = np.random.default_rng(seed).normal(size=(2, max(n, 12)))
    graph = captured(function(source), n, x)
    rolled = roll(graph, monkeypatch)
    if rolled is None:
        return None
    rolled.graph.verify()
    with np.errstate(all="ignore"):
        assert_near(rolled.graph.run([x]), graph.run([x]))
    plain, looped = built(graph), built(rolled.graph)
    for values in (x, other):
        expected, found = plain.run(values), looped.run(values)
        assert (found is None) == (expected is None)  # the guards
        if found is not None:
            assert_near(found, expected)
    return rolled


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 9, 24, 33])
def test_kinds(kind, n, monkeypatch):
    rolled = check(text(*KINDS[kind]), n, 1, monkeypatch)
    if n >= 3 * FEWEST and kind not in WITHOUT:
        assert any(node.op is LOOP for node in rolled.graph.nodes), rolled.said


@pytest.mark.parametrize("seed", range(12))
def test_random_ones(seed, monkeypatch):
    check(generate(seed), (9, 17, 24, 31)[seed % 4], seed, monkeypatch)


@long_search
def test_many(monkeypatch):
    for seed in seeds(0):
        check(generate(seed), (5, 9, 12, 17, 20, 24, 31, 40)[seed % 8], seed, monkeypatch)


@pytest.mark.parametrize("kind", ["scalars", "runge kutta", "scan", "fill", "cell", "bodies"])
def test_size_does_not_grow_with_the_turns(kind, monkeypatch):
    f, x = function(text(*KINDS[kind])), np.random.default_rng(0).normal(size=400)
    sizes = [len(roll(captured(f, n, x), monkeypatch).graph) for n in (150, 300)]
    assert sizes[1] <= sizes[0] + 128  # turns at the ends, where several are taken as one


@pytest.mark.parametrize("kind", ["scalars", "runge kutta", "fill", "accumulators", "two before", "masks"])
def test_bits_are_those_of_numpy(kind, monkeypatch):
    f, x = function(text(*KINDS[kind])), np.random.default_rng(0).normal(size=60)
    graph = captured(f, 60, x)
    rolled = roll(graph, monkeypatch)
    for found, expected in zip(rolled.graph.run([x]), graph.run([x]), strict=True):
        assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()


def compiled(kind, n):
    f = function(text(*KINDS[kind]))
    return ad.compile(ad.value_and_grad(lambda x: f(x, n)), wait=True), ad.value_and_grad(lambda x: f(x, n))


def test_compiled_functions_say_what_is_a_loop():
    step, plain = compiled("runge kutta", 300)
    x = np.random.default_rng(0).normal(size=3)
    for values in (x, x, x + 0.1):
        assert_near(step(values), plain(values))
    said = step.explain()
    assert re.search(r"299 turns of \d+ operations are one loop: 1 carried", said)
    assert "loop of 299 turns" in said


def test_they_say_why_not():
    step, _ = compiled("fill columns", 200)
    x = np.random.default_rng(0).normal(size=200)
    step(x)
    step(x)
    assert "are not one loop: it writes by turn along another axis than the first" in step.explain()


def test_a_question_that_is_answered_otherwise_leaves_the_loop():
    step, plain = compiled("asks", 300)
    x = np.random.default_rng(0).normal(size=300)
    step(x)
    step(x)
    assert "operations are one loop" in step.explain()
    x[0] = 1e11
    assert_near(step(x), plain(x))
    assert_near(step(x), plain(x))


def test_small_programs_stay_as_they_are():
    graph = captured(function(text(*KINDS["scalars"])), 10, np.ones(12))
    assert rolling.roll(graph, native.not_native) is None


def test_what_has_no_native_code_is_not_a_loop(monkeypatch):
    graph = ad.capture(lambda a: many_partitions(a), np.eye(3) * 2.0)
    rolled = roll(graph, monkeypatch, 10)
    assert not any(node.op is LOOP for node in rolled.graph.nodes)
    assert "partition_along has no native code" in rolled.said[0]


def many_partitions(a):
    for _ in range(20):
        a = np.partition(a * 1.5, 1, axis=0)
    return a


def test_a_loop_is_called_by_two_threads_at_once():
    from concurrent.futures import ThreadPoolExecutor

    step, plain = compiled("bodies", 200)
    points = np.random.default_rng(0).normal(size=(8, 12))
    step(points[0])
    step(points[0])
    with ThreadPoolExecutor(4) as pool:
        for found, x in zip(pool.map(step, points), points, strict=True):
            assert_near(found, plain(x))


def test_layers_with_weights_of_their_own_are_no_loop(monkeypatch):
    def net(weights, x):
        for w in weights:
            x = np.tanh(w @ x)
        return np.sum(x)

    graph = ad.capture(ad.grad(net), [np.eye(4) * k for k in range(20)], np.ones(4))
    rolled = roll(graph, monkeypatch)
    assert not any(node.op is LOOP for node in rolled.graph.nodes)
    assert "each turn uses arrays of its own" in rolled.said[0]


def test_small_turns_are_taken_several_at_a_time(monkeypatch):
    f = function(text("y = x[:3]", "y = y * 0.9 + 0.01 * y * y", "np.sum(y)"))
    graph = captured(f, 200, np.ones(200))
    rolled = roll(graph, monkeypatch)
    assert "200 turns of 4 operations are one loop, 10 at a time: 1 carried" in "\n".join(rolled.said)
    assert_near(built(rolled.graph).run(np.ones(200)), built(graph).run(np.ones(200)))


def test_a_few_turns_of_large_arrays_stay_as_they_are():
    def f(x):
        y = x
        for _ in range(60):
            y = np.sin(y) * x + 0.1 * y - x**2 + np.tanh(0.01 * y)
        return y

    small, large = (ad.capture(f, np.ones(n)) for n in (500, rolling.WIDE))
    assert rolling.roll(large, lambda loop: "") is None
    assert LOOP in {node.op for node in rolling.roll(small, lambda loop: "").graph.nodes}
