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
