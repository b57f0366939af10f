"""Layers, losses and optimisers in half precision: near what single precision gives, where squares would overflow."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim

F = nn.functional
R = np.random.default_rng(0)
ROWS = (300 * R.standard_normal((4, 6, 8))).astype(np.float16)
OTHER = (300 * R.standard_normal((4, 6, 8))).astype(np.float16)

FUNCTIONS = {
    "layer_norm": lambda x: F.layer_norm(x, 8),
    "rms_norm": lambda x: F.rms_norm(x, 8, eps=1e-5),
    "group_norm": lambda x: F.group_norm(x, 2),
    "instance_norm": lambda x: F.instance_norm(x),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "normalize": lambda x: F.normalize(x, dim=-1),
    "cosine_similarity": lambda x: F.cosine_similarity(x, OTHER.astype(x.dtype), dim=-1),
    "pairwise_distance": lambda x: F.pairwise_distance(x, OTHER.astype(x.dtype)),
    "triplet_margin_loss": lambda x: F.triplet_margin_loss(x, OTHER.astype(x.dtype), x[::-1], reduction="none"),
    "cosine_embedding_loss": lambda x: F.cosine_embedding_loss(
        x, OTHER.astype(x.dtype), np.ones((4, 6)), reduction="none"
    ),
    "gelu": lambda x: F.gelu(x / 30),
    "gelu, tanh": lambda x: F.gelu(x / 30, approximate="tanh"),
    "attention": lambda x: F.scaled_dot_product_attention(x, x[:, ::-1], x),
    "MultiheadAttention": lambda x: (
        nn.MultiheadAttention(8, 2, batch_first=True, dtype=x.dtype, rng=0)(x, x, x)[0] * 0.01
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_slopes_are_near_those_of_single_precision(name):
    found = []
    for dtype in (np.float16, np.float32):
        x = ad.tensor(ROWS.astype(dtype), requires_grad=True)
        out = FUNCTIONS[name](x)
        assert out.dtype == dtype
        weights = np.random.default_rng(1).standard_normal(out.shape)
        np.sum(out.astype(np.float32) * weights).backward()
        assert x.grad.dtype == dtype
        found.append((out.numpy(), x.grad.numpy()))
    for half, single in zip(*found, strict=True):
        np.testing.assert_allclose(half, single, rtol=2e-2, atol=5e-3 * np.abs(single).max())


OPTIMIZERS = {"Adam": {}, "AdamW": {}, "RMSprop": {}, "NAdam": {}, "RAdam": {}}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("compiled", [False, True])
def test_steps_of_large_gradients_are_those_of_single_precision(name, compiled):
    found = []
    for dtype in (np.float16, np.float32):
        r = np.random.default_rng(0)
        p = nn.Parameter(r.standard_normal(40).astype(dtype))
        optimizer = getattr(optim, name)([p], **{"lr": 1e-2} | OPTIMIZERS[name])

        def step(g, p=p, optimizer=optimizer):
            optimizer.zero_grad()
            np.sum(p * g).backward()
            optimizer.step()

        step = ad.compile(step, wait=True) if compiled else step
        for _ in range(6):
            step((300 * r.standard_normal(40)).astype(np.float16).astype(dtype))
        assert p.dtype == dtype
        found.append(p.numpy())
    np.testing.assert_allclose(*found, rtol=2e-3, atol=4e-3)


def test_slopes_of_hinges_at_0_are_pytorchs():
    zeros = np.zeros(1)
    slope = lambda loss: ad.grad(lambda x: np.sum(loss(x)))(zeros).item()
    assert slope(lambda x: F.margin_ranking_loss(x, zeros, np.array([-1.0]))) == 1.0
    assert slope(lambda x: F.hinge_embedding_loss(x, np.array([-1.0]), margin=0.0)) == -1.0
    scores = ad.grad(lambda x: F.multi_margin_loss(x, np.array([0])))(np.array([[1.0, 0.0]]))
    np.testing.assert_array_equal(scores, np.zeros((1, 2)))


def test_rms_norm_of_half_precision_adds_the_epsilon_of_single():
    """As PyTorch does: half's own, 1e-3, would be most of the mean square of small values."""
    x = (0.02 * R.standard_normal((4, 8))).astype(np.float16)
    wanted = x.astype(float) / np.sqrt(np.mean(x.astype(float) ** 2, -1, keepdims=True) + np.finfo(np.float32).eps)
    np.testing.assert_allclose(F.rms_norm(x, 8), wanted, rtol=2e-3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", ["RReLU", "Dropout", "Dropout1d", "AlphaDropout", "FeatureAlphaDropout"])
def test_layers_that_draw_numbers_keep_the_dtype(name, dtype):
    x = ad.tensor(ROWS.astype(dtype), requires_grad=True)
    out = getattr(nn, name)()(x)
    out.sum().backward()
    assert out.dtype == x.grad.dtype == dtype


def test_gradients_are_added_up_in_single():
    """Sums of ones in half precision end at 2048."""
    ones = np.ones((3000, 2), np.float16)
    for f in (
        lambda b: np.sum(ones + b),
        lambda b: np.sum(ones * b),
        lambda b: np.sum(np.broadcast_to(b, (3000, 2))),
        lambda b: np.sum(np.tile(b, (3000, 1))),
        lambda b: np.sum(nn.functional.linear(ones, np.ones((2, 2), np.float16), b)),
    ):
        for slope in (ad.grad(f), ad.compile(ad.grad(f), wait=True)):
            found = slope(np.ones(2, np.float16))
            assert found.dtype == np.float16
            np.testing.assert_array_equal(found, [3000, 3000])


def test_large_gradients_of_half_precision_are_clipped():
    """Their squares overflow from 256 on; the norm is PyTorch's."""
    g = (100 * np.random.default_rng(0).normal(size=2000)).astype(np.float16)
    for norm_type in (2.0, 1.0, float("inf")):
        p = nn.Parameter(np.zeros(2000, np.float16))
        p.grad = g.copy()
        expected = np.linalg.norm(g.astype(float), norm_type)
        np.testing.assert_allclose(nn.utils.clip_grad_norm_([p], 1.0, norm_type), expected, rtol=1e-3)
        np.testing.assert_allclose(np.linalg.norm(p.grad.numpy().astype(float), norm_type), 1.0, rtol=2e-2)
    t = ad.tensor(g)
    np.testing.assert_allclose(t.norm().item(), np.linalg.norm(g.astype(float)), rtol=1e-3)
    np.testing.assert_allclose(t.std(dim=0, correction=1).item(), np.std(g.astype(float), ddof=1), rtol=1e-3)
    assert t.norm().dtype == t.std(dim=0, correction=1).dtype == np.float16
