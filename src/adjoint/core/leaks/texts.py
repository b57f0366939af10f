"""Numbers that are written as text or bytes, and read again: they know that they left a transform.

A number that is read is compared with those that were written since the transform began: to all digits, or rounded
to the digits that it has, if these are enough to tell numbers apart.
"""

from __future__ import annotations

import re
from _thread import get_ident

import numpy as np

from adjoint.core.box import raw
from adjoint.core.leaks.left import tracked
from adjoint.core.leaks.notes import Note, ledgers, noted
from adjoint.core.types import Array, Value

_FEW = 1000  # numbers, which are looked up one by one if they are rounded
_DIGITS = 3  # of a rounded number, that tell it apart from others
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def written(box: Array, call: str, floor: int) -> Note | None:
    """Note that `call` writes the numbers of `box` as text, bytes or whole numbers; None if nothing depends on that."""
    note = noted(call, box, floor)
    if note is not None:
        note.write(raw(box))
    return note


def seen_again(value: Array) -> object:
    """`value`, which was read from text or bytes: numbers that were written in a transform know that they left it."""
    notes = _notes()

    def known(x: Array) -> Value:
        if isinstance(x, dict):
            return {key: known(part) for key, part in x.items()}
        if type(x) in (list, tuple):
            return type(x)(map(known, x))
        if not isinstance(x, float | complex) and getattr(getattr(x, "dtype", None), "kind", "") not in "fc":
            return x
        return tracked(x, tuple(note for note in notes if _holds(note, x)))

    return known(value) if notes else value


def read_of(made: Array, given: Value) -> Value:
    """The array `made`, which is new: numbers of a list of texts may have been written there."""
    texts = isinstance(given, list | tuple) and given and isinstance(given[0], str | bytes)
    return seen_again(made) if texts else made


def notes_in(text: str | bytes) -> tuple[Note, ...]:
    """The notes of numbers that stand in `text`, which is code."""
    notes = _notes()
    if not notes:
        return ()
    numbers = [float(x) for x in _NUMBER.findall(text if isinstance(text, str) else text.decode(errors="replace"))]
    return tuple(note for note in notes if any(_holds(note, x) for x in numbers))


def _notes() -> list[Note]:
    """Those of numbers that this thread wrote, in a transform that still runs."""
    found = {note: None for ledger in ledgers() for note in ledger.notes.values()}
    return [note for note in found if note.written and note.thread == get_ident()]


def _holds(note: Note, x: Array) -> bool:
    """Whether one of the numbers `x` was written by what is noted; the sign may have been written apart."""
    x = np.abs(x)
    if any(np.isin(x, w).any() for w in note.written):
        return True
    return np.size(x) <= _FEW and any(_is_rounded(number, note.written) for number in np.ravel(x).tolist())


def _is_rounded(number: float, written: list[Value]) -> bool:
    digits, _, power = f"{number!r}".partition("e")
    if not np.isfinite(number) or len(digits.replace(".", "").strip("0")) < _DIGITS:
        return False
    unit = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))  # of its last digit
    return any(np.any(np.abs(w - number) <= 0.5000001 * unit) for w in written)
