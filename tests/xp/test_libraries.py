"""SciPy, scikit-learn, einops and xarray run on tensors. What becomes of each function: docs/conformance.md."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import adjoint as ad


def run(program, **environment):
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | environment, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_scipy_and_scikit_learn():
    program = """
import numpy as np, adjoint as ad, sklearn
from scipy import special, stats
from sklearn.metrics.pairwise import rbf_kernel

def loss(x):
    with sklearn.config_context(array_api_dispatch=True):
        kernel = rbf_kernel(x[:, None], gamma=0.5)
    return stats.skew(x) + np.sum(special.xlogy(x, special.gamma(x))) + np.sum(kernel)

def plain(x):
    kernel = np.exp(-0.5 * (x[:, None] - x) ** 2)
    return np.mean((x - np.mean(x)) ** 3) / np.var(x) ** 1.5 + np.sum(x * np.log(special.gamma(x))) + np.sum(kernel)

x = np.array([0.6, 1.7, 2.4])
print(np.abs(ad.grad(loss)(x) - ad.grad(plain)(x)).max() < 1e-9)
"""
    assert run(program, SCIPY_ARRAY_API="1") == ["True"]


def test_without_the_switch_scipy_refuses_what_it_cannot_see():
    program = """
import adjoint as ad
from scipy import stats
try:
    stats.skew(ad.tensor([1.0, 2.0], requires_grad=True))
except ad.LeavesGraphError:
    print("refused")
"""
    assert run(program, SCIPY_ARRAY_API="") == ["refused"]


@pytest.mark.parametrize("first", ["import einops, adjoint as ad", "import adjoint as ad, einops"])
def test_einops_knows_tensors_whichever_loads_first(first):
    program = f"""
{first}
t = ad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
einops.reduce(einops.rearrange(t, "a b -> b a") ** 2, "b a -> b", "sum").sum().backward()
print(*t.grad.numpy().ravel())
"""
    assert run(program) == ["2.0", "4.0", "6.0", "8.0"]


def test_einops_is_not_loaded_by_us():
    assert run("import sys, adjoint; print('einops' in sys.modules, 'adjoint.xp' in sys.modules)") == ["False", "False"]


@pytest.mark.parametrize("how", ["sum", "mean", "max", "min", "prod"])
def test_einops_against_numpy(how):
    einops = pytest.importorskip("einops")
    x = np.random.default_rng(0).normal(size=(2, 4, 3))

    def program(x):
        grouped = einops.reduce(x, "a (b c) d -> a b d", how, c=2)
        return np.sum(einops.einsum(grouped, einops.repeat(x[0, 0], "d -> d e", e=2), "a b d, d e -> a e") ** 2)

    def plain(x):
        grouped = getattr(np, how)(np.reshape(x, (2, 2, 2, 3)), axis=2)
        return np.sum(np.einsum("abd,de->ae", grouped, np.stack([x[0, 0], x[0, 0]], axis=1)) ** 2)

    np.testing.assert_allclose(ad.grad(program)(x), ad.grad(plain)(x), rtol=1e-12)
    packed, shapes = einops.pack([ad.tensor(x), ad.tensor(x[0])], "* d")
    assert [p.shape for p in einops.unpack(packed, shapes, "* d")] == [(2, 4, 3), (4, 3)]


def test_xarray_holds_tensors():
    xarray = pytest.importorskip("xarray")
    weights = np.array([1.0, 2.0, 3.0])

    def program(x):
        grid = xarray.DataArray(x, dims=("time", "place"), coords={"place": [10, 20, 30]})
        anomaly = grid - grid.mean("time")
        return (anomaly.where(anomaly > 0, 0.0) ** 2 * weights).sum().data + grid.rolling(place=2).mean().sum().data

    def plain(x):
        anomaly = x - np.mean(x, axis=0)
        pairs = (x[:, 1:] + x[:, :-1]) / 2
        return np.sum(np.where(anomaly > 0, anomaly, 0.0) ** 2 * weights) + np.sum(pairs)

    x = np.random.default_rng(1).normal(size=(4, 3))
    np.testing.assert_allclose(ad.grad(program)(x), ad.grad(plain)(x), rtol=1e-9)
