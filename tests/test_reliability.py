"""The page of figures names commands that are there."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("reliability", ROOT / "scripts" / "reliability.py")
reliability = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reliability)


@pytest.mark.parametrize("row", reliability.ROWS, ids=lambda row: row.name)
def test_commands_exist(row):
    page = reliability.PAGE.read_text(encoding="utf-8")
    assert f"| {row.what} |" in page
    assert f"`{reliability.shown(row.command)}`" in page
    for command in filter(None, (row.command, row.quick)):
        first, *rest = shlex.split(command)
        assert (ROOT / first).is_file() or importlib.util.find_spec(first)
        source = (ROOT / first).read_text(encoding="utf-8") if first.endswith(".py") else ""
        for word in rest:
            assert not word.startswith("tests/") or (ROOT / word).exists()
            assert not (source and word.startswith("--")) or f'"{word}"' in source


def test_the_table_has_no_other_command():
    page = reliability.PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\|.*\| `(.*)` \|$", page)
    assert rows == [reliability.shown(row.command) for row in reliability.ROWS]


def test_figures_go_into_their_rows():
    row = reliability.ROWS[0]
    assert f"| {row.what} | 5 cases | " in reliability.written({row.name: "5 cases"})
