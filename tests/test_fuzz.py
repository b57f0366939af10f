"""Random programs in every mode (`scripts/fuzz.py`), and those in which a mode was wrong once.

ADJOINT_FUZZ_SECONDS=300 in the environment runs new ones for five minutes; ADJOINT_FUZZ_SEED is the first.
"""

from pathlib import Path

import numpy as np
import pytest

from scripts import fuzz
from tests.fuzz import chains, wrong_rules
from tests.fuzz.modes import check, decided_by_rounding, difference
from tests.fuzz.programs import Program, generate, read
from tests.long_search import first_seed, long_search, seconds

FOUND = [entry.split("\n", 1) for entry in (Path(__file__).parent / "fuzz" / "found.txt").read_text().split("### ")[1:]]


@pytest.mark.parametrize("text", [text for _, text in FOUND], ids=[title for title, _ in FOUND])
def test_found(text):
    program = read(text)
    assert program.fits()
    assert check(program, native=True) is None


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_fixed_seeds(start):
    for seed in range(start, start + 20):
        said = check(generate(seed))
        assert said is None, f"seed {seed}: {said}"


@long_search
def test_sample():
    done, entries = fuzz.run(10**9, first_seed(0), seconds=seconds())
    assert done > 0
    assert not entries, "\n".join(entries)


def test_programs_are_the_same_for_a_seed():
    assert str(generate(5)) == str(generate(5))
    assert generate(5).fits()


@pytest.mark.parametrize("kind", ["mixed", "out", "own", "usual"])
def test_fixed_seeds_of_kinds(kind):
    for seed in range(8):
        said = check(generate(seed, kind))
        assert said is None, f"seed {seed}: {said}"


@pytest.mark.parametrize("seed", range(4))
def test_wrong_rules_are_refused_or_converted(seed):
    assert wrong_rules.run(100, seed) == []


def test_a_wrong_value_is_found_and_made_short():
    """A function that gives another value the second time."""
    text = "def f(a, calls=[]):\n    v0 = a * 2.0\n    v1 = v0 + len(calls)\n    calls.append(1)\n    return v1,\n"
    said = check(Program(text, ["draw(3)"]))
    assert said is not None
    assert said.startswith("plain: values again")


def test_differences_of_rows():
    assert difference([1.0], [1.0], 0.0) is None
    assert difference([1.0], [1.1], 1e-9) == "1 of 1 numbers: [1.0], not [1.1]"
    assert "not (1,) of float64" in difference([1.0], [np.ones(1)], 1e-9)


def test_what_rounding_decides_is_not_wrong():
    """A sign of what is 0 but for rounding is either; a factor is not."""
    text = "def f(a):\n    v0 = a * 3.0 - a - 2.0 * a\n    v1 = np.angle(v0 + 0j)\n    return v1,\n"
    for changed, decides in [(text, True), (text.replace("np.angle", "2.0 * "), False)]:
        program = Program(changed, ["draw(30)"])
        assert program.fits()
        assert decided_by_rounding(program, program.point(0), False, 1) == decides


def test_chains_of_operations_are_numpys_natively():
    ran, entries = chains.run(40, 0)
    assert ran > 20
    assert entries == []


def test_chains_on_large_arrays_are_the_same_on_any_number_of_threads():
    ran, entries = chains.run(12, 0, chains.LARGE)
    assert ran > 5
    assert entries == []
