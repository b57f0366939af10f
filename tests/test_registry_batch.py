"""Batching of everything in the registry: `vmap` against a loop, alone and with both kinds of derivatives."""

import numpy as np
import pytest

import adjoint.scipy.linalg
import adjoint.scipy.signal
import adjoint.scipy.sparse  # noqa: F401 - their operations are walked too
from adjoint.batch.rules import rule_of
from adjoint.core.op import Op
from adjoint.core.registry import ENTRIES
from adjoint.testing import walk
from adjoint.testing.walk_batch import check_derivatives, check_values, stacks

DIFFERENTIABLE = list(walk())
every_entry = pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=lambda e: e.name)


@every_entry
def test_vmap_is_a_loop(entry):
    for stack in stacks(entry):
        check_values(stack)


@every_entry
def test_vmap_and_derivatives_nest(entry):
    for stack in stacks(entry)[:2]:
        check_derivatives(stack, np.random.default_rng(0))


# SciPy takes one matrix at a time, or the answer is one thing for all samples, or its shape depends on values.
ONE_BY_ONE = {
    "matrix_logarithm", "frechet_of_logarithm", "lyapunov", "discrete_lyapunov",
    "det_keeping_factors", "slogdet_keeping_factors", "solve_keeping_factors",  # not used inside vmap
    "argwhere", "nonzero", "flatnonzero", "lexsort", "allclose", "array_equal", "array_equiv",
    "ix_", "ravel_multi_index", "array_repr", "array_str", "array2string",
    "save", "savez", "savez_compressed", "savetxt",
}  # fmt: skip


def test_few_operations_take_one_sample_after_another():
    loops = {
        op.name
        for op in ENTRIES.values()
        if isinstance(op, Op) and rule_of(op).__name__ == "one_by_one" and "once" not in op.flags
    }
    assert loops <= ONE_BY_ONE, loops - ONE_BY_ONE
