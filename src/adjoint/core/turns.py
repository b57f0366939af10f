"""Who records is alone: while a function is recorded, symbols stand in the place of its parameters and other state.

Other threads wait meanwhile before they call a compiled function, and a recording waits for those that are inside. No
thread waits for long, since two could wait for each other in a lock of the user's; and who waits is not inside.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep

from adjoint.core.locks import RECORDING, forking

# Seconds to wait for those that are inside, and for a recording.
FOR_OTHERS, FOR_RECORDING = 0.2, 5.0

recorders: list[int] = []  # the thread that records, as often as recordings are inside one another
short: list[None] = []  # calls of native programs with state that are under way, by the short way
_inside: dict[int, int] = {}  # threads in other calls of compiled functions: how many, one inside the other
_left_behind = [0]  # of `short`, by threads that a forked process does not have


@contextmanager
def shared() -> Iterator[None]:
    """A call of a compiled function: begun when no other thread records."""
    me = threading.get_ident()
    _enter(me, 1)
    try:
        yield
    finally:
        _leave(me, 1)


@contextmanager
def alone() -> Iterator[bool]:
    """A recording: begun when the others have left, while they have to wait; False if another one does not end."""
    me = threading.get_ident()
    waiting = _leave(me, _inside.get(me, 0))
    if forking:
        sleep(0.01)
    mine = RECORDING.acquire(timeout=FOR_RECORDING)
    try:
        if mine:
            recorders.append(me)
            _wait_for_others(me)
        yield mine
    finally:
        if mine:
            recorders.pop()
            RECORDING.release()
        _enter(me, waiting)


def _enter(me: int, count: int) -> None:
    if not count:
        return
    _inside[me] = _inside.get(me, 0) + count  # first, so that whoever records now waits or is seen here
    while recorders and me not in recorders:
        waiting = _leave(me, _inside[me])
        if RECORDING.acquire(timeout=FOR_RECORDING):
            RECORDING.release()
            _inside[me] = waiting
        else:
            _inside[me] = waiting
            return


def _leave(me: int, count: int) -> int:
    if _inside.get(me, 0) > count:
        _inside[me] -= count
    else:
        _inside.pop(me, None)
    return count


def _wait_for_others(me: int) -> None:
    end = monotonic() + FOR_OTHERS
    while len(short) > _left_behind[0] or any(thread != me for thread in list(_inside)):
        if monotonic() > end:
            return
        sleep(0.0005)


def _in_child() -> None:
    me = threading.get_ident()
    for thread in list(_inside):
        if thread != me:
            del _inside[thread]
    _left_behind[0] = len(short)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
