"""Chains of products are multiplied in the order that costs least: the values stay, up to rounding."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.objects.trees import flatten
from adjoint.graph.node import in_order
from adjoint.native.plan.products import chains

r = np.random.default_rng(0)
N = 60
ARGS = (*r.standard_normal((3, N, N)), r.standard_normal(N))
THIN, W = r.standard_normal((N, 3)), r.standard_normal(N)
MATRIX, VECTOR = N**3, N**2


def multiplications(outputs):
    return sum(chains._cost(node) for node in in_order(outputs) if chains._is_product(node))


# The program, and the multiplications that are left.
PROGRAMS = {
    "a vector behind": (lambda a, b, c, v: a @ b @ c @ v, 3 * VECTOR),
    "a vector before": (lambda a, b, c, v: v @ (a @ (b @ c)), 3 * VECTOR),
    "turned around": (lambda a, b, c, v: (a @ b).T @ (c @ a).T @ v, 4 * VECTOR),
    "a column that becomes a row": (lambda a, b, c, v: ((a @ b) @ v) @ c, 3 * VECTOR),
    "a row that becomes a column": (lambda a, b, c, v: c @ (v @ (a @ b)), 3 * VECTOR),
    "a number": (lambda a, b, c, v: v @ (a @ b) @ v, 2 * VECTOR + N),
    "few columns": (lambda a, b, c, v: (a @ b) @ (c @ THIN), 9 * VECTOR),
    "methods": (lambda a, b, c, v: a.dot(b).dot(c).dot(v), 3 * VECTOR),
    "complex": (lambda a, b, c, v: np.real((a + 1j * c) @ (b - 1j * c) @ (v + 0j)), 2 * VECTOR),
    "a gradient": (ad.grad(lambda a, b, c, v: np.sum((a @ b @ c @ v) ** 2), (0, 1, 2, 3)), 11 * VECTOR),
    "a product with a Hessian": (lambda a, b, c, v: ad.hvp(lambda v: np.sum(np.sin(a @ b @ v)), v, W), 6 * VECTOR),
    "beside a large product": (lambda a, b, c, v: (a @ b @ c @ v, np.tanh(c) @ np.cos(b)), 3 * VECTOR + MATRIX),
    "cheapest already": (lambda a, b, c, v: a @ (b @ (c @ v)), 3 * VECTOR),
    "not half": (lambda a, b, c, v: a @ b @ c, 2 * MATRIX),
    "asked for": (lambda a, b, c, v: (a @ b, a @ b @ c @ v), 2 * MATRIX + VECTOR),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_costs(name):
    f, left = PROGRAMS[name]
    graph = ad.capture(f, *ARGS)
    made = chains.ordered(graph.outputs, [])
    assert [(node.shape, node.dtype) for node in made] == [(node.shape, node.dtype) for node in graph.outputs]
    assert multiplications(made) == left
    native = ad.compile(f, wait=True)
    for factor in (1.0, 1.1):
        given = [x * factor for x in ARGS]
        for found, expected in zip(flatten(native(*given))[0], flatten(f(*given))[0], strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * np.max(np.abs(expected)))
    assert "native" in native.explain()


def test_small_products_stay():
    a = r.standard_normal((4, 4))
    graph = ad.capture(lambda a, v: a @ a @ v, a, a[0])
    assert chains.ordered(graph.outputs, []) == list(graph.outputs)


def test_long_chains_stay():
    def power(a, v):
        total = a
        for _ in range(40):
            total = total @ a
        return total @ v

    graph = ad.capture(power, ARGS[0] / N, ARGS[3])
    assert chains.ordered(graph.outputs, []) == list(graph.outputs)


def test_what_a_guard_asks_for_is_computed_as_it_is_written():
    graph = ad.capture(lambda a, b, c, v: a @ b @ c @ v, *ARGS)
    product = next(node for node in in_order(graph.outputs) if chains._is_product(node))
    made = chains.ordered(graph.outputs, [product])
    assert product in in_order(made)
    assert multiplications(made) == MATRIX + 2 * VECTOR

    f = lambda a, b, c, v: a @ b @ c @ v if np.sum(a @ b) > 0.0 else v
    native = ad.compile(f, wait=True)
    for sign in (1.0, -1.0, 1.0):
        given = ARGS[0] * sign, *ARGS[1:]
        np.testing.assert_allclose(native(*given), f(*given), rtol=1e-10, atol=1e-10)
