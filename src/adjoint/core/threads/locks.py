"""Locks of the whole process. A fork waits until no other thread holds one, so the child finds them free.

Whatever these locks guard is therefore consistent in the child, although the other threads do not exist there. A
thread that takes several locks takes them in the order of `ALL`.
"""

from __future__ import annotations

import os
from _thread import RLock  # as functools does: all of `threading` takes as long to import as three families

from adjoint.core.types import Value

RECORDING = RLock()  # what compiled functions know of their recordings
COMPILING = RLock()  # LLVM, and the import of what compiles: a module half imported would stay so in a child
COLLECTING = RLock()  # two threads may add to the gradient of one leaf
WRITES = RLock()  # what was written in place, and when
WAITING = RLock()  # programs that are to be compiled
NODES = RLock()  # of graphs; a node may die at any moment, also in a thread that holds another lock
PARSING = RLock()  # Python's parser, which counts the levels of all threads' trees together; and filters of warnings
ALL = (RECORDING, COMPILING, COLLECTING, WRITES, WAITING, NODES, PARSING)


forking: list[None] = []  # threads that are about to fork: others let them go first
_taken: list[Value] = []


def _take() -> None:
    forking.append(None)
    _taken[:] = [
        lock for lock in ALL if lock.acquire(timeout=5.0)
    ]  # the thread that holds one may wait for the one that forks


def _give() -> None:
    forking.clear()
    while _taken:
        _taken.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take, after_in_parent=_give, after_in_child=_give)
