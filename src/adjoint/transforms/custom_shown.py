"""Results of a function with its own derivative that show an array which was there before: an argument, or one it read.

The rule says nothing of writes, so such a result is read-only. It shows in NumPy what is written into the array later,
which its derivative cannot know: then it is of no use any more, and says so.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from adjoint.arrays.layered import Layered
from adjoint.batch.batched import Batched
from adjoint.core.box import Box, raw
from adjoint.core.constructors import refusing
from adjoint.core.errors import InPlaceError
from adjoint.core.types import Array, Value
from adjoint.forward.dual import Dual
from adjoint.tape.tensor import Tensor, View, wrap
from adjoint.tape.writes.fingerprint import fingerprint

#: The end of a path that leads to the result of a user's rule, which is its argument: it must not be taken again.
written_since = refusing(
    "written_since",
    InPlaceError,
    "a function with a rule of its own gave back its argument or an array that it read, or a view of it: such a "
    "result is read-only, and of no use once the array has been written since, which NumPy would show in it, too. "
    "Let the function return a copy, x.copy(); or call it after the write",
)


def follows(of: Value, level: int) -> bool:
    """Whether `of` is a tensor of `level`: it notices all writes but those outside the tape, which its memory shows."""
    return isinstance(of, Tensor) and of.level == level


def is_held(out: Array, outs: Sequence[Array], kept: Sequence[Array]) -> bool:
    """Whether others than the results `outs` and the leaves `kept` of a residual may hold the memory of `out`.

    Called from a loop over `outs`, it counts the references that they have: a name each in the loop, here and there.
    """
    if not isinstance(out, np.ndarray):
        return False
    known = _count(outs, out) + 2 * _count(kept, out)
    if sys.getrefcount(out) > 3 + known:
        return True
    base = out.base
    if not isinstance(base, np.ndarray):
        return False
    views = {id(x) for x in (*outs, *kept) if isinstance(x, np.ndarray) and x.base is base}
    return sys.getrefcount(base) > 2 + len(views) + _count(outs, base) + 2 * _count(kept, base)


def _count(arrays: Sequence[Array], array: np.ndarray) -> int:
    return sum(x is array for x in arrays)


def locked(out: Array, shared: bool = False) -> Array:
    """A read-only copy of `out`, or a view if it is `shared`: a write through it would miss what it shows."""
    made = out.view() if shared and type(out) is np.ndarray else np.copy(out)
    if isinstance(memory := raw(made), np.ndarray):
        memory.flags.writeable = False
    return made


def showing(result: Value, of: Value) -> Value:
    """`result`, which shows `of` in the plain program: it is of no use once that has been written."""
    if of is None or not (isinstance(of, np.ndarray) or (isinstance(of, Layered | Tensor) and not of._is_number())):
        return result
    if isinstance(of, Box) and of.level == result.level:
        return of.seen_each(result, written_since, {})
    unchanged = _Unchanged(of)
    if isinstance(result, Tensor):
        seen: _PlainView = object.__new__(_PlainView)
        seen._shown_data, seen._shown_node, seen._unchanged = result.held, result.node, unchanged
        seen.root, seen.path = wrap(result.held, result.node, result.level), ((written_since, {}),)
        seen._seen = seen.root.node, seen.root.held
        return seen
    root: Value = object.__new__(_UnchangedDual if isinstance(result, Dual) else _UnchangedBatched)
    root._unchanged, root._held, root.level, root._base = unchanged, result._layers, result.level, None
    result._base, result._seen = (root, ((written_since, {}),)), result._layers
    return result


def without_rule(result: Value, of: Value) -> Value:
    """`result`, a constant, which shows `of`: what is written into a plain array is seen in it."""
    if not isinstance(of, np.ndarray):
        return showing(result, of)
    if not isinstance(result, Tensor) or not isinstance(result.held, np.ndarray):
        return result
    seen: _Current = object.__new__(_Current)
    seen.root, seen.path, seen._mark = result, (), b""
    seen._seen = None, None
    return seen


class _Current(View):
    """A constant tensor around memory of the user's: whoever asks gets a copy of what is there at this moment."""

    __slots__ = ("_mark",)
    _mark: bytes

    def _refreshed(self) -> View:
        memory: np.ndarray = self.root.held
        now = fingerprint(memory)
        if self._seen[1] is not memory or now != self._mark:
            self._shown_data, self._shown_node, self._mark = locked(memory), self.root.node, now
            self._seen = self.root.node, memory
        return self


class _Unchanged:
    """Whether an array is as it was."""

    def __init__(self, array: Array) -> None:
        self.array, self.before = array, self._now(array)

    @staticmethod
    def _now(array: Array) -> tuple[object, ...]:
        if isinstance(array, Layered):
            return array.root._layers
        if isinstance(array, Tensor):
            root = getattr(array, "root", array)
            return root.node, root.held, *((fingerprint(root.held),) if isinstance(root.held, np.ndarray) else ())
        return (fingerprint(array),)

    def check(self) -> None:
        """Raise if it has been written."""
        now, before = self._now(self.array), self.before
        if now is not before and not all(map(_same, now, before)):
            written_since.forward(None)


def _same(a: object, b: object) -> bool:
    return a is b or (type(a) is bytes and a == b)


class _PlainView(View):
    """A tensor that shows an array of which the tape does not know."""

    __slots__ = ("_unchanged",)
    _unchanged: _Unchanged

    def _refreshed(self) -> View:
        self._unchanged.check()
        return self


class _UnchangedRoot:
    """What such arrays of other kinds have as their root."""

    __slots__ = ()
    _unchanged: _Unchanged
    _held: tuple[Value, ...]

    @property
    def _layers(self) -> tuple[Value, ...]:
        self._unchanged.check()
        return self._held


class _UnchangedDual(_UnchangedRoot, Dual):  # type: ignore[override]  # looked up anew where Layered has a slot
    __slots__ = ("_held", "_unchanged")


class _UnchangedBatched(_UnchangedRoot, Batched):  # type: ignore[override]  # looked up anew where Layered has a slot
    __slots__ = ("_held", "_unchanged")
