"""Bad calls of everything: of each operation of the registry, in six modes, and of the public functions.

``python scripts/bad_calls.py`` makes all of them, some 200,000, in about an hour on one core; ``--every 20`` each
twentieth. Each call must be refused where NumPy refuses it, with an error of NumPy's class that names nothing internal,
and give NumPy's value where NumPy gives one. What does not is printed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import resource
import signal
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parents[1]))

from adjoint.testing import walk
from tests.bad_calls.judge import excused, judged
from tests.bad_calls.public import CALLS, fault

LONGEST = 120  # seconds for the calls of one operation


class TooLong(BaseException):
    """A call did not end in time."""


def main() -> int:
    """Make the calls, print what is wrong, and count."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", help="the operations whose calls are made")
    parser.add_argument("--every", type=int, default=1, help="make each n-th call of an operation")
    parser.add_argument("--start", type=int, default=0, help="begin with this one")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    signal.signal(signal.SIGALRM, _too_long)
    started = time.perf_counter()
    count, kinds = 0, Counter()
    for entry in walk():
        if given.only and entry.name not in given.only:
            continue
        signal.alarm(LONGEST)
        try:
            calls, found = judged(entry, every=given.every, start=given.start)
        except TooLong:
            calls, found = 0, []
            print(f"{entry.name}: its calls do not end", flush=True)
            kinds["endless"] += 1
        finally:
            signal.alarm(0)
        count += calls
        for bad, mode, text in found:
            if not excused(bad, mode, text):
                kinds[text.partition(":")[0]] += 1
                print(f"{bad.name} | {mode} | {text[:300]!r}", flush=True)
    public = 0
    for name, call in CALLS.items() if not given.only else ():
        public += 1
        text = fault(call)
        if text:
            kinds["public"] += 1
            print(f"{name} | {text[:300]}", flush=True)
    print(f"bad calls: {count + public:,} ({count:,} of operations, {public:,} of public functions)")
    print(f"wrong: {kinds.total():,} {dict(kinds) if kinds else ''}")
    print(f"{time.perf_counter() - started:.0f} s")
    return 1 if kinds else 0


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TooLong


if __name__ == "__main__":
    sys.exit(main())
