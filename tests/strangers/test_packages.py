"""Other people's packages, differentiated unchanged; those installed are compared with the page."""

import pytest

from scripts import strangers

PAGE = {row.program: row for row in strangers.rows(strangers.PAGE.read_text(encoding="utf-8"))}


def test_the_page_has_every_program_and_fifteen_packages_that_are_right():
    assert sorted(PAGE) == strangers.names()
    assert len({row.package for row in PAGE.values() if row.right}) >= 15


def test_the_page_was_written_with_the_pinned_versions():
    assert {row.package.lower(): row.version for row in PAGE.values()}.items() <= strangers.pins().items()


def test_no_row_of_the_page_is_wrong():
    assert [row for row in PAGE.values() if any(cell.startswith("WRONG") for cell in row.cells)] == []


@pytest.mark.filterwarnings("default")  # the packages have warnings of their own
@pytest.mark.parametrize("name", strangers.names())
def test_package(name):
    if why := strangers.missing(name):
        pytest.skip(why)
    outcomes = strangers.verdict_of(name, ("grad", "jvp")).outcomes
    assert not any(outcome.startswith("WRONG") for outcome in outcomes.values()), outcomes
    assert (set(outcomes.values()) == {"right"}) == PAGE[name].right, outcomes  # else: run scripts/strangers.py
