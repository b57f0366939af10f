"""Bad calls of everything: of each operation of the registry, in six modes, and of the public functions.

``python scripts/bad_calls.py`` makes all of them, some 190,000, in some minutes; ``--every 20`` each twentieth. Each
call must be refused where NumPy refuses it, with an error of NumPy's class that names nothing internal, and give the
value of NumPy where NumPy gives one. What does not is printed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from adjoint.core.registry import Entry
from adjoint.testing import walk
from tests.bad_calls.judge import excused, judged
from tests.bad_calls.public import CALLS, fault

LONGEST = 120  # seconds for the calls of one operation


def chosen(about: str | None) -> argparse.Namespace:
    """The options: which calls of which operations are made."""
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", help="the operations whose calls are made")
    parser.add_argument("--every", type=int, default=1, help="make each n-th call of an operation")
    parser.add_argument("--start", type=int, default=0, help="begin with this one")
    return parser.parse_args()


def main() -> int:
    """Make the calls, print what is wrong, and count."""
    given = chosen(__doc__)
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    started = time.perf_counter()
    count, kinds = 0, Counter()
    for entry in walk():
        if given.only and entry.name not in given.only:
            continue
        made = apart(partial(_wrong, entry, given.every, given.start))
        if made is None:
            print(f"{entry.name}: its calls do not end, or end the process", flush=True)
            kinds["endless"] += 1
            continue
        count += made[0]
        for name, mode, text in made[1]:
            kinds[text.partition(":")[0]] += 1
            print(f"{name} | {mode} | {text[:300]!r}", flush=True)
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


def _wrong(entry: Entry, every: int, start: int) -> tuple[int, list[tuple[str, str, str]]]:
    """How many calls of `entry` were made, and those that are answered wrongly."""
    count, found = judged(entry, every=every, start=start)
    return count, [(bad.name, mode, text) for bad, mode, text in found if not excused(bad, mode, text)]


def apart(work: Callable[[], Any]) -> Any:
    """What `work` gives, in a process of its own; None if that does not end, or ends in another way."""
    reads, writes = os.pipe()
    pid = os.fork()
    if not pid:
        signal.alarm(LONGEST)
        with os.fdopen(writes, "wb") as pipe:
            pickle.dump(work(), pipe)
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as pipe:
        written = pipe.read()
    return pickle.loads(written) if os.waitpid(pid, 0)[1] == 0 else None


if __name__ == "__main__":
    sys.exit(main())
