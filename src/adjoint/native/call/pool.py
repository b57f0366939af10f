"""The pool of native workers: steps of a plan in parts, on several cores.

A *job* is one function, called once for each of so many parts: ``function(block, numbers of the part)``. Who has a job
does parts himself, and wakes the workers that are parked; all take the next part that is left, until none is. How a
step is cut does not depend on the number of workers, and no part reads what another one writes: so neither do results.

There is one job at a time. Who comes while there is one does his alone, and so does who has no workers: with one
thread, after a fork, or where this has no futex. A worker looks for work for some microseconds, and then sleeps: it
announces that, looks once more, and waits for `epoch` to change. Workers are pinned, one to a core, and who wakes them
leaves the one of his own core asleep: it would wait for him. Where other programs keep a worker from its core, a job
waits for the part that it has taken; so after such a wait it is done alone for some times, twice as many each time.
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
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.threads.locks import COMPILING
from adjoint.native.codegen.jit import Module, external, module
from adjoint.native.codegen.layout import Layout

_SYSCALL = {"x86_64": 202, "aarch64": 98}
_PAUSE = {"x86_64": "@llvm.x86.sse2.pause()", "aarch64": "@llvm.aarch64.isb(i32 15)"}
_MOST = 64
LEAST = 60_000  # nanoseconds that a step takes, from which on it is cut
PART = 20_000  # of a part, at least
PARTS = 32  # so many at most

# A job: the function, how many parts, and a table of the addresses of their numbers.
# After it had to wait long, so many next times it is done alone; and how often that still is so.
JOB = Layout("job", {"function": "ptr", "count": "i64", "parts": "ptr", "backoff": "i64", "skip": "i64"})

_TEXT = """
declare i64 {syscall}(i64, ...)
declare i32 {getcpu}()
declare i32 {clock}(i32, ptr)
declare void {pause_name}
{pool} = external global [512 x i8]

define i64 @adjoint.now() {{
  %time = alloca [2 x i64], align 8
  %r = call i32 {clock}(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}}

define i1 @adjoint.part(i64 %who) {{
  %next = getelementptr i8, ptr {pool}, i64 128
  %seen = load atomic i64, ptr %next monotonic, align 8
  %some = icmp sgt i64 %seen, 0
  br i1 %some, label %claim, label %none
claim:
  %left = atomicrmw sub ptr %next, i64 1 acq_rel
  %mine = icmp sgt i64 %left, 0
  br i1 %mine, label %run, label %none
run:
  %function.at = getelementptr i8, ptr {pool}, i64 272
  %function = load ptr, ptr %function.at
  %block.at = getelementptr i8, ptr {pool}, i64 280
  %block = load ptr, ptr %block.at
  %parts.at = getelementptr i8, ptr {pool}, i64 288
  %parts = load ptr, ptr %parts.at
  %count.at = getelementptr i8, ptr {pool}, i64 296
  %count = load i64, ptr %count.at
  %i = sub i64 %count, %left
  %numbers.at = getelementptr ptr, ptr %parts, i64 %i
  %numbers = load ptr, ptr %numbers.at
  %log.at = getelementptr i8, ptr {pool}, i64 304
  %log = load atomic ptr, ptr %log.at monotonic, align 8
  %logs = icmp ne ptr %log, null
  br i1 %logs, label %timed, label %plain
plain:
  call void %function(ptr %block, ptr %numbers)
  br label %counted
timed:
  %begun = call i64 @adjoint.now()
  call void %function(ptr %block, ptr %numbers)
  %over = call i64 @adjoint.now()
  %entries = getelementptr i8, ptr {pool}, i64 312
  %k = atomicrmw add ptr %entries, i64 1 monotonic
  %room.at = getelementptr i8, ptr {pool}, i64 320
  %room = load i64, ptr %room.at
  %fits = icmp slt i64 %k, %room
  br i1 %fits, label %noted, label %counted
noted:
  %entry = getelementptr [3 x i64], ptr %log, i64 %k
  store i64 %who, ptr %entry
  %entry.1 = getelementptr i64, ptr %entry, i64 1
  store i64 %begun, ptr %entry.1
  %entry.2 = getelementptr i64, ptr %entry, i64 2
  store i64 %over, ptr %entry.2
  br label %counted
counted:
  %undone.at = getelementptr i8, ptr {pool}, i64 192
  %undone = atomicrmw sub ptr %undone.at, i32 1 seq_cst
  %last = icmp eq i32 %undone, 1
  br i1 %last, label %ended, label %done
ended:
  %waiting.at = getelementptr i8, ptr {pool}, i64 196
  %waiting = load atomic i32, ptr %waiting.at seq_cst, align 4
  %asleep = icmp ne i32 %waiting, 0
  br i1 %asleep, label %wake, label %done
wake:
  %woken = call i64 (i64, ...) {syscall}(i64 {futex}, ptr %undone.at, i32 129, i32 1, ptr null, ptr null, i32 0)
  br label %done
done:
  ret i1 true
none:
  ret i1 false
}}

define void @spread(ptr %block, ptr %job) {{
  %function = load ptr, ptr %job
  %count.at = getelementptr i64, ptr %job, i64 1
  %count = load i64, ptr %count.at
  %parts.at = getelementptr i64, ptr %job, i64 2
  %parts = load ptr, ptr %parts.at
  %threads.at = getelementptr i8, ptr {pool}, i64 264
  %threads = load atomic i64, ptr %threads.at monotonic, align 8
  %several = icmp sgt i64 %threads, 1
  br i1 %several, label %ask, label %alone
ask:
  %skip.at = getelementptr i64, ptr %job, i64 4
  %skip = load i64, ptr %skip.at
  %skips = icmp sgt i64 %skip, 0
  br i1 %skips, label %skipped, label %take
skipped:
  %skip.left = sub i64 %skip, 1
  store i64 %skip.left, ptr %skip.at
  br label %alone
take:
  %lock = getelementptr i8, ptr {pool}, i64 256
  %pair = cmpxchg ptr %lock, i32 0, i32 1 acquire monotonic
  %taken = extractvalue {{i32, i1}} %pair, 1
  br i1 %taken, label %offer, label %alone
offer:
  %first = call i64 @adjoint.now()
  %f = getelementptr i8, ptr {pool}, i64 272
  store ptr %function, ptr %f
  %b = getelementptr i8, ptr {pool}, i64 280
  store ptr %block, ptr %b
  %p = getelementptr i8, ptr {pool}, i64 288
  store ptr %parts, ptr %p
  %c = getelementptr i8, ptr {pool}, i64 296
  store i64 %count, ptr %c
  %undone.at = getelementptr i8, ptr {pool}, i64 192
  %count.32 = trunc i64 %count to i32
  store atomic i32 %count.32, ptr %undone.at seq_cst, align 4
  %waiting.at = getelementptr i8, ptr {pool}, i64 196
  store atomic i32 0, ptr %waiting.at seq_cst, align 4
  %next = getelementptr i8, ptr {pool}, i64 128
  store atomic i64 %count, ptr %next seq_cst, align 8
  %e = atomicrmw add ptr {pool}, i32 1 seq_cst
  %sleepers.at = getelementptr i8, ptr {pool}, i64 64
  %sleepers = load atomic i32, ptr %sleepers.at seq_cst, align 4
  %some = icmp sgt i32 %sleepers, 0
  br i1 %some, label %wake, label %work
wake:
  %cpu = call i32 {getcpu}()
  %place = and i32 %cpu, 31
  %here = shl i32 1, %place
  %there = xor i32 %here, -1
  %others = sub i64 %threads, 1
  %few = trunc i64 %others to i32
  %woken = call i64 (i64, ...) {syscall}(i64 {futex}, ptr {pool}, i32 138, i32 %few, ptr null, ptr null, i32 %there)
  br label %work
work:
  %more = call i1 @adjoint.part(i64 0)
  br i1 %more, label %work, label %rest
rest:
  %then = call i64 @adjoint.now()
  br label %wait
wait:
  %n = phi i64 [ 0, %rest ], [ %n.next, %pause ]
  %undone = load atomic i32, ptr %undone.at acquire, align 4
  %over = icmp eq i32 %undone, 0
  br i1 %over, label %end, label %spin
spin:
  %n.next = add i64 %n, 1
  %tired = icmp sgt i64 %n, {patience}
  br i1 %tired, label %sleep, label %pause
pause:
  call void {pause}
  br label %wait
sleep:
  %w = atomicrmw xchg ptr %waiting.at, i32 1 seq_cst
  %still = load atomic i32, ptr %undone.at seq_cst, align 4
  %ready = icmp eq i32 %still, 0
  br i1 %ready, label %end, label %futex
futex:
  %r = call i64 (i64, ...) {syscall}(i64 {futex}, ptr %undone.at, i32 128, i32 %still, ptr null, ptr null, i32 0)
  br label %sleep
end:
  %last = call i64 @adjoint.now()
  %took = sub i64 %then, %first
  %waited = sub i64 %last, %then
  %half = lshr i64 %took, 1
  %fair = add i64 %half, {fair}
  %late = icmp sgt i64 %waited, %fair
  %backoff.at = getelementptr i64, ptr %job, i64 3
  %backoff = load i64, ptr %backoff.at
  %doubled = shl i64 %backoff, 1
  %longer = or i64 %doubled, 1
  %most = icmp ugt i64 %longer, {longest}
  %capped = select i1 %most, i64 {longest}, i64 %longer
  %shorter = lshr i64 %backoff, 1
  %next.backoff = select i1 %late, i64 %capped, i64 %shorter
  %next.skip = select i1 %late, i64 %capped, i64 0
  store i64 %next.backoff, ptr %backoff.at
  store i64 %next.skip, ptr %skip.at
  store atomic i32 0, ptr %lock release, align 4
  ret void
alone:
  %i = phi i64 [ 0, %0 ], [ 0, %take ], [ 0, %skipped ], [ %i.next, %alone ]
  %numbers.at = getelementptr ptr, ptr %parts, i64 %i
  %numbers = load ptr, ptr %numbers.at
  call void %function(ptr %block, ptr %numbers)
  %i.next = add i64 %i, 1
  %go = icmp slt i64 %i.next, %count
  br i1 %go, label %alone, label %out
out:
  ret void
}}

define ptr @worker(ptr %bit.word) {{
  %bit.64 = ptrtoint ptr %bit.word to i64
  %bit = trunc i64 %bit.64 to i32
  %who = lshr i64 %bit.64, 32
  %sleepers = getelementptr i8, ptr {pool}, i64 64
  %next = getelementptr i8, ptr {pool}, i64 128
  br label %look
look:
  %n = phi i64 [ 0, %0 ], [ 0, %look.again ], [ %n.next, %pause ]
  %worked = call i1 @adjoint.part(i64 %who)
  br i1 %worked, label %look.again, label %idle
look.again:
  br label %look
idle:
  %n.next = add i64 %n, 1
  %tired = icmp sgt i64 %n, {patience}
  br i1 %tired, label %announce, label %pause
pause:
  call void {pause}
  br label %look
announce:
  %epoch = load atomic i32, ptr {pool} seq_cst, align 4
  %a = atomicrmw add ptr %sleepers, i32 1 seq_cst
  %left = load atomic i64, ptr %next seq_cst, align 8
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %up, label %sleep
sleep:
  %r = call i64 (i64, ...) {syscall}(i64 {futex}, ptr {pool}, i32 137, i32 %epoch, ptr null, ptr null, i32 %bit)
  br label %up
up:
  %s = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %look.again
}}
"""

_PATIENCE = 200  # so many times somebody looks again before he sleeps
_FAIR = 50_000  # nanoseconds, and half of the time of a job, that its caller may wait for parts that others have
_LONGEST = 255  # so many jobs at most are done alone after one that waited longer
_THREADS, _LOG = 33, 38  # words of what workers share
_lock = threading.Lock()
_workers: list[int] = []  # the cores of those that were started in this process
_asked: list[int] = []  # what `set_threads` was told last


@cache
def _memory() -> np.ndarray:
    """What workers share: see the offsets in the text. Threads use it as long as the process lives."""
    whole = np.zeros(128, np.int64)
    start = -(whole.ctypes.data % -64) // 8
    return whole[start : start + 64]


@cache
def _code() -> Module:
    libc = ctypes.CDLL(None)
    machine = platform.machine()
    names = {
        name: external(name, ctypes.cast(getattr(libc, function), ctypes.c_void_p).value or 0)
        for name, function in (("syscall", "syscall"), ("getcpu", "sched_getcpu"), ("clock", "clock_gettime"))
    }
    pause = _PAUSE[machine]
    text = _TEXT.format(
        **names, pool=external("pool", _memory().ctypes.data), pause=pause, pause_name=pause.replace("i32 15", "i32"),
        futex=_SYSCALL[machine], patience=_PATIENCE, fair=_FAIR,
        longest=_LONGEST,
    )  # fmt: skip
    return module(text)


@cache
def supported() -> bool:
    """Whether there can be workers here."""
    return sys.platform == "linux" and platform.machine() in _SYSCALL


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
    """See to it that there are as many workers as `threads` says, whoever steps are run by."""
    if not supported():
        return
    wanted, places = threads(), cores()
    worker = _address() if wanted > 1 else 0  # before the lock: who compiles comes here with that of LLVM
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


def job(function: int, parts: list[np.ndarray]) -> tuple[np.ndarray, Any]:
    """The numbers of a step that runs `function` for each of `parts`, and what must live as long."""
    addresses = np.array([part.ctypes.data for part in parts], np.int64)
    words = JOB.words(function=function, count=len(parts), parts=addresses.ctypes.data, backoff=0, skip=0)
    return np.array(words, np.int64), (addresses, parts)
