"""The mutation log: writes in place, when they came, and the old values. A rule gets the value that it saved.

A rule may have saved an array that is written later. A write on the tape keeps the values that it covers, with the
sequence number of the moment. The backward pass runs from the last node to the first, so it can undo these writes one
by one, on a copy, and give each rule the values of its moment (`MutationLog`). A write outside the tape, such as an
optimiser's step, is only noted; a rule that needs the old values raises.

The pass looks here only for nodes older than the latest write. A training loop's graph is always younger than the last
step, so it pays one comparison for each node.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import repeat
from operator import is_, setitem

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import InPlaceError
from adjoint.core.memory import copy_as_it_lies, room
from adjoint.core.memory import owner as owner_of
from adjoint.core.record import Record
from adjoint.core.threads.commit import Action, commit
from adjoint.core.threads.locks import WRITES
from adjoint.core.types import Array, Index, Value
from adjoint.tape.node import TapeNode, next_order


class _InMemory(Record):
    """Where an array lies in the memory of its owner."""

    __slots__ = ()

    shape: tuple[int, ...]
    dtype: np.dtype[Value]
    strides: tuple[int, ...]
    offset: int

    @classmethod
    def of(cls, array: np.ndarray, held: np.ndarray) -> _InMemory:
        start = array.__array_interface__["data"][0] - held.__array_interface__["data"][0]
        return cls(array.shape, array.dtype, array.strides, start)

    def within(self, memory: np.ndarray) -> np.ndarray:
        """The array at this place of `memory`, a flat array of bytes."""
        if 0 in self.shape:  # it may lie nowhere
            return np.empty(self.shape, self.dtype)
        return np.ndarray(self.shape, self.dtype, memory, self.offset, self.strides)


class Write(Record):
    """``target[index]`` was `old` until the write at `order`. Without `old` it cannot be undone."""

    __slots__ = ()

    order: int
    target: _InMemory | None
    index: Index
    old: Value


_NO_ARRAYS = frozenset((int, float, bool, str, type(None)))
_written: dict[int, tuple[weakref.ref[Value], list[Write]]] = {}
#: The ids of the arrays of whose writes something is known.
logged = _written.keys()
_latest = [0]
_orders = iter(next_order, None)
# Carried out after the entry of a write, lest a node that was made meanwhile takes itself for younger than the latest.
_advance = map(setitem, repeat(_latest), repeat(0), _orders).__next__
# Writes over values that are gone, each of the moment at which it is asked for.
_moments: Iterator[Write] = map(
    partial(tuple.__new__, Write), zip(_orders, repeat(None), repeat(Ellipsis), repeat(None), strict=False)
)


def latest() -> int:
    """The order of the latest write; every younger node has a smaller one."""
    return _latest[0]


def last(array: np.ndarray) -> int:
    """The order of the latest write to the memory of `array`; 0 if none is known."""
    held = owner(array)
    found = _written.get(id(held))
    return found[1][-1].order if found is not None and found[0]() is held else 0


def owner(array: Array) -> Value:
    """The object that owns an array's memory; of a box that is a view, the box that it shows."""
    if isinstance(array, Box):
        return getattr(array, "root", array)
    held = owner_of(array)
    if not type(held).__weakrefoffset__:  # a capsule of C: an array holds its memory, and is known instead
        held = array
        while isinstance(held.base, np.ndarray):
            held = held.base
    return held


def is_elsewhere(tensor: Array) -> bool:
    """Whether anything but `tensor` may refer to its memory, and write there unseen."""
    if not isinstance(tensor.held, np.ndarray):  # a number, or a box, which notes what is written to it
        return False
    if tensor.held.base is None:
        return sys.getrefcount(tensor.held) > 2  # the tensor's, and getrefcount's argument
    own = isinstance(tensor.held.base, np.ndarray) and sys.getrefcount(tensor.held.base) <= 2
    return not own or sys.getrefcount(tensor.held) > 2


def reference(array: np.ndarray) -> weakref.ref[object] | None:
    """A weak reference to the owner of an array's memory; None if it takes none, such as bytes."""
    try:
        return weakref.ref(owner(array))
    except TypeError:
        return None


def note(array: Array) -> None:
    """Note that `array`, which may be a box that takes weak references, is written, over values that are gone."""
    _append(array, Ellipsis, None)


def noting(arrays: Sequence[Array]) -> tuple[Action, ...]:
    """What notes that `arrays` have just been written, over values that are gone."""
    return Together().noting(arrays)


class Together:
    """Arrays that are written at one moment, again and again, as a training step writes its parameters.

    They share one log, so that noting them is one entry, until one of them is written alone.
    """

    def __init__(self) -> None:
        self._known: tuple[tuple[Value, ...], _Shared, Callable[[], None]] = (), _Shared(), _advance

    def __reduce__(self) -> tuple[type[Together], tuple[()]]:
        """A copy, of an optimiser say, begins anew: its parameters are others."""
        return Together, ()

    def note(self, arrays: Sequence[Array]) -> None:
        """Note that all of `arrays` have just been written, over values that are gone."""
        known, log, written = self._known
        if log.whole and len(arrays) == len(known) and all(map(is_, arrays, known)):
            written()
            _advance()
        else:
            commit(self.noting(arrays))

    def noting(self, arrays: Sequence[Array]) -> tuple[Action, ...]:
        """What notes that all of `arrays` have just been written, over values that are gone."""
        known, log, written = self._known
        if log.whole and len(arrays) == len(known) and all(map(is_, arrays, known)):
            return (written,), (_advance,)
        log = _Shared()
        # Nothing before this moment can be had back.
        written = map(log.__setitem__, repeat(slice(None)), zip(_moments)).__next__
        first: list[Action] = [(setattr, self, "_known", (tuple(arrays), log, written)), (written,)]
        for held in map(owner, arrays):
            reference, old = _entry(held)
            first += [(setattr, old, "whole", False)] if isinstance(old, _Shared) else []
            if reference is not None:
                first.append((setitem, _written, id(held), (reference, log)))
        return *first, (_advance,)


class _Shared(list[Write]):
    """A log of several arrays, as long as it is `whole`."""

    __slots__ = ("whole",)

    def __init__(self) -> None:
        self.whole = True


def _entry(held: Array) -> tuple[weakref.ref[object] | None, list[Write]]:
    """The record of an array that owns its memory. An array that takes no weak reference is read-only."""
    found = _written.get(id(held))
    if found is not None and found[0]() is held:
        return found
    try:
        # The callback is C's: an interrupt in one of Python's would be printed, and lost.
        return weakref.ref(held, partial(_written.pop, id(held))), []
    except TypeError:
        return None, []


def keep(target: np.ndarray, index: Index, old: np.ndarray) -> None:
    """Keep `old`, which stood at ``target[index]`` until just now."""
    _append(target, index, old)


def _append(target: np.ndarray, index: Index, old: Array | None) -> None:
    held = owner(target)
    with WRITES:
        reference, log = _entry(held)
        if reference is None:
            return
        # The log must not keep alive what it watches.
        place = None if old is None else _InMemory.of(target, held)
        write = Write(next_order(), place, index, old)
        if old is None:  # nothing before this moment can be had back
            _parted(log)
            _written[id(held)] = reference, [write]
        elif log and not isinstance(log, _Shared):
            log.append(write)
        else:
            _parted(log)
            _written[id(held)] = reference, [*log, write]
        _advance()


def _parted(log: list[Write]) -> None:
    """An array leaves those that share its log."""
    if isinstance(log, _Shared):
        log.whole = False


def forget(array: np.ndarray) -> None:
    """Drop what is kept of `array`: only its tensor refers to it any more."""
    found = _written.pop(id(owner(array)), None)
    if found is not None:
        _parted(found[1])


class MutationLog:
    """Memory as it was, going back in time as far as it is asked."""

    def __init__(self) -> None:
        self._copies: dict[int, tuple[np.ndarray, list[Write]]] = {}

    def saved(self, node: TapeNode, values: tuple[Array, ...] | None = None) -> tuple[Array, ...]:
        """What `node` saved (or `values`, unpacked from it), with the values that it saved.

        Raises:
            InPlaceError: if these were covered by a write outside the tape.
        """
        values = node.saved if values is None else values
        for v in values:
            if type(v) is np.ndarray and v.base is None:
                found = _written.get(id(v))
                if found is None or found[1][-1].order >= node.order:
                    continue
            elif type(v) in _NO_ARRAYS:
                continue
            return tuple(self._value(v, node, k) for k, v in enumerate(values))
        return values

    def _value(self, value: Array, node: TapeNode, k: int) -> Value:
        if type(value) is tuple:  # several results, or any number of arguments; a named one is a setting
            return tuple(self._value(v, node, k) for v in value)
        if not isinstance(value, np.ndarray | Box):
            return value
        held = owner(value)
        found = _written.get(id(held))
        if found is None or found[0]() is not held or found[1][-1].order >= node.order:
            return value
        log = found[1]
        if isinstance(value, Box):
            raise _covered(node, k)
        array: np.ndarray = owner(value)
        memory = self._at(node, array, log, k)
        # A copy, since memory goes further back. What is recorded again finds its views by the strides.
        return copy_as_it_lies(_InMemory.of(value, array).within(memory))

    def _at(self, node: TapeNode, held: np.ndarray, log: list[Write], k: int) -> np.ndarray:
        key = id(held)
        if key not in self._copies:
            memory = room(max(held.nbytes, 1), held.dtype)
            np.ndarray(held.shape, held.dtype, memory, 0, held.strides)[...] = held
            self._copies[key] = memory, list(log)
        memory, left = self._copies[key]
        while left and left[-1].order < node.order:
            write = left[-1]
            if write.target is None:  # it stays, for whoever asks again
                raise _covered(node, k)
            left.pop()
            write.target.within(memory)[write.index] = write.old
        return memory


def _covered(node: TapeNode, k: int) -> InPlaceError:
    what = node.pullback.op.name if node.pullback else "leaf"
    name = node.pullback.names[k] if node.pullback else "?"
    return InPlaceError(
        f"the gradient of {what} needs `{name}`, which was written in place outside the graph (an "
        f"optimiser's step, or under no_grad) after {what} had saved it. Go backward before the "
        f"write, or write to a copy: t = t.copy()"
    )
