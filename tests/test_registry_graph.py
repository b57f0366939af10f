"""Capture of everything in the registry: the graph of each sample call, and of its derivatives, at other values."""

import numpy as np
import pytest

from adjoint.testing import walk
from tests.walk.batch import stacks
from tests.walk.graph import ROUNDED, check_capture

DIFFERENTIABLE = list(walk())

# At other values their results have other shapes or go another way, and the graph says so.
OF_VALUES = {"eigen", "eigvals", "roots"}


@pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=lambda e: e.name)
def test_a_graph_is_its_function(entry):
    chosen = stacks(entry, 2)[:2]
    held = sum(check_capture(stack, np.random.default_rng(0)) for stack in chosen)
    if chosen and entry.name not in OF_VALUES:
        assert held == 3 * len(chosen), f"of {entry.name}'s graphs, {held} held at other values"


def test_what_is_rounded_is_there():
    assert {entry.name for entry in DIFFERENTIABLE} >= ROUNDED
