"""Attention of long sequences, in blocks of rows: the same values and gradients as all at once, and less memory."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.nn.functional import scaled_dot_product_attention
from adjoint.nn.layers import attention

CASES = {
    "plain": ((2, 3), 7, 5, None, False),
    "causal": ((2,), 7, 7, None, True),
    "causal, more queries": ((), 9, 4, None, True),
    "causal, more keys": ((), 5, 8, None, True),
    "one key": ((), 9, 1, None, True),
    "seen": ((2, 3), 7, 5, "seen", False),
    "padding": ((2, 3), 7, 5, "padding", False),
    "numbers": ((2, 3), 7, 5, "numbers", False),
    "numbers for all": ((3,), 7, 5, "row", False),
}


def arrays(lead, m, n, kind, rng):
    q, k, v = (rng.normal(size=(*lead, rows, width)) for rows, width in ((m, 4), (n, 4), (n, 3)))
    seen = rng.random((m, n)) < 0.6
    seen[2] = False  # a query that sees no key
    masks = {"seen": seen, "padding": rng.random((*lead[:1], 1, 1, n)) < 0.7, "numbers": rng.normal(size=(m, n)),
             "row": rng.normal(size=(n,)), None: None}  # fmt: skip
    return q, k, v, masks[kind]


@pytest.fixture(params=CASES)
def case(request):
    lead, m, n, kind, causal = CASES[request.param]
    q, k, v, mask = arrays(lead, m, n, kind, np.random.default_rng(3))
    weight = np.random.default_rng(4).normal(size=(*lead, m, 3))

    def loss(q, k, v, mask=mask):
        return np.sum(weight * scaled_dot_product_attention(q, k, v, mask, is_causal=causal))

    return loss, (q, k, v) if mask is None or mask.dtype == bool else (q, k, v, mask)


@pytest.fixture
def in_blocks(monkeypatch):
    def begin():
        monkeypatch.setattr(attention, "LONG", 1)
        monkeypatch.setattr(attention, "SHORTEST", 3)

    return begin


def everything(loss, args, rng):
    numbers = tuple(range(len(args)))
    tangents = tuple(rng.normal(size=x.shape) for x in args)
    samples = rng.normal(size=(3, *args[0].shape))
    return [
        loss(*args),
        *ad.grad(loss, numbers)(*args),
        ad.jvp(loss, args, tangents)[1],
        ad.vmap(lambda q: ad.grad(loss)(q, *args[1:]))(samples),
        ad.vmap(lambda k: loss(args[0], k, *args[2:]))(rng.normal(size=(3, *args[1].shape))),
        ad.grad(lambda q: np.sum(ad.grad(loss)(q, *args[1:]) ** 2))(args[0]),
    ]


def test_blocks_give_the_same_values_and_derivatives(case, in_blocks):
    loss, args = case
    wanted = everything(loss, args, np.random.default_rng(5))
    in_blocks()
    assert "attend" in str(ad.capture(loss, *args))
    for x, y in zip(everything(loss, args, np.random.default_rng(5)), wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)


def test_blocks_are_native(case, in_blocks):
    loss, args = case
    gradient = ad.grad(loss, tuple(range(len(args))))
    wanted = gradient(*args)
    in_blocks()
    compiled = ad.compile(gradient, wait=True)
    for _ in range(3):
        for x, y in zip(compiled(*args), wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)
    assert "numpy" not in {row.by for row in compiled.plan.rows}


def test_weights_of_a_long_sequence_are_never_there_together(monkeypatch):
    monkeypatch.setattr(attention, "LONG", 1 << 16)
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(2, 1024, 8)).astype(np.float32) for _ in range(3))
    compiled = ad.compile(ad.grad(lambda *x: np.sum(scaled_dot_product_attention(*x) ** 2), (0, 1, 2)), wait=True)
    compiled(q, k, v)
    compiled(q, k, v)
    assert compiled.plan.memory.arena < 2 * 1024 * 1024 * 4 / 2


def test_layers_of_long_sequences_use_blocks(in_blocks):
    net = ad.nn.MultiheadAttention(8, 2, batch_first=True, rng=0)
    x = np.random.default_rng(1).normal(size=(2, 9, 8))
    padding = np.arange(9) >= np.array([[9], [5]])
    wanted, _ = net(x, x, x, padding, need_weights=False)
    in_blocks()
    found, _ = net(x, x, x, padding, need_weights=False)
    np.testing.assert_allclose(found.data, wanted.data, rtol=1e-12)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("mask", [None, np.triu(np.ones((5, 5), bool), 1)])
def test_small_self_attention_projects_once_what_others_project_apart(batch_first, mask):
    layer = nn.MultiheadAttention(8, 2, batch_first=batch_first, rng=0)
    rng = np.random.default_rng(1)
    layer.in_proj_bias.held[...] = rng.normal(size=24)
    data, found = rng.normal(size=(3, 5, 8) if batch_first else (5, 3, 8)), []
    g = rng.normal(size=data.shape)
    for most in (1 << 12, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(attention, "_FEW", most)
            x = ad.tensor(data, requires_grad=True)
            out, weights = layer(x, x, x, attn_mask=mask)
            loss = np.sum(out * g) + np.sum(weights**2)
            first = ad.autograd.grad(loss, [x, *layer.parameters()], create_graph=True)
            second = ad.autograd.grad(sum(np.sum(h**2) for h in first), [x, *layer.parameters()][:4])
            found.append([h.numpy() for h in (out, weights, *first, *second)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11)
