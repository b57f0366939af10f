"""Parameters that are computed from others: `nn.utils.parametrize`, and the normalisations of weights."""

import copy

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.nn.utils import parametrizations, parametrize


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x


class Halved(Doubled):
    def right_inverse(self, x):
        return x / 2


def test_a_parameter_is_computed_whenever_it_is_read():
    layer = nn.Linear(3, 2, rng=0)
    before = layer.weight.numpy().copy()
    parametrize.register_parametrization(layer, "weight", Halved())
    assert parametrize.is_parametrized(layer)
    assert parametrize.is_parametrized(layer, "weight")
    assert not parametrize.is_parametrized(layer, "bias")
    np.testing.assert_array_equal(layer.weight.detach().numpy(), before)
    np.testing.assert_array_equal(layer.state_dict()["parametrizations.weight.original"], before / 2)
    x = np.ones((4, 3))
    np.testing.assert_allclose(layer(x).detach().numpy(), x @ before.T + layer.bias.numpy())
    parametrize.register_parametrization(layer, "weight", Doubled())
    np.testing.assert_array_equal(layer.weight.detach().numpy(), 2 * before)
    layer(x).sum().backward()
    np.testing.assert_allclose(layer.parametrizations["weight"].original.grad.numpy(), 16 * np.ones((2, 3)))


@pytest.mark.parametrize("leave", [True, False])
def test_removed(leave):
    layer = nn.Linear(3, 2, rng=0)
    before = layer.weight.numpy().copy()
    parametrize.register_parametrization(layer, "weight", Doubled())
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=leave)
    assert type(layer) is nn.Linear
    np.testing.assert_array_equal(layer.weight.numpy(), before * (2 if leave else 1))
    assert sorted(layer.state_dict()) == ["bias", "weight"]


def test_one_of_two_removed():
    layer = nn.Linear(3, 2, rng=0)
    for name in ("weight", "bias"):
        parametrize.register_parametrization(layer, name, Doubled())
    parametrize.remove_parametrizations(layer, "weight")
    assert sorted(layer.state_dict()) == ["parametrizations.bias.original", "weight"]
    assert layer.bias.shape == (2,)


def test_spectral_norm_follows_the_largest_singular_value():
    layer = parametrizations.spectral_norm(nn.Conv2d(2, 4, 3, rng=0), rng=1)
    for _ in range(30):
        weight = layer.weight
    rows = weight.detach().numpy().reshape(4, -1)
    assert np.linalg.svd(rows, compute_uv=False)[0] == pytest.approx(1, abs=1e-3)
    layer.eval()
    np.testing.assert_array_equal(layer.weight.detach().numpy(), layer.weight.detach().numpy())


@pytest.mark.parametrize("make", [parametrizations.weight_norm, lambda m: parametrizations.spectral_norm(m, rng=3)])
def test_they_train(make):
    rng = np.random.default_rng(0)
    x, target = rng.normal(size=(32, 3)), rng.normal(size=(32, 2))
    layer = make(nn.Linear(3, 2, rng=0))
    steps = optim.SGD(layer.parameters(), lr=0.1)
    losses = []
    for _ in range(20):
        loss = nn.mse_loss(layer(x), target)
        steps.zero_grad()
        loss.backward()
        steps.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]


def test_copies_and_functional_calls():
    layer = parametrizations.weight_norm(nn.Linear(3, 2, rng=0))
    twin = copy.deepcopy(layer)
    twin.parametrizations["weight"].original0.data[...] *= 2
    np.testing.assert_allclose(twin.weight.detach().numpy(), 2 * layer.weight.detach().numpy())
    state = layer.state_dict()
    slope = ad.grad(lambda p: np.sum(nn.functional_call(layer, p, np.ones((1, 3)))))(state)
    assert slope["parametrizations.weight.original0"].shape == (2, 1)


def test_refusals():
    with pytest.raises(ad.ArgumentError, match="weight"):
        parametrize.register_parametrization(nn.Linear(3, 2, rng=0), "wieght", Doubled())

    class Flat(nn.Module):
        def forward(self, x):
            return x.reshape(-1)

    with pytest.raises(ad.ShapeError, match=r"\(2, 3\)"):
        parametrize.register_parametrization(nn.Linear(3, 2, rng=0), "weight", Flat())
    with pytest.raises(ad.ArgumentError, match="no parametrisation"):
        parametrize.remove_parametrizations(nn.Linear(3, 2, rng=0), "weight")
    with pytest.raises(ad.ArgumentError, match="at least 1"):
        parametrizations.spectral_norm(nn.Linear(3, 2, rng=0), n_power_iterations=0)
    layer = parametrizations.weight_norm(nn.Linear(3, 2, rng=0))
    with pytest.raises(ad.ArgumentError, match="leave_parametrized"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)


def test_vectors_of_parameters():
    net = nn.Sequential(nn.Linear(3, 2, rng=0), nn.Linear(2, 1, rng=1))
    vector = nn.utils.parameters_to_vector(net.parameters())
    nn.utils.vector_to_parameters(2 * vector, net.parameters())
    np.testing.assert_array_equal(nn.utils.parameters_to_vector(net.parameters()).numpy(), 2 * vector.numpy())
    with pytest.raises(ad.ShapeError, match="11 elements"):
        nn.utils.vector_to_parameters(np.ones(3), net.parameters())
