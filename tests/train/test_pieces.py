"""Batches in pieces, in one process; tests/distributed has them on several ranks."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.core.errors import ArgumentError
from adjoint.nn.functional import softmax

X = np.random.default_rng(0).normal(size=(45, 4))
Y = np.argmax(X @ np.random.default_rng(1).normal(size=(4, 3)), axis=1)


def trained(pieces, *, compiled=False, accumulate=1, middle=(), batch_size=10):
    """The last weights, and the figures of each epoch."""
    net = nn.Sequential(nn.Linear(4, 16, rng=0), nn.Tanh(), *middle, nn.Dropout(0.4, rng=2), nn.Linear(16, 3, rng=1))
    history = ad.train.fit(
        net, (X, Y), optimizer=ad.optim.SGD(net.parameters(), lr=0.3, momentum=0.9), metrics=["accuracy"], epochs=3,
        validation=(X[:7], Y[:7]), batch_size=batch_size, pieces=pieces, compiled=compiled, accumulate=accumulate,
        clip_norm=0.7,
    )  # fmt: skip
    return history.last_state, [epoch.figures for epoch in history.epochs]


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("pieces", [1, 2, 8])
def test_weights_and_figures_are_those_of_the_whole_batch(pieces, compiled, accumulate):
    """Batches of ten rows, and of five: some pieces of eight have no row."""
    whole, figures = trained(None, accumulate=accumulate)
    found, others = trained(pieces, compiled=compiled, accumulate=accumulate)
    for name, value in whole.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-11, atol=1e-13, err_msg=name)
    for one, other in zip(figures, others, strict=True):
        assert one.keys() == other.keys()
        np.testing.assert_allclose(list(other.values()), list(one.values()), rtol=1e-11)


def test_a_batch_is_normalised_by_pieces():
    """The running averages are means over pieces, as over ranks, and count each batch once."""
    norm = nn.BatchNorm1d(4, momentum=1.0)
    net = nn.Sequential(norm, nn.Linear(4, 3, rng=0))
    loader = ad.data.DataLoader((X[:40], Y[:40]), 40)
    ad.train.fit(net, loader, epochs=2, pieces=4)
    assert norm.num_batches_tracked.item() == 2
    parts = X[:40].reshape(4, 10, 4)
    np.testing.assert_allclose(norm.running_mean.numpy(), parts.mean(axis=(0, 1)), rtol=1e-12)
    np.testing.assert_allclose(norm.running_var.numpy(), parts.var(axis=1, ddof=1).mean(axis=0), rtol=1e-12)


def test_generators_of_the_model_and_of_the_loss_move_once_a_batch():
    states = []
    for pieces in (None, 4):
        drop, noise = np.random.default_rng(5), np.random.default_rng(6)
        net = nn.Sequential(nn.Linear(4, 3, rng=0), nn.Dropout(0.5, rng=drop))

        def loss(answers, y, noise=noise):
            return -np.mean(np.log(softmax(answers + noise.normal(), -1)[np.arange(len(y)), y]))

        ad.train.fit(net, (X, Y), loss=loss, epochs=1, batch_size=10, pieces=pieces)
        states.append((drop.bit_generator.state["state"], noise.bit_generator.state["state"]))
    assert states[0] == states[1]


@pytest.mark.parametrize("pieces", [0, 3, -4])
def test_other_numbers_of_pieces_are_refused(pieces):
    with pytest.raises(ArgumentError, match=r"pieces is 1, 2, 4, 8, … and a multiple of the number of ranks"):
        trained(pieces)
