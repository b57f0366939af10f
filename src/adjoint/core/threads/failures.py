"""Errors of submitted calls that were not asked for: they are shown when their futures are deleted.

No Python code runs when an object is deleted (`weak.py`). So a C function puts the failure into a queue, and a thread
shows it. The thread starts with the first failure.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import traceback
from functools import partial
from queue import SimpleQueue

from adjoint.core.threads.weak import WeakKeys, at_end


class Failure:
    """How a call failed, and whether the error was asked for. It outlives the call's future."""

    __slots__ = ("error", "seen")

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.seen = False

    def show(self) -> None:
        """Show an error that was not asked for."""
        if not self.seen and self.error is not None:
            self.seen = True
            # Without markers under the lines: for these Python parses them, and may be parsing now.
            lines = [tuple(line)[:4] for line in traceback.extract_tb(self.error.__traceback__)]
            said = [*traceback.format_list(lines), *traceback.format_exception_only(self.error)]
            head = "adjoint: a submitted call failed, and nobody asked for its result\n"
            sys.stderr.write("".join([head, *said]))


class _Shown:
    """The failures that are to be shown, and the thread that shows them."""

    def __init__(self) -> None:
        self._begin()
        atexit.register(self._end)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """Without a thread; in a forked process, what failed before belongs to the parent."""
        self._queue: SimpleQueue[Failure | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._alive: WeakKeys[object, Failure] = WeakKeys()

    def when_gone(self, future: object, failure: Failure) -> None:
        """Show `failure` when `future` is gone."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="adjoint failures", daemon=True)
                self._thread.start()
        self._alive[future] = failure
        at_end(future, partial(self._queue.put, failure))

    def _work(self) -> None:
        while (failure := self._queue.get()) is not None:
            failure.show()
            del failure  # its error holds what the call used

    def _end(self) -> None:
        """At the interpreter's end, show those of futures that are still there, too."""
        for failure in self._alive.values():
            failure.show()
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()


SHOWN = _Shown()
