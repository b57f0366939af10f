"""The table of everything that adjoint understands, by name and by the NumPy callable it answers."""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from adjoint.core.errors import ArgumentError
from adjoint.core.memory import AS_MADE, Memory
from adjoint.core.op import Op, Samples


@dataclass(frozen=True, eq=False, slots=True)
class Composite:
    """A function written in terms of operations; its derivatives come from theirs.

    `flags`: ``in_place`` for one that writes into its argument, ``not_supported`` for one that only refuses; `note`
    says more about it. `memory`: what of its result's memory is its own affair, and not that of what it is made of.
    """

    name: str
    function: Callable[..., Any]
    answers: tuple[Callable[..., Any], ...] = ()
    samples: Samples | None = None
    errors: Samples | None = None
    flags: frozenset[str] = frozenset()
    note: str = ""
    memory: Memory = AS_MADE

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


Entry = Op | Composite

ENTRIES: dict[str, Entry] = {}
ANSWERS: dict[Any, Callable[..., Any]] = {}
REDUCTIONS: dict[tuple[Any, str], Callable[..., Any]] = {}
#: Operations that load when they are first asked for, by the module of SciPy's that they answer.
LATER: dict[str, str] = {}


def register(entry: Entry) -> None:
    """Put `entry` into the table. A name has one entry; a NumPy callable has one answer."""
    if entry.name in ENTRIES:
        raise ArgumentError(
            f"an operation named {entry.name!r} exists already: {ENTRIES[entry.name]!r}; "
            f"give yours another name: name='my_{entry.name}'"
        )
    taken = [a for a in entry.answers if a in ANSWERS]
    if taken:
        raise ArgumentError(f"{taken[0]!r} is answered by {ANSWERS[taken[0]]!r} already")
    ENTRIES[entry.name] = entry
    ANSWERS.update(dict.fromkeys(entry.answers, entry))


def answer(function: Any) -> Callable[..., Any] | None:
    """Our counterpart of a NumPy or SciPy callable; None if there is none."""
    found = ANSWERS.get(function)
    if found is None and "scipy.special" in sys.modules and LATER["scipy.special"] not in sys.modules:
        import_module(LATER["scipy.special"])
        found = ANSWERS.get(function)
    return found


def operation(name: str) -> Entry:
    """The entry called `name`."""
    if name not in ENTRIES:
        import_module(LATER["scipy.special"])
    return ENTRIES[name]


def _by_name(op: Op) -> tuple[Callable[..., Any], tuple[str]]:
    return operation, (op.name,)


copyreg.pickle(Op, _by_name)  # pickles and copies of an operation are the operation
