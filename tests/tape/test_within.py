"""Rules that write into their cotangent do so only where nothing else refers to it."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.core.rules import choosing
from adjoint.ops.neural import activation
from adjoint.tape import backward

MANY = backward._ALONE


@pytest.fixture
def counted(monkeypatch):
    """How often a rule wrote into its cotangent."""
    calls = []
    keep = choosing.keep_positive

    def noted(x, g):
        calls.append(g.shape)
        return keep(x, g)

    monkeypatch.setattr(activation, "keep_positive", noted)
    return calls


def values(shape=(MANY // 64, 64), seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_relu_masks_a_cotangent_of_its_own(counted, dtype):
    x, w = ad.tensor(values().astype(dtype), requires_grad=True), values((64, 64), 1).astype(dtype)
    (ad.relu(x) @ w).sum().backward()
    assert counted == [x.shape]
    np.testing.assert_array_equal(x.grad.numpy(), np.where(x.numpy() > 0, np.ones_like(x.numpy()) @ w.T, 0))


def test_infinite_and_signed_numbers_are_chosen_not_multiplied():
    x = values((3, backward._ALONE))
    g = np.where(x > 1, np.inf, np.where(x < -1, np.nan, -x))
    g[0, :2], x[0, :2] = -0.0, (1.0, -1.0)
    expected = choosing.where_positive(x, g)
    found = choosing.keep_positive(x, g.copy())
    assert found.tobytes() == expected.tobytes()


def given(x, kept):
    g = kept.setdefault("g", values(seed=2))
    ad.relu(x).backward(g)


def added(x, kept):
    (ad.relu(x) + ad.relu(x)).backward(values(seed=2))


def shared(x, kept):
    y = x * 1.0
    z = y + ad.relu(y)
    (z * ad.relu(z)).sum().backward()


def viewed(x, kept):
    y = ad.relu(x).reshape(64, -1)
    kept["y"] = y
    y.retain_grad()
    (y * 3.0).sum().backward()


def hooked(x, kept):
    y = ad.relu(x)
    y.register_hook(lambda g: kept.update(h=g))
    (y * y).sum().backward()


def twice(x, kept):
    y = (ad.relu(x * 2.0) * 3.0).sum()
    y.backward(retain_graph=True)
    y.backward()


@pytest.mark.parametrize("program", [given, added, shared, viewed, hooked, twice])
def test_what_others_hold_stays_as_it_is(monkeypatch, program):
    runs = []
    for least in (MANY, 1 << 60):  # written into, and never
        monkeypatch.setattr(backward, "_ALONE", least)
        x, kept = ad.tensor(values(), requires_grad=True), {}
        program(x, kept)
        runs.append([x.grad.numpy(), *(np.array(getattr(v, "grad", None) if k == "y" else v) for k, v in kept.items())])
    for found, expected in zip(*runs, strict=True):
        np.testing.assert_array_equal(found, expected)
    if program is given:
        np.testing.assert_array_equal(kept["g"], values(seed=2))


def test_gradients_of_a_layer_norm_with_eps_0_stay_finite_behind_a_selection():
    x = ad.tensor(np.array([[1.0, 1.0], [1.0, 3.0]]), requires_grad=True)
    rows = np.array([False, True])[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        np.where(rows, nn.functional.layer_norm(x, 2, eps=0.0) ** 2, 0.0).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()
