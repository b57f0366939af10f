"""What the door does with attributes of objects whose classes are written in Python."""

from __future__ import annotations

import functools
import types

from adjoint.compiler.trace.door.known.fitting import Fitting
from adjoint.compiler.trace.guards import AttributeBinding
from adjoint.compiler.trace.outside import MISSING, BoundMethod, Outside, is_users, lookup, root_of, slots_of, space_of
from adjoint.core.types import Value

_READERS = (object.__getattribute__, BaseException.__getattribute__)


class Instances(Fitting):
    """Attributes of objects."""

    def instance(self, w: Value, x: object, name: str) -> object:
        """An attribute of an object of a class that is written in Python."""
        try:
            return self._found(w, x, name)
        except AttributeError as error:
            plain = type(x) is types.SimpleNamespace
            otherwise = MISSING if plain else self.static(type(x), "__getattr__")
            if otherwise is MISSING:
                raise
            self.check(error)
        return self.call(self.pinned(otherwise), (w, name), {})

    def _found(self, w: Value, x: object, name: str) -> object:
        kind = type(x)
        plain = kind is types.SimpleNamespace
        if not plain and not is_users(kind):
            raise self.refuse(f"it uses {name} of a {kind.__name__}")
        if not plain and self.static(kind, "__getattribute__") not in _READERS:
            raise self.refuse(f"{kind.__name__} has a __getattribute__ of its own")
        outside = isinstance(w, Outside)
        if outside and w.path is None:
            self.stays(x, kind)
        if name == "__class__":
            return self.pinned(kind)
        found = MISSING if plain else self.static(kind, name)
        written = MISSING if plain else self._written_class(kind, name)
        if isinstance(found, property):
            return self.call(self.pinned(found.fget), (w,), {})
        if isinstance(found, types.MemberDescriptorType):
            return self._slot(w, x, name, found)
        if found is not MISSING and hasattr(type(found), "__set__") and name != "__dict__":
            return self._described(found, w, kind, name)
        space = space_of(x)
        if name == "__dict__" and space is not None:
            return self.pinned(space) if outside else space
        if space is not None:
            value = self._own(w, x, space, name)
            if value is not MISSING:
                return value
        if written is not MISSING:
            return written
        if isinstance(found, functools.cached_property):
            value = self.call(self.pinned(found.func), (w,), {})
            self.set_plainly(w, x, name, value, MISSING)  # into the object's dictionary
            return value
        if found is not MISSING:
            return self.of_class(found, w, kind, name)
        raise self.genuine(AttributeError(f"{kind.__name__!r} object has no attribute {name!r}"))

    def _written_class(self, kind: type, name: str) -> Value:
        """What the function has set as an attribute of a class."""
        for base in kind.__mro__:
            known = self.memo.get(id(base))
            if isinstance(known, Outside) and name in known.over:
                value = known.over[name]
                there = value.o if isinstance(value, Outside) else None
                if isinstance(value, types.FunctionType | BoundMethod) or callable(there):
                    raise self.refuse(f"it sets {name} of a class to a function")
                return value
            if name in vars(base):
                break
        return MISSING

    def stays(self, x: object, kind: type) -> None:
        """Guard that an object keeps its class and the dictionary of its attributes."""
        if root_of(kind) == "adjoint":
            return
        self.guards.text(("class", id(x)), lambda name_of: f"type({name_of(x)}) is {name_of(kind)}")
        space = space_of(x)
        if space is not None:
            self.guards.text(("space", id(x)), lambda name_of: f"{name_of(x)}.__dict__ is {name_of(space)}")

    def _own(self, w: object, x: object, space: dict[str, Value], name: str) -> object:
        if not isinstance(w, Outside):
            return space.get(name, MISSING)
        if w.path is None:
            return self.get(self.pinned(space), name)
        if name in w.over:
            return w.over[name]
        if name not in space:
            text = f"{name!r} not in {w.path}.__dict__"
            self.guards.text(("own", w.path, name), lambda _: text)
            return MISSING
        if name not in w.read:
            w.read[name] = self.given_attribute(type(x), space[name], w.path, name)
        return w.read[name]

    def _slot(self, w: Outside, x: object, name: str, slot: Value) -> object:
        if not isinstance(w, Outside):
            try:
                return slot.__get__(x)
            except AttributeError as error:
                raise self.genuine(error) from None
        if name in w.over:
            return w.over[name]
        if name not in w.read:
            held = slots_of(x)
            if name not in held or lookup(type(x), "__getattr__") is not MISSING:  # which guards would call
                raise self.refuse(f"{name} of a {type(x).__name__} may have no value")
            path = w.path
            w.read[name] = (
                self.take(held[name], AttributeBinding(x, name))
                if path is None
                else self.given(held[name], f"{path}.{name}")
            )
        return w.read[name]

    # -- Of the other parts of the door -----------------------------------------------------------------

    def set_plainly(self, o: object, x: object, name: str, value: object, found: object) -> None:
        raise NotImplementedError

    def check(self, error: BaseException) -> None:
        """Refuse to go on from an exception that the plain function might not get."""
        raise NotImplementedError

    def static(self, kind: type, name: str) -> Value:
        """Read a name from a class; a guard is added if it may change."""
        raise NotImplementedError

    def of_class(self, value: Value, of: Value, kind: type, name: str) -> Value:
        """What an attribute of a class gives: of an object of it, or (None) of the class itself."""
        raise NotImplementedError

    def _described(self, found: Value, of: Value, kind: type, name: str) -> Value:
        """What a descriptor of a user's class gives, of an object or (None) of the class."""
        raise NotImplementedError
