"""Processes that load batches ahead of time, and hand them over in shared memory."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import traceback
import warnings
import weakref
from collections import deque
from collections.abc import Iterator
from itertools import islice
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext

import numpy as np

from adjoint.core.errors import DataError
from adjoint.core.types import Function, Value

LoadTask = tuple[Value, ...]

_ALIGNED = 64  # bytes: where an array begins in shared memory
_PATIENCE = 1.0  # seconds between looks at whether the program that asked is still there
_FAREWELL = 5.0  # seconds in which a process may finish what it does


class Pool:
    """Processes that carry out tasks in turn; results come in the order of the tasks.

    Each process has `ahead` places in memory that it shares with this one, and as many tasks at most. Arrays go through
    these places; what is too large for one goes through the pipe. A process ends when its pool goes, when the
    program ends, and when the program is killed.

    Args:
        work: called with each task, in the processes.
        workers: how many processes.
        ahead: tasks each of them may have.
        room: bytes a result takes.
        method: how processes are started: "fork", "spawn", "forkserver".
    """

    def __init__(self, work: Function, workers: int, ahead: int, room: int, method: str | None) -> None:
        self._ahead, self._room = ahead, -(-room // _ALIGNED) * _ALIGNED
        context: Value = _context(method)
        self._pipes: list[Connection] = []
        self._memories: list[np.ndarray] = []
        self._processes: list[Value] = []
        for number in range(workers):
            memory = context.RawArray(ctypes.c_byte, max(self._room * ahead, 1))  # has no name that could be left over
            ours, theirs = context.Pipe()
            args = (work, theirs, memory, ahead, self._room, os.getpid())
            process = context.Process(target=_serve, args=args, daemon=True, name=f"adjoint-loader-{number}")
            with warnings.catch_warnings():
                # Python 3.12 warns of other threads' locks; what is forked here reads, joins and copies arrays.
                warnings.filterwarnings("ignore", ".*multi-threaded, use of fork", DeprecationWarning)
                process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)
            self._memories.append(np.frombuffer(memory, np.uint8))
        self._sent, self._stale = [0] * workers, [0] * workers  # tasks; results that nobody wants any more
        self._waiting: deque[int] = deque()  # whose results are wanted, in order
        self.close = weakref.finalize(self, _close, os.getpid(), self._pipes, self._processes)

    def run(self, tasks: Iterator[LoadTask]) -> Iterator[Value]:
        """Begin with `tasks` at once; gives their results in order. Earlier results that are left are dropped."""
        for worker in self._waiting:
            self._stale[worker] += 1
        first = islice(tasks, len(self._pipes) * self._ahead)
        self._waiting = deque(self._send(k % len(self._pipes), task) for k, task in enumerate(first))
        return self._results(tasks, self._waiting)

    def _results(self, tasks: Iterator[LoadTask], waiting: deque[int]) -> Iterator[object]:
        while waiting:
            worker = waiting.popleft()
            result = self._receive(worker)
            for task in islice(tasks, 1):
                waiting.append(self._send(worker, task))
            yield result

    def _send(self, worker: int, task: LoadTask) -> int:
        try:
            self._pipes[worker].send((self._sent[worker] % self._ahead, task))
        except OSError:
            raise self._died(worker) from None
        self._sent[worker] += 1
        return worker

    def _receive(self, worker: int) -> object:
        """The next result of a process that is still wanted."""
        try:
            while self._stale[worker]:
                self._pipes[worker].recv()
                self._stale[worker] -= 1
            place, sizes, packed, failed = self._pipes[worker].recv()
        except (EOFError, OSError):
            raise self._died(worker) from None
        except BaseException:  # Ctrl-C: half a message may be read
            self.close()
            raise
        if failed:
            error = pickle.loads(packed)
            error.add_note(failed)
            raise error
        memory, start, buffers = self._memories[worker], place * self._room, []
        for size in sizes:
            buffers.append(memory[start : start + size].copy())  # the place is for the next result
            start += -(-size // _ALIGNED) * _ALIGNED
        return pickle.loads(packed, buffers=buffers)

    def _died(self, worker: int) -> DataError:
        process = self._processes[worker]
        process.join(_PATIENCE)
        code = process.exitcode
        self.close()
        return DataError(
            f"process {worker + 1} of {len(self._pipes)} that load data ended with exit code {code}; it "
            f"may have run out of memory. num_workers=0 loads in this process, and shows where"
        )


def _context(method: str | None) -> BaseContext:
    """Forked processes share the data with this one; elsewhere than on Linux, forking is not safe."""
    return multiprocessing.get_context(method or ("fork" if sys.platform == "linux" else None))


def _close(owner: int, pipes: list[Connection], processes: list[Value]) -> None:
    if os.getpid() != owner:  # in a forked process, these are not its own
        return
    for pipe in pipes:
        try:
            pipe.send(None)
        except OSError:
            continue
    for process in processes:
        process.join(_FAREWELL)
        if process.is_alive():
            process.kill()
            process.join()
        process.close()
    for pipe in pipes:
        pipe.close()


def room_of(result: object) -> int:
    """The bytes of shared memory that a result takes, with some to spare."""
    sizes = (buffer.raw().nbytes for buffer in _packed(result)[1])
    return sum(-(-size // _ALIGNED) * _ALIGNED for size in sizes) * 5 // 4 + 4096


def _packed(result: object) -> tuple[bytes, list[pickle.PickleBuffer]]:
    """A pickle without the numbers of arrays, and these."""
    buffers: list[pickle.PickleBuffer] = []
    return pickle.dumps(result, protocol=5, buffer_callback=buffers.append), buffers


def _serve(work: Function, pipe: Connection, memory: Value, ahead: int, room: int, parent: int) -> None:
    """What a process does: one task after another, until it is told to stop or its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that asks
    places = np.frombuffer(memory, np.uint8)
    try:
        while (asked := _next(pipe, parent)) is not None:
            place, task = asked
            pipe.send((place, *_done(work, task, places[place * room : (place + 1) * room])))
    except (EOFError, OSError):
        return


def _next(pipe: Connection, parent: int) -> Value:
    while not pipe.poll(_PATIENCE):
        if os.getppid() != parent:  # killed: processes that were forked later keep the pipe open
            return None
    return pipe.recv()


def _done(work: Function, task: LoadTask, place: np.ndarray) -> tuple[list[int], bytes, str]:
    """Sizes of the arrays in shared memory, the rest of the result, and what went wrong."""
    try:
        result = work(*task)
        packed, buffers = _packed(result)
        raw = [buffer.raw() for buffer in buffers]
        if sum(-(-view.nbytes // _ALIGNED) * _ALIGNED for view in raw) > len(place):
            return [], pickle.dumps(result, protocol=5), ""
        start = 0
        for view in raw:
            place[start : start + view.nbytes] = np.frombuffer(view, np.uint8)
            start += -(-view.nbytes // _ALIGNED) * _ALIGNED
        return [view.nbytes for view in raw], packed, ""
    except Exception as error:
        text = f"In a process that loads data:\n{traceback.format_exc()}"
        try:
            packed = pickle.dumps(error)
            pickle.loads(packed)
        except Exception:  # an exception of the user's may be anything
            packed = pickle.dumps(DataError(f"loading data failed: {type(error).__name__}: {error}"))
        return [], packed, text
