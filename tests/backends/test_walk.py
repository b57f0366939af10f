"""Every operation on arrays that nobody can look at: value, pullback, tangent, second order and `vmap`, as NumPy's."""

import pytest

import adjoint as ad
from adjoint.testing import walk
from adjoint.testing.walk_backend import CHECKS, WITHOUT, check
from tests.backends.strict import inside, strict, transfers

ENTRIES = list(walk())


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.name not in WITHOUT], ids=lambda e: e.name)
def test_on_a_device(entry):
    for what in CHECKS:
        before = transfers["out"]
        check(entry, what, strict, inside)
        assert transfers["out"] == before, "values were fetched"


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.name in WITHOUT], ids=lambda e: e.name)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_does_not_run_there_raises_and_fetches_nothing(entry):
    """So that the list is neither too long nor hides a wrong answer."""
    before = transfers["out"]
    with pytest.raises((TypeError, AttributeError, ValueError, ad.AdjointError)):
        check(entry, "value", strict, inside)
    asked = entry.name == "moved"  # its first sample is to fetch
    assert transfers["out"] == before + asked


def test_the_list_of_what_does_not_run_is_about_entries():
    assert not WITHOUT.keys() - {entry.name for entry in ENTRIES}
