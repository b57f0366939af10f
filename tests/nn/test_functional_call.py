"""Modules with other parameters, and per-example gradients through them."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn

RNG = np.random.default_rng(0)
X = RNG.standard_normal((5, 6))
LABELS = RNG.integers(0, 3, 5)


def per_example(loss, params, *data):
    """The gradients of each example by `vmap`, and by a loop."""
    found = ad.vmap(ad.grad(loss), (None, *(0,) * len(data)))(params, *data)
    loop = [ad.grad(loss)(params, *(x[i] for x in data)) for i in range(len(data[0]))]
    return found, {name: np.stack([g[name] for g in loop]) for name in found}


def same(pair):
    found, expected = pair
    assert found.keys() == expected.keys()
    for name in found:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12, atol=1e-14)


def test_another_set_of_parameters():
    net = nn.Sequential(nn.Linear(6, 4, rng=0), nn.Tanh(), nn.Linear(4, 2, rng=1))
    other = nn.Sequential(nn.Linear(6, 4, rng=2), nn.Tanh(), nn.Linear(4, 2, rng=3))
    before = net.state_dict()
    np.testing.assert_array_equal(nn.functional_call(net, other.state_dict(), X), other(X).numpy())
    np.testing.assert_array_equal(nn.functional_call(net, {}, (X,)).numpy(), net(X).numpy())
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_gradients_reach_the_tensors_given_and_not_the_module():
    net = nn.Linear(6, 2, rng=0)
    given = {name: ad.tensor(p.numpy(), requires_grad=True) for name, p in net.named_parameters()}
    np.sum(nn.functional_call(net, given, X)).backward()
    assert all(p.grad is None for p in net.parameters())
    np.testing.assert_allclose(given["bias"].grad.numpy(), [5, 5])


def test_shared_and_listed_parameters():
    class Tied(nn.Module):
        def __init__(self):
            self.first = nn.Linear(3, 3, rng=0)
            self.again = self.first
            self.scales = [nn.Parameter(np.ones(3)), (nn.Parameter(np.ones(3)),)]

        def forward(self, x):
            return self.again(self.first(x)) * self.scales[0]

    net = Tied()
    params = {"first.weight": np.eye(3) * 2, "first.bias": np.zeros(3), "scales.0": np.full(3, 5.0)}
    np.testing.assert_array_equal(nn.functional_call(net, params, np.ones(3)), np.full(3, 20.0))


def test_unknown_names_are_refused():
    with pytest.raises(ad.ArgumentError, match="no parameter or buffer 'wieght'; it has weight, bias"):
        nn.functional_call(nn.Linear(2, 1), {"wieght": np.ones((1, 2))}, np.ones(2))


def test_per_example_gradients_of_an_mlp():
    net = nn.Sequential(nn.Linear(6, 4, rng=0), nn.GELU(), nn.LayerNorm(4), nn.Linear(4, 3, rng=1))

    def loss(params, x, label):
        return nn.cross_entropy(nn.functional_call(net, params, x[None]), label[None])

    found, expected = per_example(loss, net.state_dict(), X, LABELS)
    same((found, expected))
    mean = ad.grad(lambda p: nn.cross_entropy(nn.functional_call(net, p, X), LABELS))(net.state_dict())
    for name in found:
        np.testing.assert_allclose(np.mean(found[name], axis=0), mean[name], rtol=1e-10, atol=1e-14)


def test_per_example_gradients_without_an_axis_of_one():
    net = nn.Linear(6, 3, rng=0)
    same(per_example(lambda p, x, y: nn.cross_entropy(nn.functional_call(net, p, x), y), net.state_dict(), X, LABELS))


@pytest.mark.parametrize("loss", [nn.mse_loss, nn.l1_loss, nn.huber_loss, nn.binary_cross_entropy_with_logits])
def test_losses(loss):
    net = nn.Linear(6, 1, rng=0)
    targets = RNG.uniform(0, 1, (5, 1))
    same(per_example(lambda p, x, y: loss(nn.functional_call(net, p, x), y), net.state_dict(), X, targets))


def test_per_example_gradients_of_an_embedding():
    net = nn.Embedding(7, 4, rng=0)
    ids = RNG.integers(0, 7, (5, 3))
    same(per_example(lambda p, x: np.sum(np.sin(nn.functional_call(net, p, x))), net.state_dict(), ids))


def test_per_example_gradients_of_a_gated_recurrence():
    params = {name: RNG.standard_normal((4, 7)) / 3 for name in ("reset", "update", "candidate")}

    def loss(params, xs, y):
        h = np.zeros(4)
        for x in xs:
            both = np.concatenate([x, h])
            r, z = ad.sigmoid(params["reset"] @ both), ad.sigmoid(params["update"] @ both)
            new = np.tanh(params["candidate"] @ np.concatenate([x, r * h]))
            h = (1 - z) * h + z * new
        return np.sum((h - y) ** 2)

    same(per_example(loss, params, RNG.standard_normal((5, 8, 3)), RNG.standard_normal((5, 4))))


def test_per_example_gradients_of_a_convolution():
    params = {"kernel": RNG.standard_normal((2, 3, 3)), "bias": np.zeros(2)}

    def loss(params, image):
        windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
        return np.sum(ad.relu(np.einsum("hwij,kij->khw", windows, params["kernel"]) + params["bias"][:, None, None]))

    same(per_example(loss, params, RNG.standard_normal((5, 6, 5))))


def test_per_example_gradients_with_running_statistics():
    params = {"scale": np.ones(6), "shift": np.zeros(6)}
    mean, variance = X.mean(axis=0), X.var(axis=0)

    def loss(params, x):
        return np.sum(np.tanh((x - mean) / np.sqrt(variance + 1e-5) * params["scale"] + params["shift"]))

    same(per_example(loss, params, X))


def test_dropout_inside_vmap_is_dropout_of_the_batch():
    params = {"w": RNG.standard_normal(6)}
    drop = nn.Dropout(0.5, rng=3)
    found = ad.vmap(ad.grad(lambda p, x: np.sum(drop(x * p["w"]))), (None, 0))(params, X)["w"]
    masks = nn.Dropout(0.5, rng=3)(np.ones_like(X))
    np.testing.assert_array_equal(found, X * masks)
    assert len({tuple(row) for row in masks}) > 1
    nested = nn.Dropout(0.5, rng=3)
    np.testing.assert_array_equal(ad.vmap(ad.vmap(nested))(np.ones((1, 5, 6)))[0], masks)
