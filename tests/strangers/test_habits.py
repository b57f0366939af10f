"""Programs by strangers' habits, differentiated unchanged in every mode and compared with differences."""

import pytest

from tests.strangers.judge import MODES, judge
from tests.strangers.programs import programs

PROGRAMS = programs()
# What each of many samples would decide for itself, one vmap can not.
REFUSED = {
    "science.predators_and_prey": {"vmap": "BatchedValueError"},  # the solver's steps
    "python.clusters": {"vmap": "BatchedValueError"},  # the nearest centre
}


def test_there_are_more_than_forty():
    assert len(PROGRAMS) >= 60


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program(program):
    outcomes = judge(program.run, program.point).outcomes
    found = {mode: outcome.partition(":")[0] for mode, outcome in outcomes.items()}
    assert found == dict.fromkeys(MODES, "right") | REFUSED.get(program.name, {}), outcomes
