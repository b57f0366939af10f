"""`CaptureNotes`: what a capture notes besides nodes."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from copy import deepcopy
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy._core import umath

from adjoint.core.errors import NotSupportedError
from adjoint.core.messages.frames import warn_user
from adjoint.core.op import Op
from adjoint.core.threads.switches import Setting
from adjoint.core.types import Settings, Value
from adjoint.graph.node import Node, call
from adjoint.tape.observers.lines import users_place
from adjoint.tape.reach import RandomSource

DROPS = "it drops imaginary parts, of which NumPy warns at each call: take x.real"

ERRORS = "np.errstate says that errors of numbers are raised, printed or logged, which a program does not do"

SILENT = frozenset(("ignore", "warn"))

# What finds so many elements: this is seen although nobody uses what they give.
_FOUND = frozenset(("argwhere", "bincount", "flatnonzero", "intersect1d", "nonzero", "setdiff1d", "setxor1d", "unique"))


def heeds_errors() -> bool:
    """Whether NumPy is told to do more about errors of numbers than to warn."""
    state = error_state()
    return state is not USUAL and _heeded(state)


@lru_cache(maxsize=16)
def _heeded(state: object) -> bool:
    # What a state says is fixed: np.errstate and np.seterr make another one. Asking NumPy takes a microsecond.
    return not SILENT.issuperset(np.geterr().values())


def _unknown() -> object:
    return object()


# What NumPy is told about errors of numbers, as one thing: its own contextvar, where it has one.
error_state: Callable[[], object] = getattr(getattr(umath, "_extobj_contextvar", None), "get", _unknown)
USUAL = error_state() if SILENT.issuperset(np.geterr().values()) else None


class Guard(NamedTuple):
    """What the program asked of a value, and the answer that it got: on another answer it might take another path.

    The question ``run`` has no answer to compare: random numbers are drawn, and what may raise is computed, even if
    nothing uses them.
    """

    node: Node
    question: str
    answer: Value
    place: Value


class CaptureNotes:
    """What a capture notes besides nodes.

    Attributes:
        guards: what the program asked of its values, in order.
        draws: the random draws; those from one state of a generator are one, as when a checkpoint repeats them.
        silent: whether it is known that errors of numbers are not raised; else each operation asks NumPy.
        in_place_of_calls: whether the program runs where the function is called, so that a warning would come from
            another line than the function's.
        placeless: whether nodes need not say where they were made, since they will be dropped.
        values: of inputs, and of results that may be infinite as long as they are referred to.
        bounded: nodes that are finite as long as the guards hold.
        forced: answers that the program gets instead of the true ones, from guard number `forced_from` on.
        at_ends: is called with each leaf and its gradient where a backward pass ends, unless this is cut.
        cut: whether the pass that runs is cut where it depends on cotangents, so that these can be asked nothing.
        applied: how many operations were applied: nodes do not tell, which programs of the process share.
    """

    def __init__(self, silent: bool = False, in_place_of_calls: bool = False) -> None:
        self.silent, self.in_place_of_calls = silent, in_place_of_calls
        self.placeless = self.cut = False
        self.forced: tuple[bool, ...] = ()
        self.forced_from = self.applied = 0
        self.at_ends: Callable[[Value, Value], None] | None = None
        self.guards: list[Guard] = []
        self.draws: dict[Value, Node] = {}
        self.values: dict[Node, Value] = {}
        self.bounded: set[Node] = set()
        self._generators: dict[int, tuple[Value, Value]] = {}

    def answered(self, node: Node, answer: bool) -> bool:
        """The answer that the program gets where it asks whether `node` is true; `answer` is right."""
        for guard in self.guards:
            if guard.node is node and guard.question == "bool":
                return bool(guard.answer)
        k = len(self.guards) - self.forced_from
        return self.forced[k] if k < len(self.forced) else answer

    def genuine(self, error: object) -> object:
        """Note that `error` is raised for values, or by the user's code, so that a guard holds on to it, or it stays.

        The note is with the error: a list would keep its frames, and with them what these hold.
        """
        vars(error)["_genuine"] = self._generators
        return error

    def raised(self, error: Exception, op: Op, given: tuple[Node, ...], settings: Settings) -> None:
        """Note that `op` raises `error` for these values: one of this kind and, once it is read, of this text."""
        kind: Value = type(error)
        guards = []
        for op_raises in (raising(op, kind), raising(op, kind, str(error))):
            node = call(op_raises, given, settings, (), np.dtype(bool), users_place)
            guards.append(Guard(node, "bool", True, node.place))
        self.guards.append(guards[0])
        vars(error)["_says"] = guards[1]
        self.genuine(error)

    def hold_text(self, error: BaseException) -> None:
        """Note that the text of `error` is read: where an operation has raised it, values may be in it."""
        guard = vars(error).get("_says")
        if guard is not None and guard not in self.guards:
            self.guards.append(guard)

    def is_genuine(self, error: BaseException) -> bool:
        """Whether the plain function gets `error` too."""
        return vars(error).get("_genuine") is self._generators

    def copy_of(self, generator: object) -> Value:
        """A generator that draws in the place of another, which does not move."""
        bits = getattr(generator, "bit_generator", generator)  # which several may share
        return self._generators.setdefault(id(bits), (generator, deepcopy(generator)))[1]

    @property
    def drawn(self) -> bool:
        """Whether random numbers were drawn."""
        return bool(self._generators)

    @property
    def source(self) -> RandomSource:
        """All that has been drawn so far, which a checkpoint goes back to and draws again."""
        return RandomSource(self._states, self._go_back)

    def _states(self) -> dict[str, object]:
        return {str(key): RandomSource.of(copy).get() for key, (_, copy) in self._generators.items()}

    def _go_back(self, states: dict[str, object]) -> None:
        for key, (generator, copy) in self._generators.items():
            RandomSource.of(copy).set(states[str(key)] if str(key) in states else RandomSource.of(generator).get())


RECORD: ContextVar[CaptureNotes | None] = ContextVar("record", default=None)


def recording(silent: bool = False, in_place_of_calls: bool = False) -> Setting:
    """Collect what the program asks of its values, and what it draws, in a `CaptureNotes`; the arguments as in that."""
    record = CaptureNotes(silent, in_place_of_calls)
    return Setting(RECORD, record, record)


def note(op: Op, node: Node) -> None:
    """Guard how many elements were found, and compute what may raise for other values, even if nothing uses it."""
    if op.name in _FOUND:
        _note_shapes(node)
    elif "raises" in op.flags and (record := RECORD.get()) is not None:
        record.guards.append(Guard(node, "run", None, node.place))


def _note_shapes(node: Node) -> None:
    """The shapes of what was found are asked for."""
    if (record := RECORD.get()) is not None:
        record.guards.append(Guard(node, "shape", node.shape, users_place()))


@lru_cache(1024)
def raising(op: Op, kind: Value, text: str | None = None) -> Op:
    """Whether `op` raises an error of this kind, and of this text, if one is given."""

    def raises(*xs: object, **settings: Value) -> object:
        try:
            op.forward(*xs, **settings)
        except Exception as error:
            return np.bool_(type(error) is kind and text in (None, str(error)))
        return np.False_

    return Op(f"raises_{op.name}", raises, ("*xs",), kind="constant")


def warn_at_each_call(text: str, category: type[Warning]) -> None:
    """Warn at the user's line; a program would warn once, so where it is to run in place of calls, there is none."""
    record = RECORD.get()
    if record is not None and record.in_place_of_calls:
        raise NotSupportedError(f"NumPy warns at each call: {text}")
    warn_user(text, category)
