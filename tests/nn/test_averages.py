"""Averages of weights, their rates, and orthogonal weights, against PyTorch's: `scripts/torch_values.py` made these."""

import copy
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.nn.utils import parametrizations
from tests.nn import table

FILE = np.load(Path(__file__).parent / "torch_values.npz")


def of(name):
    return {key.removeprefix(f"{name}/"): FILE[key] for key in FILE.files if key.startswith(f"{name}/")}


@pytest.mark.parametrize("number", range(len(table.SWA_RATES)))
def test_rates_are_pytorchs(number):
    last, options = table.SWA_RATES[number]
    groups = [{"params": [ad.tensor(np.zeros(1), requires_grad=True)], "lr": lr} for lr in (0.3, 0.2)]
    found = table.swa_rates(optim.swa_utils.SWALR, optim.SGD(groups), last, options)
    np.testing.assert_allclose(found, FILE[f"swa/{number}"], rtol=1e-12)


@pytest.mark.parametrize("number", range(len(table.AVERAGES)))
def test_averages_are_pytorchs(number):
    model = nn.Sequential(nn.Linear(2, 3, rng=0), nn.BatchNorm1d(3))
    shapes = {name: value.shape for name, value in model.state_dict().items()}
    model.load_state_dict(table.state_of(number, shapes))
    batches = np.random.default_rng(5).normal(size=(4, 6, 2))
    for when, state in enumerate(table.averaged(optim.swa_utils, model, batches, table.AVERAGES[number])):
        wanted = of(f"averaged/{number}/{when}")
        assert state.keys() == wanted.keys()
        for name, value in state.items():
            np.testing.assert_allclose(value, wanted[name], rtol=1e-10, atol=1e-12, err_msg=name)


def test_a_run_through_the_data_leaves_modes_and_momenta_alone():
    model = nn.Sequential(nn.BatchNorm1d(2, momentum=0.3), nn.InstanceNorm1d(2), nn.Dropout(0.5)).eval()
    model[2].train()
    nn.update_bn([(np.ones((4, 2, 3)), None)], model)
    assert [m.training for m in model] == [False, False, True]
    assert model[0].momentum == 0.3
    before = nn.ReLU().eval()
    nn.update_bn(None, before)  # nothing to do, and nothing is asked of the loader


def test_averages_of_several_kinds_at_once_are_refused():
    with pytest.raises(ad.ArgumentError, match="one of"):
        nn.AveragedModel(nn.ReLU(), decay=0.5, avg_fn=optim.swa_utils.get_swa_avg_fn())
    sgd = optim.SGD([ad.tensor([1.0], requires_grad=True)], lr=0.1)
    for options in ({"anneal_strategy": "log"}, {"anneal_epochs": -1}, {"swa_lr": [0.1, 0.2]}):
        with pytest.raises(ad.ArgumentError, match="SWALR"):
            optim.swa_utils.SWALR(sgd, **{"swa_lr": 0.1, **options})


@pytest.mark.parametrize("number", range(len(table.ORTHOGONAL)))
def test_orthogonal_weights_are_pytorchs(number):
    (shape, way, trivial), wanted = table.ORTHOGONAL[number], of(f"orthogonal/{number}")
    layer = nn.Module()
    layer.weight = nn.Parameter(np.random.default_rng(number).normal(size=shape))
    parametrizations.orthogonal(layer, "weight", way, use_trivialization=trivial, rng=0)
    np.testing.assert_allclose(
        layer.parametrizations["weight"].original.detach().numpy(), wanted["begin"], rtol=1e-9, atol=1e-12
    )
    state = {"parametrizations.weight.original": wanted["original"]}
    state |= {"parametrizations.weight.0.base": wanted["base"]} if "base" in wanted else {}
    layer.load_state_dict(state)
    weight = layer.weight
    np.testing.assert_allclose(weight.detach().numpy(), wanted["weight"], rtol=1e-9, atol=1e-11)
    np.sum(weight * np.random.default_rng(90 + number).normal(size=shape)).backward()
    gradient = layer.parametrizations["weight"].original.grad
    np.testing.assert_allclose(gradient.numpy(), wanted["grad"], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_orthogonal_weight_stays_so_while_it_learns_and_may_be_set(dtype):
    layer = parametrizations.orthogonal(nn.Linear(4, 4, rng=0, dtype=dtype))
    before = layer.weight.detach().numpy()
    assert before.dtype == dtype
    sgd = optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        sgd.zero_grad()
        layer(np.eye(4, dtype=dtype)).sum().backward()
        sgd.step()
    weight = layer.weight.detach().numpy()
    assert np.abs(weight - before).max() > 0.01
    np.testing.assert_allclose(weight.T @ weight, np.eye(4), atol=1e-5 if dtype == np.float32 else 1e-12)
    twin = copy.deepcopy(layer)
    np.testing.assert_array_equal(twin.weight.detach(), weight)


def test_wrong_maps_and_weights_are_refused():
    with pytest.raises(ad.ArgumentError, match="orthogonal_map is one of"):
        parametrizations.orthogonal(nn.Linear(2, 2, rng=0), orthogonal_map="qr")
    with pytest.raises(ad.ShapeError, match="a matrix"):
        parametrizations.orthogonal(nn.Linear(2, 2, rng=0), "bias")
