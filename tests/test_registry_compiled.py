"""Everything in the registry, compiled: each sample call with its pullback, by NumPy and natively, against eager."""

import os

import numpy as np
import pytest

import adjoint as ad
from adjoint.native.plan.rewriting.decompose import INSTEAD
from adjoint.testing import walk
from tests.walk.batch import stacks
from tests.walk.compiled import CompiledTrial, Kinds, check_compiled
from tests.walk.graph import ROUNDED

DIFFERENTIABLE = list(walk())
# A recording adds in another order than the tape, which adds to what is there; BLAS and LAPACK, in another memory's.
REORDERED = {"pad", "matrix_logarithm", "frechet_of_logarithm"}

# SciPy does not return from infinities, or from single precision.
ENDLESS, WIDE = {"hyp1f1", "svd"}, {"obl_ang1", "obl_rad1", "pro_ang1", "pro_rad1", "obl_ang1_cv", "obl_rad1_cv"}
# Compiled, a product of arrays takes its factors to be finite, where eagerly what a selection left out is kept out.
FINITE = {"corrcoef", "correlate"}
TRIMMED = {"polydiv"}  # how long its result is depends on the values
# Native code has its own elimination, whose pivots are LAPACK's where no nan is compared; the last digits differ.
ELIMINATED = {"packed_lu", "riccati", "tensorinv"}
PLAIN = ROUNDED | ENDLESS | FINITE | ELIMINATED


def every(entry):
    return stacks(entry, 2)[:2]


@pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=lambda e: e.name)
def test_by_numpy(entry):
    """The same bits. On numbers without axes Python's operators round otherwise than NumPy's functions."""
    for stack in every(entry):
        number = any(np.shape(a) == () for a in stack.case.arrays)
        exact = not number and entry.name not in ROUNDED | REORDERED
        special = entry.name not in PLAIN
        assert check_compiled(CompiledTrial([(stack, np.float64)], special), "numpy", 0 if exact else 1000)


@pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=lambda e: e.name)
def test_natively(entry):
    if entry.name in TRIMMED:
        pytest.skip("how long its result is depends on the values, so one cotangent does not fit all points")
    dtypes = (np.float64,) if entry.name in WIDE else (np.float64, np.float32)
    calls = [(stack, dtype) for stack in every(entry) for dtype in dtypes]
    assert check_compiled(
        CompiledTrial(calls, entry.name not in PLAIN), "native", 1000 if entry.name in ROUNDED | ELIMINATED else 4
    )


def test_polynomial_division_natively():
    """With a cotangent for each point, as long as the remainder is there."""

    def pulled(u, v):
        value, pullback = ad.vjp(np.polydiv, u, v)
        return *value, *pullback(tuple(np.cos(np.arange(1.0, len(x) + 1)) for x in value))

    fast, v = ad.compile(pulled, wait=True, backend="native"), np.array([2.0, 1.0, 0.5])
    for u in (
        [1.0, 3.0, 2.0, 5.0],
        [1.5, 2.0, 2.5, 4.0],
        [2.0, 1.0, 0.5, 0.0],
        [4.0, 2.0, 1.0, 0.5],
        [1.0, 3.0, 2.0, 6.0],
    ):
        for found, wanted in zip(fast(np.array(u), v), pulled(np.array(u), v), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


# What is written once more for native code, what is made of it, every 15th of the rest; with ADJOINT_WALK=whole, all.
MADE_OF = {"logsumexp", "mean", "norm", "std", "sum", "var", "vector_norm", "clamp", "divide", "power", "floor_divide"}
IN_OTHER_DTYPES = [
    entry
    for i, entry in enumerate(e for e in DIFFERENTIABLE if e.name not in ENDLESS | WIDE)
    if entry.name in INSTEAD.keys() | MADE_OF or i % 15 == 0 or os.environ.get("ADJOINT_WALK") == "whole"
]


@pytest.mark.parametrize("entry", IN_OTHER_DTYPES, ids=lambda e: e.name)
def test_natively_in_other_dtypes(entry):
    """Also on the later calls, which native code answers, and for arrays that lie otherwise in memory."""
    kinds = Kinds(stacks(entry, 2)[:3])
    if kinds.names:
        check_compiled(kinds, "native", 1000 if entry.name in ROUNDED | ELIMINATED else 4)
