"""The table of ``docs/reliability.md``: each figure is measured by the command beside it.

``python scripts/reliability.py`` runs all of them, for some minutes, and writes the table; ``--only mutation growth``
measures two rows and leaves the figures of the others. Longer runs of the same commands stand below the table, by hand.
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
HEAD = "| what | figure | command |\n|---|---|---|\n"
EXPONENT = r"│ +n\^([\d.]+) │ +n\^"  # in the second column of a table
PROGRAMS = r"(\d+) programs, (\d+) of them wrong"
MUTANTS = r"(?s)all +([\d,]+) +([\d,]+) +([\d,]+) .*mutation score: ([\d.]+ %)"


class Row(NamedTuple):
    """What is measured: the command, and the figures in what it prints, in a sentence."""

    name: str
    what: str
    command: str
    figures: str
    sentence: str


ROWS = (
    Row(
        "edges",
        "Numerical edge cases, by value and gradient, in every mode but compiled",
        "pytest -q tests/test_golden.py",
        r"(\d+) passed",
        "{} cases pass",
    ),
    Row(
        "walk",
        "Tests that walk the registry: values, gradients, forward mode, batches, graphs, memory, dtypes, edges",
        "pytest --collect-only -q tests/test_registry.py tests/test_registry_edges.py tests/test_registry_forward.py "
        "tests/test_registry_batch.py tests/test_registry_graph.py tests/test_registry_memory.py "
        "tests/test_registry_dtypes.py",
        r"(\d+)(?:/\d+)? tests",
        "{} tests, which `make test` runs",
    ),
    Row(
        "grid",
        "Every operation in ten dtypes, other shapes, six layouts: native code and native derivatives, on three calls",
        "scripts/grid.py --ways native pullbacks --cells 2",
        r"cells: ([\d,]+), wrong: ([\d,]+)",
        "{} cells, {} wrong",
    ),
    Row(
        "traps",
        "Programs that are easily captured or compiled wrongly",
        "pytest -q tests/compiler/test_traps.py",
        r"(\d+) passed",
        "{} tests pass",
    ),
    Row("fuzz", "Random programs in every mode", "scripts/fuzz.py --programs 1000", PROGRAMS, "{} programs, {} wrong"),
    Row(
        "fuzz_mixed",
        "Random programs of mixed precisions: half, single, double and complex beside Python's and NumPy's numbers",
        "scripts/fuzz.py --of mixed --programs 300",
        PROGRAMS,
        "{} programs, {} wrong",
    ),
    Row(
        "fuzz_out",
        "Random programs that write through `out=`: tensors, views, overlapping memory, other dtypes, `where=`",
        "scripts/fuzz.py --of out --programs 300",
        PROGRAMS,
        "{} programs, {} wrong",
    ),
    Row(
        "fuzz_own",
        "Random programs of functions with derivatives of their own",
        "scripts/fuzz.py --of own --programs 300",
        PROGRAMS,
        "{} programs, {} wrong",
    ),
    Row(
        "wrong_rules",
        "Derivatives of users that do not fit: wrong shape, dtype, realness, structure",
        "tests.fuzz.wrong_rules 2000",
        r"wrong rules: ([\d,]+) trials, (\d+) answered wrongly",
        "{} trials, {} answered wrongly",
    ),
    Row(
        "chains",
        "Random chains of operations on arrays of 14 dtypes with special values, and the memory around them, compiled",
        "tests.fuzz.chains 300",
        r"(\d+) programs, (\d+) wrong",
        "{} programs, {} wrong",
    ),
    Row(
        "chains_large",
        "Such chains on arrays that several threads share: NumPy's values, the same bits on one and on three",
        "tests.fuzz.chains 60 0 large",
        r"(\d+) programs, (\d+) wrong",
        "{} programs, {} wrong",
    ),
    Row(
        "fuzz_compile",
        "Random programs, compiled",
        "scripts/fuzz_compile.py --programs 50",
        r"(\d+) programs, (\d+) of them recorded; (\d+) differ",
        "{} programs, {} recorded, {} differ",
    ),
    Row(
        "mutation",
        "Mutants of the registry's rules that its walk finds",
        "scripts/mutate.py --every 200",
        MUTANTS,
        "{} mutants, {} found, {} equivalent: {} of those that can be found",
    ),
    Row(
        "bad_calls",
        "Bad calls that are refused with NumPy's class of error, without an internal name",
        "scripts/bad_calls.py --every 100",
        r"(?s)bad calls: ([\d,]+) .*wrong: ([\d,]+)",
        "{} calls, {} answered otherwise",
    ),
    Row(
        "interrupts",
        "Ctrl-C at a random bytecode",
        "pytest -q tests/tape/test_mode_interrupts.py",
        r"(\d+) passed",
        "{} tests pass, 19 of them of 300 interrupts each",
    ),
    Row(
        "kills",
        "Trainings that are killed at random moments and go on",
        "scripts/kill_and_resume.py --kills 30",
        r"([\d,]+) kills in ([\d,]+) runs",
        "{} kills in {} runs: every bit as in the run that was never killed",
    ),
    Row(
        "exits",
        "Programs interrupted while native code is made beside them, and while they end",
        "scripts/interrupted_exits.py --runs 6",
        r"(\d+ processes: .*)",
        "{}",
    ),
    Row(
        "mutation_native",
        "Mutants of what writes native code that the compiled walk finds",
        "scripts/mutate.py --native --every 60",
        MUTANTS,
        "{} mutants, {} found, {} equivalent: {} of those that can be found",
    ),
    Row(
        "leaks",
        "Memory and objects left by many calls",
        "scripts/soak.py --calls 10000",
        r"(nothing grows|growing: .*)",
        "{} by 10,000 calls, 10,000 training steps, 200 refused calls, 20 gradients, 20 functions compiled and dropped",
    ),
    Row(
        "growth",
        "Exponents of time over the number of inputs and uses",
        "benchmarks growth",
        EXPONENT,
        "{} patterns, at most n^{}",
    ),
    Row(
        "conformance",
        "Other people's packages, differentiated as they are",
        "scripts/strangers.py",
        r"(?m)^(\d+ of \d+ programs.*)$",
        "{}: [conformance](conformance.md)",
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


def figure(row: Row) -> str:
    """The row's sentence, with the figures that its command prints."""
    done = subprocess.run(arguments(row.command), cwd=ROOT, capture_output=True, text=True, check=False)
    text = read(row, done.stdout)
    if text is None:
        raise SystemExit(
            f"{row.name}: {shown(row.command)} prints no figure\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        )
    return text + ("" if done.returncode == 0 else "; the command ends with an error")


def read(row: Row, printed: str) -> str | None:
    """The row's sentence for what its command printed; None where there is no figure in it."""
    if row.figures == EXPONENT:
        exponents = re.findall(EXPONENT, printed)
        return row.sentence.format(len(exponents), max(exponents, key=float)) if exponents else None
    found = re.search(row.figures, printed)
    return row.sentence.format(*found.groups()) if found else None


def written(figures: dict[str, str]) -> str:
    """The page with a table of all rows: these figures, those that it has beside the same command, or where one is."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(HEAD)
    table = re.match(r"(?:\|.*\n)*", rest)
    old = table.group() if table else ""
    known = {command: text for text, command in re.findall(r"(?m)^\| .* \| (.*) \| `(.*)` \|$", old)}
    lines = []
    for row in ROWS:
        text = figures.get(row.name) or known.get(shown(row.command), "[below](#longest-runs)")
        lines.append(f"| {row.what} | {text} | `{shown(row.command)}` |\n")
    return before + HEAD + "".join(lines) + rest[len(old) :]


def main() -> int:
    """Measure, and write the page after each row."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", choices=[row.name for row in ROWS], help="these rows")
    given = parser.parse_args()
    for row in ROWS:
        if given.only is None or row.name in given.only:
            text = figure(row)
            print(f"{row.what}: {text}  ({shown(row.command)})", flush=True)
            PAGE.write_text(written({row.name: text}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
