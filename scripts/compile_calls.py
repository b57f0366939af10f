"""Calls of NumPy's functions and ours with arguments of every kind, compiled against plain.

``python scripts/compile_calls.py`` makes all of them; ``--every 20`` each twentieth, ``--only take cov`` those of some
operations. A call whose value, class, dtype, layout, shared memory, error or warnings differ is printed, and the exit
status is 1.
"""

from __future__ import annotations

import resource
import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from adjoint.testing import walk
from scripts.bad_calls import apart, chosen
from tests.compiler.calls import of_entry


def main() -> int:
    """Make the calls, print those that differ, and count."""
    given = chosen(__doc__)
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    started = time.perf_counter()
    count = wrong = 0
    for entry in walk():
        if given.only and entry.name not in given.only:
            continue
        made = apart(partial(of_entry, entry, given.every, given.start))
        if made is None:
            print(f"{entry.name}: its calls do not end, or end the process", flush=True)
            wrong += 1
            continue
        count += made[0]
        wrong += len(made[1])
        for name, text in made[1]:
            print(f"{name} | {text[:300]!r}", flush=True)
    print(f"{count:,} calls, {wrong:,} differ; {time.perf_counter() - started:.0f} s")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
