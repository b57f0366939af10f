"""What the door does with keys of dictionaries and sets: the trace holds for these keys only."""

from __future__ import annotations

import dis
import enum
from inspect import getattr_static
from itertools import pairwise
from types import MemberDescriptorType

import numpy as np

from adjoint.compiler.trace.door.attributes import Attributes
from adjoint.compiler.trace.guards import PLAIN, ThingBinding
from adjoint.compiler.trace.outside import Closed, Outside, slots_of, space_of
from adjoint.core.box import Box
from adjoint.core.types import Value
from adjoint.graph.captures.drawing import Drawing
from adjoint.graph.symbol import Number, Symbol
from adjoint.tape.tensor import Tensor

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
        if isinstance(known, Box | Drawing):
            return self._itself(known)
        if self.is_made(known):
            self._refuse_effects(known)
        return known

    def _itself(self, key: Value) -> Value:
        """The tensor or generator from outside that `key` stands for: dictionaries find it by its identity."""
        live = self.inputs.live.get(id(key), key)
        if isinstance(live, int) or live not in self.inputs:
            what = "a tensor" if isinstance(key, Tensor) else "an array or a generator"
            raise self.refuse(f"{what} that was passed, or made, is a key, which is found by its identity")
        return live

    def _refuse_effects(self, key: object) -> None:
        """Refuse a key that was made while recording, if it, or what it consists of, is hashed by code with effects."""
        kind = type(key)
        if not all(_only_computes(method, kind) for method in (kind.__hash__, kind.__eq__)):
            raise self.refuse(f"a {kind.__name__} is a key, which hashes itself")
        waiting = [*(space_of(key) or {}).values(), *slots_of(key).values()]
        while waiting:
            part = waiting.pop()
            if isinstance(part, tuple | list | frozenset):
                waiting += part
            elif part is not key and (type(part) is Outside or self.is_made(part)):
                if type(part) is Outside and type(part.o).__hash__ in _KNOWN:
                    continue
                if type(part) is Outside:
                    raise self.refuse(f"a {kind.__name__} is a key, which consists of a {part.what}")
                self._refuse_effects(part)

    def from_key(self, key: Value) -> Value:
        """The key that the program gets where it goes through keys: for an object from outside, its stand-in."""
        if isinstance(key, Tensor | np.random.Generator):
            return self.take(key, ThingBinding(key, "a key"))
        if type(key) in PLAIN or isinstance(key, np.generic | frozenset) or self.is_made(key):
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


def _only_computes(method: Value, kind: type) -> bool:
    """Whether a dictionary may call a method of `kind` by itself: it writes nothing, and calls nothing that might."""
    code = getattr(method, "__code__", None)
    if code is None:  # that of objects
        return True
    steps = [*dis.get_instructions(code)]
    read = {step.argval for step in steps if step.opname == "LOAD_ATTR"}
    of_a_part = any(a.opname == b.opname == "LOAD_ATTR" for a, b in pairwise(steps))
    if (of_a_part and read - _OF_OBJECTS) or not all(_is_plain(kind, name) for name in read):
        return False
    if code.co_filename == "<string>":  # those of dataclasses
        return True
    names = {step.argval for step in steps if step.opname.startswith("LOAD_GLOBAL")}
    # Since Python 3.12 a method is an attribute that is loaded together with its object.
    acts = any(step.opname.startswith(_EFFECTS) or "NULL|self" in step.argrepr for step in steps)
    return not acts and all(name in _HARMLESS or isinstance(method.__globals__.get(name), type) for name in names)


def _is_plain(kind: Value, name: str) -> bool:
    """Whether to read the attribute `name` of an object of `kind` runs no code of its class."""
    if name in _OF_OBJECTS:
        return True
    own = (getattr(kind, "__getattr__", None), kind.__getattribute__ is not object.__getattribute__)
    found = getattr_static(kind, name, None)
    return own == (None, False) and (isinstance(found, MemberDescriptorType) or not hasattr(type(found), "__get__"))


_OF_OBJECTS = frozenset(("__class__", "__dict__", "__name__"))
_EFFECTS = ("STORE_", "DELETE_", "LOAD_METHOD", "LOAD_DEREF", "IMPORT_", "YIELD_", "LOAD_SUPER")
_HARMLESS = frozenset(("hash", "isinstance", "type", "tuple", "id", "len", "NotImplemented", "round", "abs"))
