"""Saved arrays that the user may write. The graph keeps a copy, or detects the write.

A rule saves arrays without a copy. Those of tensors are protected (see `writes`). But the ``a`` of ``x * a`` may be any
array of the user's, and NumPy overwrites it without telling anybody. So the node of a product keeps a private copy.
Nodes that save the same values share one copy, so a loop over one constant copies it once. If an array is too large for
a second copy, it is saved itself, with a fingerprint of all its bytes, which the backward pass compares.

Where nobody can write before the backward pass is over, large arrays are saved as they are (`is_apart`).
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, cast

import numpy as np

from adjoint.core.backend import is_foreign, taken
from adjoint.core.box import Box
from adjoint.core.errors import InPlaceError
from adjoint.core.late import service
from adjoint.core.memory import without_repeats
from adjoint.core.record import Record
from adjoint.core.rules.pullbacks import Pullback, with_fingerprints
from adjoint.core.threads.switches import Setting
from adjoint.core.threads.weak import WeakValues
from adjoint.core.types import Array, Value
from adjoint.tape.modes import recording_floor
from adjoint.tape.observers.lines import UsersPlace, line_of, users_place
from adjoint.tape.writes.fingerprint import fingerprint

if TYPE_CHECKING:
    from adjoint.tape.node import TapeNode

#: The bytes up to which an array is copied. Copying is the faster way for any size; this is about memory.
COPIED = 1 << 25
#: The bytes from which nodes share a copy. Below, looking for one costs more than it saves.
_SHARED = 1 << 13


class _Mode:
    """What happens to arrays that are saved, other than copying: fingerprints are taken, or a sum of them is kept."""

    def __init__(self, exact: bool, sums: bool = False, outer: _Mode | None = None) -> None:
        self.exact, self.sums, self.outer, self.sum = exact, sums, outer, 0

    def add(self, array: np.ndarray) -> None:
        """Add an array to the sum, and to those of the modes around."""
        found = fingerprint(array)
        mode: _Mode | None = self
        while mode is not None:
            mode.sum, mode = hash((mode.sum, found)), mode.outer


_mode: ContextVar[_Mode | None] = ContextVar("mode", default=None)
#: The transforms that run, by level: whether nothing can write into an array of the user's until their backward pass
#: is over; or the function and its arguments, by which that is found out.
RUNS: dict[int, Value] = {}
#: The bytes from which it is asked. Below, a copy costs less.
ASKED = 1 << 16
_copies: WeakValues[Value, np.ndarray] = WeakValues()
#: Memory of copies, by its length, with the originals, and whether the copies are still used. Fresh memory would
#: cost more than the copy itself: the system has to clear it first. From how many bytes, and up to how many in all.
_spare: dict[int, list[tuple[Value, bytearray, weakref.ref[np.ndarray]]]] = {}
_SPARED = 1 << 17, 1 << 25


def exact_checks() -> Setting:
    """Report every write to an array that a graph saved, where the graph would otherwise go on with its copy.

    Outside, an array of up to 32 MiB is copied, and a later write to it changes no gradient. Inside, none is
    copied: the backward pass names the line that saved an array which has been written since.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> x, a = ad.tensor(np.ones(1000), requires_grad=True), np.ones(1000)
        >>> with ad.exact_checks():
        ...     loss = np.sum(x * a)
        >>> a[1] = 5.0
        >>> loss.backward()  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        adjoint.core.errors.InPlaceError: …
    """
    return Setting(_mode, _Mode(exact=True))


def constants_seen() -> Setting:
    """Inside, `sum` becomes a hash of all arrays of the user's that nodes save, in order."""
    outer = _mode.get()
    mode = _Mode(outer is not None and outer.exact, sums=True, outer=outer)
    return Setting(_mode, mode, mode)


class Fingerprint(Record):
    """The fingerprint of the saved value number `k`, and the place in the code that saved it.

    Where that value is a tuple of arrays, it is of the one numbered `part`; `others` are the node's other fingerprints.
    """

    __slots__ = ()

    k: int
    print: bytes
    place: UsersPlace
    part: int | None = None
    others: Fingerprint | None = None

    def array(self, saved: tuple[Array, ...]) -> Array:
        """The saved values of the node that get a fingerprint."""
        return saved[self.k] if self.part is None else saved[self.k][self.part]


def is_apart(level: int) -> bool:
    """Whether `level` is that of a transform whose function cannot write into an array that its operations save."""
    run = RUNS.get(level, False)
    if type(run) is not bool:
        run = RUNS[level] = type(recording_floor.raw()) is int and service("reading")(*run)
    return run  # type: ignore[no-any-return]  # a bool now


def private(array: np.ndarray, level: int = 0) -> np.ndarray:
    """What a node of `level` saves of the user's `array`: a copy; the array itself if its fingerprint is kept instead.

    Where nothing can write into the array until the backward pass is over, a view of it.
    """
    size = array.nbytes
    mode = _mode.get()
    if mode is not None:
        if mode.sums:
            mode.add(array)
        if mode.exact:
            return array
    if size >= ASKED and level and is_apart(level):
        return array.view()
    if size > COPIED:
        return array
    if size < _SHARED:
        return array.copy("K")
    if 0 in array.strides:  # repeated along an axis: it is enough to copy it once
        return np.broadcast_to(array[without_repeats(array)].copy("K"), array.shape)
    laid = array if array.flags.c_contiguous else array.T
    if not laid.flags.c_contiguous or array.dtype.hasobject:
        return array.copy("K")
    key = id(array if array.base is None else array.base), array.shape, array.strides, array.dtype
    kept = _copies.get(key)
    if kept is not None and cast(Value, kept.base).startswith(laid):  # whatever had this `key`: it has these bits
        return kept
    spared = _SPARED[0] <= size <= _SPARED[1]
    memory = _filled(key, laid) if spared else laid.tobytes()
    kept = np.ndarray(array.shape, array.dtype, memory, 0, array.strides)
    kept.flags.writeable = False
    _copies[key] = kept
    if spared:
        _keep(key, memory, kept)
    return kept


def recycled(array: np.ndarray) -> np.ndarray:
    """A copy of `array`, which lies in one piece, in the memory of an earlier copy that nobody uses any more."""
    if not _SPARED[0] <= array.nbytes <= _SPARED[1] or array.dtype.hasobject:  # raw memory owns no objects
        return array.copy("K")
    laid = array if array.flags.c_contiguous else array.T
    key = id(array if array.base is None else array.base), array.shape, array.strides, array.dtype
    memory = _filled(key, laid)
    copy = np.ndarray(array.shape, array.dtype, memory, 0, array.strides)
    _keep(key, memory, copy)
    return copy


def _filled(key: object, laid: np.ndarray) -> Value:
    """Memory with the bytes of `laid`: that of an earlier copy, if there is one; it may have the same bytes still."""
    size = laid.nbytes
    entries = _spare.get(size, [])
    with suppress(ValueError):  # another thread has just taken it
        free = [entry for entry in tuple(entries) if entry[2]() is None]
        for entry in free:
            if entry[0] == key and entry[1].startswith(cast(Value, laid)):
                entries.remove(entry)
                return entry[1]
        if free:
            entries.remove(free[-1])
            np.ndarray(laid.shape, laid.dtype, free[-1][1])[...] = laid
            return free[-1][1]
    memory = bytearray(size)
    np.ndarray(laid.shape, laid.dtype, memory)[...] = laid
    return memory


def _keep(key: object, memory: Array, kept: np.ndarray) -> None:
    """Let the `memory` of the copy `kept` outlive it, for the next one, which the next turn of a loop makes."""
    size = len(memory)
    if size + sum(n * len(entries) for n, entries in tuple(_spare.items())) > _SPARED[1]:
        for n, entries in tuple(_spare.items()):
            _spare[n] = [entry for entry in entries if entry[2]() is not None]
        if size + sum(n * len(entries) for n, entries in tuple(_spare.items())) > _SPARED[1]:
            return
    _spare.setdefault(size, []).append((key, memory, weakref.ref(kept)))


def protect(node: TapeNode, k: int, level: int = 0) -> None:
    """Let `node` of `level`, whose saved value `k` is an array of the user's, keep it as it is now.

    It may be an array of an outer transform's, or of a program that is recorded: these are written as well.
    """
    array = node.saved[k]
    kept = _kept(array, level)
    if kept is None:
        _note(node, k, None, array)
    else:
        node.saved = (*node.saved[:k], kept, *node.saved[k + 1 :])


def protect_parts(node: TapeNode, k: int, parts: Sequence[int], level: int = 0) -> None:
    """The same, where the saved value `k` is a tuple, of which those numbered `parts` are arrays of the user's."""
    values = list(node.saved[k])
    for part in parts:
        kept = _kept(values[part], level)
        if kept is None:
            _note(node, k, part, values[part])
        else:
            values[part] = kept
    node.saved = (*node.saved[:k], tuple(values), *node.saved[k + 1 :])


def _kept(array: Array, level: int) -> Value:
    """A copy of the user's array, which belongs to the node; None if its fingerprint is kept instead."""
    if issubclass(type(array), Box):
        return array.snapshot()
    if is_foreign(array):
        return taken(array)
    kept = private(array, level)
    return None if kept is array else kept


def _note(node: TapeNode, k: int, part: int | None, array: np.ndarray) -> None:
    """Note what `array` is now: the saved value `k` of `node`, or a part of it."""
    pullback = cast(Pullback, node.pullback)
    others = node.fingerprints if pullback.fingerprinted else None
    node.pullback = with_fingerprints(pullback)
    node.fingerprints = Fingerprint(k, fingerprint(array), users_place(), part, others)


def check(node: TapeNode, saved: tuple[Array, ...]) -> None:
    """Raise if an array of which `node` has a fingerprint has changed since it was saved."""
    fingerprints: Fingerprint | None = node.fingerprints
    while fingerprints is not None:
        if fingerprint(fingerprints.array(saved)) != fingerprints.print:
            op, line = node.pullback.op.name if node.pullback else "?", line_of(fingerprints.place)
            raise InPlaceError(
                f"an array that {op} saved at {line} for its gradient has been written since. Go backward before "
                f"the write, write into a copy, or give {op} a copy: a.copy()"
            )
        fingerprints = fingerprints.others
