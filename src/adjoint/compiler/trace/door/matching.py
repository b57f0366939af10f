"""What the door does for ``match``: it gives the parts of a subject, if the subject fits a pattern."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque

from adjoint.compiler.trace.door.calls import Calls
from adjoint.compiler.trace.door.known.pythons import SPECIAL
from adjoint.compiler.trace.outside import MISSING, Closed, DictView, Outside
from adjoint.core.box import Box
from adjoint.core.types import Array, Value
from adjoint.graph.captures.drawing import Drawing

# Flags of classes, as CPython has them: what is matched as a sequence, as a mapping, and by itself as a whole.
_SEQUENCE, _MAPPING, _WHOLE = 1 << 5, 1 << 6, 1 << 22
_is_instance, _get = SPECIAL[isinstance], SPECIAL[getattr]


class Matching(Calls):
    """Patterns."""

    def matched_sequence(self, x: object, before: int, after: int | None) -> list[object] | None:
        """The elements, if there are as many as asked for; with `after`, those in between as one list."""
        if not self._is(x, _SEQUENCE):
            return None
        kind: Value = self.kind_of(x)
        if kind not in (list, tuple, deque, range) and not (isinstance(x, tuple) and hasattr(kind, "_fields")):
            raise self.refuse(f"it matches a {kind.__name__} as a sequence")
        items = self.items(x)
        if after is None:
            return items if len(items) == before else None
        if len(items) < before + after:
            return None
        end = len(items) - after
        return [*items[:before], items[before:end], *items[end:]]

    def matched_mapping(self, x: Value, keys: tuple[object, ...], rest: bool) -> list[object] | None:
        """The items of these keys, if all are there; with `rest`, a dictionary of the others too."""
        if not self._is(x, _MAPPING):
            return None
        kind: Value = self.kind_of(x)
        if kind not in (dict, OrderedDict, defaultdict):
            raise self.refuse(f"it matches a {kind.__name__} as a mapping")
        asked = [self.key(key) for key in keys]
        if len(set(asked)) < len(asked):
            raise self.refuse("a pattern names a key twice")
        found = [self.get(x, k) if isinstance(x, Outside) else x.get(k, MISSING) for k in asked]
        if any(value is MISSING for value in found):
            return None
        others = {k: v for k, v in self.mapping(x).items() if k not in asked} if rest else {}
        return [*found, others] if rest else found

    def matched_class(self, x: Value, cls: object, count: int, names: tuple[str, ...]) -> list[Array] | None:
        """The attributes, of which `count` go by the class's order, if it is an object of the class that has them."""
        if not isinstance(cls, Outside) or not isinstance(cls.o, type):
            raise self.genuine(TypeError("called match pattern must be a class"))
        if not _is_instance(self, x, cls):
            return None
        if count:
            order = _get(self, cls, "__match_args__", MISSING)
            if order is MISSING and cls.o.__flags__ & _WHOLE and count == 1:
                return self._attributes(x, names, [x])
            order = () if order is MISSING else order
            if type(order) is not tuple or count > len(order) or not all(type(name) is str for name in order):
                raise self.refuse(f"a pattern does not fit __match_args__ of {cls.o.__name__}")
            names = (*order[:count], *names)
        return self._attributes(x, names, [])

    def _attributes(self, x: Value, names: tuple[str, ...], found: list[object]) -> list[Array] | None:
        for i, name in enumerate(names):
            if name in names[:i]:
                raise self.refuse(f"a pattern names {name} twice")
            found.append(_get(self, x, name, MISSING))
            if found[-1] is MISSING:
                return None
        return found

    def _is(self, x: object, flag: int) -> bool:
        if isinstance(x, Box | Drawing | DictView):
            return False
        if isinstance(x, Closed) and not isinstance(x, Outside):
            raise self.refuse(f"it matches a {x.what}")
        return bool(self.kind_of(x).__flags__ & flag)
