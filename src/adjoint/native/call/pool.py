"""The pool of native workers: steps of a plan in parts, on several cores.

A *job* is one function, called once for each part: ``function(block, numbers of the part)``. The thread that has a job
computes parts itself, and wakes the sleeping workers. Each takes the next part, until none is left. How a
step is cut does not depend on the number of workers, and no part reads what another one writes. So results are the same
for any number of workers.

Only one job runs at a time. A thread that comes meanwhile computes its own alone. So does a thread without
workers: with one thread in all, after a fork, or where there is no futex. A worker looks for work for some
microseconds, and then sleeps: it announces that, looks once more, and waits for `epoch` to change. Workers are pinned,
one to a core. The thread that wakes them leaves the worker of its own core asleep, because that worker would have to
wait for the thread. If another program occupies a worker's core, the job waits for that worker's
part. After such a wait the next few jobs run on one thread; their number doubles with each such wait.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.memory import at_line
from adjoint.core.threads.locks import COMPILING
from adjoint.native.codegen.jit import NativeModule, external, module
from adjoint.native.codegen.layout import StructLayout
from adjoint.native.codegen.pool_text import PAUSE, SYSCALL, TEXT

_MOST = 64

LEAST = 60_000  # nanoseconds that a step takes, from which on it is cut

PART = 20_000  # of a part, at least

PARTS = 32  # so many at most


# A job: the function, how many parts, and a table of the addresses of their numbers.
# After it had to wait long, so many next times it is done alone; and how often that still is so.
JOB = StructLayout("job", {"function": "ptr", "count": "i64", "parts": "ptr", "backoff": "i64", "skip": "i64"})

_PATIENCE = 200  # so many times a worker looks again before it sleeps

_FAIR = 50_000  # nanoseconds, and half of the time of a job, that its caller may wait for parts that others have

_LONGEST = 255  # so many jobs at most are done alone after one that waited longer

_THREADS, _LOG = 33, 38  # words of what workers share

_lock = threading.Lock()

_workers: list[int] = []  # the cores of those that were started in this process

_asked: list[int] = []  # what `set_threads` was told last


@cache
def _memory() -> np.ndarray:
    """What workers share: see the offsets in the text. Threads use it as long as the process lives."""
    words = at_line((64,), np.int64)
    words[...] = 0
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(words))  # native code may still run when Python has ended
    return words


@cache
def _code() -> NativeModule:
    libc = ctypes.CDLL(None)
    machine = platform.machine()
    names = {
        name: external(name, ctypes.cast(getattr(libc, function), ctypes.c_void_p).value or 0)
        for name, function in (("syscall", "syscall"), ("getcpu", "sched_getcpu"), ("clock", "clock_gettime"))
    }
    pause = PAUSE[machine]
    text = TEXT.format(
        **names, pool=external("pool", _memory().ctypes.data), pause=pause, pause_name=pause.replace("i32 15", "i32"),
        futex=SYSCALL[machine], patience=_PATIENCE, fair=_FAIR,
        longest=_LONGEST,
    )  # fmt: skip
    return module(text)


@cache
def supported() -> bool:
    """Whether this system can have workers."""
    return sys.platform == "linux" and platform.machine() in SYSCALL


def spread() -> int:
    """The address of the function that runs a job, as a step of a plan."""
    with COMPILING:
        return _code().address("spread")


def cores() -> list[int]:
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def threads() -> int:
    """How many threads a step may take: as `set_threads` says, else ``ADJOINT_THREADS``, else one a core."""
    if _asked:
        return _asked[-1]
    given = os.environ.get("ADJOINT_THREADS", "")
    if given and not (given.isdecimal() and 0 < int(given) <= _MOST):
        raise ArgumentError(f"ADJOINT_THREADS is a number from 1 to {_MOST}; got {given!r}")
    return int(given) if given else min(_MOST, len(cores()))


def set_threads(count: int | None) -> None:
    """Let native code of compiled functions use so many threads; None for one a core that this process may use.

    Results are the same bits for any number. ``ADJOINT_THREADS`` in the environment says it from the beginning.

    Raises:
        ArgumentError: for less than one thread, or more than 64.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> f = ad.compile(lambda x: np.sin(x) * np.exp(x), wait=True)
        >>> x = np.linspace(0, 1, 200_000)
        >>> ad.set_threads(1)
        >>> one = f(x)
        >>> ad.set_threads(2)
        >>> np.array_equal(one, f(x))
        True
        >>> ad.set_threads(None)
    """
    if count is not None and (not isinstance(count, int) or not 0 < count <= _MOST):
        raise ArgumentError(f"set_threads: a number from 1 to {_MOST}, or None; got {count!r}")
    with _lock:
        _asked[:] = [] if count is None else [count]
    ready()


def ready() -> None:
    """See to it that there are as many workers as `threads` says, for the steps of all programs."""
    if not supported():
        return
    wanted, places = threads(), cores()
    worker = _address() if wanted > 1 else 0  # before the lock: a thread that compiles holds LLVM's already
    with _lock:
        if wanted > 1:
            while len(_workers) < wanted:
                core = places[len(_workers) % len(places)]
                _begin(worker, len(_workers) + 1, core, pin=len(places) > 1)
                _workers.append(core)
        _memory()[_THREADS] = wanted


def _address() -> int:
    with COMPILING:
        return _code().address("worker")


@contextmanager
def logged(room: int) -> Iterator[list[tuple[int, int, int]]]:
    """A list that in the end has the parts that were done: by which worker, and from when to when, in nanoseconds."""
    notes, found = np.zeros((room, 3), np.int64), list[tuple[int, int, int]]()
    _memory()[_LOG : _LOG + 3] = notes.ctypes.data, 0, room
    try:
        yield found
    finally:
        _memory()[_LOG] = 0
        count = min(int(_memory()[_LOG + 1]), room)
        found += [(int(who), int(begun), int(over)) for who, begun, over in notes[:count]]


def _begin(worker: int, number: int, core: int, pin: bool) -> None:
    """Start a worker on its core. Signals are for Python's threads."""
    libc = ctypes.CDLL(None)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        thread = ctypes.c_uint64()
        bit = ctypes.c_void_p(number << 32 | 1 << core % 32)
        if code := libc.pthread_create(ctypes.byref(thread), None, ctypes.c_void_p(worker), bit):
            raise OSError(code, "pthread_create")
        if pin:
            mask = (ctypes.c_uint64 * 16)()
            mask[core // 64 % 16] = 1 << core % 64
            libc.pthread_setaffinity_np(thread, ctypes.c_size_t(128), mask)
        libc.pthread_detach(thread)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _in_child() -> None:
    """In a forked process, in which there are no workers: steps run alone until some are started."""
    global _lock  # noqa: PLW0603 - another thread of the parent may have held it
    _lock = threading.Lock()
    _workers.clear()
    if _memory.cache_info().currsize:
        _memory()[:] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def job(function: int, parts: list[np.ndarray]) -> tuple[np.ndarray, object]:
    """The numbers of a step that runs `function` for each of `parts`, and what must live as long."""
    addresses = np.array([part.ctypes.data for part in parts], np.int64)
    words = JOB.words(function=function, count=len(parts), parts=addresses.ctypes.data, backoff=0, skip=0)
    return np.array(words, np.int64), (addresses, parts)
