"""Schedules after one another and at once, of which some set their own first rate: as in PyTorch."""

import numpy as np
import pytest

from adjoint import nn, optim
from adjoint.core.errors import ArgumentError

S = optim.lr_scheduler


def sgd():
    return optim.SGD([nn.Parameter(np.zeros(1))], lr=0.3, momentum=0.9)


# Rates before each step, by PyTorch 2.13.
CASES = {
    "a product that comes later": (
        lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.5, 9), S.MultiplicativeLR(o, lambda e: 0.9)], [2]),
        [0.15, 0.15, 0.135, 0.1215, 0.10935],
    ),
    "a cycle in between": (
        lambda o: S.SequentialLR(
            o, [S.ConstantLR(o, 0.5, 9), S.CyclicLR(o, 0.01, 0.1, 2), S.CosineAnnealingWarmRestarts(o, 2)], [1, 3]
        ),
        [0.15, 0.01, 0.055, 0.3, 0.15],
    ),
    "one cycle and a cosine at once": (
        lambda o: S.ChainedScheduler(
            [S.OneCycleLR(o, 0.5, total_steps=10, cycle_momentum=False), S.CosineAnnealingWarmRestarts(o, 2)]
        ),
        [0.02, 0.01, 0.02, 0.01, 0.02],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rates_are_those_of_pytorch(name):
    make, wanted = CASES[name]
    optimizer = sgd()
    schedule = make(optimizer)
    found = []
    for _ in wanted:
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("make", [
    lambda o: S.OneCycleLR(o, 0.5, total_steps=10), lambda o: S.CyclicLR(o, 0.1, 0.5, step_size_up=2),
])  # fmt: skip
def test_there_is_a_momentum_to_move(make):
    adagrad = optim.Adagrad([nn.Parameter([1.0])])
    with pytest.raises(ArgumentError, match="Adagrad has no momentum; cycle_momentum=False"):
        make(adagrad)
    assert "momentum" not in adagrad.param_groups[0]
