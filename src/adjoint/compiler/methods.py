"""Compiled methods of an object, kept with the object: they refer to it, and are freed with it."""

from __future__ import annotations

from adjoint.core.types import Value

_KEY = "@compiled"  # no attribute's name


class Methods:
    """The compiled methods of one object, by the compiled function of its class. A copy of the object begins anew."""

    __slots__ = ("made", "owner")

    def __init__(self, owner: int | None = None) -> None:
        self.owner, self.made = owner, dict[Value, Value]()

    def __reduce__(self) -> str | tuple[object, ...]:
        return Methods, ()


def methods_of(instance: object, otherwise: dict[int, Methods]) -> dict[object, object]:
    """Where the compiled methods of `instance` are kept; `otherwise`, by its id, if it takes no attributes."""
    space = getattr(instance, "__dict__", None)
    holder: dict[Value, Value] = space if isinstance(space, dict) else otherwise
    key = _KEY if holder is space else id(instance)
    found = holder.get(key)
    if found is None or found.owner != id(instance):  # a shallow copy comes with those of its original
        found = holder[key] = Methods(id(instance))
    made: dict[Value, Value] = found.made
    return made
