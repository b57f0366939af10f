"""Nodes: equal values are one, unequal ones never, and nothing is kept that nobody uses."""

import gc
import pickle
import random
import threading
import weakref

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.registry import operation
from adjoint.graph import Graph
from adjoint.graph.node import Node, call, constant, frozen, in_order, part, placeholder, uses, variable

ADD, MUL, SIN = operation("add"), operation("multiply"), operation("sin")
F8 = np.dtype(float)


def number():
    return placeholder("x", (), F8)


# -- Equal and unequal --------------------------------------------------------------------------------


def test_equal_calls_are_one_node():
    x, y = number(), number()
    assert call(ADD, (x, y), {}, (), F8) is call(ADD, (x, y), {}, (), F8)
    assert call(SIN, (call(ADD, (x, y)),)) is call(SIN, (call(ADD, (x, y)),))


def test_calls_differ_by_operation_inputs_settings_shape_and_dtype():
    x, y = number(), number()
    total = operation("reduce_sum")
    nodes = [
        call(ADD, (x, y), {}, (), F8),
        call(ADD, (y, x), {}, (), F8),
        call(MUL, (x, y), {}, (), F8),
        call(ADD, (x, y), {}, (3,), F8),
        call(ADD, (x, y), {}, (), np.dtype(np.float32)),
        call(ADD, (x, y)),
        *(call(total, (x,), {"axis": axis}) for axis in (0, 0.0, False, None, (0,), [0], "0", -0.0, np.int64(0))),
    ]
    assert len(set(nodes)) == len(nodes)


def test_the_two_merging_mistakes():
    """Nodes merged by what they are called; duplicates left among the arguments."""
    a, b, c, d, e = (variable(name) for name in "abcde")
    left, right = (call(ADD, (call(MUL, pair), c)) for pair in ((a, b), (d, e)))
    assert left is not right
    assert len(in_order([call(MUL, (left, right))])) == 10
    x, y, z = (variable(name) for name in "xyz")
    square = call(MUL, (call(ADD, (call(MUL, (x, y)), z)), call(ADD, (call(MUL, (x, y)), z))))
    assert square.args[0] is square.args[1]
    assert len(in_order([square])) == 6


@pytest.mark.parametrize("seed", range(5))
def test_interning_is_equality_of_trees(seed):
    """Random programs: two nodes are one if and only if they are written alike."""
    rng = random.Random(seed)
    made = [("x", variable("x")), ("y", variable("y")), ("1", constant(1)), ("1.0", constant(1.0))]
    for _ in range(300):
        op = rng.choice([ADD, MUL, SIN])
        args = [rng.choice(made) for _ in op.inputs]
        made.append((f"{op.name}({','.join(text for text, _ in args)})", call(op, tuple(node for _, node in args))))
    assert len({text for text, _ in made}) == len({node for _, node in made}) == len(set(made))


CONSTANTS = [
    0.0, -0.0, 1.0, 1, True, 0, False, 1 + 0j, complex(1.0, -0.0), complex(-0.0, 1.0), complex(0.0, 1.0),
    float("nan"), float("inf"), 5e-324,
    np.float64(1.0), np.float32(1.0), np.int64(1), np.int32(1), np.True_, np.float64(-0.0), np.float64(0.0),
    np.array(1.0), np.array([1.0]), np.array([[1.0]]), np.array([1], np.int64), np.array([1], ">i8"),
    np.array([0.0]), np.array([-0.0]), np.array([np.nan]), np.zeros((0, 3)), np.zeros((3, 0)), 2**80,
]  # fmt: skip


def test_constants_are_known_by_every_bit():
    nodes = [constant(value) for value in CONSTANTS]
    assert len(set(nodes)) == len(CONSTANTS)
    assert [constant(value) for value in CONSTANTS] == nodes


def test_nan_finds_itself():
    assert constant(float("nan")) is constant(-float("nan") * -1)
    assert constant(np.array([np.nan, 1.0])) is constant(np.array([np.nan, 1.0]))


def test_constants_are_copies_that_nobody_writes():
    array = np.ones(3)
    node = constant(array)
    array[0] = 7.0
    assert node.value[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        node.value[0] = 2.0
    assert constant(np.ones(3)) is node


def test_inputs_are_each_their_own_but_variables_have_names():
    assert placeholder("x", (), F8) is not placeholder("x", (), F8)
    assert variable("x") is variable("x")
    assert variable("x") is not variable("y")


def test_parts_are_one():
    x = placeholder("a", (3, 3), F8)
    whole = call(operation("eigen"), (x,), {}, ((3,), (3, 3)), (F8, F8))
    assert part(whole, 0) is part(whole, 0)
    assert part(whole, 0) is not part(whole, 1)
    assert (part(whole, 1).shape, part(whole, 1).kind, part(whole, 1).label) == ((3, 3), "part", "[1]")


def test_random_draws_are_never_one():
    from adjoint.ops.neural.fused import kept

    x, rng = number(), np.random.default_rng(0)
    assert call(kept, (x,), {"p": 0.5, "rng": rng}) is not call(kept, (x,), {"p": 0.5, "rng": rng})


def test_settings_are_frozen_by_value():
    index = np.array([0, 1])
    same = [frozen({"b": 1, "a": (slice(0, None), index)}), frozen({"a": (slice(0, None), index.copy()), "b": 1})]
    assert same[0] == same[1]
    assert hash(same[0]) == hash(same[1])
    different = [1, 1.0, True, "1", None, (1,), [1], slice(1), np.int64(1), np.array(1), -0.0, 0.0, float("nan"), {},
                 {"a": 1}, ..., np.dtype("f4"), np.dtype("f8")]  # fmt: skip
    assert len({frozen(x) for x in different}) == len(different)
    assert frozen(float("nan")) == frozen(float("nan"))


def test_labels_and_kinds():
    x = variable("x")
    assert [n.kind for n in (x, constant(2.0), call(SIN, (x,)))] == ["input", "constant", "call"]
    assert [n.label for n in (x, constant(2.0), call(SIN, (x,)))] == ["x", "2.0", "sin"]
    assert "sin" in repr(call(SIN, (x,)))


def test_a_node_is_not_pickled_alone():
    with pytest.raises(TypeError, match=r"graph\.to_source\(\)"):
        pickle.dumps(variable("x"))


# -- Life ---------------------------------------------------------------------------------------------


def test_nodes_die_with_their_users():
    x = number()
    node = call(SIN, (x,))
    user = call(SIN, (node,))
    seen = weakref.ref(node)
    del node
    assert seen() is user.args[0]
    del user
    assert seen() is None
    assert call(SIN, (x,)).args[0] is x  # made anew


def test_constants_die_too():
    seen = weakref.ref(constant(np.arange(1234.5)))
    assert seen() is None


def test_captured_graphs_leave_nothing():
    from adjoint.graph.node import _table

    def f(x):
        return np.sum(np.sin(x) * np.cos(x))

    ad.capture(ad.grad(f), np.ones(3))
    gc.collect()
    before = len(_table)
    for _ in range(3):
        ad.capture(ad.grad(f), np.ones(3))
    gc.collect()
    assert len(_table) <= before  # what other tests have left may go meanwhile


def chain(x, n, c=1e-6):
    """``x + c * (x + c * …)``, `n` times."""
    node, small = x, constant(c)
    for _ in range(n):
        node = call(ADD, (call(MUL, (node, small), {}, (), F8), x), {}, (), F8)
    return node


def test_a_million_nodes_are_made_walked_and_freed_without_recursion():
    x = placeholder("x", (), F8)
    node = chain(x, 500_000, 1.25e-6)  # a constant that no other graph has: else it is older, and stands first
    order = in_order([node])
    assert len(order) == 1_000_002
    assert order[0] is x
    assert order[-1] is node
    seen = weakref.ref(node.args[0])
    del order, node
    assert seen() is None


def test_long_graphs_are_run_and_freed_without_recursion():
    x = placeholder("x", (), F8)
    graph = Graph([x], [chain(x, 50_000)])
    assert graph(np.float64(1.0)) == pytest.approx(1.000001, rel=1e-9)
    seen = weakref.ref(graph.outputs[0])
    del graph
    assert seen() is None


def test_wide_and_shared_graphs():
    """Depth 60 of x + x is 60 nodes, not 2 to the 60."""
    node = x = variable("x")
    for _ in range(60):
        node = call(ADD, (node, node))
    order = in_order([node])
    assert len(order) == 61
    assert uses(order)[x] == [order[1], order[1]]
    assert Graph([x], [node])(1.0) == 2.0**60


def test_one_node_whichever_thread_asks():
    x, found, start = variable("x"), [None] * 8, threading.Barrier(8)

    def work(k):
        start.wait()
        chain = x
        for i in range(2000):
            chain = call(ADD, (call(SIN, (chain,)), constant(float(i))))
        found[k] = chain

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1


def test_threads_that_make_and_drop_the_same_nodes():
    x, wrong, start = variable("x"), [], threading.Barrier(4)

    def work():
        start.wait()
        for i in range(5000):
            node = call(SIN, (constant(float(i % 7)),))
            again = call(SIN, (constant(float(i % 7)),))
            if node is not again or not isinstance(node, Node):
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert x.kind == "input"
