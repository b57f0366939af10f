"""One model of memory: what a write through a result reaches, for the whole registry, in every layout and mode."""

import numpy as np
import pytest

import adjoint.scipy.linalg
import adjoint.scipy.signal
import adjoint.scipy.sparse  # noqa: F401 - their operations are walked too
from adjoint.testing import walk
from adjoint.testing.cases import writes
from adjoint.testing.walk_memory import MODES, check_derivatives, check_statement, check_writes, trials

DIFFERENTIABLE = [entry for entry in walk() if not writes(entry)]
every_entry = pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=lambda e: e.name)


# SciPy's triangular solvers broadcast stacks against matrices in orders of their own, and parts of operations that are
# not called alone give what LAPACK gives.
UNDECIDED = {
    "vmap": {"triangular_solve", "cholesky_solved", "frechet_of_logarithm", "packed_lu", "pile"},
    # NumPy puts medians of nothing together along another axis.
    "empty": {"nanquantile"},
}


@every_entry
def test_statement(entry):
    held = [check_statement(entry, trial) for trial in trials(entry)]
    assert any(held) or not entry.samples


@pytest.mark.parametrize("mode", MODES)
@every_entry
def test_writes(entry, mode):
    if entry.name in UNDECIDED.get(mode, ()):
        return
    for trial in trials(entry):
        # Inside vmap an array without axes is a number.
        numbers = mode == "vmap" and (trial.layout == "0-d" or any(np.ndim(x) == 0 for x in trial.arrays))
        if not (numbers or entry.name in UNDECIDED.get(trial.layout, ())):
            check_writes(trial, mode)


@every_entry
def test_derivatives_after_writes(entry):
    rng = np.random.default_rng(0)
    for trial in trials(entry):
        if trial.layout != "broadcast":  # a matrix of equal rows is singular
            check_derivatives(trial, rng)
