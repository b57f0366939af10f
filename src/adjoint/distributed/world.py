"""Which processes work together, and how one waits for another: each wait has a limit, and names the rank it is for."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
import traceback
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from adjoint.core.errors import AdjointError, ArgumentError
from adjoint.core.exchanges import is_launched, is_repeated, once
from adjoint.core.types import Value
from adjoint.distributed.cores import take_share

if TYPE_CHECKING:
    from types import TracebackType

HEADER = 192  # bytes of the line that each rank says first
_SPIN = 2e-4  # seconds of asking without a pause
_FAREWELL = 3  # the channel on which a rank that ends says so
_GRACE = 0.5  # seconds in which what such a rank sent before may still come


class DistributedError(AdjointError, RuntimeError):
    """Ranks that do not do the same, or one that does not answer.

    Example:
        >>> from adjoint import distributed
        >>> try:
        ...     distributed.barrier()
        ... except distributed.DistributedError as error:
        ...     print(error)  # a rank does something else, or does not answer
    """


class Message(NamedTuple):
    """A message on its way: MPI's request, and the rank that it comes from or goes to."""

    request: Value  # mpi4py's, which has no types
    rank: int
    comes: bool


#: What ranks do together, as a program that gives messages and goes on when all of them have arrived.
Exchange = Generator[Sequence[Message], None, Value]


class World:
    """The processes that MPI started together; or this one alone.

    Attributes:
        rank: the number of this process, from 0.
        size: how many there are.
    """

    def __init__(self, comm: Value = None) -> None:
        self.comm = comm
        self.rank: int = comm.Get_rank() if comm is not None else 0
        self.size: int = comm.Get_size() if comm is not None else 1
        self.timeout = 300.0
        self.lock = threading.RLock()  # one exchange at a time on channel 0

    def ranks(self) -> range:
        """All ranks in their order."""
        return range(self.size)

    def others(self) -> list[int]:
        """All ranks but this one: the next one first, so that not all send to the same."""
        return [(self.rank + i) % self.size for i in range(1, self.size)]

    def send(self, array: np.ndarray, to: int, channel: int) -> Message:
        return Message(self.comm.Isend([array, array.nbytes, _bytes()], dest=to, tag=channel), to, False)

    def receive(self, array: np.ndarray, source: int, channel: int) -> Message:
        return Message(self.comm.Irecv([array, array.nbytes, _bytes()], source=source, tag=channel), source, True)

    def _agreed(self, what: str) -> Exchange:
        """Tell all ranks `what` comes now, and hear it of them.

        Raises:
            DistributedError: where one says something else.
        """
        mine = line(what)
        theirs = {rank: np.zeros(HEADER, np.uint8) for rank in self.others()}
        yield [self.receive(heard, rank, 0) for rank, heard in theirs.items()] + [
            self.send(mine, rank, 0) for rank in theirs
        ]
        for rank, heard in theirs.items():
            if heard.tobytes() != mine.tobytes():
                calls = sorted([(self.rank, what), (rank, told(heard))])  # so that ranks say the same
                raise DistributedError(
                    "all ranks must make the same calls in the same order; "
                    + ", ".join(f"rank {who} calls {call}" for who, call in calls)
                )

    def say_farewell(self) -> None:
        """Tell all ranks that this one ends, so that none waits for it; nobody has to hear it."""
        mine = line("")
        for rank in self.others():
            self.send(mine, rank, _FAREWELL).request.Test()

    def has_ended(self, rank: int) -> bool:
        """Whether that rank said so; what it sent before arrives before."""
        return bool(self.comm.Iprobe(source=rank, tag=_FAREWELL))

    def run(self, what: str, exchange: Exchange) -> Value:
        """Carry `exchange` out, called `what` in errors, and give its result; once in a call that begins again."""
        return self.once(what, lambda: Pending(self, what, exchange).result())

    def once(self, what: str, exchange: Callable[[], Value]) -> Value:
        """The result of `exchange`; in a call of a compiled function that begins again, the one it had."""
        return once(what, exchange, _differs)

    @property
    def repeats(self) -> bool:
        """Whether a call began again, and the next exchange was made before."""
        return is_repeated()

    def together(self, what: str, exchange: Exchange | None = None) -> Value:
        """Hold that all ranks do `what` now; then carry `exchange` out, and give its result.

        Raises:
            DistributedError: where a rank does something else, or does not answer.
        """

        def both() -> Exchange:
            yield from self._agreed(what)
            return None if exchange is None else (yield from exchange)

        with self.lock:
            return self.run(what, both())


def _differs(comes: str, was: str) -> DistributedError:
    return DistributedError(
        f"a compiled function made the call {was}, began again for other values, and now comes to {comes}. "
        f"All ranks must make the same calls: take the call out of the branch, or out of the compiled function"
    )


class Pending:
    """An exchange under way."""

    def __init__(self, world: World, what: str, exchange: Exchange) -> None:
        self.world, self.what, self.exchange = world, what, exchange
        self.messages: list[Message] = []
        self.done, self.value = False, None
        self.ended: set[int] = set()  # ranks that had ended when this one last looked
        self.go_on()

    def go_on(self) -> bool:
        """Do what can be done now, without waiting. Says whether all is done."""
        while not self.done:
            self.messages = [m for m in self.messages if not m.request.Test()]
            if self.messages:
                return False
            try:
                self.messages = list(next(self.exchange))
            except StopIteration as end:
                self.done, self.value = True, end.value
        return True

    def result(self) -> Value:
        """Wait for the end.

        Raises:
            DistributedError: if a rank does not answer within the time limit, or has ended.
        """
        start = time.monotonic()
        pause, look = 2e-5, _GRACE
        while not self.go_on():
            waited = time.monotonic() - start
            if waited > self.world.timeout:
                raise self._given_up(waited)
            if waited > look:
                look = waited + _GRACE
                if ended := {m.rank for m in self.messages if self.world.has_ended(m.rank)}:
                    if ended & self.ended:
                        raise self._given_up(waited, ended & self.ended)
                    self.ended = ended
            if waited > _SPIN:
                time.sleep(pause)
                pause = min(2 * pause, 1e-3)
        return self.value

    def _given_up(self, waited: float, ended: set[int] | None = None) -> DistributedError:
        missing = sorted(ended or {m.rank for m in self.messages if m.comes} or {m.rank for m in self.messages})
        for message in self.messages:
            message.request.Cancel()
        who = " and ".join(map(str, missing))
        if ended:
            return DistributedError(
                f"rank {self.world.rank} waits for rank {who} in {self.what}: that rank has ended, without this call. "
                f"All ranks must make the same calls"
            )
        return DistributedError(
            f"rank {self.world.rank} waited {waited:.0f} s for rank {who} in {self.what}: it did not make the same "
            f"call, or is not there any more. For a longer limit: ad.distributed.set_timeout(seconds)"
        )


def _bytes() -> Value:
    return import_module("mpi4py.MPI").BYTE


def line(what: str) -> np.ndarray:
    """A text as a message of fixed length; a long one is cut, and has a checksum of all of it at its end."""
    text = what.encode()
    if len(text) > HEADER:
        text = text[: HEADER - 12] + f"... {zlib.crc32(text):08x}".encode()
    return np.frombuffer(text.ljust(HEADER, b"\0"), np.uint8)


def told(heard: np.ndarray) -> str:
    """The text of such a message."""
    return heard.tobytes().rstrip(b"\0").decode(errors="replace")


_WORLDS: list[World] = []
_MAKING = threading.Lock()


def world() -> World:
    """The world of this process, made at the first call.

    Raises:
        DistributedError: if a launcher of MPI started this process, and mpi4py is missing.
    """
    if not _WORLDS:
        with _MAKING:
            if not _WORLDS:
                _WORLDS.append(_made())
    return _WORLDS[0]


def _made() -> World:
    if not is_launched():
        return World()
    if find_spec("mpi4py") is None:
        raise DistributedError(
            "this process was started by mpiexec, and mpi4py is not installed: pip install 'adjoint[mpi]'"
        )
    made = World(import_module("mpi4py.MPI").COMM_WORLD.Dup())
    if made.size > 1:
        take_share(made.comm)
        sys.excepthook = _aborting(made, sys.excepthook)
        atexit.register(made.say_farewell)
        os._exit = _leaving(made, os._exit)  # type: ignore[assignment]  # its type names the parameter
    return made


def _aborting(made: World, before: Value) -> Value:
    """The hook for an uncaught exception: print it with its rank, and end all ranks, which would wait for this one."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        with contextlib.suppress(Exception):
            before(kind, error, trace)
        last = traceback.format_exception_only(kind, error)[-1].strip()
        print(f"adjoint: rank {made.rank} of {made.size} ended by {last}; all ranks end", file=sys.stderr, flush=True)
        sys.stdout.flush()
        made.comm.Abort(1)

    return hook


def _leaving(made: World, leave: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
    """`os._exit`, which says which rank it is, and ends the others: the launcher may not see that one has left."""
    mine = os.getpid()

    def told(status: int) -> NoReturn:
        if os.getpid() == mine:  # no child of this process
            with contextlib.suppress(Exception):
                said = f"adjoint: rank {made.rank} of {made.size} ended by os._exit({status}); all ranks end"
                print(said, file=sys.stderr, flush=True)
                made.comm.Abort(status or 1)
        leave(status)

    return told


def give_up(message: str) -> None:
    """End all ranks, with a message; does nothing if there is one rank only, or if nothing has asked for ranks yet.

    Where all ranks fail alike, rank 0 says so and ends them.

    Example:
        >>> from adjoint import distributed
        >>> distributed.give_up("the disk is full")  # does nothing, with one rank
    """
    if not _WORLDS or _WORLDS[0].size == 1:
        return
    here = _WORLDS[0]
    time.sleep(1.0 if here.rank else 0.0)
    print(message if here.rank == 0 else f"{message} (rank {here.rank})", file=sys.stderr, flush=True)
    here.comm.Abort(2)


def rank() -> int:
    """The number of this process among those that work together; 0 alone.

    Example:
        >>> import adjoint as ad
        >>> ad.distributed.rank(), ad.distributed.size()
        (0, 1)
    """
    return world().rank


def size() -> int:
    """How many processes work together; 1 without MPI.

    Example:
        >>> from adjoint import distributed
        >>> distributed.size()
        1
    """
    return world().size


def set_timeout(seconds: float) -> None:
    """Give up a wait for another rank after so many seconds (300 at first).

    Raises:
        ArgumentError: if it is not above 0.

    Example:
        >>> from adjoint import distributed
        >>> distributed.set_timeout(300)
    """
    if not seconds > 0:
        raise ArgumentError(f"set_timeout(seconds): more than 0 seconds; got {seconds}")
    world().timeout = float(seconds)


def barrier() -> None:
    """Wait until all ranks have come here.

    Example:
        >>> from adjoint import distributed
        >>> distributed.barrier()  # at once, with one rank
    """
    if world().size > 1:
        world().together("barrier()")


@contextlib.contextmanager
def only_first() -> Iterator[bool]:
    """A block for rank 0 alone: gives whether this is rank 0; all ranks leave it together.

    Example:
        >>> import adjoint as ad
        >>> with ad.distributed.only_first() as first:
        ...     if first:
        ...         print("saved")
        saved
    """
    yield rank() == 0
    barrier()
