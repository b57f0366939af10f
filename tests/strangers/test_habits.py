"""Programs by strangers' habits, differentiated unchanged in every mode and compared with differences."""

import pytest

from tests.strangers.judge import MODES, judge
from tests.strangers.programs import programs

PROGRAMS = programs()
# What each of many samples decides for itself: the solver's steps, the nearest centre, where a quantile is finite.
MAY_REFUSE = {
    ("science.predators_and_prey", "vmap"),
    ("python.clusters", "vmap"),
    ("libraries.quantiles_of_distributions", "vmap"),
}


def test_there_are_more_than_forty():
    assert len(PROGRAMS) >= 60


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_program(program):
    outcomes = judge(program.run, program.point).outcomes
    assert set(outcomes) == set(MODES)
    bad = {mode: outcome for mode, outcome in outcomes.items() if outcome != "right"}
    assert not {m: o for m, o in bad.items() if (program.name, m) not in MAY_REFUSE or o.startswith(("WRONG", "nan"))}
