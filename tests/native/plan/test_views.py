"""Views in native code: what they show, NumPy tells; also where it gives numbers and no views."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native


@pytest.mark.parametrize(
    "view",
    [
        np.flip,
        lambda x: np.flip(x, ()),
        lambda x: x[...],
        lambda x: x[()],
        lambda x: x.T,
        np.squeeze,
        lambda x: np.reshape(x, ()),
        lambda x: np.broadcast_to(x, ()),
        np.copy,
    ],
)
def test_an_array_without_axes_shows_itself(view):
    graph = ad.capture(lambda x, y: (view(x), view(y) * view(x)), np.array(1.5), np.array(2.5))
    found = native.build(graph.inputs, graph.outputs)(np.array(3.0), np.array(4.0))
    assert [float(x) for x in found] == [3.0, 12.0]


@pytest.mark.parametrize(
    "f",
    [
        lambda a: a + a.T,
        lambda a: a[::-1] * a,
        lambda a: a.T @ a + a,
        lambda a: a - np.flip(a) + np.sum(a),
        lambda a: np.where(np.tri(4), a, 0.0) + np.where(np.tri(4), a, 0.0).T,
        lambda a: a + np.max(a[:, ::-1], axis=0),
        lambda a: a[0] + a[:, 0] + np.sum(a.T, axis=1),
    ],
)
def test_a_view_of_a_values_own_shape_is_read_when_all_of_it_is_there(f):
    x = np.random.default_rng(0).normal(size=(4, 4))
    graph = ad.capture(lambda x: f(np.abs(x) * 2.0), x)
    (found,) = native.build(graph.inputs, graph.outputs)(x)
    np.testing.assert_allclose(found, f(np.abs(x) * 2.0), rtol=1e-14, atol=1e-14)
