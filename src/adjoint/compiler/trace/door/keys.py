"""What the door does with keys of dictionaries and sets: the trace holds for these keys only."""

from __future__ import annotations

import dis
import enum

import numpy as np

from adjoint.compiler.trace.door.attributes import Attributes
from adjoint.compiler.trace.guards import PLAIN
from adjoint.compiler.trace.outside import Closed, Outside
from adjoint.core.box import Box
from adjoint.core.types import Value
from adjoint.graph.symbol import Number, Symbol

#: How objects from outside may hash themselves: by identity, and as texts, numbers and members
#: of enumerations, which never change.
_KNOWN: tuple[Value, ...] = (object.__hash__, enum.Enum.__hash__, str.__hash__, int.__hash__)


class Keys(Attributes):
    """Keys, and the values that symbols have now."""

    def key(self, key: object) -> Value:
        """A key of a dictionary: a value, which the program is then right for only."""
        if type(key) is Outside:
            if isinstance(key.o, type) or type(key.o).__hash__ in _KNOWN:
                return key.o
            raise self.refuse(f"a {key.what} is a key")
        if type(key) is tuple:
            return tuple(map(self.key, key))
        if isinstance(key, Closed):
            raise self.refuse("a method is a key")
        known = self.value(key)
        if isinstance(known, float | complex | np.inexact) and np.isnan(known):
            raise self.refuse("a nan is a key, which is found by its identity")
        if self.is_made(known):
            kind: Value = type(known)
            if not all(map(_only_computes, (kind.__hash__, kind.__eq__))):
                raise self.refuse(f"a {kind.__name__} is a key, which hashes itself")
        return known

    def from_key(self, key: Value) -> Value:
        """What the program gets where it goes through keys: what stands for an object from outside."""
        if type(key) in PLAIN or isinstance(key, np.generic | frozenset | Box) or self.is_made(key):
            return key
        if isinstance(key, tuple):
            return tuple(map(self.from_key, key)) if type(key) is tuple else key
        return self.pinned(key)

    def not_of_its_own(self, key: object) -> None:
        """Refuse keys whose class hashes and compares them by code of its own, which runs at each call."""
        if isinstance(key, tuple):
            for part in key:
                self.not_of_its_own(part)
        if self.is_made(key):
            code = getattr(type(key).__hash__, "__code__", None)
            if code is not None and code.co_filename != "<string>":  # as those of dataclasses are
                raise self.refuse(f"a {type(key).__name__} is a key, which hashes itself")

    def value(self, x: object) -> Value:
        """The number that a symbol is now; the program holds for this one."""
        if isinstance(x, Symbol):
            if isinstance(x.value, np.ndarray):
                hash(x.value)  # which says that arrays have none
            return x.numpy().item() if isinstance(x, Number) else x.numpy()[()]
        return x

    def kind_of(self, x: Value) -> type:
        """The class that a value has in the plain function."""
        if isinstance(x, Outside):
            return type(x.o)
        if type(x) in (Symbol, Number):
            kind = type(x.value)
            return str if kind is np.str_ and x.node.op.name in ("array2string", "array_repr", "array_str") else kind
        return type(x)


def _only_computes(method: Value) -> bool:
    """Whether a dictionary may call a method by itself: it writes nothing, and calls nothing that might."""
    code = getattr(method, "__code__", None)
    if code is None or code.co_filename == "<string>":  # those of objects, and of dataclasses
        return True
    steps = [*dis.get_instructions(code)]
    names = {step.argval for step in steps if step.opname.startswith("LOAD_GLOBAL")}
    # Since Python 3.12 a method is an attribute that is loaded together with its object.
    acts = any(step.opname.startswith(_EFFECTS) or "NULL|self" in step.argrepr for step in steps)
    return not acts and all(name in _HARMLESS or isinstance(method.__globals__.get(name), type) for name in names)


_EFFECTS = ("STORE_", "DELETE_", "LOAD_METHOD", "LOAD_DEREF", "IMPORT_", "YIELD_")
_HARMLESS = frozenset(("hash", "isinstance", "type", "tuple", "id", "len", "NotImplemented", "round", "abs"))
