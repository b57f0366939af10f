"""Tensors that a compiled function makes and that require a gradient."""

import numpy as np
import pytest

import adjoint as ad

X = np.array([0.5, -1.25, 2.0])


def leaf(x):
    return ad.tensor(x * 2, requires_grad=True)


def number(x):
    return ad.tensor(2.0, requires_grad=True)


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("make", [leaf, number])
def test_each_call_gives_a_new_leaf_by_one_program(make, backend):
    f = ad.compile(make, wait=True, backend=backend)
    made = [f(k * X) for k in range(4)]
    for k, w in enumerate(made):
        assert w.is_leaf
        assert w.requires_grad
        np.sum(w * w).backward()
        np.testing.assert_array_equal(w.numpy(), make(k * X).numpy())
        np.testing.assert_array_equal(w.grad.numpy(), 2 * w.numpy())
    assert len({id(w.node) for w in made}) == 4
    assert "1 specialization\n" in f.explain()


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_what_leads_to_unseen_leaves_alone_has_a_graph_and_one_program(backend):
    w = ad.tensor(X, requires_grad=True)

    def f(x):
        unseen = ad.tensor(X, requires_grad=True)
        return unseen * x, w * x

    compiled = ad.compile(f, wait=True, backend=backend)
    for k in range(4):
        w.grad = None
        y, z = compiled(k * X)
        assert y.requires_grad
        assert not y.is_leaf
        (np.sum(y) + np.sum(z)).backward()
        np.testing.assert_array_equal(w.grad.numpy(), k * X)
    lonely = ad.compile(lambda x: f(x)[0], wait=True, backend=backend)
    for k in range(4):
        y = lonely(k * X)
        np.sum(y).backward()
        np.testing.assert_array_equal(y.numpy(), k * X * X)
    assert "1 specialization\n" in compiled.explain()
    assert "1 specialization\n" in lonely.explain()
