"""Optimisers and schedules against PyTorch's steps: `scripts/torch_values.py` made them."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from tests.nn import table

FILE = np.load(Path(__file__).parent / "torch_values.npz")
CASES = [pytest.param(n, *case, id=f"{n}-{case[0]}") for n, case in enumerate(table.OPTIMISERS)]
OURS = [("Lion", {"lr": 0.1, "weight_decay": 0.1}), ("Muon", {"lr": 0.1}), *table.OPTIMISERS]


def begun(which, options, matrices=False):
    start, gradients = table.start_of_training()
    parameters = [ad.tensor(x, requires_grad=True) for x in start]
    parameters = parameters[:1] if matrices else parameters
    return parameters, getattr(optim, which)(parameters, **options), gradients


def stepped(parameters, optimizer, gradients):
    found = []
    for step in gradients:
        for p, g in zip(parameters, step, strict=False):
            p.grad = g
        optimizer.step()
        found.append(np.concatenate([p.numpy().ravel() for p in parameters]))
    return np.stack(found)


@pytest.mark.parametrize(("number", "which", "options"), CASES)
def test_steps_are_pytorchs(number, which, options):
    near = 1e-6 if which in ("NAdam", "ASGD") else 1e-10  # PyTorch keeps a product and a rate in single precision
    np.testing.assert_allclose(stepped(*begun(which, options)), FILE[f"optimiser/{number}"], rtol=near, atol=near / 100)


def test_lion_by_its_formula():
    (p,), lion, gradients = begun("Lion", {"lr": 0.1, "weight_decay": 0.2}, matrices=True)
    w, m = p.numpy().copy(), np.zeros(p.shape)
    for (g, _), found in zip(gradients, stepped([p], lion, gradients), strict=True):
        w = w * (1 - 0.1 * 0.2) - 0.1 * np.sign(0.9 * m + 0.1 * g)
        m = 0.99 * m + 0.01 * g
        np.testing.assert_allclose(found, w.ravel(), rtol=1e-12)


def test_a_step_of_muon_is_nearly_orthogonal():
    w = ad.tensor(np.zeros((6, 4)), requires_grad=True)
    w.grad = np.random.default_rng(0).normal(size=(6, 4))
    optim.Muon([w], lr=1.0, weight_decay=0.0).step()
    sizes = np.linalg.svd(w.numpy() / 1.5**0.5, compute_uv=False)
    assert 0.6 < sizes.min() <= sizes.max() < 1.3
    u, _, vt = np.linalg.svd(w.grad.numpy(), full_matrices=False)
    assert np.sum((u @ vt) * -w.numpy()) > 0.8 * np.linalg.norm(u @ vt) * np.linalg.norm(w.numpy())
    with pytest.raises(ad.ArgumentError, match="matrices"):
        optim.Muon([ad.tensor(np.zeros(3), requires_grad=True)])


@pytest.mark.parametrize(("which", "options"), OURS, ids=lambda x: x if isinstance(x, str) else "")
@pytest.mark.parametrize("how", ["copy", "pickle", "state_dict"])
def test_going_on_from_a_copy(which, options, how):
    parameters, optimizer, gradients = begun(which, options, which == "Muon")
    stepped(parameters, optimizer, gradients[:5])
    if how == "state_dict":
        others, other, _ = begun(which, options, which == "Muon")
        for a, b in zip(others, parameters, strict=True):
            a.data[...] = b.data
        other.load_state_dict(optimizer.state_dict())
    else:
        pair = (parameters, optimizer)
        others, other = copy.deepcopy(pair) if how == "copy" else pickle.loads(pickle.dumps(pair))
        assert other.param_groups[0]["params"][0] is others[0]
    found = stepped(others, other, gradients[5:])
    np.testing.assert_array_equal(found, stepped(parameters, optimizer, gradients[5:]))


@pytest.mark.parametrize(("which", "options"), OURS, ids=lambda x: x if isinstance(x, str) else "")
def test_compiled_steps_are_the_plain_ones(which, options):
    def story(compile):
        rng = np.random.default_rng(3)
        w = ad.tensor(rng.normal(size=(4, 3)), requires_grad=True)
        optimizer = getattr(optim, which)([w], **options)

        @compile
        def step(x):
            optimizer.zero_grad()
            loss = np.sum(np.tanh(x @ w) ** 2)
            loss.backward()
            optimizer.step()
            return loss

        return [(step(rng.normal(size=(5, 4))).item(), w.numpy().copy()) for _ in range(9)]

    for (a, w), (b, v) in zip(story(lambda f: ad.compile(f, wait=True)), story(lambda f: f), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)
        np.testing.assert_allclose(w, v, rtol=1e-10)


def sgd():
    return optim.SGD([ad.tensor(np.zeros(1), requires_grad=True)], lr=0.3, momentum=0.9)


@pytest.mark.parametrize("number", range(len(table.SCHEDULES)), ids=lambda n: table.SCHEDULES[n][0])
def test_rates_are_pytorchs(number):
    which, args, options = table.SCHEDULES[number]
    found = table.rates(optim.lr_scheduler, sgd(), which, args, options)
    np.testing.assert_allclose(found, FILE[f"schedule/{number}"], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("chained", [False, True])
def test_rates_of_several_are_pytorchs(chained):
    found = table.composed(optim.lr_scheduler, sgd(), chained)
    np.testing.assert_allclose(found, FILE[f"composed/{int(chained)}"], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("number", range(len(table.PLATEAUS)))
def test_rates_by_a_figure_are_pytorchs(number):
    found = table.plateau(optim.lr_scheduler, sgd(), table.PLATEAUS[number])
    np.testing.assert_allclose(found, FILE[f"plateau/{number}"], rtol=1e-12)


@pytest.mark.parametrize("number", range(len(table.SCHEDULES)), ids=lambda n: table.SCHEDULES[n][0])
def test_a_schedule_goes_on_from_its_state(number):
    which, args, options = table.SCHEDULES[number]
    make = getattr(optim.lr_scheduler, which)
    first, second = sgd(), sgd()
    a, b = make(first, *args, **options), make(second, *args, **options)
    for _ in range(7):
        a.step()
    b.load_state_dict(pickle.loads(pickle.dumps(a.state_dict())))
    second.load_state_dict(first.state_dict())
    for _ in range(8):
        a.step()
        b.step()
        assert a.get_last_lr() == b.get_last_lr()


def test_lbfgs_finds_the_minimum_of_a_network():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    y = np.sin(x[:, :1]) * x[:, 1:]
    model = nn.Sequential(nn.Linear(2, 8, rng=0), nn.Tanh(), nn.Linear(8, 1, rng=1))
    for search in (None, "strong_wolfe"):
        lbfgs = optim.LBFGS(model.parameters(), lr=0.5, max_iter=50, line_search_fn=search)

        def closure(lbfgs=lbfgs):
            lbfgs.zero_grad()
            loss = nn.mse_loss(model(x), y)
            loss.backward()
            return loss

        before = lbfgs.step(closure).item()
        for _ in range(4):
            lbfgs.step(closure)
        assert closure().item() < max(before / 4, 1e-4)
    with pytest.raises(ad.ArgumentError, match="closure"):
        lbfgs.step()


def test_averages_of_weights():
    model = nn.Linear(2, 1, rng=0)
    mean, running = nn.AveragedModel(model), nn.AveragedModel(model, decay=0.9)
    values = [np.full((1, 2), v) for v in (1.0, 2.0, 6.0)]
    for v in values:
        model.weight.data[...] = v
        mean.update_parameters(model)
        running.update_parameters(model)
    np.testing.assert_allclose(mean.module.weight.numpy(), 3.0)
    np.testing.assert_allclose(running.module.weight.numpy(), 0.9 * (0.9 * 1 + 0.1 * 2) + 0.1 * 6)


def test_each_group_has_its_own_least_rate_on_a_plateau():
    groups = [{"params": [ad.tensor(1.0, requires_grad=True)], "lr": lr} for lr in (0.4, 0.3)]
    sgd = optim.SGD(groups)
    schedule = optim.lr_scheduler.ReduceLROnPlateau(sgd, factor=0.5, patience=0, min_lr=[0.1, 0.2])
    for _ in range(4):
        schedule.step(1.0)
    assert [group["lr"] for group in sgd.param_groups] == [0.1, 0.2]
    with pytest.raises(ad.ArgumentError, match="one for each of 2 groups"):
        optim.lr_scheduler.ReduceLROnPlateau(sgd, min_lr=[0.1])
