"""Long programs: equal turns of a loop are equal kernels, and planning takes as much longer as a program is."""

import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.native.plan.fusion import cut


def swing(q, p, h=0.01):
    """A pendulum, by Runge and Kutta's method."""
    a, u = p, -np.sin(q)
    b, v = p + h / 2 * u, -np.sin(q + h / 2 * a)
    c, w = p + h / 2 * v, -np.sin(q + h / 2 * b)
    d, x = p + h * w, -np.sin(q + h * c)
    return q + h / 6 * (a + 2 * b + 2 * c + d), p + h / 6 * (u + 2 * v + 2 * w + x)


def wind(q, p):
    """A turn that is longer than a kernel."""
    for k in range(16):
        q, p = np.cos(0.1 * k + p) * q - 0.5 * p, q * 0.9 + np.tanh(p) / (k + 1.5)
    return q, p


def shrink(q, p):
    """A turn of three operations."""
    return q * 0.99 + p, p * 0.98


def sort_between(q, p):
    """A turn in two segments, since NumPy sorts in part."""
    return np.partition(q * 0.5, 1) + p, p * 0.9


def captured(turn, count, x):
    def end(q, p):
        for _ in range(count):
            q, p = turn(q, p)
        return np.sum(q * p)

    return ad.capture(ad.grad(end, (0, 1)), x, x * 0.5)


def built(turn, count, x):
    graph = captured(turn, count, x).rewritten()
    return graph, native.build(graph.inputs, graph.outputs)


def kernels(program):
    return {kernel.name for kernel in program.kernels}


@pytest.mark.parametrize(("turn", "count"), [(swing, 20), (wind, 15), (shrink, 100)])
@pytest.mark.parametrize("x", [0.3, np.linspace(0.1, 0.5, 5)], ids=["numbers", "arrays"])
def test_turns_of_a_loop_are_the_same_kernels(turn, count, x):
    few, many = (built(turn, times, x)[1] for times in (count, 3 * count))
    assert len(many.kernels) > 2 * len(few.kernels)
    assert len(kernels(many)) <= len(kernels(few)) < len(few.kernels)


@pytest.mark.parametrize("turn", [swing, wind, shrink])
@pytest.mark.parametrize("x", [0.3, np.linspace(0.1, 0.5, 5)], ids=["numbers", "arrays"])
def test_long_loops_give_what_numpy_gives(turn, x):
    graph, program = built(turn, 30, x)
    for found, expected in zip(program(x, x * 0.5), graph.run([x, x * 0.5]), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def calls(f):
    """How many functions are called by `f()`."""
    count = 0

    def note(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    f()  # what is found once
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        f()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("turn", [swing, shrink, sort_between])
def test_planning_takes_as_much_longer_as_a_program_is(turn):
    x = np.linspace(0.1, 0.5, 5) if turn is sort_between else 0.3
    graphs = [captured(turn, count, x) for count in (50, 200)]
    few, many = (calls(graph.rewritten) for graph in graphs)
    assert many < 4.4 * few
    graphs = [graph.rewritten() for graph in graphs]
    few, many = (calls(lambda graph=graph: native.build(graph.inputs, graph.outputs)) for graph in graphs)
    assert many < 4.4 * few


def test_numbers_of_one_kernel_lie_side_by_side():
    _, program = built(swing, 100, 0.3)
    stored = sum(len(step.use.writes) for plan in program.plans for step in plan.steps)
    assert program.listing().memory.arena < 16 * stored
    assert any(len(step.use.together) > 4 for plan in program.plans for step in plan.steps)


@pytest.mark.parametrize("longest", [64, 128])
def test_cuts_leave_nothing_out(longest):
    nodes = [node for node in captured(wind, 5, 0.3).nodes if node.op is not None]
    stretches = cut(nodes, longest)
    assert [node for stretch in stretches for node in stretch] == nodes
    assert all(0 < len(stretch) <= longest for stretch in stretches)
    assert len(stretches) < 5 * len(nodes) / longest


def test_products_of_a_sum_are_added_one_after_another():
    rng = np.random.default_rng(0)
    pairs = [(rng.normal(size=(64, 8)), rng.normal(size=(8, 64))) for _ in range(5)]

    def total(pairs):
        out = pairs[0][0] @ pairs[0][1]
        for x, y in pairs[1:]:
            out = out + np.cos(x) @ y
        return out

    compiled = ad.compile(total, wait=True)
    for _ in range(3):
        np.testing.assert_allclose(compiled(pairs), total(pairs), atol=1e-12)
    plan = compiled.plan
    assert sum(row.by == "product" for row in plan.rows) == 5
    assert plan.memory.arena < 3 * 64 * 64 * 8  # and not four of them


@pytest.mark.parametrize("seed", range(12))
def test_products_and_sums_at_random(seed):
    """Whatever waits for what: products that go into sums which other products wait for."""
    rng = np.random.default_rng(seed)
    steps = [(rng.integers(4), rng.integers(0, 3 + i, size=3)) for i in range(14)]

    def program(a, b, c):
        known = [a, b, c]
        for kind, (i, j, k) in steps:
            x, y, z = known[i], known[j], known[k]
            made = (x @ y + z, x + y, x @ y.T + (y @ z), np.tanh(x) * y + z)[kind]
            known.append(made / 8)
        return known[-1] + known[-2] + known[-4], known[-3]

    args = [rng.normal(size=(64, 64)) for _ in range(3)]
    compiled = ad.compile(lambda *x: ad.value_and_grad(lambda *x: np.sum(program(*x)[0]), (0, 1, 2))(*x), wait=True)
    wanted = ad.value_and_grad(lambda *x: np.sum(program(*x)[0]), (0, 1, 2))(*args)
    for _ in range(2):
        value, grads = compiled(*args)
        np.testing.assert_allclose(value, wanted[0], rtol=1e-8)
        for x, y in zip(grads, wanted[1], strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-8 * np.abs(y).max(initial=1e-300))
