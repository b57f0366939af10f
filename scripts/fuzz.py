"""Random NumPy programs, in every mode: values, first and second derivatives, samples, checkpoints, compiled calls.

``python scripts/fuzz.py --programs 10000 --seed 0`` takes about a minute of one core. Each program runs in reverse
mode, its derivative is compared with differences, and one other mode is drawn (`ELSE` in ``tests/fuzz/modes.py`` says
how often which). A program that is wrong in a mode is made as short as it can be and printed as an entry of
``tests/fuzz/found.txt``; then the exit status is 1.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.compiler.attacks.shorten import shortest
from tests.fuzz.modes import check, drawn, kind, ran, refusals
from tests.fuzz.programs import Program, generate_many
from tests.fuzz.statements import KINDS

ALIKE = 2  # how many programs that are wrong in the same way are shown
ALIKE_TEXT = 16  # how many programs have the same text: they differ in layouts, dtypes and shapes of arguments
PROGRESS = 1_000  # programs between two lines that say how far it is


def drawn_programs(seed: int, of: str = "any") -> Iterator[tuple[int, random.Random, Program]]:
    """The programs of a seed and of all after it, each with its seed and what draws its modes."""
    for k in itertools.count(seed):
        rng = random.Random(-k - 1)
        for program in generate_many(k, ALIKE_TEXT, of):
            yield k, rng, program


def still(arguments: list[str], said: str, native: bool, seed: int) -> Callable[[str], bool]:
    """Whether a program is wrong in the way that was `said`."""
    modes = {"whole", "plain", "reverse", "forward", said.partition(":")[0]}

    def differs(text: str) -> bool:
        try:
            with warnings.catch_warnings(action="ignore"):  # of what a shortened program may look like
                program = Program(text.partition("\n---\n")[0] + "\n", arguments)
            now = check(program, native, modes, seed) if program.fits() else None
        except Exception:  # no program of NumPy's
            return False
        return now is not None and kind(now) == kind(said)

    return differs


def without_names(program: Program, differs: Callable[[str], bool]) -> Program:
    """The program without second names for values, where it needs none."""
    for line in program.text.splitlines():
        if found := re.fullmatch(r"\s+(v\d+) = (\w+)", line):
            text = re.sub(rf"\b{found[1]}\b", found[2], program.text.replace(line + "\n", "", 1))
            if differs(text):
                program = Program(text, program.arguments)
    return program


def run(
    programs: int,
    seed: int,
    *,
    of: str = "any",
    seconds: float = float("inf"),
    native: int = 16,
    found: int = 20,
    shorten: bool = True,
) -> tuple[int, list[str]]:
    """How many programs ran, and the entries of those that are wrong; each `native`-th is made native code as well."""
    entries: list[str] = []
    kinds: Counter[str] = Counter()
    start, done = time.perf_counter(), 0
    with suppress(KeyboardInterrupt):  # Ctrl-C ends it as the other limits do
        for k, rng, program in drawn_programs(seed, of):
            if done == programs or time.perf_counter() - start > seconds or len(entries) >= found:
                break
            if done and done % PROGRESS == 0:
                print(f"{done} programs, up to seed {k}, {time.perf_counter() - start:.0f} s. {by_mode()}", flush=True)
            done += 1
            modes, natively = drawn(rng, of), native > 0 and rng.random() * native < 1
            said = check(program, natively, modes, k)
            if said is None:
                continue
            kinds[kind(said)] += 1
            if kinds[kind(said)] <= ALIKE:
                if shorten:
                    differs = still(program.arguments, said, natively, k)
                    text = shortest(program.text, differs).partition("\n---\n")[0]
                    program = without_names(Program(text + "\n", program.arguments), differs)
                entries.append(f"### seed {k}, {check(program, natively, seed=k) or said}\n{program}")
                print(entries[-1], flush=True)
    for what, often in kinds.most_common():
        print(f"{often:6}  {what}")
    return done, entries


def by_mode() -> str:
    """How many programs were right in each mode."""
    return "Right: " + ", ".join(f"{what} {often}" for what, often in ran.items())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=10_000, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first")
    parser.add_argument("--of", choices=KINDS, default="any", help="their kind: what their statements are drawn from")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument("--native", type=int, default=16, help="each so many-th as native code; 0 for none")
    parser.add_argument("--found", type=int, default=20, help="stop after so many that are wrong")
    parser.add_argument("--whole", action="store_true", help="do not shorten")
    args = parser.parse_args()
    os.environ.setdefault("ADJOINT_CACHE", "off")
    start = time.perf_counter()
    done, entries = run(
        args.programs,
        args.seed,
        of=args.of,
        seconds=args.seconds,
        native=args.native,
        found=args.found,
        shorten=not args.whole,
    )
    print(f"{done} programs, {len(entries)} of them wrong; {time.perf_counter() - start:.0f} s. {by_mode()}\nRefused:")
    for what, often in refusals.most_common(15):
        print(f"{often:6}  {what}")
    return int(bool(entries))


if __name__ == "__main__":
    sys.exit(main())
