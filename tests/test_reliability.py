"""The table of figures is its script's: its commands are there, and their figures are read."""

import importlib.util
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("reliability", ROOT / "scripts" / "reliability.py")
reliability = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reliability)


@pytest.mark.parametrize("row", reliability.ROWS, ids=lambda row: row.name)
def test_commands_exist(row):
    first, *rest = shlex.split(row.command)
    assert (ROOT / first).is_file() or importlib.util.find_spec(first)
    source = (ROOT / first).read_text(encoding="utf-8") if first.endswith(".py") else ""
    for word in rest:
        assert not word.startswith("tests/") or (ROOT / word).exists()
        assert not (source and word.startswith("--")) or f'"{word}"' in source


def test_the_table_is_the_scripts():
    page = reliability.PAGE.read_text(encoding="utf-8")
    assert reliability.written({}) == page


PRINTED = {
    "grid": ("cells: 6,030, wrong: 0; 99 s", "6,030 cells, 0 wrong"),
    "fuzz": ("1000 programs, 2 of them wrong; 17 s.", "1000 programs, 2 wrong"),
    "mutation": (
        "change   mutants  found\nall   9,217  8,900  300  17\nmutation score: 99.81 %\n",
        "9,217 mutants, 8,900 found, 300 equivalent: 99.81 % of those that can be found",
    ),
    "growth": ("│ a │ n^0.97 │ n^1.00 │\n│ b │  n^1.07 │  n^1.00 │", "2 patterns, at most n^1.07"),
    "leaks": ("calls 9 times\ngrowing: calls\n", "growing: calls by 10,000 calls"),
}


@pytest.mark.parametrize("name", PRINTED)
def test_figures_are_read(name):
    printed, figure = PRINTED[name]
    row = next(row for row in reliability.ROWS if row.name == name)
    assert reliability.read(row, printed).startswith(figure)
    assert reliability.read(row, "Traceback (most recent call last):") is None


def test_figures_go_into_their_rows():
    row = reliability.ROWS[0]
    page = reliability.written({row.name: "5 cases"})
    assert f"| {row.what} | 5 cases | `{reliability.shown(row.command)}` |" in page
    assert page.count("5 cases") == 1
    assert page.count("\n| ") == len(reliability.ROWS) + 1 + page.partition("## Longest runs")[2].count("\n| ")
