"""Steps that clip gradients, by each of the names of clipping: recorded, and the same to the last bit."""

import copy

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim


def by_total(parameters, limit):
    parameters = list(parameters)
    norm = nn.utils.get_total_norm([p.grad for p in parameters])
    nn.utils.clip_grads_with_norm_(parameters, limit, norm)
    return float(norm)


CLIPS = {
    "norm": optim.clip_grad_norm,
    "value": optim.clip_grad_value,
    "PyTorch's norm": nn.utils.clip_grad_norm_,
    "PyTorch's value": nn.utils.clip_grad_value_,
    "total": by_total,
}


@pytest.mark.parametrize("limit", [0.01, 100.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("clip", CLIPS.values(), ids=CLIPS)
def test_clipped_steps(clip, dtype, limit):
    model = nn.Sequential(nn.Linear(4, 5, rng=0), nn.Tanh(), nn.Linear(5, 3, rng=1)).astype(dtype)

    def step(model, sgd, x):
        sgd.zero_grad()
        np.mean(model(x) ** 2).backward()
        norm = clip(model.parameters(), limit)
        sgd.step()
        return norm

    other = copy.deepcopy(model)
    sgd, own = (optim.SGD(m.parameters(), lr=0.5) for m in (model, other))
    compiled = ad.compile(step, wait=True, backend="numpy")
    for k in range(4):
        x = np.random.default_rng(k).normal(size=(6, 4)).astype(dtype)
        expected, found = step(model, sgd, x), compiled(other, own, x)
        assert type(found) is type(expected)
        assert found == expected
        for p, q in zip(model.parameters(), other.parameters(), strict=True):
            np.testing.assert_array_equal(q.grad.numpy(), p.grad.numpy())
            np.testing.assert_array_equal(q.numpy(), p.numpy())
    assert "runs as it is" not in compiled.explain()
