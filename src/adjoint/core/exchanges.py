"""What one call of a compiled function has exchanged with other processes: each exchange once, however it is run.

A compiled function may begin a call several times: it is recorded, a program turns out to be for other values, the
function then runs as it is. All these begin alike, so an exchange that was made already is not made once more, which
other processes would take for a later one. Its result is given again.

In: the results of exchanges. Out: these again, in their order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from copy import deepcopy
from functools import cache

from adjoint.core.threads.switches import Setting
from adjoint.core.types import Value


class Exchanges:
    """The exchanges of one call.

    Attributes:
        made: what each was called, its result, and the error that it ended with, or None.
        at: the number of the next one.
        differs: makes the error for an exchange that is not the one that was made: of what comes, and what was made.
    """

    def __init__(self) -> None:
        self.made: list[tuple[str, Value, Exception | None]] = []
        self.at = 0
        self.differs: Callable[[str, str], Exception] | None = None

    @property
    def repeats(self) -> bool:
        """Whether the next exchange was made already."""
        return self.at < len(self.made)

    def next(self, what: str, exchange: Callable[[], Value]) -> Value:
        """The result of the next exchange, which is made if it was not yet."""
        if not self.repeats:
            try:
                with unnoted():  # those that it consists of
                    self.made.append((what, exchange(), None))
            except Exception as failure:
                self.made.append((what, None, failure))
        elif self.made[self.at][0] != what:
            self.refuse(what)
        _, value, error = self.made[self.at]
        self.at += 1
        if error is not None:
            raise error
        return deepcopy(value)

    def refuse(self, what: str) -> None:
        """Raise, since `what` comes in place of an exchange that was made."""
        assert self.differs is not None
        raise self.differs(what, self.made[self.at][0])


EXCHANGES: ContextVar[Exchanges | None] = ContextVar("exchanges", default=None)


#: What launchers of MPI set in the environment of each process, for its rank.
LAUNCHED = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK")


@cache
def is_launched() -> bool:
    """Whether a launcher of MPI started this process."""
    return any(name in os.environ for name in LAUNCHED)


def exchanging() -> AbstractContextManager[Callable[[], None]]:
    """A block in which a call begins, once or again: what it gives is called at each beginning."""
    return _noting() if is_launched() else _ALONE


_ALONE: AbstractContextManager[Callable[[], None]] = nullcontext(lambda: None)


@contextmanager
def _noting() -> Iterator[Callable[[], None]]:
    found = EXCHANGES.get()
    here = Exchanges() if found is None else found
    start = here.at

    def begin() -> None:
        here.at = start

    if found is not None:
        yield begin
        return
    with Setting(EXCHANGES, here):
        yield begin
        if here.repeats:
            here.refuse("nothing more")


def once(what: str, exchange: Callable[[], Value], differs: Callable[[str, str], Exception]) -> Value:
    """The result of an exchange, called `what` in errors; in a call that begins again, the result that it had."""
    here = EXCHANGES.get()
    if here is None:
        return exchange()
    here.differs = differs
    return here.next(what, exchange)


def unnoted() -> Setting:
    """A block whose exchanges are made whenever it runs: the program sees to it that it does not run again."""
    return Setting(EXCHANGES, None)


def position() -> int:
    """How many exchanges were made so far in this beginning."""
    here = EXCHANGES.get()
    return 0 if here is None else here.at


def go_back(to: int) -> None:
    """Begin again where there were so many."""
    here = EXCHANGES.get()
    if here is not None:
        here.at = to


def is_repeated() -> bool:
    """Whether the next exchange was made already."""
    here = EXCHANGES.get()
    return here is not None and here.repeats
