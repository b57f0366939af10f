"""The grid: every operation of the registry × dtypes, shapes and layouts in memory × ways in which it is computed.

``python scripts/grid.py`` compares all cells, for hours: values, dtypes, shapes and errors with NumPy's, as constants,
recorded, in forward mode, in a batch along the first axis and along the last, captured, and compiled with NumPy's steps
and natively, on the first call and two later ones with other numbers; cotangents and tangents by their dtypes, their
shapes and ⟨w, Jv⟩ = ⟨Jᵀw, v⟩; and native pullbacks with eager ones. ``--cells 12`` takes twelve of each operation,
``--seed 1`` other ones; ``--part 3/8`` takes the third, the eleventh and so on of each, so that eight parts are all of
them. What differs is printed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from adjoint.testing import walk
from tests.grid.cells import cells
from tests.grid.ways import ENDLESS, WAYS, wrong


def _part(text: str) -> slice:
    number, parts = map(int, text.split("/"))
    return slice(number - 1, None, parts)


def main() -> int:
    """Compare, print what differs, and count."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", help="the operations")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=WAYS, help="the ways")
    parser.add_argument("--cells", type=int, help="so many of each operation, drawn")
    parser.add_argument("--seed", type=int, default=0, help="for these")
    parser.add_argument("--part", type=_part, default=slice(None), help="3/8: the third of each eight cells")
    given = parser.parse_args()
    started, counts, found = time.perf_counter(), Counter(), 0
    for entry in walk():
        if entry.name in ENDLESS or (given.only and entry.name not in given.only):
            continue
        chosen = list(cells(entry))[given.part]
        if given.cells:
            chosen = random.Random(f"{given.seed} {entry.name}").sample(chosen, min(given.cells, len(chosen)))
        for text in wrong(chosen, given.ways, counts):
            found += 1
            print(text, flush=True)
    for way, count in counts.items():
        print(f"{way:12}{count:9,}")
    print(f"cells: {sum(counts.values()):,}, wrong: {found:,}; {time.perf_counter() - started:.0f} s")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
