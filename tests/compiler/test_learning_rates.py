"""Any float is a learning rate: steps are recorded anew only for one that computes with less precision."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop])
def test_rates_of_any_kind_run_in_one_specialization(make):
    layers = [nn.Linear(3, 2, rng=0) for _ in range(2)]
    steps, x = [make(layer.parameters(), lr=0.1) for layer in layers], np.ones((4, 3))

    def step(layer, steps):
        steps.zero_grad()
        loss = (layer(x) ** 2).sum()
        loss.backward()
        steps.step()
        return loss.item()

    compiled = ad.compile(lambda: step(layers[1], steps[1]), wait=True)
    for rate in (0.1, np.float64(0.05), np.array(0.01)[()], 1, 0.005, np.float32(0.025), np.float16(0.7), 0.1):
        for of, run in ((steps[0], lambda: step(layers[0], steps[0])), (steps[1], compiled)):
            of.param_groups[0]["lr"] = rate
            run()
        np.testing.assert_allclose(layers[1].weight.numpy(), layers[0].weight.numpy(), rtol=1e-13, atol=1e-15)
        ways = {np.float32: "2 specializations", np.float16: "3 specializations"}.get(type(rate), "1 specialization")
        assert f"1 signature, {ways}" in str(compiled.explain()) or rate == 0.1


MAKERS = {
    kind.__name__: kind
    for kind in vars(optim).values()
    if isinstance(kind, type) and issubclass(kind, optim.Optimizer) and kind not in (optim.Optimizer, optim.LBFGS)
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
@pytest.mark.parametrize("name", MAKERS)
def test_each_bit_is_that_of_the_plain_step(name, kind, dtype):
    x = np.sin(np.arange(24.0)).reshape(4, 6).astype(dtype)

    def made():
        p = nn.Parameter((np.arange(24.0) / 7 % 2 - 1).reshape(4, 6).astype(dtype))
        steps = MAKERS[name]([p], lr=kind(0.01))

        def step():
            steps.zero_grad()
            np.sum((p * x) ** 2).backward()
            steps.step()

        return p, step

    (plain, step), (other, own) = made(), made()
    compiled = ad.compile(own, wait=True, backend="numpy")
    for _ in range(12):
        step()
        compiled()
    np.testing.assert_array_equal(other.numpy(), plain.numpy())
    assert "1 specialization" in compiled.explain()
