"""Mutation score of the registry's walk: each rule changed in one place at a time, and whether the walk sees it.

``python scripts/mutate.py`` takes about half an hour on one core; ``--only multiply`` takes one operation, ``--every
50`` each fiftieth mutant. Mutants that no test can tell from the rule stand in ``tests/mutation/equivalent.txt``, each
with its reason. The exit status is 1 if fewer than 99 % of the others are found.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.mutation.survey import Outcome, is_equivalent, score, survey

ENOUGH = 99.0
NOT_FOUND = "not found: "


def main() -> int:
    """Print each mutant that is not found, and a table of all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", help="the operation whose rules are mutated")
    parser.add_argument("--every", type=int, default=1, help="take each n-th mutant")
    parser.add_argument("--again", type=Path, help="take those that this output of an earlier run says are not found")
    parser.add_argument("--native", action="store_true", help="mutate what writes native code, instead of the rules")
    parser.add_argument(
        "--equivalent", action="store_true", help="walk those of the list too, which nothing should find"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--verbose", action="store_true", help="print what found each mutant, too")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # a mutant may ask for any shape
    started = time.perf_counter()
    found: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ADJOINT_CACHE"] = folder  # native code of mutants is nobody's
        parts = [
            (given.only, given.every, given.jobs, k, given.again, given.native, given.equivalent)
            for k in range(given.jobs)
        ]
        with multiprocessing.get_context("fork").Pool(given.jobs) as pool:
            for outcomes in pool.imap_unordered(_survey, parts):
                found += outcomes
    _print(sorted(found, key=str), given.verbose)
    print(f"{time.perf_counter() - started:.0f} s")
    return 0 if score(found) >= ENOUGH else 1


def _survey(part: tuple[str | None, int, int, int, Path | None, bool, bool]) -> list[Outcome]:
    only, every, jobs, k, again, native, equivalent = part
    lines = again.read_text(encoding="utf-8").splitlines() if again else []
    names = [line.removeprefix(NOT_FOUND).rpartition("  [")[0] for line in lines if line.startswith(NOT_FOUND)]
    found = []
    for outcome in survey(only, every, jobs, k, frozenset(names) if again else None, native, equivalent):
        found.append(outcome)
        if not outcome.found and not is_equivalent(outcome.mutant):
            print(f"{NOT_FOUND}{outcome.mutant}  [{', '.join(outcome.operations[:4])}]", flush=True)
    return found


def _print(found: list[Outcome], verbose: bool) -> None:
    if verbose:
        print("\n".join(f"{o.mutant}: {o.found or 'NOT FOUND'}" for o in found))
    rows: dict[str, Counter[str]] = {}
    for outcome in found:
        kind = "found" if outcome.found else "equivalent" if is_equivalent(outcome.mutant) else "not found"
        rows.setdefault(outcome.kind, Counter())[kind] += 1
    print(f"{'change':24}{'mutants':>9}{'found':>9}{'equivalent':>12}{'not found':>11}")
    for kind, row in [*sorted(rows.items()), ("all", sum(rows.values(), Counter()))]:
        print(f"{kind:24}{row.total():9,}{row['found']:9,}{row['equivalent']:12,}{row['not found']:11,}")
    print(f"mutation score: {score(found):.2f} %")


if __name__ == "__main__":
    sys.exit(main())
