"""Layers that take the number of their inputs from the first array."""

import copy
import pickle

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim


def net():
    return nn.Sequential(
        nn.LazyConv2d(4, 3, padding=1, rng=0), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10, rng=1)
    )


def test_the_first_call_makes_the_layers():
    lazy, x = net().eval(), np.random.default_rng(0).normal(size=(2, 3, 8, 8))
    plain = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1, rng=0), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(256, 10, rng=1)
    ).eval()
    np.testing.assert_array_equal(lazy(x).numpy(), plain(x).numpy())
    assert repr(lazy) == repr(plain)
    assert not lazy[1].training


def test_a_state_makes_them_too():
    known = net()
    known(np.ones((2, 3, 8, 8)))
    for fresh in (net(), copy.deepcopy(net()), pickle.loads(pickle.dumps(net()))):
        fresh.load_state_dict(known.state_dict())
        np.testing.assert_array_equal(fresh(np.ones((2, 3, 8, 8))).numpy(), known(np.ones((2, 3, 8, 8))).numpy())


@pytest.mark.parametrize(
    ("made", "shape", "inputs"),
    [
        (nn.LazyLinear(2), (7, 5), 5),
        (nn.LazyConv1d(2, 3), (3, 6), 3),
        (nn.LazyConv3d(4, 2, groups=2), (1, 6, 4, 4, 4), 6),
        (nn.LazyConvTranspose2d(2, 3), (5, 3, 4, 4), 3),
        (nn.LazyBatchNorm1d(), (4, 3), 3),
        (nn.LazyBatchNorm3d(), (2, 3, 2, 2, 2), 3),
        (nn.LazyInstanceNorm2d(affine=True), (3, 4, 4), 3),
        (nn.LazyInstanceNorm1d(), (2, 3, 4), 3),
    ],
)
def test_where_the_inputs_are(made, shape, inputs):
    made(np.random.default_rng(0).normal(size=shape))
    names = ("in_features", "in_channels", "num_features")
    assert inputs == next(getattr(made, name) for name in names if hasattr(made, name))
    assert not type(made).__name__.startswith("Lazy")


def test_there_are_no_parameters_before():
    with pytest.raises(ad.ArgumentError, match="call the model with a batch"):
        optim.SGD(net().parameters(), lr=0.1)
    with pytest.raises(TypeError, match="out_features"):
        nn.LazyLinear()
