"""`commit`: writes that belong together, of which no interrupt leaves some undone.

Python looks for signals between instructions of its own. What is to be written is therefore computed first; the writes
are callables of C's then, which one call of C carries out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import starmap
from operator import call
from typing import Any

Write = tuple[Callable[..., Any], *tuple[Any, ...]]  # a function, and what it is called with


def commit(writes: Iterable[Write]) -> None:
    """Carry out all `writes`. Where one raises, as a user's ``__setattr__`` may, the others are done all the same."""
    left = iter(tuple(writes))
    some, others = starmap(call, left), starmap(call, left)
    try:
        deque(some, 0)
    finally:
        deque(others, 0)
