"""The table of everything that adjoint understands, by name and by the NumPy callable it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from adjoint.core.errors import ArgumentError
from adjoint.core.op import Op, Samples


@dataclass(frozen=True, eq=False, slots=True)
class Composite:
    """A function written in terms of operations; its derivatives come from theirs."""

    name: str
    function: Callable[..., Any]
    answers: tuple[Callable[..., Any], ...] = ()
    samples: Samples | None = None
    errors: Samples | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


Entry = Op | Composite

ENTRIES: dict[str, Entry] = {}
ANSWERS: dict[Any, Callable[..., Any]] = {}
REDUCTIONS: dict[tuple[Any, str], Callable[..., Any]] = {}
_LAZY = {"scipy.special": "adjoint.ops.special"}


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
    if found is None and getattr(function, "__name__", None) in _special_names():
        import_module(_LAZY["scipy.special"])
        found = ANSWERS.get(function)
    return found


def _special_names() -> Iterable[Any]:
    import sys

    special = sys.modules.get("scipy.special")
    return () if special is None or "adjoint.ops.special" in sys.modules else dir(special)


def operation(name: str) -> Entry:
    """The entry called `name`."""
    if name not in ENTRIES:
        import_module(_LAZY["scipy.special"])
    return ENTRIES[name]
