"""Where a program repeats itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def runs(codes: Sequence[int]) -> list[tuple[int, int, int]]:
    """Where a sequence repeats itself: ``(start, period, times)``, such that the most is saved first.

    A run repeats at least three times, and saves at least eight elements.
    """
    sequence = np.asarray(codes)
    found, pending = [], [(0, len(sequence))]
    longest = max(20, min(2000, 60_000_000 // max(len(sequence), 1)))
    while pending:
        low, high = pending.pop()
        best = (7, 0, 0, 0)
        for period in range(1, min((high - low) // 3, longest) + 1):
            if (high - low) - period <= best[0]:
                break
            equal = sequence[low : high - period] == sequence[low + period : high]
            breaks = np.flatnonzero(np.concatenate([[True], ~equal, [True]]))
            lengths = np.diff(breaks) - 1
            at = int(np.argmax(lengths))
            times = int(lengths[at]) // period + 1
            if times >= 3 and (times - 1) * period > best[0]:
                best = ((times - 1) * period, low + int(breaks[at]), period, times)
        _, start, period, times = best
        if times:
            found.append((start, period, times))
            pending += [(low, start), (start + period * times, high)]
    return sorted(found)
