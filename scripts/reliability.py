"""The figures of ``docs/reliability.md``, each measured by the command beside it, and the page itself.

``python scripts/reliability.py`` takes hours; ``--quick`` runs the short form of each command, in some minutes, and
prints the table without writing the page. ``--only mutation`` measures one row.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability.md"
EXPONENT = r"│ +n\^([\d.]+) │ +n\^"  # in the second column of a table
COLLECT = "-o addopts= --collect-only -q"


class Row(NamedTuple):
    """What is measured: the command, its short form, and the figures in what it prints, in a sentence."""

    name: str
    what: str
    command: str
    quick: str
    figures: str
    sentence: str


ROWS = (
    Row(
        "edges",
        "Numerical edge cases, by value and gradient, in every mode",
        "pytest -q tests/test_golden.py tests/test_golden_compiled.py",
        "pytest -q tests/test_golden.py",
        r"(\d+) passed",
        "{} cases pass",
    ),
    Row(
        "walk",
        "Tests that walk the registry: values, gradients, forward mode, batches, graphs, memory, dtypes, edges",
        f"pytest {COLLECT} tests -k test_registry",
        f"pytest {COLLECT} tests/test_registry_edges.py tests/test_registry_forward.py",
        r"(\d+)(?:/\d+)? tests",
        "{} tests",
    ),
    Row(
        "grid",
        "Every operation in ten dtypes, other shapes and six layouts, in ten ways, beside NumPy",
        "scripts/grid.py",
        "scripts/grid.py --cells 1 --ways constant captured cotangents",
        r"cells: ([\d,]+), wrong: ([\d,]+)",
        "{} cells, {} of them wrong",
    ),
    Row(
        "traps",
        "Programs that are easily captured or compiled wrongly: traps and attacks",
        f"pytest {COLLECT} tests/compiler/test_attacks.py tests/compiler/test_traps.py",
        f"pytest {COLLECT} tests/compiler/test_traps.py",
        r"(\d+)(?:/\d+)? tests",
        "{} tests",
    ),
    Row(
        "fuzz",
        "Random programs in every mode",
        "scripts/fuzz.py --programs 10000",
        "scripts/fuzz.py --programs 200",
        r"(\d+ programs, \d+ of them wrong)",
        "{}",
    ),
    Row(
        "fuzz_mixed",
        "Random programs of mixed precisions: half, single, double and complex beside Python's and NumPy's numbers",
        "scripts/fuzz.py --of mixed --programs 20000 --native 8",
        "scripts/fuzz.py --of mixed --programs 100",
        r"(\d+ programs, \d+ of them wrong)",
        "{}",
    ),
    Row(
        "fuzz_out",
        "Random programs that write through `out=`: tensors, views, overlapping memory, other dtypes, `where=`",
        "scripts/fuzz.py --of out --programs 20000 --native 8",
        "scripts/fuzz.py --of out --programs 100",
        r"(\d+ programs, \d+ of them wrong)",
        "{}",
    ),
    Row(
        "fuzz_own",
        "Random programs of functions with derivatives of their own",
        "scripts/fuzz.py --of own --programs 20000",
        "scripts/fuzz.py --of own --programs 100",
        r"(\d+ programs, \d+ of them wrong)",
        "{}",
    ),
    Row(
        "wrong_rules",
        "Derivatives of users that do not fit: wrong shape, dtype, realness, structure",
        "tests.fuzz.wrong_rules 20000",
        "tests.fuzz.wrong_rules 500",
        r"wrong rules: ([\d,]+) trials, (\d+) answered wrongly",
        "{} trials, {} answered wrongly",
    ),
    Row(
        "fuzz_compile",
        "Random programs, compiled",
        "scripts/fuzz_compile.py --programs 10000",
        "scripts/fuzz_compile.py --programs 100",
        r"(?s)(.*)",
        "{}",
    ),
    Row(
        "mutation",
        "Mutants of the registry's rules that its walk finds",
        "scripts/mutate.py --jobs 2",
        "scripts/mutate.py --every 200",
        r"(?s)all +([\d,]+) +([\d,]+) .*mutation score: ([\d.]+ %)",
        "{} mutants, {} found: {} of those that can be",
    ),
    Row(
        "bad_calls",
        "Bad calls that are refused with NumPy's class of error, without an internal name",
        "scripts/bad_calls.py",
        "scripts/bad_calls.py --every 200",
        r"(?s)bad calls: ([\d,]+) .*wrong: ([\d,]+)",
        "{} calls, {} answered otherwise",
    ),
    Row(
        "interrupts",
        "Ctrl-C at a random bytecode",
        "pytest -q tests/tape/test_mode_interrupts.py tests/tape/test_restored.py tests/optim/test_interrupts.py "
        "tests/compiler/test_interrupts.py",
        "pytest -q tests/tape/test_mode_interrupts.py",
        r"(\d+) passed",
        "{} tests pass, of hundreds of interrupts each",
    ),
    Row(
        "kills",
        "Trainings that are killed at random moments and go on",
        "scripts/kill_and_resume.py --kills 1000",
        "scripts/kill_and_resume.py --kills 30",
        r"([\d,]+) kills in ([\d,]+) runs",
        "{} kills in {} runs: every bit as in the run that was never killed",
    ),
    Row(
        "exits",
        "Programs interrupted while native code is made beside them, and while they end",
        "scripts/interrupted_exits.py --runs 100",
        "scripts/interrupted_exits.py --runs 3",
        r"(?s)(.*)",
        "{}",
    ),
    Row(
        "mutation_native",
        "Mutants of what writes native code that the compiled walk finds",
        "scripts/mutate.py --native --jobs 2",
        "scripts/mutate.py --native --every 60",
        r"(?s)all +([\d,]+) +([\d,]+) .*mutation score: ([\d.]+ %)",
        "{} mutants, {} found: {} of those that can be",
    ),
    Row(
        "leaks",
        "Memory and objects left by a million calls",
        "scripts/soak.py",
        "scripts/soak.py --calls 2000",
        r"(?s)(.*)",
        "{}",
    ),
    Row(
        "growth",
        "Exponents of time over the number of inputs and uses",
        "benchmarks growth",
        "benchmarks growth",
        EXPONENT,
        "at most n^{}",
    ),
    Row(
        "conformance",
        "Other people's packages, differentiated as they are",
        "scripts/strangers.py",
        "",
        r"(?s)(.*)",
        "{}",
    ),
)


def arguments(command: str) -> list[str]:
    """A row's command for the interpreter that runs this."""
    first, *rest = shlex.split(command)
    return [sys.executable, first, *rest] if first.endswith(".py") else [sys.executable, "-m", first, *rest]


def shown(command: str) -> str:
    """The command as a reader types it."""
    first = command.partition(" ")[0]
    return f"python {command}" if first.endswith(".py") else f"python -m {command}"


def figure(row: Row, command: str) -> str:
    """The row's sentence, with the figures that its command prints."""
    done = subprocess.run(arguments(command), cwd=ROOT, capture_output=True, text=True, check=False)
    found = re.search(row.figures, done.stdout)
    if found is None:
        raise SystemExit(f"{row.name}: {shown(command)} prints no figure\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    groups = [group.strip() for group in found.groups()]
    if row.figures == EXPONENT:
        groups = [max(re.findall(EXPONENT, done.stdout), key=float)]
    groups = [group.splitlines()[-1].strip() if "\n" in group else group for group in groups]
    return row.sentence.format(*groups) + ("" if done.returncode == 0 else "; the command ends with an error")


def written(figures: dict[str, str]) -> str:
    """The page with these figures in the place of those that it has."""
    page = PAGE.read_text(encoding="utf-8")
    for row in ROWS:
        if row.name in figures:
            line = f"| {row.what} | {figures[row.name]} | `{shown(row.command)}` |"
            page = re.sub(rf"(?m)^\| {re.escape(row.what)} \|.*$", lambda _, line=line: line, page)
    return page


def main() -> int:
    """Measure, and write the page; with --quick, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the short form of each command; the page stays")
    parser.add_argument("--only", choices=[row.name for row in ROWS], help="one row")
    given = parser.parse_args()
    figures: dict[str, str] = {}
    for row in ROWS:
        command = row.quick if given.quick else row.command
        if command and given.only in (None, row.name):
            figures[row.name] = figure(row, command)
            print(f"{row.what}: {figures[row.name]}  ({shown(command)})", flush=True)
    if not given.quick:
        PAGE.write_text(written(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
