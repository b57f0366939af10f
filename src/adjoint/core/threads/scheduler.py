"""Work beside the program: tasks, and what they read and write, in the order in which they were submitted.

A task waits for the last one that writes what it uses. If it writes, it also waits for earlier tasks that read the same
thing. A task that waits for nothing runs on any worker. So the results are those of running the tasks one after
another, and tasks that share nothing run at the same time.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future as PlainFuture
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue

from adjoint.core.errors import NotRunError
from adjoint.core.threads.failures import SHOWN, Failure
from adjoint.core.types import Array, R, Value

MOST_AHEAD = 8
FORK_PATIENCE = 30.0  # seconds; a fork waits for tasks that run


class Future(PlainFuture[R]):
    """A result that is on its way: of ``f.submit(x)``. Also one of `concurrent.futures`, whose functions take it.

    `result` waits for it, or raises what the call raised; `done`, `exception`, `cancel` and `add_done_callback` are
    those of Python's own. It can be awaited.

    Attributes:
        pid: the process that it belongs to. In a forked child, what is not done there never will be.
        place: gives the line that asked for it.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> slope = ad.compile(ad.grad(lambda x: np.sum(np.sin(x))), wait=True)
        >>> future = slope.submit(np.zeros(2))
        >>> future.result(), future.done()
        (array([1., 1.]), True)
    """

    def __init__(self, place: Callable[[], str] = str) -> None:
        super().__init__()
        self.pid, self.place, self.failure = os.getpid(), place, Failure()
        self.cause: Future[Value] | None = None  # the call whose failure kept this one from running

    def set_exception(self, exception: BaseException | None) -> None:
        """End with an error. If it was not asked for when the future is deleted, it is shown."""
        if exception is not None and self.cause is None:
            self.failure.error = exception
            SHOWN.when_gone(self, self.failure)
        super().set_exception(exception)

    def result(self, timeout: float | None = None) -> R:
        """The value, or the error that the call raised.

        Args:
            timeout: seconds to wait; None waits as long as it takes.

        Raises:
            TimeoutError: if it is not there by then.
            CancelledError: if it was cancelled before it began.
            NotRunError: if a call before it failed, on whose state this one depends; or in a forked process.
        """
        self._here()
        try:
            return super().result(timeout)
        finally:
            self._look()

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The error that the call raised; None if it gave a value. Waits, as `result` does."""
        self._here()
        try:
            return super().exception(timeout)
        finally:
            self._look()

    def _look(self) -> None:
        """Note that the outcome was asked for."""
        if self.done():
            self.failure.seen = True
            if self.cause is not None:
                self.cause.failure.seen = True

    def _here(self) -> None:
        if not self.done() and os.getpid() != self.pid:
            raise NotRunError(
                f"this future belongs to process {self.pid}, which forked this one; submit again in the child"
            )

    def __await__(self) -> Generator[object, None, R]:
        import asyncio

        return asyncio.wrap_future(self).__await__()

    @classmethod
    def of(cls, function: Callable[[], R], place: Callable[[], str] = str) -> Future[R]:
        """What a call gives, or raises, which is made at once."""
        future = cls(place)
        error, value = _tried(function)
        if error is None:
            future.set_result(value)
        elif isinstance(error, Exception):
            future.set_exception(noted(error, place))
        else:  # an interrupt
            raise error
        try:
            return future
        finally:
            del future  # which the frame, and so the error, would keep


def _tried(function: Callable[[], Value]) -> tuple[BaseException | None, Array]:
    """The error that a call raises, and the value that it gives. The error's traceback holds no future."""
    try:
        return None, function()
    except BaseException as error:
        return error, None


def noted(error: BaseException, place: Callable[[], str]) -> BaseException:
    """`error` with the line that submitted its call."""
    line = place()
    note = f"submitted at {line}"
    if line and note not in getattr(error, "__notes__", ()):
        error.add_note(note)
    return error


class Task:
    """One call: `run`, and the things that it reads and writes; `used` are all of these."""

    __slots__ = ("context", "followers", "future", "run", "used", "waits", "writes")

    def __init__(
        self, run: Callable[[], Value], future: Future[Value], reads: Iterable[Value], writes: Iterable[Value]
    ) -> None:
        self.run, self.future, self.context = run, future, copy_context()
        self.writes = {id(thing): thing for thing in writes}
        self.used = self.writes | {id(thing): thing for thing in reads}
        self.followers: list[Task] = []
        self.waits = 1  # for what hands it over


class ThingUse:
    """The tasks that use one thing and have not ended: the last that writes it, and those that read it since."""

    __slots__ = ("readers", "thing", "writer")

    def __init__(self, thing: Value) -> None:
        self.thing = thing
        self.writer: Task | None = None
        self.readers: set[Task] = set()


class Scheduler:
    """Runs tasks on worker threads. `hold` and `release` are called with each thing that comes into use and is free.

    Args:
        hold, release: keep others from a thing, and let them; called in the order of the tasks.
        threads: how many workers there are at most.
        most: so many tasks wait or run; a call that hands over another one waits for the first of them.
        stops: whether what depends on a failed task is not run; else it is, and finds out itself.
    """

    def __init__(
        self,
        hold: Callable[[Value], None],
        release: Callable[[Value], None],
        threads: int,
        most: int = MOST_AHEAD,
        stops: bool = True,
    ) -> None:
        self.hold, self.release, self.threads, self.most, self.stops = hold, release, threads, most, stops
        self.uses: dict[int, ThingUse] = {}
        self.failed: dict[int, Future[Value]] = {}  # by what they should have written
        self.pending = 0
        self._begin()
        atexit.register(self._end)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._before_fork, after_in_parent=self._after_fork, after_in_child=self._begin)

    def _begin(self) -> None:
        """Without threads; in a forked process, what was not done there belongs to the parent."""
        for use in self.uses.values():
            self.release(use.thing)
        self.uses, self.failed, self.pending = {}, {}, 0
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self._queue: SimpleQueue[Task | None] = SimpleQueue()
        self._workers: list[threading.Thread] = []
        self._local = threading.local()

    @property
    def inside(self) -> bool:
        """Whether this thread carries out a task."""
        return getattr(self._local, "task", None) is not None

    def submit(self, task: Task) -> None:
        """Run `task` when its turn comes."""
        entered = False
        self._start()
        try:
            with self.lock:  # itself, and not by `changed`: no signal comes between taking it and the block
                self.changed.wait_for(lambda: self.pending < self.most)
                entered = True
                self.pending += 1
                self._enter(task)
        finally:
            if entered:  # also after an interrupt: the task runs all the same
                self._queue.put(task)

    def _start(self) -> None:
        self._workers = [worker for worker in self._workers if worker.is_alive()]
        while len(self._workers) < self.threads:
            worker = threading.Thread(target=self._work, name=f"adjoint {len(self._workers)}", daemon=True)
            self._workers.append(worker)
            worker.start()

    def _enter(self, task: Task) -> None:
        """Note what `task` uses, and those that it waits for."""
        before: set[Task] = set()
        for key, thing in task.used.items():
            use, failed = self.uses.get(key), self.failed.get(key)
            if failed is not None and failed.failure.seen:
                del self.failed[key]
            elif failed is not None:
                task.future.cause = failed
            if use is None:
                use = self.uses[key] = ThingUse(thing)
                self.hold(thing)
            if use.writer is not None:
                before.add(use.writer)
            if key in task.writes:
                before |= use.readers
                use.writer, use.readers = task, set()
            else:
                use.readers.add(task)
        task.waits += len(before)
        for other in before:
            other.followers.append(task)

    def _work(self) -> None:
        """What a worker does: carry out a task, and then those that waited for it."""
        while (taken := self._queue.get()) is not None:
            ready = self._counted([taken])
            while ready:
                task = ready.pop()
                self._local.task = task
                error, value = self._carried_out(task)
                self._local.task = None
                ready += self._ended(task, error)
                while len(ready) > 1:  # others can do these
                    other = ready.pop()
                    other.waits = 1
                    self._queue.put(other)
                self._tell(task.future, error, value)
                del task

    def _counted(self, tasks: Iterable[Task]) -> list[Task]:
        """Those of `tasks` that wait for nothing any more, now that each waits for one less."""
        ready = []
        with self.lock:
            for task in tasks:
                task.waits -= 1
                if not task.waits:
                    ready.append(task)
        return ready

    @staticmethod
    def _carried_out(task: Task) -> tuple[BaseException | None, Array | None]:
        """The error that `task` raised, and the value that it gave."""
        future, cause = task.future, task.future.cause
        if not future.set_running_or_notify_cancel():
            return None, None
        if cause is not None:
            reason = PlainFuture.exception(cause)
            refused = NotRunError(
                f"this call was not run, since it depends on one that failed, submitted at {cause.place()}: "
                f"{type(reason).__name__}: {reason}"
            )
            refused.__cause__ = reason
            return noted(refused, future.place), None
        error, value = _tried(partial(task.context.run, task.run))
        return error and noted(error, future.place), value

    def _ended(self, task: Task, error: BaseException | None) -> list[Task]:
        """Let go of what `task` used, and give the tasks that can run now."""
        root = task.future.cause or task.future
        with self.lock:
            for key in task.used:
                use = self.uses.get(key)
                if use is None:
                    continue
                use.readers.discard(task)
                if use.writer is task:
                    use.writer = None
                if use.writer is None and not use.readers:
                    del self.uses[key]
                    self.release(use.thing)
            if error is not None and self.stops:
                self.failed.update(dict.fromkeys(task.writes, root))
                for follower in task.followers:
                    follower.future.cause = root
            return self._counted(task.followers)

    def _tell(self, future: Future[object], error: BaseException | None, value: Array | None) -> None:
        """Say how it went."""
        try:
            if future.cancelled():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(value)
        finally:
            with self.lock:
                self.pending -= 1
                self.changed.notify_all()

    def wait_for(self, thing: object) -> None:
        """Wait until no task uses `thing`; raise what kept it from being written, unless that was seen."""
        if self.inside:
            return
        with self.lock:
            self.changed.wait_for(lambda: id(thing) not in self.uses)
            failed = self.failed.pop(id(thing), None)
        if failed is not None and not failed.failure.seen:
            failed.result()

    def wait(self) -> None:
        """Wait until all tasks have ended."""
        if self.pending and not self.inside:
            with self.lock:
                self.changed.wait_for(lambda: not self.pending)

    # -- The end of the process, and forks --------------------------------------------------------------

    def _end(self) -> None:
        """At the interpreter's end finish what was handed over."""
        self.wait()
        while self._workers:
            self._queue.put(None)
            self._workers.pop()

    def _before_fork(self) -> None:
        """Let what is under way end, so that the child finds it done."""
        self.lock.acquire()
        if not self.inside:
            self.changed.wait_for(lambda: not self.pending, FORK_PATIENCE)

    def _after_fork(self) -> None:
        self.lock.release()
