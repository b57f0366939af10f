"""Pure optimisers: the same steps as those in place and PyTorch's; derivatives of whole trainings."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import optim
from adjoint.optim import functional
from adjoint.testing import check_grads

rng = np.random.default_rng(0)
START = {"w": rng.normal(size=(2, 3)), "b": rng.normal(size=2)}
RULES = [
    (functional.sgd, optim.SGD, {"lr": 0.1}),
    (functional.sgd, optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.3}),
    (functional.sgd, optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (functional.adam, optim.Adam, {"lr": 0.1}),
    (functional.adam, optim.Adam, {"lr": 0.1, "betas": (0.5, 0.7), "eps": 1e-3, "weight_decay": 0.3}),
    (lambda **s: functional.adam(decoupled=True, **s), optim.AdamW, {"lr": 0.1, "weight_decay": 0.3}),
]


def loss(p):
    return np.sum(np.log(np.cosh(p["w"].T @ p["b"] - 1.0))) + 0.1 * np.sum(p["w"] ** 4) + np.sum(p["b"] ** 2)


def trained(rule, params, steps, loss=loss):
    state = rule.init(params)
    for _ in range(steps):
        params, state = rule.update(params, ad.grad(loss)(params), state)
    return params


@pytest.mark.parametrize(("pure", "in_place", "settings"), RULES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_steps_are_those_in_place(pure, in_place, settings, dtype):
    start = {k: v.astype(dtype) for k, v in START.items()}
    got = trained(pure(**settings), start, 5)
    tensors = {k: ad.tensor(v, requires_grad=True) for k, v in start.items()}
    optimizer = in_place(list(tensors.values()), **settings)
    for _ in range(5):
        optimizer.zero_grad()
        loss(tensors).backward()
        optimizer.step()
    for name, value in got.items():
        assert value.dtype == dtype
        assert_allclose(value, tensors[name].numpy(), rtol=1e-12 if dtype == np.float64 else 1e-4)
        assert start[name] is not value


def test_lbfgs_takes_the_steps_of_pytorch():
    torch = pytest.importorskip("torch")
    scales = np.array([1.0, 5.0, 0.2])
    quartic = lambda x: np.sum(scales * x**2) + 0.1 * np.sum(x**4)
    p = torch.tensor(np.ones(3), requires_grad=True)
    theirs = torch.optim.LBFGS([p], lr=0.7, max_iter=1, history_size=3, tolerance_grad=0, tolerance_change=0)

    def closure():
        theirs.zero_grad()
        value = (torch.tensor(scales) * p**2).sum() + 0.1 * (p**4).sum()
        value.backward()
        return value

    for _ in range(8):
        theirs.step(closure)
    ours = trained(functional.lbfgs(0.7, history=3), np.ones(3), 8, quartic)
    assert_allclose(ours, p.detach().numpy(), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda lr, other: functional.sgd(lr, momentum=other),
        lambda lr, other: functional.sgd(lr, momentum=other, nesterov=True, weight_decay=other),
        lambda lr, other: functional.adam(lr, betas=(other, 0.9)),
        lambda lr, other: functional.adam(lr, weight_decay=other, decoupled=True),
        lambda lr, other: functional.lbfgs(lr + other),
    ],
    ids=["momentum", "nesterov", "adam", "adamw", "lbfgs"],
)
def test_the_end_of_a_training_is_a_function_of_settings_and_start(make):
    def end(lr, other, start):
        return loss(trained(make(lr, other), start, 4))

    check_grads(end, (0.05, 0.3, START))


def test_each_leaf_may_have_a_rate_of_its_own():
    rates = {"w": np.full((2, 3), 0.1), "b": 0.02}
    got = functional.sgd(rates).update(START, ad.grad(loss)(START), functional.sgd(rates).init(START))[0]
    assert_allclose(got["b"], START["b"] - 0.02 * ad.grad(loss)(START)["b"])
    g = ad.grad(lambda rates: loss(trained(functional.sgd(rates), START, 3)))(rates)
    assert g["w"].shape == (2, 3)
    h = 1e-6
    at = lambda b: loss(trained(functional.sgd(rates | {"b": b}), START, 3))
    assert g["b"] == pytest.approx((at(0.02 + h) - at(0.02 - h)) / (2 * h), rel=1e-6)


def test_adam_of_a_parameter_without_a_gradient():
    one = lambda p: np.sum(p[:1] ** 2)
    end = lambda lr: np.sum(trained(functional.adam(lr), np.ones(2), 3, one))
    assert ad.grad(end)(0.1) == pytest.approx((end(0.1 + 1e-6) - end(0.1 - 1e-6)) / 2e-6, rel=1e-6)


def test_lbfgs_leaves_out_what_does_not_fit():
    bowl_upside_down = lambda x: -np.sum(x**2)
    rule = functional.lbfgs(0.1)
    x, state = np.ones(2), rule.init(None)
    for _ in range(3):
        x, state = rule.update(x, ad.grad(bowl_upside_down)(x), state)
    assert state[1] == ()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: functional.lbfgs(history=0), "history"),
        (lambda: functional.sgd([0.1, 0.2, 0.3]).update(START, START, [0, 0]), "2 leaves; got 3"),
        (lambda: functional.sgd(0.1).update(START, {"w": START["w"]}, [0, 0]), "structure"),
        (lambda: functional.adam(0.1).update(np.ones(2), np.ones(3), (0, [0], [0])), r"\(2,\)"),
    ],
)
def test_refusals(wrong, words):
    with pytest.raises(ad.ArgumentError, match=words):
        wrong()
