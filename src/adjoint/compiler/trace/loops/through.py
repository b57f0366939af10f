"""What a loop goes through, where that is known beforehand: rows of arrays, whole numbers, or several by `zip`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from adjoint.compiler.trace.loops.state.carried import rows_in
from adjoint.core.types import Tree, Value

if TYPE_CHECKING:
    from adjoint.compiler.trace.door.door import Door


class Through(NamedTuple):
    """So many items: whole numbers, tuples of what the parts give, or (None) the rows of an array at these places."""

    length: int
    parts: range | tuple[Through, ...] | None
    of: Value = None
    places: range = range(0)

    def at(self, door: Door, number: Value, target: Tree) -> Value:
        """The item of this number, taken apart as the target of the loop takes it; they fit each other."""
        if isinstance(self.parts, tuple):
            targets = target if isinstance(target, tuple) else ("",) * len(self.parts)
            return tuple([part.at(door, number, t) for part, t in zip(self.parts, targets, strict=True)])
        numbers = self.places if self.parts is None else self.parts
        place = number if numbers.step == 1 else number * numbers.step
        place = place + numbers.start if numbers.start else place
        return place if self.parts is not None else _apart(door, door.item(self.of, place), target)

    def fits(self, target: Tree) -> bool:
        """Whether a target is names, or tuples of them, that take the items apart."""
        if isinstance(target, str):
            return target != "*"
        if isinstance(self.parts, tuple):
            return len(target) == len(self.parts) and all(map(Through.fits, self.parts, target))
        return self.parts is None and _fits(self.of.shape[1:], target)


Known = Sequence[tuple[object, Through]]


def through(w: Value, known: Known = ()) -> Through | None:
    """The items of a loop through `w`; `known` has those of iterators that nobody else has."""
    if type(w) is range:
        return Through(len(w), w)
    rows = rows_in(w)
    if rows is not None:
        return Through(rows, None, w, range(rows))
    return next((found for each, found in known if each is w), None)


def through_call(f: Value, args: Sequence[Value], kwargs: Mapping[str, Value], known: Known) -> Through | None:
    """What the iterator ``f(*args, **kwargs)`` goes through, if `f` is `zip`, `enumerate` or `reversed`."""
    if f is not zip and f is not enumerate and f is not reversed:
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
    if f is reversed and parts:
        numbers, places = parts[0].parts, parts[0].places[::-1]
        return parts[0]._replace(parts=numbers[::-1] if isinstance(numbers, range) else numbers, places=places)
    return None


def _fits(shape: tuple[int, ...], target: Tree) -> bool:
    if isinstance(target, str):
        return target != "*"
    return bool(shape) and shape[0] == len(target) and all(_fits(shape[1:], part) for part in target)


def _apart(door: Door, x: Value, target: Tree) -> Value:
    if isinstance(target, str):
        return x
    return tuple([_apart(door, door.item(x, i), part) for i, part in enumerate(target)])


def bound(target: Tree, item: Value) -> dict[str, Value]:
    """The values of a target's names for this item."""
    if isinstance(target, str):
        return {target: item}
    return {name: x for part, each in zip(target, item, strict=True) for name, x in bound(part, each).items()}


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
