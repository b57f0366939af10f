"""One model of memory: what a write through a result reaches, for the whole registry, in every layout and mode."""

import numpy as np
import pytest

from adjoint.testing import walk
from adjoint.testing.cases import writes
from adjoint.testing.walk_memory import (
    MODES,
    check_compiled_writes,
    check_derivatives,
    check_statement,
    check_writes,
    is_taken,
    trials,
)
from adjoint.testing.walk_order import check_order

DIFFERENTIABLE = [entry for entry in walk() if not writes(entry)]
every_entry = pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=lambda e: e.name)


# NumPy gives medians of nothing another shape than of something.
UNDECIDED = {"empty": {"nanquantile"}}


@every_entry
def test_statement(entry):
    held = [check_statement(entry, trial) for trial in trials(entry)]
    assert any(held) or not entry.samples


@pytest.mark.parametrize("mode", MODES)
@every_entry
def test_writes(entry, mode):
    for trial in trials(entry):
        if entry.name not in UNDECIDED.get(trial.layout, ()):
            check_writes(trial, mode)


# Its results are views of repeated numbers, which NumPy lets one write with a warning; here they are read-only.
# `rational_filter` takes no whole numbers: what calls it converts them.
OTHERWISE = {"broadcast_arrays", "rational_filter"}


@every_entry
def test_order_of_results(entry):
    if entry.name not in OTHERWISE:
        check_order(entry)


@every_entry
def test_derivatives_after_writes(entry):
    rng = np.random.default_rng(0)
    for trial in trials(entry):
        if trial.layout != "broadcast":  # a matrix of equal rows is singular
            check_derivatives(trial, rng)


# What is not recorded: it calls the user's functions in NumPy's own way, or takes settings that a walk makes arrays of.
UNRECORDED = {
    "apply_along_axis",
    "apply_over_axes",
    "broadcast_arrays",
    "choose",
    "cov",
    "getitem",
    "overwrite",
    "piecewise",
}


@pytest.mark.parametrize("backend", ["numpy", "native"])
@every_entry
def test_compiled_writes(entry, backend):
    if backend == "native" and getattr(entry, "kind", "") == "elementwise":
        return
    chosen = [
        trial
        for trial in trials(entry)
        if trial.layout not in ("empty", "0-d", "broadcast") and is_taken(trial)
        if entry.name not in UNDECIDED.get(trial.layout, ())
    ]
    assert not chosen or check_compiled_writes(chosen, backend) or entry.name in UNRECORDED
