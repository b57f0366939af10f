"""One background thread makes native code, in the order of the requests."""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context

from adjoint.core.threads.locks import COMPILING, WAITING
from adjoint.core.types import Value

_jobs: deque[tuple[Callable[[], Callable[..., None] | None], tuple[Value, ...]]] = deque()
_threads: list[threading.Thread] = []
_working = [threading.Lock()]  # held by the worker, of which there is one


def later(find: Callable[[], Callable[..., None] | None], *args: object) -> None:
    """Call the function that `find` returns in the background thread; if it returns None, do nothing."""
    with WAITING:
        _jobs.append((find, args))
        _start()


def _start() -> None:
    """Start the worker thread if there is none, as long as the interpreter still starts threads."""
    if not any(thread.is_alive() for thread in _threads):
        _threads[:] = [threading.Thread(target=Context().run, args=(_work,), name="adjoint compiler", daemon=True)]
        with suppress(RuntimeError):
            _threads[0].start()


def _work() -> None:
    if not _working[0].acquire(blocking=False):
        return  # an interrupt hid from `_start` that it had started one
    try:
        while True:
            with WAITING:
                if not _jobs:
                    _threads.clear()
                    _working[0].release()
                    return
                find, args = _jobs[0]
            try:
                _carried_out(find, args)
            finally:
                with WAITING:  # only now: the child of a process that forks meanwhile does it again
                    _jobs.popleft()
    except BaseException:
        _working[0].release()
        raise


def _carried_out(find: Callable[[], Callable[..., None] | None], args: tuple[object, ...]) -> None:
    """Call the function that `find` returns, and keep no reference to it."""
    if (call := find()) is not None:
        call(*args)


def _wait() -> None:
    """Wait for the program that is being made. No interrupt ends that: the interpreter ends already."""
    waiting = True
    while waiting:
        with suppress(KeyboardInterrupt):
            waiting = not COMPILING.acquire()


def _go_on() -> None:
    """In a forked process, in which there are no threads."""
    with WAITING:
        _threads.clear()
        _working[0] = threading.Lock()
        if _jobs:
            _start()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_go_on)  # after the locks', which were registered before
# LLVM is not left in the midst of something: the interpreter waits for one program, and no other is begun.
atexit.register(_wait)
