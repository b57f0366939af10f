"""Loops in registers give what loops of kernels give, bit for bit.

ADJOINT_FUZZ_SECONDS=300 in the environment runs random ones for five minutes; ADJOINT_FUZZ_SEED is the first.
"""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.compiler.trace.loops import light
from adjoint.graph.loops import roll as rolling
from adjoint.graph.rewriting.rules import EXACT
from adjoint.native.plan.loops import registers
from adjoint.native.plan.loops import steps as looping
from tests.compiler.ending import function as ending_function
from tests.compiler.ending import generate as ending_program
from tests.compiler.looping import function as looping_function
from tests.compiler.looping import generate as looping_program
from tests.graph.loops import KINDS, function, generate, text
from tests.long_search import long_search, seeds

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def built(graph, most, monkeypatch, at_once=looping.AT_ONCE):
    monkeypatch.setattr(registers, "MOST", most)
    monkeypatch.setattr(looping, "AT_ONCE", at_once)
    simple = graph.rewritten(EXACT)
    return native.build(simple.inputs, simple.outputs, exact=True)


def in_registers(program):
    return program.llvm.count("%t.next = add")


def check(source, n, seed, monkeypatch):
    """How many loops were in registers."""
    x = np.random.default_rng(seed).normal(size=max(n, 12))
    monkeypatch.setattr(rolling, "LEAST", 20)
    f = function(source)
    with np.errstate(all="ignore"):
        graph = ad.capture(ad.value_and_grad(lambda x: f(x, n)), x)
    rolled = rolling.roll(graph, native.not_native)
    if rolled is None:
        return 0
    kernels, loops = (built(rolled.graph, most, monkeypatch) for most in (0, 5000))
    again = built(rolled.graph, 5000, monkeypatch, at_once=5 * registers.LONG)
    expected = kernels.run(x)
    for program in (loops, again):
        for found, right in zip(program.run(x), expected, strict=True):
            np.testing.assert_array_equal(found, right)
    return in_registers(loops)


@pytest.mark.parametrize("n", [9, 24, 33])
@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind, n, monkeypatch):
    check(text(*KINDS[kind]), n, 1, monkeypatch)


def test_some_are_in_registers(monkeypatch):
    assert all(check(text(*KINDS[kind]), 33, 1, monkeypatch) for kind in ("scalars", "runge kutta", "scan", "bodies"))


@pytest.mark.parametrize("seed", range(12))
def test_random_ones(seed, monkeypatch):
    check(generate(seed), (9, 17, 24, 31)[seed % 4], seed, monkeypatch)


def compiled(make, seed, most, monkeypatch):
    """What a compiled program gives at some points."""
    monkeypatch.setattr(registers, "MOST", most)
    found = []
    for mode in (lambda f: f, ad.grad):
        step = ad.compile(mode(make(seed)), wait=True)
        for x in np.random.default_rng(seed).normal(size=(3, 40)):
            try:
                found.append(np.asarray(step(x)))
            except (ValueError, UnboundLocalError, IndexError) as error:
                found.append(np.asarray(hash(type(error))))
    return found


def ending(seed):
    f = ending_function(ending_program(seed))
    return lambda x: f(x[:10], 5)


def of_turns(seed):
    f = looping_function(looping_program(seed))
    return lambda x: f(x, 31)


def same(make, seed, monkeypatch):
    monkeypatch.setattr(rolling, "LEAST", 20)
    monkeypatch.setattr(light, "FEWEST", 6)
    by_kernels, in_registers = (compiled(make, seed, most, monkeypatch) for most in (0, 5000))
    for found, expected in zip(in_registers, by_kernels, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("make", [ending, of_turns])
@pytest.mark.parametrize("seed", range(6))
def test_random_programs(make, seed, monkeypatch):
    same(make, seed, monkeypatch)


@long_search
def test_many(monkeypatch):
    for seed in seeds():
        check(generate(seed), (5, 9, 12, 17, 20, 24, 31, 40)[seed % 8], seed, monkeypatch)
        same((ending, of_turns)[seed % 2], seed, monkeypatch)


def test_each_kind_of_operation(monkeypatch):
    def f(x):
        y, k, seen = x * 1.0, np.int64(3), x > 0.0
        for _ in range(40):
            a = np.pad(y, (1, 2))[1:-2] + np.concatenate([y[2:], y[:2]]) * 0.1 + np.flip(y) * 0.05
            b = np.reshape(np.stack([a, np.sin(a)]), (-1,))[::2] * np.where(seen, 0.5, 0.25)
            seen = seen ^ (b > 0.1)
            y = b / (1.0 + np.max(np.abs(b))) + np.mean(a) * 0.01 + np.prod(a * 0.9) + np.float64(k % 5) * 0.01
            y[1] = np.min(y) + np.sum(np.outer(y, y), axis=0)[0] * 0.1 + np.any(seen) * 0.1
            k = k + 2
        return np.sum(y) + k * 0.001, y, seen

    results = []
    for most in (0, 5000):
        monkeypatch.setattr(registers, "MOST", most)
        step = ad.compile(f, wait=True)
        x = np.linspace(-1.0, 1.3, 5)
        results.append([*step(x), *step(x * 1.1)])
        assert "one loop" in step.explain()
        assert bool(in_registers(step.plan)) == bool(most) if hasattr(step.plan, "llvm") else True
    for found, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(found, expected)
