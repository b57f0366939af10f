"""A part of the grid (``scripts/grid.py`` compares all of it): some cells of each operation, in every way."""

import random
from collections import Counter

import numpy as np
import pytest

from adjoint.core.op import Op, rule_of
from adjoint.core.registry import operation
from adjoint.testing import walk
from tests.grid.cells import LAYOUTS, cells
from tests.grid.ways import COMPILED, EAGER, ENDLESS, wrong

ENTRIES = [entry for entry in walk() if entry.name not in ENDLESS]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_some_cells(entry):
    every = list(cells(entry))
    chosen = random.Random(entry.name).sample(every, min(6, len(every)))
    found = list(wrong(chosen, EAGER, Counter()))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("entry", ENTRIES[::8], ids=lambda e: e.name)
def test_a_cell_compiled(entry):
    every = list(cells(entry))
    found = list(wrong(random.Random(entry.name).sample(every, 1), COMPILED, Counter()))
    assert not found, "\n".join(found)


def made(**fields):
    """An operation that is not in the registry."""
    given = {"name": "doubled", "forward": lambda a: 2 * a, "inputs": ("a",), "samples": lambda r: [((r(2, 3),), {})]}
    return Op(**{**given, "rules": (rule_of(lambda g: 2 * g),), **fields})


WRONG = {
    "a cotangent of another dtype": (made(rules=(rule_of(lambda g: 2 * g.astype(np.float64)),)), "cotangents"),
    "a small error": (made(rules=(rule_of(lambda g: 2.01 * g),), jvps=(rule_of(lambda t: 2 * t),)), "cotangents"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_are_found(name):
    op, way = WRONG[name]
    assert list(wrong(list(cells(op)), [way], Counter()))


def test_cotangents_of_half_precision_where_lapack_has_none():
    chosen = [cell for cell in cells(operation("matrix_root")) if "float16" in cell.name]
    assert chosen
    assert not list(wrong(chosen, ["cotangents"], Counter()))


def test_vectors_of_two_components_are_refused():
    chosen = [cell for cell in cells(operation("linalg_cross")) if cell.name.startswith("leading")]
    assert not list(wrong(chosen, ["numpy"], Counter()))


def test_cells_have_dtypes_and_layouts():
    names = {cell.name for cell in cells(next(e for e in ENTRIES if e.name == "sum"))}
    for layout in LAYOUTS:
        assert any(name.endswith(layout) for name in names), layout
    assert {"all float16, backwards", "0 without rows, by rows", "leading all, by rows"} <= names
