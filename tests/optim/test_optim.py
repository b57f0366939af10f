"""Optimisers: steps by hand, beside PyTorch's, in place; their state, groups and refusals. Clipping."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import adjoint as ad
from adjoint import io, optim
from adjoint.optim import SGD, Adam, AdamW

SETTINGS = [
    (SGD, {"lr": 0.1}),
    (SGD, {"lr": 0.1, "weight_decay": 0.3}),
    (SGD, {"lr": 0.1, "momentum": 0.9}),
    (SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.3}),
    (Adam, {"lr": 0.1}),
    (Adam, {"lr": 0.1, "betas": (0.5, 0.7), "eps": 1e-3, "weight_decay": 0.3}),
    (AdamW, {"lr": 0.1}),
    (AdamW, {"lr": 0.1, "weight_decay": 0.3}),
]
NAMES = [f"{kind.__name__}-{'-'.join(settings)}" for kind, settings in SETTINGS]


def leaf(values, grad=None, dtype=float):
    p = ad.tensor(np.asarray(values, dtype), requires_grad=True)
    if grad is not None:
        p.grad = np.asarray(grad, dtype)
    return p


def by_formula(kind, settings, p, grads):
    """The published update, one line a quantity, on Python floats."""
    lr, decay = settings["lr"], settings.get("weight_decay", 0.01 if kind is AdamW else 0.0)
    mu, (b1, b2) = settings.get("momentum", 0.0), settings.get("betas", (0.9, 0.999))
    velocity = mean = square = 0.0
    for t, g in enumerate(grads, 1):
        g = g if kind is AdamW else g + decay * p
        if kind is SGD:
            velocity = mu * velocity + g
            p -= lr * (g + mu * velocity if settings.get("nesterov") else velocity)
            continue
        p -= lr * decay * p if kind is AdamW else 0.0
        mean, square = b1 * mean + (1 - b1) * g, b2 * square + (1 - b2) * g * g
        p -= lr * (mean / (1 - b1**t)) / (math.sqrt(square / (1 - b2**t)) + settings.get("eps", 1e-8))
    return p


@pytest.mark.parametrize(("kind", "settings"), SETTINGS, ids=NAMES)
def test_steps_follow_the_published_formula_in_place(kind, settings):
    p = leaf([1.0, -2.0])
    array, optimizer, grads = p.held, kind([p], **settings), [0.5, -1.0, 2.0]
    for g in grads:
        p.grad = np.array([g, 2 * g])
        given = p.grad.data
        optimizer.step()
        np.testing.assert_array_equal(given, [g, 2 * g])
    assert p.held is array
    want = [by_formula(kind, settings, 1.0, grads), by_formula(kind, settings, -2.0, [2 * g for g in grads])]
    np.testing.assert_allclose(p.numpy(), want, rtol=1e-12)


@pytest.mark.parametrize(("kind", "settings"), SETTINGS, ids=NAMES)
def test_steps_match_torch(kind, settings):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    start = [rng.normal(size=(3, 4)), rng.normal(size=())]
    ours = [leaf(a) for a in start]
    theirs = [torch.tensor(a, requires_grad=True) for a in start]
    mine, other = kind(ours, **settings), getattr(torch.optim, kind.__name__)(theirs, **settings)
    for _ in range(5):
        for p, q in zip(ours, theirs, strict=True):
            g = rng.normal(size=p.shape)
            p.grad, q.grad = g, torch.tensor(g)
        mine.step()
        other.step()
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-10)


@pytest.mark.parametrize(("kind", "settings"), SETTINGS, ids=NAMES)
def test_float32_stays_float32_and_scratch_is_shared(kind, settings):
    params = [leaf(np.ones(n), np.ones(n), np.float32) for n in (3, 7, 2)]
    optimizer = kind(params, **settings)
    optimizer.step()
    assert all(p.dtype == np.float32 for p in params)
    state = optimizer.state_dict()["state"]
    assert all(a.dtype in (np.float32, np.int64) for values in state.values() for a in values.values())
    assert [b.size for b in optimizer._buffers.values()] == [7]


@pytest.mark.parametrize(("kind", "settings"), SETTINGS, ids=NAMES)
def test_a_saved_optimizer_goes_on_where_it_was(kind, settings, tmp_path):
    def steps(p, optimizer, grads):
        for g in grads:
            p.grad = np.array([g])
            optimizer.step()

    p = leaf([1.0])
    optimizer = kind([p], **settings)
    steps(p, optimizer, [0.5, -1.0])
    io.save(tmp_path / "o.safetensors", optimizer.state_dict())
    q = leaf(p.numpy())
    twin = kind([q], lr=123.0)
    twin.load_state_dict(io.load(tmp_path / "o.safetensors"))
    assert twin.lr == 0.1
    assert twin.steps == 2
    steps(p, optimizer, [2.0, 0.1])
    steps(q, twin, [2.0, 0.1])
    np.testing.assert_array_equal(p.numpy(), q.numpy())


def test_state_that_does_not_fit_is_refused():
    p = leaf([1.0], [1.0])
    optimizer = Adam([p])
    optimizer.step()
    with pytest.raises(ad.ArgumentError, match="groups"):
        Adam([leaf([1.0]), leaf([1.0])]).load_state_dict(optimizer.state_dict())
    with pytest.raises(ad.ShapeError, match="mean of parameter 0"):
        Adam([leaf([1.0, 2.0])]).load_state_dict(optimizer.state_dict())


def test_parameters_without_a_gradient_are_left_alone():
    p, q = leaf([1.0], [1.0]), leaf([1.0])
    optimizer = SGD([p, q], lr=0.5, weight_decay=0.1)
    optimizer.step()
    assert q.item() == 1.0
    assert p.item() == pytest.approx(0.45)
    optimizer.zero_grad()
    assert p.grad is None


def test_groups_have_their_own_settings_and_lr_may_change():
    p, q = leaf([1.0], [1.0]), leaf([1.0], [1.0])
    optimizer = SGD([{"params": [p]}, {"params": [q], "lr": 0.5}], lr=0.1)
    optimizer.step()
    assert (p.item(), q.item()) == (0.9, 0.5)
    optimizer.lr = 0.25
    assert [g["lr"] for g in optimizer.param_groups] == [0.25, 0.25]
    optimizer.param_groups[0]["lr"] = 0.0
    optimizer.step()
    assert (p.item(), q.item()) == (0.9, 0.25)


def test_momentum_may_be_switched_on_later():
    p = leaf([1.0], [1.0])
    optimizer = SGD([p], lr=0.1)
    optimizer.step()
    optimizer.param_groups[0]["momentum"] = 0.5
    optimizer.step()
    optimizer.step()
    assert p.item() == pytest.approx(1 - 0.1 - 0.1 - 0.15)


def test_a_step_between_forward_and_backward_is_noticed():
    w = leaf([2.0], [1.0])
    loss = (w * w).sum()
    SGD([w], lr=0.1).step()
    with pytest.raises(ad.InPlaceError, match="written in place"):
        loss.backward()


SHARED = leaf([1.0])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: SGD([]), "empty"),
        (lambda: SGD(ad.nn.Linear(1, 1)), r"model\.parameters\(\)"),
        (lambda: SGD(SHARED), r"\[tensor\]"),
        (lambda: SGD([SHARED, SHARED]), "twice"),
        (lambda: SGD([SHARED * 2]), "leaf"),
        (lambda: SGD([np.ones(1)]), "ndarray"),
        (lambda: SGD([SHARED], lr=-1.0), "lr"),
        (lambda: SGD([SHARED], lr=math.nan), "lr"),
        (lambda: SGD([SHARED], momentum=1.0), "momentum"),
        (lambda: SGD([SHARED], nesterov=True), "momentum"),
        (lambda: Adam([SHARED], betas=(0.9, 1.0)), "betas"),
        (lambda: Adam([{"params": [SHARED], "momentum": 1}]), "may set"),
        (lambda: Adam([{"params": []}]), "without parameters"),
        (lambda: optim.clip_grad_norm([SHARED], 0.0), "positive"),
        (lambda: optim.clip_grad_value([SHARED], -1.0), "negative"),
    ],
)
def test_wrong_arguments_are_refused(wrong, words):
    with pytest.raises(ad.ArgumentError, match=words):
        wrong()


@pytest.mark.parametrize(("p", "norm"), [(2.0, 13.0), (1.0, 19.0), (math.inf, 12.0)])
def test_clipping_by_norm_scales_all_by_one_factor(p, norm):
    a, b, c = leaf([0.0, 0.0], [3.0, 4.0]), leaf([[0.0]], [[12.0]]), leaf([0.0])
    assert optim.clip_grad_norm([a, b, c], norm / 2, p) == pytest.approx(norm)
    np.testing.assert_allclose(a.grad.numpy(), [1.5, 2.0])
    np.testing.assert_allclose(b.grad.numpy(), [[6.0]])
    assert c.grad is None
    assert optim.clip_grad_norm([a, b], 100.0, p) == pytest.approx(norm / 2)
    np.testing.assert_allclose(a.grad.numpy(), [1.5, 2.0])


def test_clipping_does_not_spread_a_nan():
    a, b = leaf([0.0], [math.nan]), leaf([0.0], [5.0])
    assert math.isnan(optim.clip_grad_norm([a, b], 1.0))
    assert b.grad.item() == 5.0
    with pytest.raises(ad.GradientError, match="nan"):
        optim.clip_grad_norm([a, b], 1.0, error_if_nonfinite=True)


def test_clipping_by_value():
    a = leaf([0.0, 0.0, 0.0], [3.0, -4.0, 0.5])
    optim.clip_grad_value([a], 1.0)
    assert a.grad.tolist() == [1, -1, 0.5]


@pytest.mark.parametrize("compiled", [False, True])
def test_dampening_leaves_the_first_gradient_of_each_parameter_whole(compiled):
    early, late = leaf([0.0], [1.0]), leaf([0.0])
    sgd = SGD([early, late], lr=1.0, momentum=0.5, dampening=0.25)
    step = ad.compile(sgd.step) if compiled else sgd.step
    step()
    for p in (early, late):
        p.grad = ad.tensor([1.0])
    step()
    assert (early.item(), late.item()) == (-2.25, -1.0)
    again = leaf([0.0], [1.0])
    other = SGD([leaf([0.0], [1.0]), again], lr=1.0, momentum=0.5, dampening=0.25)
    other.load_state_dict(sgd.state_dict())
    other.step()
    assert again.item() == -1.25


def test_data_set_to_a_tensor_is_its_array():
    p = ad.tensor([1.0, 2.0], requires_grad=True)
    p.data = ad.tensor([3.0, 4.0])
    optimizer = SGD([p], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        np.sum(p**2).backward()
        optimizer.step()
        p.data = p.detach() * 1.0
    np.testing.assert_allclose(p.detach(), [3.0 * 0.64, 4.0 * 0.64])
    again = pickle.loads(pickle.dumps(p))
    assert type(again.held) is np.ndarray
    np.testing.assert_array_equal(again.detach(), p.detach())


@pytest.mark.parametrize("settings", [{}, {"weight_decay": 0.1}, {"amsgrad": True}])
def test_a_large_parameter_is_updated_as_its_parts_are(settings):
    """A large one is gone through in blocks: no element is left out, or taken twice."""
    start, slopes = np.random.default_rng(0).normal(size=(2, 3, 50_001))
    whole, parts = leaf(start, start), [leaf(row, row) for row in start]
    for group in ([whole], parts):
        adam = Adam(group, lr=0.1, **settings)
        for k in range(3):
            for p, g in zip(group, slopes[None] if len(group) == 1 else slopes, strict=True):
                p.grad = ad.tensor(g * (k + 1))
            adam.step()
    np.testing.assert_array_equal(whole.numpy(), [p.numpy() for p in parts])


@pytest.mark.parametrize(
    "kind", [SGD, Adam, AdamW, optim.RMSprop, optim.Adagrad, lambda ps: SGD(ps, 0.1, momentum=0.9)]
)
@pytest.mark.parametrize("compiled", [False, True])
def test_a_state_that_was_asked_for_or_cleared_begins_anew(kind, compiled):
    asked, other = leaf([1.0, 2.0], [0.5, -1.0]), leaf([1.0, 2.0], [0.5, -1.0])
    optimizers = kind([asked]), kind([other])
    steps = [ad.compile(o.step, wait=True) if compiled else o.step for o in optimizers]
    assert len(optimizers[0].state[asked]) == 0
    assert str(optimizers[0].state_dict()) == str(optimizers[1].state_dict())
    for step in steps:
        step()
    np.testing.assert_array_equal(asked.data, other.data)
    optimizers[0].state[asked].clear()
    fresh = kind([other])
    fresh.steps = 1
    steps[0]()
    fresh.step()
    np.testing.assert_allclose(asked.data, other.data, rtol=1e-12)
