"""What is the same in each turn of a loop is computed once: same values, and nothing that could raise is moved."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.graph.loops.loop import LOOP
from adjoint.graph.loops.roll import roll
from adjoint.graph.node import in_order

R = np.random.default_rng(0)


def oscillator(k, x):
    v = 0.0 * x
    for _ in range(300):
        w = np.sqrt(k) * np.exp(-0.1 * k)
        v = v - 0.01 * w * w * np.sin(x)
        x = x + 0.01 * v
    return np.sum(x * x)


def labels(graph):
    """The operations in the bodies of a graph's loops."""
    loops = {node.settings["loop"] for node in graph.nodes if node.op is LOOP}
    return [[node.label for node in in_order(loop.body.outputs)] for loop in loops]


@pytest.mark.parametrize("shape", [(), (40,)])
def test_the_backward_loop_reads_it_without_stacks(shape):
    compiled = ad.compile(ad.value_and_grad(oscillator, (0, 1)), wait=True)
    for _ in range(4):
        args = R.random(shape)[()] + 0.5, R.random(shape)[()]
        got, wanted = compiled(*args), ad.value_and_grad(oscillator, (0, 1))(*args)
        np.testing.assert_allclose(got[0], wanted[0], rtol=1e-12)
        for one, other in zip(got[1], wanted[1], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10)
    plan = compiled.plan
    assert plan.count("loop") == 2
    said = [text for row in plan.rows for _, text in row.turns]
    assert not any("exp(" in text or "sqrt(" in text for text in said), said
    stacked = [value for value in plan.values if value.what == "stacked"]
    assert sum(value.size for value in stacked) <= 2 * 300 * 8 * max(1, np.prod(shape)), stacked  # sin and cos


def test_in_a_recorded_graph_it_comes_before_the_loops():
    def f(k, x):
        for _ in range(200):
            x = np.sin(x * np.exp(k)) + np.cos(k)
        return np.sum(x)

    graph = ad.capture(ad.grad(f, (0, 1)), R.random(5), R.random(5))
    rolled = roll(graph, lambda loop: "")
    bodies = labels(rolled.graph)
    assert len(bodies) == 2, rolled.said
    assert not any("exp" in body or {"sin", "cos"} <= {*body} for body in bodies), bodies
    args = R.random(5), R.random(5)
    for got, wanted in zip(rolled.graph(*args), ad.grad(f, (0, 1))(*args), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-10)


def test_second_derivatives():
    plain = ad.grad(lambda k: ad.grad(oscillator)(k, 0.7) ** 2)
    compiled = ad.compile(plain, wait=True)
    for k in (0.8, 1.1, 1.7, 2.3):
        np.testing.assert_allclose(compiled(k), plain(k), rtol=1e-9)


def test_what_may_raise_stays_in_turns_that_may_not_take_place():
    def f(a, x):
        while x < 4.0:
            x = x + 0.5 * np.linalg.cholesky(a)[0, 0]
        return x

    compiled = ad.compile(f, wait=True)
    for x in (0.0, 1.0, 2.0, 3.0):
        assert compiled(np.eye(2), x) == f(np.eye(2), x)
    bad = np.array([[1.0, 2.0], [2.0, 1.0]])
    assert compiled(bad, 5.0) == 5.0
    with pytest.raises(np.linalg.LinAlgError):
        compiled(bad, 1.0)
