"""Writes that belong together: after an interrupt, either all or none of them are done.

Python looks for signals between its own instructions. So for `commit`, all values are computed first; then one call of
a C function carries out the writes. If values are computed in place, as in an optimiser's step, Ctrl-C waits: `whole`.
"""

from __future__ import annotations

from _signal import SIGINT, getsignal, signal  # type: ignore[import-not-found]  # `signal` takes 20 times as long
from collections import deque
from collections.abc import Callable, Iterable
from functools import wraps
from itertools import starmap
from operator import call

from adjoint.core.types import T, Value

Action = tuple[Callable[..., Value], *tuple[Value, ...]]  # a function, and what it is called with


def commit(writes: Iterable[Action]) -> None:
    """Carry out all `writes`. Where one raises, as a user's ``__setattr__`` may, the others are done all the same."""
    left = iter(tuple(writes))
    some, others = starmap(call, left), starmap(call, left)
    try:
        deque(some, 0)
    finally:
        deque(others, 0)


def whole(method: Callable[[T], None]) -> Callable[[T], None]:
    """`method`, in whose midst Ctrl-C waits: it comes when the call has ended."""

    @wraps(method)
    def called(self: T) -> None:
        came: dict[int, object] = {}
        usual = getsignal(SIGINT)
        if not callable(usual):  # Ctrl-C is ignored, or ends the process, or is not Python's
            return method(self)
        try:
            signal(SIGINT, came.__setitem__)  # called with the number and the frame
        except ValueError:  # in another thread, which nobody interrupts
            return method(self)
        try:
            method(self)
        finally:
            signal(SIGINT, usual)
            if came:
                usual(*came.popitem())

    return called
