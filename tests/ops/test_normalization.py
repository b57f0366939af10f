"""Normalisation as one operation: values and derivatives of the separate steps."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.ops.neural.fused import standardize
from adjoint.ops.neural.normalization import normalized, standard

LAYERS = {
    "batch, rows": (lambda: nn.BatchNorm1d(3), (5, 3), (0,), (3,)),
    "batch, images": (lambda: nn.BatchNorm2d(3, eps=0.1), (2, 3, 4, 2), (0, 2, 3), (3, 1, 1)),
    "batch, no averages": (lambda: nn.BatchNorm1d(3, track_running_stats=False), (4, 3, 2), (0, 2), (3, 1)),
    "layer, rows": (lambda: nn.LayerNorm(4), (3, 4), (-1,), (4,)),
    "layer, two axes": (lambda: nn.LayerNorm((3, 2), eps=0.1), (4, 3, 2), (-2, -1), (3, 2)),
}


def drawn(name, dtype=np.float64):
    """A layer with weights and biases of its own, and what to call it with."""
    make, shape, axes, against = LAYERS[name]
    rng, layer = np.random.default_rng(0), make()
    for p in layer.parameters():
        p.held = rng.normal(size=p.shape).astype(dtype)
    return layer, rng.normal(size=shape).astype(dtype), axes, against


def apart(layer, x, axes, against):
    weight, bias = (np.reshape(p, against) for p in (layer.weight, layer.bias))
    return standardize(x, axis=axes, eps=layer.eps) * weight + bias


@pytest.mark.parametrize("name", LAYERS)
def test_one_operation_gives_the_derivatives_of_several(name):
    layer, data, axes, against = drawn(name)
    x = ad.tensor(data, requires_grad=True)
    inputs, g = [x, layer.weight, layer.bias], np.random.default_rng(1).normal(size=data.shape)
    assert layer(x).grad_fn.name == "normalized"
    found = []
    for f in (layer, lambda x: apart(layer, x, axes, against)):
        out = f(x)
        plain = ad.autograd.grad(np.sum(out * g), inputs)
        first = ad.autograd.grad(np.sum(np.sin(f(x))), inputs, create_graph=True)
        second = ad.autograd.grad(sum(np.sum(h**2) for h in first), inputs)
        found.append([h.numpy() for h in (out, *plain, *first, *second)])
    for a, b in zip(found[0][:4], found[1][:4], strict=True):  # as where operations are recorded, or run elsewhere
        assert a.tobytes() == b.tobytes()
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", LAYERS)
def test_forward_mode_samples_and_compiled_functions_agree(name):
    layer, x, axes, against = drawn(name)
    layer = layer.requires_grad_(False)
    plain = layer(x).numpy()
    t = np.random.default_rng(1).normal(size=x.shape)
    value, tangent = ad.jvp(layer, (x,), (t,))
    _, expected = ad.jvp(lambda x: apart(layer, x, axes, against), (x,), (t,))
    np.testing.assert_allclose(value, plain, rtol=1e-13)
    np.testing.assert_allclose(tangent, expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(ad.compile(layer, wait=True)(x), plain, rtol=1e-12, atol=1e-13)
    if "layer" in name:
        np.testing.assert_allclose(ad.vmap(layer)(np.stack([x, 2 * x]))[0], plain, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("momentum", [0.3, None])
def test_running_averages_take_their_share_of_each_batch(dtype, momentum):
    layer, data = nn.BatchNorm2d(3, momentum=momentum, dtype=dtype), []
    rng, mean, var = np.random.default_rng(0), np.zeros(3), np.ones(3)
    for k in range(1, 4):
        x = rng.normal(k, k, (2, 3, 4, 2)).astype(dtype)
        data.append(x)
        out = layer(ad.tensor(x, requires_grad=True))
        assert out.dtype == dtype
        share = 1 / k if momentum is None else momentum
        mean = mean * (1 - share) + share * x.astype(float).mean((0, 2, 3))
        var = var * (1 - share) + share * x.astype(float).var((0, 2, 3), ddof=1)
    tolerance = 1e-5 if dtype is np.float32 else 1e-13
    np.testing.assert_allclose(layer.running_mean.numpy(), mean, rtol=tolerance)
    np.testing.assert_allclose(layer.running_var.numpy(), var, rtol=tolerance)
    assert layer.num_batches_tracked.item() == 3


def test_averages_that_a_graph_uses_are_those_of_then():
    layer, x = nn.BatchNorm1d(2), np.random.default_rng(0).normal(size=(4, 2))
    factor = ad.tensor(np.ones(2), requires_grad=True)
    scaled = layer.running_var * factor
    layer(x)
    np.sum(scaled).backward()
    assert factor.grad.tolist() == [1.0, 1.0]
    assert not np.any(layer.running_var.numpy() == 1)


def test_what_was_kept_is_used_where_nothing_is_differentiated():
    x, w, b = np.random.default_rng(0).normal(size=(4, 3)), np.ones(3), np.zeros(3)
    wrong = (np.ones((4, 3)), np.ones((1, 3)))
    assert normalized(x, w, b, axis=(0,), channel=True, kept=wrong).tolist() == np.ones((4, 3)).tolist()
    found = normalized(x, w, b, axis=(0,), channel=True)
    np.testing.assert_array_equal(found, standard(x, (0,), 1e-5)[0])
    kept = standard(x, (0,), 1e-5)[:2]
    second = ad.hessian(lambda x: np.sum(normalized(x, w, b, axis=(0,), channel=True, kept=kept) ** 3))(x)
    np.testing.assert_allclose(second, ad.hessian(lambda x: np.sum(standardize(x, axis=0) ** 3))(x), atol=1e-11)


def test_selections_before_and_behind_leave_no_nan():
    """An infinite partial derivative times a zero of a selection is not a number: such zeros count as none."""
    layer, x = nn.LayerNorm(2), ad.tensor([[0.0, 1.0], [4.0, 9.0]], requires_grad=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        np.sum(nn.functional.relu(layer(np.sqrt(x)))[1:]).backward()
    assert np.isfinite(x.grad.numpy()).all()
