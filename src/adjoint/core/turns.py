"""One recording at a time: while a graph is captured, symbols stand in the place of parameters and other state."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from adjoint.core.locks import RECORDING

PATIENCE = 5.0  # seconds to wait for another thread, which may wait for this one
capturing: list[int] = []  # threads that capture


_aside: ContextVar[bool] = ContextVar("aside", default=False)


@contextmanager
def aside() -> Iterator[None]:
    """What is captured inside has no state, so it waits for nobody: who compiles may be waited for."""
    token = _aside.set(True)
    try:
        yield
    finally:
        _aside.reset(token)


@contextmanager
def alone() -> Iterator[None]:
    """A capture, during which other threads do not record, and compiled functions wait there."""
    mine = RECORDING.acquire(timeout=0.0 if _aside.get() else PATIENCE)
    capturing.append(threading.get_ident())
    try:
        yield
    finally:
        capturing.pop()
        if mine:
            RECORDING.release()


def wait_for_captures() -> None:
    """Return when no other thread captures, or after some time."""
    if capturing and threading.get_ident() not in capturing and RECORDING.acquire(timeout=PATIENCE):
        RECORDING.release()
