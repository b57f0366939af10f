"""Values that leave a transform while it runs: the notes about them, and the report where a derivative was lost.

If nothing leaves, nothing is noted.
"""

from __future__ import annotations

import sys
import weakref
from _thread import get_ident
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.box import TRACKED, Box
from adjoint.core.errors import ArgumentError, LeakWarning, LeavesGraphError
from adjoint.core.messages.frames import CodePlace, is_of, line_number, place_of, short_name, users_frame, warn_at
from adjoint.core.objects.trees import flatten
from adjoint.core.threads.switches import Giving
from adjoint.core.types import Array, Value

if TYPE_CHECKING:
    from adjoint.core.op import Op

_mode: ContextVar[str] = ContextVar("leaks", default="warn")
_MODES = ("error", "warn", "ignore")


class leaks(Giving):  # noqa: N801 - used like a function
    """Say what happens when a value leaves a transform and takes part in its result as a plain number.

    Args:
        mode: "warn" (what happens if nothing is said) gives an `adjoint.LeakWarning`, "error" raises a
            `LeavesGraphError`, "ignore" does nothing.

    A call holds from then on, in this thread and task; a ``with`` statement, for its block.

    Raises:
        ArgumentError: for another mode.

    Example:
        >>> import adjoint as ad
        >>> with ad.leaks("error"):
        ...     print(ad.grad(lambda x: x * ad.stop_gradient(x))(3.0))  # said to be a constant: nothing is lost
        3.0
    """

    def __init__(self, mode: str) -> None:
        if mode not in _MODES:
            raise ArgumentError(f"ad.leaks takes {', '.join(map(repr, _MODES))}; got {mode!r}")
        super().__init__(_mode)
        self._says, self.gives = mode, self
        super().entering()()

    def value(self) -> str:
        return self._says

    def entering(self) -> Callable[[], Value]:
        return iter((self,)).__next__ if self._tokens else super().entering()


class Note:
    """What left at one place: by which call, from which levels, and what became of it."""

    def __init__(
        self, call: str, frame: FrameType, box: Array, levels: tuple[int, ...], refused: bool, followed: bool = True
    ) -> None:
        self.call, self.place, self.box, self.levels, self.refused = call, place_of(frame), box, levels, refused
        user = users_frame()
        self.user = place_of(user)
        self.fate = ("refused", "") if refused else ("harmless", "")
        if followed and not refused:
            from adjoint.core.leaks.uses import fate_of

            self.fate = fate_of(frame, call)
        self.values: list[weakref.ref[Value]] = []
        #: The nodes of operations that took it as a constant; None for one that has no node.
        self.entered: list[tuple[Value, CodePlace]] = []
        self.seen = self.converted = self.reported = False
        #: Whether it was found equal to a plain array, so that what was kept for that may be taken for its own.
        self.found_equal = False
        #: The numbers that were written as text or bytes, and the thread that did it.
        self.written: list[Value] = []
        self.thread = 0

    @property
    def running(self) -> bool:
        """Whether a transform that it left is still running."""
        return any(level in _RUNNING for level in self.levels)

    def write(self, values: Array) -> None:
        """The numbers `values` were written as text or bytes."""
        self.thread = get_ident()
        if len(self.written) < _ENOUGH:
            self.written.append(np.abs(np.ravel(values)[:_KEPT]))

    def enter(self, node: object = None) -> None:
        """An operation that is differentiated took it as a constant."""
        if self.running and len(self.entered) < _ENOUGH:
            self.entered.append((node, place_of(users_frame())))


_ENOUGH = 100
_KEPT = 1000  # of the numbers that are written at once: enough to know them again


class Ledger:
    """What left one run of a transform."""

    def __init__(self, floor: int) -> None:
        self.floor = floor
        self.notes: dict[Value, Note] = {}

    def report(self, value: Array, reach: Reach) -> None:
        """Report what left and was lost, now that the transform's function has given `value`."""
        returned = [note for x in flatten(value)[0] if type(x) in TRACKED for note in x.notes]
        for note in list(self.notes.values()):
            if note.reported:
                continue
            if note.found_equal:
                why = _taken_for_another(note, reach)
            else:
                why = _refusal(note, reach) if note.refused else _loss(note, reach, note in returned)
            if why:
                for other in self.notes.values():
                    other.reported = other.reported or other.place[:2] == note.place[:2]
                _report(note, why)


class Reach:
    """What a transform's result depends on: here, where there is no graph, on everything (`varies`) or on nothing."""

    def __init__(self, varies: bool) -> None:
        self.varies = varies

    def missed(self, box: Array) -> str:
        """The name of an argument that `box` depends on and the result does not; empty if there is none."""
        return "" if self.varies else "any argument"

    def is_constant(self) -> bool:
        """Whether the result depends on no argument."""
        return not self.varies

    def uses(self, box: Array) -> bool:
        """Whether the result depends on `box`."""
        return self.varies

    def reached(self, node: object) -> bool:
        """Whether the operation that wrote `node` leads to the result."""
        return node is None


_RUNNING: dict[int, Ledger | int] = {}
#: ``begin(level, floor)``: a transform of `level` runs from now on; what `no_grad` hides is below `floor`.
begin = _RUNNING.__setitem__


def over(level: int) -> Ledger | None:
    """A transform has run: what was noted of it, if there is anything to report."""
    ledger = _RUNNING.pop(level, None)
    return ledger if isinstance(ledger, Ledger) and _mode.get() != "ignore" else None


def ledgers() -> list[Ledger]:
    """Those of the transforms that run, and that something left."""
    return [x for x in list(_RUNNING.values()) if isinstance(x, Ledger)]


def noted(call: str, box: Array, floor: int) -> Note | None:
    """A note that `call` of the user's code takes numbers of `box`; None if nothing depends on that."""
    levels = _levels(box, floor) if _RUNNING and _mode.get() != "ignore" else ()
    return _noted(call, users_frame(), box, levels, refused=False, followed=False) if levels else None


def _levels(box: Array, floor: int) -> tuple[int, ...]:
    """The levels of running transforms that differentiate `box`, where that is not switched off by `no_grad`."""
    found = []
    while isinstance(box, Box):
        ledger = _RUNNING.get(box.level)
        if ledger is not None and box.carries:
            begun = ledger.floor if isinstance(ledger, Ledger) else ledger
            if floor <= max(box.level, begun):
                found.append(box.level)
        box = None if box.held is box else box.held
    return tuple(found)


def _noted(
    call: str, frame: FrameType, box: Array, levels: tuple[int, ...], refused: bool, followed: bool = True
) -> Note:
    key = (frame.f_code, frame.f_lasti, refused and id(box))
    note: Note | None = None
    missing = []
    for level in levels:
        ledger = _RUNNING.get(level)
        if isinstance(ledger, int):
            ledger = _RUNNING[level] = Ledger(ledger)
        if ledger is not None:
            note = ledger.notes.get(key, note)
            missing.append(ledger)
    if note is None:
        note = Note(call, frame, box, levels, refused, followed)
    for ledger in missing:
        ledger.notes[key] = note
    return note


def left(value: Array, box: Array, call: str, floor: int) -> Value:
    """`value` of `box`, as it leaves by `call`; it remembers that, if a transform runs and the caller is not ours."""
    frame = sys._getframe(3)
    levels = () if not _RUNNING or is_of(frame, "adjoint") else _levels(box, floor)
    if not levels:
        return value
    from adjoint.core.leaks.left import tracked

    return tracked(value, (_noted(call, frame, box, levels, refused=False),))


def matters(box: Array) -> bool:
    """Whether plain numbers of `box` would lose a derivative: that of a transform that is over is lost already."""
    while isinstance(box, Box):
        if (box.carries and (box.level <= 0 or box.level in _RUNNING)) or box.held is box:
            return True
        box = box.held
    return False


def plain(x: Array) -> Value:
    """`x`, without the memory of where it came from."""
    return x.plain() if type(x) in TRACKED else x


def entering(op: Op, args: Sequence[Value], node: object, level: int) -> None:
    """The operation `op` of `level`, written as `node`, took `args` as constants: or it asked them a question."""
    is_question = op.kind == "constant" and "creates" not in op.flags
    for x in args:
        for note in x.notes if type(x) in TRACKED else ():
            if is_question:
                note.seen = True
            else:
                note.enter(node if level in note.levels else None)


def refused(box: Array, call: str, floor: int) -> None:
    """Note that `call` of `box` raised: if the user's code catches that, the history may be lost."""
    levels = _levels(box, floor)
    if levels and _mode.get() != "ignore":
        _noted(call, users_frame(), box, levels, refused=True)


# Questions whether arrays are equal.
EQUALITIES = frozenset(("equal", "array_equal", "array_equiv", "allclose"))


def compared(op: Op, args: Sequence[object], out: Array, floor: int) -> None:
    """Note that the question `op` found an array that is differentiated equal to a plain one.

    ``if np.array_equal(x, self.last): return self.result`` gives what was computed of the other one.
    """
    if not _RUNNING or type(out) not in (bool, np.bool_, np.ndarray):
        return
    boxes = [x for x in args if isinstance(x, Box)]
    if len(boxes) != 1 or not np.all(out) or (op.name == "equal" and not (np.ndim(out) and np.size(out))):
        return
    levels = _levels(boxes[0], floor)[:1]
    # The innermost: a transform around it asks the same of what is inside, and a derivative may well be a constant.
    if levels and levels[0] == max(_RUNNING) and _mode.get() != "ignore" and not _asked_by_a_rule():
        _noted(f"np.{op.name}", users_frame(), boxes[0], levels, refused=True).found_equal = True


def found_equal(number: Array, levels: tuple[int, ...], frame: FrameType) -> None:
    """Note that `frame` found `number` equal to a plain one that it keeps: ``if x == self.last: return self.kept``."""
    from adjoint.core.leaks.uses import compares_with_kept  # reads source: needed only here

    levels = tuple(level for level in levels if level in _RUNNING)
    if levels and levels[0] == max(_RUNNING) and compares_with_kept(frame):
        _noted("==", frame, number, levels, refused=True).found_equal = True


def _asked_by_a_rule() -> bool:
    """Whether the question comes from a rule of an operation, and not from the user's program."""
    frame = sys._getframe(2)
    while frame is not None and (name := frame.f_globals.get("__name__", "")).startswith(("adjoint.", "numpy")):
        code = frame.f_code
        if code.co_filename.startswith("<pullback") or (
            name.startswith("adjoint.ops.") and code.co_name not in EQUALITIES
        ):
            return True
        frame = frame.f_back  # type: ignore[assignment]  # None at the end
    return False


def missing(box: Array, other: Array) -> tuple[int, ...]:
    """The levels of derivatives that `box` has and `other` has not."""
    mine, others = ({*_levels(x, 0), *_recorded(x)} for x in (box, other))
    return tuple(mine - others) if _mode.get() != "ignore" else ()


def _recorded(box: Array) -> tuple[int, ...]:
    """Level 0, if `box` is recorded there for `backward`."""
    while isinstance(box, Box) and box.level > 0 and box.held is not box:
        box = box.held
    return (0,) if isinstance(box, Box) and box.level == 0 and box.carries else ()


def lost_in_a_container(box: object, levels: tuple[int, ...], frame: FrameType) -> None:
    """Report that `box` was looked up, in `frame`, and an equal key without its history was found."""
    why = (
        "a number that is differentiated was found in a container under an equal key that was kept before; what is "
        "kept there does not depend on it"
    )
    _report(Note("a look-up", frame, box, levels, refused=True), why)


def is_over(x: Array) -> bool:
    """Whether `x` is a value with a history in a transform that is over: it was kept, and is used again."""
    return isinstance(x, Box) and x.level > 0 and x.carries and x.level not in _RUNNING


def kept(x: Array) -> None:
    """Report `x`, a value of an ended transform that another one uses as its own."""
    place = place_of(users_frame())
    if _mode.get() != "ignore":
        _say(place, f"{_line(place)}: a value that was kept from an earlier derivative is used again, as a constant")


def _taken_for_another(note: Note, reach: Reach) -> str:
    """Nothing where something varies: an argument may be compared, and have no part in what follows."""
    said = f"{note.call} found a value that is differentiated equal to one that is not, and the result does not depend"
    return f"{said} on any argument; what was kept for the one is not the other's" if reach.is_constant() else ""


def _refusal(note: Note, reach: Reach) -> str:
    lost = reach.missed(note.box) or ("" if reach.uses(note.box) else "that value")
    said = f"{note.call} was refused, and the error was swallowed; the result does not depend on "
    return said + lost if lost else ""


def _loss(note: Note, reach: Reach, is_result: bool) -> str:
    said = f"{note.call} took a value out of the transform, and "
    if is_result:
        return said + "it is the result"
    for node, place in note.entered:
        if reach.reached(node):
            return said + f"it was computed with at {_line(place)}"
    kind, who = note.fate
    if kind == "foreign" or (kind == "kept" and note.converted):
        return said + (f"{who} computed with it" if who else "it was put into a plain array")
    alive = any(value() is not None for value in note.values)
    if kind == "unknown" and not note.seen and not alive:
        return said + "code that can not be followed read it"
    if kind == "kept" or (kind == "unknown" and not note.seen):
        lost = reach.missed(note.box)
        return said + f"the result does not depend on {lost}" if lost else ""
    if note.call == "t.tobytes()" and reach.is_constant():  # a key of what was kept
        return said + "the result does not depend on any argument"
    return ""


def _line(place: CodePlace) -> str:
    return f"{short_name(place.code.co_filename)}:{line_number(place.code, place.at)}"


def _report(note: Note, why: str) -> None:
    called = "" if note.user[:2] == note.place[:2] else f" (called at {_line(note.user)})"
    _say(note.place, f"{_line(note.place)}{called}: {why}")


def _say(place: CodePlace, what: str) -> None:
    text = (
        f"{what}, so the derivative lacks its part. Compute with the array itself; for "
        f"code of others, ad.through('package') follows its values; if a constant is meant, say so: "
        f"ad.stop_gradient(t) or t.detach(). ad.leaks('ignore') is silent about this"
    )
    if _mode.get() == "error":
        raise LeavesGraphError(text)
    warn_at(place, text, LeakWarning)
