"""One model of memory: what a write through a result reaches, for the whole registry, in every layout and mode."""

import numpy as np
import pytest

from adjoint.testing import walk
from adjoint.testing.cases import writes
from tests.walk.memory import (
    KINDS,
    MODES,
    check_compiled_writes,
    check_derivatives,
    check_kinds,
    check_statement,
    check_writes,
    is_taken,
    trials,
)
from tests.walk.order import check_order

DIFFERENTIABLE = [entry for entry in walk() if not writes(entry)]
every_entry = pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=lambda e: e.name)


# NumPy gives medians of nothing another shape than of something, and reads memory that nobody wrote for the inverse of
# an empty spectrum.
UNDECIDED = {"empty": {"nanquantile", "from_half_spectrum"}}


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


@pytest.mark.parametrize("mode", KINDS)
@every_entry
def test_numbers_are_numbers(entry, mode):
    for trial in trials(entry):
        check_kinds(trial, mode)


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


# Layouts that are compiled together. What is not recorded at all, as svd of nothing, is not recorded with others.
TOGETHER = [["C", "Fortran", "turned", "negative strides", "strided"], ["broadcast"], ["0-d"], ["empty"]]


@pytest.mark.parametrize("backend", ["numpy", "native"])
@every_entry
def test_compiled_writes(entry, backend):
    for layouts in TOGETHER:
        chosen = [trial for trial in trials(entry) if trial.layout in layouts and is_taken(trial)]
        if chosen and entry.name not in UNDECIDED.get(layouts[0], ()):
            recorded = check_compiled_writes(chosen, backend)
            assert recorded or layouts[0] != "C" or entry.name in UNRECORDED
