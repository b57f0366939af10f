"""Every operation of adjoint.scipy, on its own samples: gradients to second order, and dtypes."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import adjoint as ad
from adjoint import scipy as asp
from adjoint.core.objects.trees import flatten
from adjoint.core.op import Op
from adjoint.core.registry import ENTRIES
from adjoint.testing import check_grads, samples

MODULES = [import_module(f"adjoint.scipy.{name}") for name in asp.MODULES]
RULES = sorted(
    (
        e
        for e in ENTRIES.values()
        if isinstance(e, Op) and getattr(e.forward, "__module__", "").startswith("adjoint.scipy")
    ),
    key=lambda e: e.name,
)
every_rule = pytest.mark.parametrize("entry", RULES, ids=lambda e: e.name)


def test_there_are_rules():
    assert len(RULES) > 12


@every_rule
def test_gradients_to_second_order(entry):
    assert samples(entry)
    for sample in samples(entry):
        check_grads(entry, sample.args, sample.kwargs)


@every_rule
def test_tensors_have_the_values_of_arrays(entry):
    for args, kwargs in samples(entry):
        plain = flatten(entry(*args, **kwargs))[0]
        boxed = flatten(entry(*(ad.tensor(a, requires_grad=True) for a in args), **kwargs))[0]
        for a, b in zip(plain, boxed, strict=True):
            np.testing.assert_array_equal(a, b.numpy())


@every_rule
def test_float32_stays(entry):
    for args, kwargs in samples(entry):
        if any(a.dtype.kind == "c" for a in args):
            continue
        small = [a.astype(np.float32) for a in args]
        out, pullback = ad.vjp(lambda *xs: entry(*xs, **kwargs), *small)
        leaves, rebuild = flatten(out)
        assert all(x.dtype == np.float32 for x in leaves)
        gradients = pullback(rebuild([np.ones_like(x) for x in leaves]))
        exact = ad.vjp(lambda *xs: entry(*xs, **kwargs), *(a.astype(float) for a in small))[1](
            rebuild([np.ones(np.shape(x)) for x in leaves])
        )
        for g, e in zip(gradients, exact, strict=True):
            assert g.dtype == np.float32
            np.testing.assert_allclose(g, e, rtol=2e-3, atol=2e-3 * max(1.0, float(np.max(np.abs(e)))))


@pytest.mark.parametrize("name", asp.MODULES)
def test_modules_are_attributes(name):
    assert getattr(asp, name) is import_module(f"adjoint.scipy.{name}")


def test_unknown_module():
    with pytest.raises(AttributeError, match="linalg"):
        asp.linear_algebra  # noqa: B018 - the look-up is what raises


def test_importing_adjoint_loads_no_scipy():
    import subprocess
    import sys

    code = "import sys, adjoint; print('scipy' in sys.modules, 'adjoint.scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
