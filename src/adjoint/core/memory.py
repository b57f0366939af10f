"""Whether arrays share memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def overlap(things: Iterable[tuple[Any, bool]]) -> bool:
    """Whether an array that is written shares memory with another one, by where they begin and end.

    Args:
        things: each with whether it is written; what is no array does not count.
    """
    spans = sorted(
        (*np.lib.array_utils.byte_bounds(x), written) for x, written in things if isinstance(x, np.ndarray) and x.size
    )
    end, last = 0, False  # of what reaches furthest so far: its end, and whether it is written
    for low, high, written in spans:
        if low < end and (written or last):
            return True
        end, last = (high, written) if high >= end else (end, last or written)
    return False
