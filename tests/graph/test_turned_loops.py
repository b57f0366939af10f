"""Gradients of loops that write their stacks from the end, against the same turns in plain NumPy."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.registry import op_named
from adjoint.graph.graph import Graph
from adjoint.graph.loops import gradient
from adjoint.graph.loops.loop import Loop
from adjoint.graph.node import placeholder
from adjoint.graph.rewriting.driver import made_call


@pytest.mark.parametrize("backwards", [0, 1])
def test_a_matrix_whose_gradient_is_a_sum_of_products(backwards):
    rng = np.random.default_rng(0)
    start, matrix, seed = rng.normal(size=9), rng.normal(size=(9, 9)) * 0.5, rng.normal(size=(20, 9))
    h, w = placeholder("h", (9,), np.dtype(float)), placeholder("w", (9, 9), np.dtype(float))
    new = made_call(op_named("tanh"), (made_call(op_named("matmul"), (w, h)),))
    loop = Loop(Graph([h, w], [new, new]), 20, 1, (), 0, (), 1, backwards)
    loop.samples = [start, matrix]

    def by_the_loop(w):
        last, stack = gradient.run(loop, [start, w])
        return np.sum(stack * seed) + np.sum(last)

    def by_turns(w):
        x, rows = start, []
        for _ in range(20):
            x = np.tanh(w @ x)
            rows.append(x)
        return np.sum(np.stack(rows[::-1] if backwards else rows) * seed) + np.sum(x)

    np.testing.assert_allclose(ad.grad(by_the_loop)(matrix), ad.grad(by_turns)(matrix), rtol=1e-10)
