"""What the door does where values are compared, or looked for among others."""

from __future__ import annotations

import operator
import types

import numpy as np

from adjoint.arrays.python_number import MIRRORED
from adjoint.compiler.trace.door.items.containers import MAPPINGS, Containers
from adjoint.compiler.trace.door.known.fitting import symbols_in
from adjoint.compiler.trace.outside import MISSING, BoundMethod, Closed, DictView, Outside, Unsaid, is_users, lookup
from adjoint.core.box import Box
from adjoint.core.types import Array, Value
from adjoint.graph.symbol import LEVEL, Number, Symbol
from adjoint.tape.tensor import Tensor

_NUMBERS = (int, float, complex, bool)
_VALUES = (int, float, complex, str, bytes, tuple, range, slice, frozenset)
_ROUNDED = ({int, float}, {int, complex})  # kinds of numbers which NumPy compares in a common one
NO_NUMBERS = (list, tuple, dict, set, frozenset, str, bytes, range, type(None))


class Comparing(Containers):
    """Comparisons."""

    def compare(self, name: str, a: Value, b: Value) -> Array:
        """``a < b``, ``a is b``, ``a in b`` and the like."""
        if name in ("is", "is not"):
            return self._same(a, b) is (name == "is")
        if name in ("in", "not in"):
            found = self._within(a, b)
            return found if name == "in" else not self.truth(found)
        if isinstance(a, Closed) or isinstance(b, Closed) or self.is_made(a) or self.is_made(b):
            return self._compare_objects(name, a, b)
        if type(a) is type(b) is dict and name in ("eq", "ne"):
            alike = len(a) == len(b) and all(k in b and self.is_found(x, b[k]) for k, x in a.items())
            return alike is (name == "eq")
        if any(isinstance(a, kind) and isinstance(b, kind) for kind in (list, tuple)):
            if any(symbols_in((a, b))) or not (self.is_plain(a) and self.is_plain(b)):
                return self._compare_in_order(name, a, b)
        if type(beside(a, b)) in NO_NUMBERS:
            return (
                name == "ne"
                if name in ("eq", "ne")
                else self.native(getattr(operator, name), (self.value(a), self.value(b)), {})
            )
        if type(a) is Number and isinstance(b, Tensor):  # Python asks the tensor
            a, b, name = b, a, MIRRORED.get(name, name)
        if (type(a) is Number or type(b) is Number) and {kind_of_number(a), kind_of_number(b)} in _ROUNDED:
            a, b = self.exact(a, b)
        found = self.native(getattr(operator, name), (self.val(a), self.val(b)), {})
        if type(found) is bool and any(type(x) is Symbol for x in (a, b)):
            raise self.refuse("it compares an array with an object, which NumPy does for each element")
        pythons = are_numbers(a, b) or (name in ("eq", "ne") and _is_taken_as_float(a, b))
        return as_number(found) if isinstance(found, Symbol) and pythons else found

    def _compare_in_order(self, name: str, a: Value, b: Value) -> Array:
        """Two lists or tuples: by the first elements that differ."""
        if len(a) == len(b) or name not in ("eq", "ne"):
            for x, y in zip(a, b, strict=False):
                if not self.is_found(x, y):
                    return name == "ne" if name in ("eq", "ne") else self.compare(name, x, y)
        return getattr(operator, name)(len(a), len(b))

    def _same(self, a: Value, b: object) -> bool:
        if isinstance(a, Outside) and isinstance(b, Outside):
            self.hold_apart(a, b)
        if isinstance(a, Outside) and isinstance(b, Outside | type):
            return a.o is (b.o if isinstance(b, Outside) else b)
        if isinstance(a, type) and isinstance(b, Outside):
            return a is b.o
        a, b = (self.value(x) if _is_truth(x) else x for x in (a, b))
        if (type(a) in _VALUES or a is not b) and _is_value(a) and _is_value(b):
            raise self.refuse("it asks whether two values are the same one")
        if isinstance(a, Box) and isinstance(b, Box) and a is not b:
            if all(id(x) in self.inputs.live or x in self.rebound for x in (a, b)):
                raise self.refuse("it asks whether two arrays are the same one")
            if self.light is not None:  # where each name has an array of its own
                raise self.light.off("it asks whether two arrays are the same one")
            return False
        if isinstance(a, BoundMethod) or isinstance(b, BoundMethod):
            if a is None or b is None:
                return False
            raise self.refuse("it asks whether two methods are the same one")
        return a is b

    def _compare_objects(self, name: str, a: object, b: Value) -> object:
        plain = [self.as_plain(x) for x in (a, b)]
        if not any(isinstance(x, Closed) or self.is_made(x) for x in plain):
            return self.compare(name, *plain)
        if any(isinstance(x, np.dtype) for x in plain):  # x.dtype == np.float64
            kinds = tuple(x.o if isinstance(x, Outside) and isinstance(x.o, type) else self.val(x) for x in plain)
            return self.native(getattr(operator, name), kinds, {})
        mirrored = MIRRORED.get(name, name)
        turns = [(a, b, name), (b, a, mirrored)]
        if self.kind_of(a) is not self.kind_of(b) and issubclass(self.kind_of(b), self.kind_of(a)):
            turns.reverse()  # an heir is asked first
        for of, other, method in turns:
            kind = self.kind_of(of)
            if isinstance(of, BoundMethod | DictView):
                raise self.refuse("it compares methods")
            if issubclass(kind, np.ndarray | np.generic):
                raise self.refuse("it compares an array with an object, which NumPy does for each element")
            if (isinstance(of, Outside) or self.is_made(of)) and is_users(kind):
                found = self.static(kind, f"__{method}__")
                if isinstance(found, types.FunctionType):
                    if found.__code__.co_filename == "<string>":
                        if name == "eq" and hasattr(kind, "__dataclass_fields__") and kind is not self.kind_of(other):
                            continue  # those of a dataclass are equal to others of it alone
                        raise self.refuse(f"it compares a {kind.__name__}")
                    result = self.call(BoundMethod(of, self.pinned(found)), (other,), {})
                    if result is not NotImplemented:
                        return result
                if name == "ne" and isinstance(self.static(kind, "__eq__"), types.FunctionType):
                    raise self.refuse(f"it compares a {kind.__name__}")
            elif isinstance(of, Outside) and not isinstance(
                of.o, type | types.FunctionType | types.BuiltinFunctionType
            ):
                raise self.refuse(f"it compares a {kind.__name__}")
        if name not in ("eq", "ne"):
            raise self.genuine(TypeError(Unsaid()))
        return self._same(a, b) is (name == "eq")

    def _within(self, a: Value, b: Value) -> object:
        o = b.o if isinstance(b, Outside) else b
        if (o is b and self.is_made(b)) or (o is not b and is_users(type(o)) and not isinstance(o, type)):
            if lookup(type(o), "__contains__") is not MISSING:
                return self.truth(self.call(self.special(b, o, "__contains__"), (a,), {}))
        if isinstance(b, Outside):
            if type(b.o) in MAPPINGS:
                return self.get(b, self.key(a)) is not MISSING
            if type(b.o) is set:
                return self.key(a) in set(self.items(b))
        if isinstance(b, DictView) and b.kind == "keys":
            return self.get(b.of, self.key(a)) is not MISSING
        if isinstance(b, dict | set | frozenset) and not self.is_made(b):
            return self.key(a) in b
        if isinstance(b, Box) and not isinstance(getattr(b, "value", b), np.ndarray | Box):
            raise self.refuse("it looks into a number")
        if isinstance(b, Box) and not (isinstance(a, Box | np.ndarray | np.generic) or are_numbers(a, a)):
            raise self.refuse("it looks for something else than a number in an array")
        if isinstance(b, Box | str | bytes | range | np.ndarray):
            return self.native(operator.contains, (b, self.val(a)), {})
        return any(self.is_found(e, a) for e in self.lazy(b))

    def is_found(self, e: Value, a: Value) -> bool:
        """Whether `a` counts as the element `e` of a list: by identity, or because it is equal.

        A nan is found by identity alone, so the program holds for numbers of which one at least is none.
        """
        if e is a or self.truth(self.compare("eq", e, a)):
            return True
        pair = sorted((e, a), key=lambda x: isinstance(x, Box))  # what is known needs no question
        if all(map(_may_be_nan, pair)) and all(self.truth(self.compare("ne", x, x)) for x in pair):
            raise self.refuse("it looks for a nan, which is found by its identity")
        return False

    # -- Of the other parts of the door -----------------------------------------------------------------

    def as_plain(self, x: object) -> Value:
        """A list from outside, or a view of a dictionary, as one that was made inside."""
        raise NotImplementedError

    def is_plain(self, x: object) -> bool:
        """Whether `x` is made of plain values alone."""
        raise NotImplementedError

    def exact(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Numbers as floats, where that changes no whole number among them."""
        raise NotImplementedError


def as_number(x: Symbol) -> Symbol:
    """One of NumPy's numbers as Python's."""
    return Number.of((x.value.item(), x.node), LEVEL) if hasattr(x.value, "item") else x


def kind_of_number(x: Array) -> type:
    return type(x.value) if type(x) is Number else type(x)


def _is_taken_as_float(a: Array, b: Array) -> bool:
    """Whether Python's own complex number compares itself with `b`: a float64 is one of its floats."""
    return kind_of_number(a) is complex and type(getattr(b, "value", b)) is np.float64


def _may_be_nan(x: Value) -> bool:
    """Whether `x` is a number of fractions."""
    if isinstance(x, Symbol) and not isinstance(x.value, np.ndarray):
        return x.dtype.kind in "fc"
    return isinstance(x, float | complex | np.inexact)


def _is_value(x: object) -> bool:
    """Whether `x` is a value, of which Python may have one object or several."""
    number = isinstance(x, np.generic) or (isinstance(x, Symbol) and not isinstance(x.value, np.ndarray))
    return number or type(x) in _VALUES


def _is_truth(x: object) -> bool:
    """Whether `x` is one of Python's truth values, which the program computes."""
    return type(x) is Number and type(x.value) is bool


def beside(a: object, b: object) -> Array:
    """The other value beside one of Python's numbers that is a symbol; that number, if there is none."""
    other = b if type(a) is Number else a if type(b) is Number else 0
    return other.o if isinstance(other, Outside) else other


def are_numbers(a: Array, b: Array) -> bool:
    return all(type(x) is Number or type(x) in _NUMBERS for x in (a, b))
