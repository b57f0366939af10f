"""Complex parameters: every optimiser does to them what it does to their parts as real parameters."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import adjoint as ad
from adjoint import optim
from adjoint.core.errors import ArgumentError
from adjoint.optim import functional

OPTIMISERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1),
    "nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda p: optim.Adam(p, lr=0.1, weight_decay=0.1),
    "amsgrad": lambda p: optim.Adam(p, lr=0.1, betas=(0.5, 0.6), amsgrad=True, maximize=True),
    "adamw": lambda p: optim.AdamW(p, lr=0.1),
    "adamax": lambda p: optim.Adamax(p, lr=0.1),
    "nadam": lambda p: optim.NAdam(p, lr=0.1),
    "radam": lambda p: optim.RAdam(p, lr=0.1, betas=(0.8, 0.9)),
    "rmsprop": lambda p: optim.RMSprop(p, momentum=0.9, centered=True),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.1, initial_accumulator_value=0.5),
    "adadelta": lambda p: optim.Adadelta(p),
    "asgd": lambda p: optim.ASGD(p, lr=0.1, t0=2.0),
    "rprop": lambda p: optim.Rprop(p, lr=0.1),
    "lion": lambda p: optim.Lion(p, lr=0.1, weight_decay=0.1),
}
SHAPES = {"matrix": (2, 3), "number": (), "empty": (0,), "vector": (4,)}


def _parts(z: np.ndarray) -> np.ndarray:
    return np.stack([z.real, z.imag], axis=-1)


def _complex(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(generator.normal(size=shape) + 1j * generator.normal(size=shape))


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", "CF")
def test_steps_are_those_of_both_parts(name: str, shape: str, order: str) -> None:
    generator = np.random.default_rng(3)
    start = _complex(generator, SHAPES[shape])
    z = ad.tensor(np.array(start, order=order), requires_grad=True)
    pair = ad.tensor(_parts(start), requires_grad=True)
    ours, theirs = OPTIMISERS[name]([z]), OPTIMISERS[name]([pair])
    for step in range(6):
        if step == 3:
            again = OPTIMISERS[name]([z])
            again.load_state_dict(ours.state_dict())
            ours, z = copy.deepcopy((again, z))
        gradient = _complex(generator, SHAPES[shape]) * (10.0 ** (step % 3))
        z.grad, pair.grad = np.array(gradient, order=order), _parts(gradient)
        ours.step()
        theirs.step()
        assert z.dtype == np.complex128
        np.testing.assert_array_equal(_parts(z.numpy()), pair.numpy())


@pytest.mark.parametrize("name", OPTIMISERS)
def test_compiled_steps_are_those_of_both_parts(name: str) -> None:
    generator = np.random.default_rng(4)
    start, target = _complex(generator, (5,)), _complex(generator, (5,))
    found = []
    for compiled in (False, True):
        z = ad.tensor(start.copy(), requires_grad=True)
        ours = OPTIMISERS[name]([z])

        def step(w: np.ndarray, z: ad.Tensor = z, ours: optim.Optimizer = ours) -> ad.Tensor:
            ours.zero_grad()
            loss = np.sum(np.abs(z * w - target) ** 2)
            loss.backward()
            ours.step()
            return loss.detach()

        run = ad.compile(step) if compiled else step
        for turn in range(5):
            run(np.full(5, 1.0 + turn))
        found.append(z.numpy().copy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_is_that_of_both_parts(search: str | None) -> None:
    generator = np.random.default_rng(5)
    start, target, scale = _complex(generator, (3,)), _complex(generator, (3,)), np.array([1.0, 3.0, 9.0])
    z = ad.tensor(start.copy(), requires_grad=True)
    real = ad.tensor(np.ones(2), requires_grad=True)
    pair = ad.tensor(_parts(start), requires_grad=True)
    same = ad.tensor(np.ones(2), requires_grad=True)

    def of_complex() -> ad.Tensor:
        z.grad = real.grad = None
        loss = np.sum(scale * np.abs(z - target) ** 2) + np.sum((real - 3.0) ** 4)
        loss.backward()
        return loss

    def of_pairs() -> ad.Tensor:
        pair.grad = same.grad = None
        loss = np.sum(scale[:, None] * (pair - _parts(target)) ** 2) + np.sum((same - 3.0) ** 4)
        loss.backward()
        return loss

    ours, theirs = (optim.LBFGS(p, lr=0.5, max_iter=5, line_search_fn=search) for p in ([z, real], [pair, same]))
    for _ in range(3):
        ours.step(of_complex)
        theirs.step(of_pairs)
    np.testing.assert_allclose(_parts(z.numpy()), pair.numpy(), rtol=1e-8)
    np.testing.assert_allclose(real.numpy(), same.numpy(), rtol=1e-8)
    assert np.abs(z.numpy() - target).max() < 0.1 * np.abs(start - target).max()


RULES = {
    "adam": functional.adam(0.1, weight_decay=0.1),
    "lbfgs": functional.lbfgs(0.5),
    "sgd": functional.sgd(0.1, 0.9),
}


@pytest.mark.parametrize("name", RULES)
def test_pure_rules_are_those_of_both_parts(name: str) -> None:
    rule = RULES[name]
    generator = np.random.default_rng(6)
    z = _complex(generator, (3,))
    target = _complex(generator, (3,))
    pair = _parts(z)
    state, states = rule.init(z), rule.init(pair)
    for _ in range(5):
        z, state = rule.update(z, 4 * (z - target), state)
        pair, states = rule.update(pair, 4 * (pair - _parts(target)), states)
        np.testing.assert_allclose(_parts(z), pair, rtol=1e-9)


@pytest.mark.parametrize("make", [optim.Muon, optim.Adafactor])
def test_rules_of_whole_matrices_refuse_complex_parameters(make: type[optim.Optimizer]) -> None:
    with pytest.raises(ArgumentError, match="real parameters; got one of complex128"):
        make([ad.tensor(np.ones((2, 2)) * 1j, requires_grad=True)])


def test_gradients_are_clipped_by_part() -> None:
    z = ad.tensor([0j, 0j], requires_grad=True)
    z.grad = np.array([3.0 - 0.5j, -0.2 - 4j])
    optim.clip_grad_value([z], 1.0)
    assert z.grad.tolist() == [1.0 - 0.5j, -0.2 - 1j]


def test_dampening_goes_on_from_a_velocity_without_a_note_of_it() -> None:
    """As of PyTorch's states, and where dampening is switched on between steps."""
    w = ad.tensor([1.0, 2.0], requires_grad=True)
    sgd = optim.SGD([w], lr=1.0, momentum=0.5)
    w.grad = np.ones(2)
    sgd.step()
    sgd.param_groups[0]["dampening"] = 0.25
    sgd.step()
    assert w.tolist() == [1.0 - 1.0 - 1.25, 2.0 - 1.0 - 1.25]


def test_rprop_begins_with_the_rate_of_the_first_gradient() -> None:
    used, later = (ad.tensor([1.0], requires_grad=True) for _ in range(2))
    rprop = optim.Rprop([used, later], lr=0.5)
    used.grad = np.ones(1)
    rprop.step()
    again = optim.Rprop([used, later], lr=0.5)
    again.load_state_dict(rprop.state_dict())
    again.lr = 0.25
    later.grad = np.ones(1)
    again.step()
    assert later.tolist() == [0.75]
    assert used.tolist() == [0.5 - 0.5 * 1.2]
