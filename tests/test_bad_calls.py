"""A sample of the bad calls that `scripts/bad_calls.py` makes: of each operation a few, and all of public functions."""

import warnings

import pytest

import adjoint as ad
import adjoint.scipy.linalg
import adjoint.scipy.signal
import adjoint.scipy.sparse
from adjoint.core.registry import operation
from adjoint.testing import walk
from tests.bad_calls.judge import excused, judged, wrong
from tests.bad_calls.public import CALLS, fault
from tests.walk.edges import Outcome

# Operations whose bad calls were answered once: all of their calls.
FOUND = (
    *("linspace", "take", "polyder", "array_split", "einsum", "sort", "piecewise", "gradient", "interp", "polyfit"),
    *("svd", "select", "pad", "lstsq", "max", "var", "expand_dims", "logspace"),
)
SAMPLE = list(walk())[::12]


@pytest.mark.parametrize("name", CALLS)
def test_public_functions_refuse(name):
    assert fault(CALLS[name]) is None


def check(entry, every):
    with warnings.catch_warnings(action="ignore"):
        count, found = judged(entry, ("eager", "jvp", "vmap", "capture"), every)
    wrong = [f"{bad.name}, {mode}: {text}" for bad, mode, text in found if not excused(bad, mode, text)]
    assert not wrong, "\n".join(wrong)
    return count


@pytest.mark.parametrize("entry", SAMPLE, ids=lambda e: e.name)
def test_operations_refuse_what_numpy_refuses(entry):
    check(entry, 11)


@pytest.mark.parametrize("name", FOUND)
def test_calls_that_were_answered_once(name):
    assert check(operation(name), 3)


class UnnamedError(Exception):
    """An error of no class that NumPy has."""


@pytest.mark.parametrize(
    ("ours", "theirs", "word"),
    [
        (Outcome([1], None, set()), Outcome([], ValueError("no"), set()), "silent"),
        (Outcome([], TypeError("no"), set()), Outcome([], IndexError("no"), set()), "class"),
        (Outcome([], ad.ArgumentError("a Dual and a Batched"), set()), Outcome([], ValueError("no"), set()), "leaks"),
        (Outcome([], ValueError(""), set()), Outcome([], ValueError("no"), set()), "no words"),
        (Outcome([], UnnamedError("no"), set()), Outcome([], None, set()), "NumPy gives"),
    ],
)
def test_the_judge_can_find(ours, theirs, word):
    assert wrong("add, array 0 nothing", ours, theirs, []).startswith(word)
