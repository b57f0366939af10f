"""Revolve: when to take a snapshot, so that going back through n steps with k snapshots repeats the fewest steps.

A. Griewank and A. Walther, "Algorithm 799: Revolve", ACM Transactions on Mathematical Software 26 (2000). With k
snapshots and each step repeated at most r times, one can go back through β(k, r) = (k + r)! / (k! r!) steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

from adjoint.core.errors import ArgumentError


def reach(snapshots: int, repeats: int) -> int:
    """β: how many steps can be gone back if none is repeated more than `repeats` times."""
    return comb(snapshots + repeats, snapshots) if repeats >= 0 else 0


def repeats_of(steps: int, snapshots: int) -> int:
    """The smallest r with ``steps <= reach(snapshots, r)``."""
    r = 0
    while reach(snapshots, r) < steps:
        r += 1
    return r


def fewest_repeats(steps: int, snapshots: int) -> int:
    """How many steps must be run again to go back through `steps`: r n − β(k + 1, r − 1).

    Beside the forward sweep, which runs each step once; the last one is gone back through at once, and need not be
    repeated.

    Raises:
        ArgumentError: if there is less than one snapshot, or a negative number of steps.

    Example:
        >>> fewest_repeats(10, 3), fewest_repeats(10, 10), fewest_repeats(1, 1)
        (15, 9, 0)
    """
    check(snapshots)
    if steps < 0:
        raise ArgumentError(f"a number of steps is at least 0; got {steps}")
    if steps == 0:
        return 0
    r = repeats_of(steps, snapshots)
    return r * steps - reach(snapshots + 1, r - 1)


def check(snapshots: int) -> None:
    """Raise if there is nothing to begin from."""
    if snapshots < 1:
        raise ArgumentError(f"snapshots must be at least 1, for the first state; got {snapshots}")


def stride(steps: int, snapshots: int) -> int:
    """How far to go from a snapshot to the next, if `steps` are to be gone back with `snapshots`, this one among them.

    All the way (to the last step) if there is no other.
    """
    if snapshots == 1:
        return steps - 1
    r = repeats_of(steps, snapshots)
    return max(1, reach(snapshots, r - 2), steps - reach(snapshots - 1, r))


def snapshots_on_the_way(start: int, last: int, snapshots: int) -> Iterator[int]:
    """Where to take snapshots while going from the one at `start` to the step `last`, with `snapshots` in all."""
    while snapshots > 1 and start < last:
        start += stride(last - start + 1, snapshots)
        snapshots -= 1
        if start < last:
            yield start
