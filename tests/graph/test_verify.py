"""`graph.verify()` finds every kind of damage, and says where it is."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import capture
from adjoint.core.registry import operation
from adjoint.graph import Graph
from adjoint.graph.node import Node, call, constant, part, placeholder

F8, F4 = np.dtype(float), np.dtype(np.float32)
SIN, ADD, SUM, SPLIT = (operation(name) for name in ("sin", "add", "reduce_sum", "symmetric_eigen"))


def vector(name="x", shape=(3,), dtype=F8):
    return placeholder(name, shape, dtype)


def made(op, *args, shape=(3,), dtype=F8, settings=None):
    """A node that is not looked up, as damage would make one."""
    return Node(op, args, op.settings if settings is None else settings, shape, dtype, None, None)


def refused(graph, match):
    with pytest.raises(ad.GraphError, match=match):
        graph.verify()


def test_graphs_in_order_pass():
    x = vector()
    Graph([x], [call(SIN, (x,), {}, (3,), F8), x, constant(2.0)]).verify()
    capture(ad.grad(lambda x: np.sum(np.sin(x) @ np.ones((3, 2)))), np.ones(3)).verify()


def test_an_input_that_is_not_the_graphs():
    x, y = vector("x"), vector("y")
    refused(Graph([x], [call(ADD, (x, y), {}, (3,), F8)]), "y.* is an input, but not one of the graph's: x")


def test_an_input_twice():
    x = vector()
    refused(Graph([x, x], [x]), "lists an input twice")


def test_a_node_before_what_it_uses():
    x = vector()
    early = made(SIN, x)
    early.args = (made(SIN, x),)
    refused(Graph([x], [early]), "uses .* which is younger")


def test_a_circle():
    x = vector()
    node = made(SIN, x)
    node.args = (node,)
    refused(Graph([x], [node]), "uses .* which is younger")


def test_one_call_as_two_nodes():
    x = vector()
    refused(Graph([x], [made(SIN, x), made(SIN, x)]), "are the same call, but two nodes")


def test_duplicates_left_among_the_arguments():
    x = vector()
    refused(Graph([x], [call(ADD, (made(SIN, x), made(SIN, x)), {}, (3,), F8)]), "are the same call, but two nodes")


def test_one_constant_as_two_nodes():
    def two():
        return Node(None, (), {}, (3,), F8, np.ones(3), None)

    refused(Graph([], [two(), two()]), "are the same constant, but two nodes")


def test_one_part_as_two_nodes():
    a = vector(shape=(3, 3))
    whole = call(SPLIT, (a,), {}, ((3,), (3, 3)), (F8, F8))
    twin = Node(None, (whole,), {}, (3,), F8, 0, None)
    refused(Graph([a], [part(whole, 0), twin]), "are the same part, but two nodes")


@pytest.mark.parametrize(
    "damaged",
    [
        lambda x: made(SIN, x, shape=(4,)),
        lambda x: made(SIN, x, dtype=F4),
        lambda x: made(SUM, x, shape=(3,)),
        lambda x: made(SUM, x, shape=(1,), settings={**SUM.settings, "axis": 0}),
        lambda x: made(ADD, x, constant(np.ones((2, 1))), shape=(3,)),
        lambda x: made(ADD, x, constant(1j)),
        lambda x: made(operation("transpose"), made(operation("reshape"), x, shape=(1, 3), settings={
            **operation("reshape").settings, "shape": (1, 3)}), shape=(1, 3)),
    ],
)  # fmt: skip
def test_shapes_and_dtypes_that_are_not_the_operations(damaged):
    x = vector()
    refused(Graph([x], [damaged(x)]), "says .* but its operation gives")


def test_arguments_that_do_not_fit():
    x, y = vector(), vector("y", (4,))
    refused(Graph([x, y], [made(ADD, x, y)]), "its operation refuses")
    refused(Graph([x], [made(SUM, x, shape=(), settings={**SUM.settings, "axis": 5})]), "its operation refuses")


def test_the_wrong_count_of_arguments():
    x = vector()
    refused(Graph([x], [made(ADD, x)]), "takes 2 arrays")


def test_settings_that_are_not_the_operations():
    x = vector()
    refused(Graph([x], [made(SUM, x, shape=(), settings={"axes": 0})]), "has no setting 'axes'")


def test_a_part_that_is_not_there():
    a = vector(shape=(3, 3))
    whole = call(SPLIT, (a,), {}, ((3,), (3, 3)), (F8, F8))
    refused(Graph([a], [Node(None, (whole,), {}, (3,), F8, 2, None)]), "has no part 2")
    refused(Graph([a], [Node(None, (whole,), {}, (3, 3), F8, 0, None)]), "says .* but its operation gives")


def test_a_constant_that_says_another_shape():
    refused(Graph([], [Node(None, (), {}, (4,), F8, np.ones(3), None)]), "says .* but it holds")


def test_outputs_and_state_that_do_not_match():
    x = vector()
    refused(Graph([x], [x], written=[0]), "writes state, but has none")
    refused(Graph([x], ["x"]), "an output is no node")


def test_a_guard_on_what_the_graph_does_not_know():
    from adjoint.graph.captures.record import Guard

    x, y = vector("x"), vector("y")
    refused(Graph([x], [x], guards=[Guard(y, "bool", True, None)]), "not one of the graph's")


def test_expressions_have_no_shapes_to_be_checked():
    x = placeholder("x")
    Graph([x], [call(SIN, (x,)), call(ADD, (x, constant(1.0)))]).verify()
