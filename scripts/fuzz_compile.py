"""Random programs, compiled against plain, with changes between the calls: values, effects, output and exceptions.

``python scripts/fuzz_compile.py --programs 10000 --seed 0`` takes about an hour on one core. A program that differs
is made as short as it can be, and printed as an entry for ``tests/compiler/attacks``; then the exit status is 1.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.compiler.attacks.programs import THEMES, Program
from tests.compiler.attacks.shorten import as_test, shortest
from tests.compiler.attacks.worlds import MODES, NAMES, World, lived
from tests.every_name import pytest_collection_finish as define_every_name

LONGEST = 10.0  # seconds of processor time; most programs take a tenth of one


class EndlessError(BaseException):
    """A program did not end: nothing that it catches."""


@contextmanager
def limited() -> Iterator[None]:
    """Stop what takes too long: a loop over a list that it lengthens, say."""

    def stop(*_: Any) -> None:
        raise EndlessError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def outcome(text: str, folder: str, mode: str, seed: int) -> tuple[str | None, bool]:
    """How the compiled program differs from the plain one, if it does; and whether it was recorded.

    A program that does not end plain, either, is no program: the seed says which one it was.
    """
    try:
        with limited():
            return lived(text, Path(folder) / f"world{next(NAMES)}.py", mode, seed)
    except EndlessError:
        try:
            with limited():
                World(text, Path(folder) / "plain.py", None, MODES[mode][1], seed).live()
        except EndlessError:
            print(f"seed {seed}: the plain program does not end", flush=True)
            return None, False
        return "the compiled program does not end", False
    except (AssertionError, SyntaxError):  # no world at all: what a shortened program may be
        return None, False
    except Exception as error:
        return f"{type(error).__name__} outside of the program\n{traceback.format_exc()}", False


def alike(said: str, folder: str, mode: str, seed: int) -> Callable[[str], bool]:
    """Whether a program differs as the one of which this was `said`: in its result, what it raises, or effects."""

    def kind(said: str | None) -> int:
        return 0 if said is None else 1 if ": the result" in said else 2 if ": raised is" in said else 3

    return lambda text: kind(outcome(text, folder, mode, seed)[0]) == kind(said)


def run(
    programs: int, seed: int, *, native: int = 8, shorten: bool = True, found: int = 20, about: str | None = None
) -> list[str]:
    """The entries for the programs that differ; each `native`-th one is compiled to native code."""
    entries: list[str] = []
    recorded = 0
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for k in range(seed, seed + programs):
            mode = "native" if native and k % native == native - 1 else "numpy"
            text = Program(k, about).text
            said, whole = outcome(text, folder, mode, k)
            recorded += whole
            if said is not None:
                if shorten:
                    text = shortest(text, alike(said, folder, mode, k))
                said, _ = outcome(text, folder, mode, k)
                entries.append(f"{as_test(text, mode, k)}\n{said}")
                print(entries[-1], end="\n\n", flush=True)
                if len(entries) >= found:
                    break
            for path in Path(folder).glob("*.py"):
                path.unlink()
    done = k - seed + 1
    print(f"{done} programs, {recorded} of them recorded; {len(entries)} differ; {time.perf_counter() - start:.0f} s")
    return entries


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=10_000, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first")
    parser.add_argument("--native", type=int, default=8, help="each so many-th as native code; 0 for none")
    parser.add_argument("--found", type=int, default=20, help="stop after so many that differ")
    parser.add_argument(
        "--theme", choices=THEMES, help="what each program is about, beside others; see tests/compiler/attacks/themes"
    )
    parser.add_argument("--whole", action="store_true", help="do not shorten")
    parser.add_argument("--every-name", action="store_true", help="beside a class that defines every name: more twins")
    args = parser.parse_args()
    if args.every_name:
        define_every_name()
    os.environ.setdefault("ADJOINT_CACHE", "off")
    settings = {"native": args.native, "shorten": not args.whole, "found": args.found, "about": args.theme}
    return int(bool(run(args.programs, args.seed, **settings)))


if __name__ == "__main__":
    raise SystemExit(main())
