"""The walk over the registry finds wrong rules: a sample of what `scripts/mutate.py` goes through."""

import pytest

from adjoint.core.registry import operation
from tests.mutation.survey import equivalents, everything, is_equivalent, patterns, score, survey

SAMPLE = ("tanh", "hypot")


@pytest.mark.parametrize("name", SAMPLE)
def test_the_walk_finds_every_mutant(name):
    found = [outcome for outcome in survey(name) if outcome.found or not is_equivalent(outcome.mutant)]
    assert len(found) >= 7
    assert [outcome.mutant for outcome in found if not outcome.found] == []
    assert score(found) == 100.0


def test_a_rule_is_as_it_was_after_its_mutants():
    op = operation("tanh")
    mutants = [mutant for users, mutant in everything("tanh")]
    before = [rule.function.__code__ for rule in op.rules], op.pullbacks
    for mutant in mutants:
        with mutant.inside():
            pass
    assert ([rule.function.__code__ for rule in op.rules], op.pullbacks) == before


def test_equivalent_mutants_have_their_reasons():
    assert all(reason.strip() for reason in equivalents().values())


def test_each_equivalent_mutant_is_there():
    """A rule that moves to another file takes its lines along."""
    names = {str(mutant) for native in (False, True) for _, mutant in everything(native=native)}
    assert [line for line, pattern in patterns().items() if not any(map(pattern.fullmatch, names))] == []
