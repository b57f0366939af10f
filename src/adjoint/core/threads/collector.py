"""Fewer collections of garbage: while a function is recorded, and while modules are imported.

Python's collector examines nodes and the tuples that they hold. They live until the backward pass and form no cycles,
so examining all of them again and again finds nothing. `fewer_full` makes full collections rare; young garbage is
collected as usual.

The collector's thresholds belong to the whole process. C functions set and restore them; they are prepared before
anything is set, so an interrupt cannot come between. If a recording finds the thresholds raised, it does not change
them, and only raised thresholds are restored. So threads do not undo each other's, and a setting of the user's stays.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat, starmap

from adjoint.core.threads.switches import ExceptionCloser
from adjoint.core.types import Value

# A full collection comes after so many of the middle generation, not 10. The number is unlike what others choose.
_RARE = 211


@contextmanager
def all_stays() -> Iterator[None]:
    """A block in which all that is made stays, so nothing is collected: what lives at its end counts as old at once."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            if not gc.get_freeze_count():  # to thaw what is frozen makes it old without a look at it
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def fewer_full() -> Value:
    """A context in which full collections are rare; it may be entered by many at once, and again."""
    now = gc.get_threshold()
    return _contexts.get(now) or _contexts.setdefault(now, _context(now))


def _context(now: tuple[int, int, int]) -> object:
    """The context for a thread that meets the thresholds `now`."""
    young, middle, old = now
    leaving = ExceptionCloser()
    if not young or old >= _RARE:
        enter = leaving.close = repeat(None).__next__
    else:
        raised = young, middle, _RARE
        enter = starmap(gc.set_threshold, repeat(raised)).__next__
        # What is there stays, unless it was set here.
        back = map({raised: now}.get, iter(gc.get_threshold, None), iter(gc.get_threshold, None))
        leaving.close = starmap(gc.set_threshold, back).__next__
    return type("FewerFullCollections", (), {"__enter__": enter, "__exit__": leaving.__exit__})()


_contexts: dict[tuple[int, int, int], Value] = {}
