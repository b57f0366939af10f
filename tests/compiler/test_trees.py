"""Trees in compiled functions: optree takes them apart and puts them together, also those from outside."""

import dataclasses
from functools import partial

import numpy as np
import optree
import pytest

import adjoint as ad
from adjoint.core.objects.trees import flatten, map_tree

X = np.array([1.0, -2.0])


@dataclasses.dataclass
class Layer:
    w: object
    b: object


class Node:
    def __init__(self, value):
        self.value = value


optree.register_pytree_node(Node, lambda n: ([n.value], None), lambda _, v: Node(*v), namespace="nodes")

TABLE = {"b": [np.arange(2.0), (3.0,)], "a": np.ones(2)}
LAYER = Layer(np.ones(2), [np.zeros(2)])
NODE = {"n": Node(np.ones(2))}
_, REBUILD = flatten({"a": 1.0, "b": [2.0, (3.0,)]})
_, SPEC = optree.tree_flatten({"z": 0, "y": (0, [0])})


def of_table(x):
    return optree.tree_map(lambda y, z: x * y + z, TABLE, TABLE)


def made(x):
    leaves, spec = optree.tree_flatten({"z": x, "y": (x + 1, [x * 2])})
    return optree.tree_unflatten(spec, leaves[::-1]), spec.num_leaves


def layers(x):
    leaves, rebuild = flatten(Layer(x, [x * 2]))
    doubled = map_tree(lambda y: y * x, rebuild([2 * y for y in leaves]))
    return doubled.w + doubled.b[0] + map_tree(np.negative, LAYER).w


def misfit(x):
    try:
        return REBUILD([x])
    except ValueError:
        return x * 3


def pulled(x):
    y, pullback = ad.vjp(lambda d: {"l": d["a"] * 2, "m": d["b"] * d["a"]}, {"a": x, "b": x})
    return pullback(map_tree(np.ones_like, y))


PROGRAMS = {
    "rebuilt": lambda x: REBUILD([x, x * 2, x * 3]), "spec": lambda x: SPEC.unflatten([x, x, x * 2]), "table": of_table,
    "made": made, "layers": layers, "misfit": misfit, "pulled": pulled,
}  # fmt: skip


def assert_same(found, expected):
    (a, one), (b, other) = optree.tree_flatten(found), optree.tree_flatten(expected)
    assert one == other
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", PROGRAMS)
def test_recorded(name):
    f = PROGRAMS[name]
    compiled = ad.compile(partial(f), wait=True, backend="numpy")
    for k in range(4):
        assert_same(compiled(X + k), f(X + k))
    assert "specialization 1" in str(compiled.explain())


def test_a_tree_that_changes_is_another_program():
    table = {"a": np.ones(2)}

    def f(x):
        return map_tree(lambda y: y * x, table)

    compiled = ad.compile(f, wait=True)
    for change in (lambda: None, lambda: table.update(b=[2.0]), lambda: table.update(a=X), lambda: table.pop("a")):
        change()
        for _ in range(3):
            assert_same(compiled(X), f(X))


def test_nodes_that_somebody_takes_apart_are_not_recorded():
    def f(x):
        return optree.tree_map(lambda y: y * x, NODE, namespace="nodes")["n"].value

    compiled = ad.compile(f, wait=True)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(X), f(X))
    assert "a tree holds a Node" in str(compiled.explain())
