"""What a loop goes through, where that is known beforehand: rows of arrays, whole numbers, or several by `zip`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from adjoint.compiler.trace.loops.carried import rows_in
from adjoint.core.types import Tree, Value


class Through(NamedTuple):
    """So many items: whole numbers, tuples of what the parts give, or rows (None)."""

    length: int
    parts: range | tuple[Through, ...] | None


Known = Sequence[tuple[object, Through]]


def through(w: Value, known: Known = ()) -> Through | None:
    """What a loop through `w` goes through; `known` says it of iterators that nobody else has."""
    if type(w) is range:
        return Through(len(w), w)
    rows = rows_in(w)
    if rows is not None:
        return Through(rows, None)
    return next((found for each, found in known if each is w), None)


def through_call(f: Value, args: Sequence[Value], kwargs: Mapping[str, Value], known: Known) -> Through | None:
    """What the iterator ``f(*args, **kwargs)`` goes through, if `f` is `zip` or `enumerate`."""
    if f is not zip and f is not enumerate:
        return None
    parts = [found for x in (args if f is zip else args[:1]) if (found := through(x, known)) is not None]
    if f is zip and parts and len(parts) == len(args):
        lengths = {part.length for part in parts}
        alike = not kwargs or len(lengths) == 1 or kwargs.get("strict") is False
        return Through(min(lengths), tuple(parts)) if alike else None
    if f is enumerate and parts:
        start, *more = (*args[1:], *kwargs.values(), 0)
        if type(start) is int and len(more) < 2 and [*kwargs] in ([], ["start"]):
            length = parts[0].length
            return Through(length, (Through(length, range(start, start + length)), parts[0]))
    return None


def counts(found: Through | None, target: Tree, length: int = 0) -> dict[str, range] | None:
    """The names of a loop's target that have whole numbers, and these; None where that cannot be said."""
    if found is None:
        return None
    parts, length = found.parts, length or found.length
    if isinstance(target, str):
        return None if isinstance(parts, tuple) else {} if parts is None else {target: parts[:length]}
    if parts is None:
        return {}
    if not isinstance(parts, tuple) or not isinstance(target, tuple) or len(target) != len(parts) or "*" in target:
        return None
    each = [counts(part, name, length) for part, name in zip(parts, target, strict=True)]
    return {name: x for some in each for name, x in (some or {}).items()} if None not in each else None
