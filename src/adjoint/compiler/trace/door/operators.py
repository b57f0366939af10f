"""What the door does with operators, tests and texts."""

from __future__ import annotations

import operator
import types
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from functools import cache

import numpy as np

from adjoint.arrays.promotion import is_python
from adjoint.compiler.trace.door.comparing import NO_NUMBERS, Comparing, are_numbers, as_number, beside, kind_of_number
from adjoint.compiler.trace.door.items.containers import MAPPINGS, SEQUENCES
from adjoint.compiler.trace.door.reads import CONTAINERS
from adjoint.compiler.trace.guards import PLAIN
from adjoint.compiler.trace.outside import (
    MISSING,
    BoundMethod,
    Closed,
    DictView,
    Outside,
    Unsaid,
    is_users,
    lookup,
    root_of,
)
from adjoint.core.box import Box, has_box, raw
from adjoint.core.types import Array, Function, Value
from adjoint.graph.symbol import Number, Symbol
from adjoint.tape.tensor import Tensor

_SIMPLE = frozenset((Symbol, float, int))
#: The type that special methods have to give; Python refuses others, or turns them.
GIVES: dict[str, type] = {
    "__bool__": bool, "__len__": int, "__float__": float, "__int__": int, "__complex__": complex, "__str__": str,
    "__repr__": str,
}  # fmt: skip


#: By which NumPy makes an array of an object, before it asks whether this has the operator.
_AS_ARRAY = ("__array__", "__array_interface__", "__array_struct__", "__getitem__", "__buffer__")


class Operators(Comparing):
    """Operators, tests and texts."""

    # -- Operators --------------------------------------------------------------------------------------

    def op(self, name: str, a: Value, b: Value) -> Value:
        """``a + b`` and the like."""
        if type(a) in _SIMPLE and type(b) in _SIMPLE:  # which needs none of the questions below
            return self.native(_function(name), (self.now(a), self.now(b)), {})
        if name == "mod" and type(a) in (str, bytes):
            return self.native(operator.mod, (a, self.shown(b)), {})
        if type(beside(a, b)) in NO_NUMBERS:  # a list, say: Python's number repeats it, or has no such operator
            a, b = self.value(a), self.value(b)
        b = self._exponent(a, b) if name == "pow" else b
        if isinstance(a, Box) or isinstance(b, Box):
            if isinstance(a, Closed) or isinstance(b, Closed) or self.is_made(a) or self.is_made(b):
                return self._dunder(name, a, b)
            if (type(a) is Number or type(b) is Number) and are_numbers(a, b):
                return self._of_numbers(name, self.now(a), self.now(b))
            found = self.native(_function(name), (self.val(a), self.val(b)), {})
            if name in _RAISING and is_python(a) and is_python(b):
                self.is_finite(name, found)
            return found
        if isinstance(a, Closed) or isinstance(b, Closed):
            plain = [self.with_default(x) if self.kind_of(x) is defaultdict else self.as_plain(x) for x in (a, b)]
            if name == "or" and all((isinstance(x, Outside) and isinstance(x.o, type)) or x is None for x in plain):
                kinds: list[Value] = [x if x is None else x.o for x in plain]
                return self.pinned(kinds[0] | kinds[1])
            if any(isinstance(x, Closed) for x in plain):
                return self._dunder(name, a, b)
            a, b = plain
        if self.is_made(a) or self.is_made(b):
            return self._dunder(name, a, b)
        return self.native(_function(name), (a, b), {})

    def _exponent(self, a: Value, b: Value) -> Value:
        """The exponent `b`, as a number that is known where NumPy does something else for some of Python's."""
        if type(b) is not Number:
            return b
        if type(b.value) is int:  # it squares arrays in another dtype
            return self.value(b)
        is_complex = isinstance(a, Symbol | Tensor) and a.dtype.kind == "c"
        return 0.5 if is_complex and self.truth(self.compare("eq", b, 0.5)) else b  # it takes roots

    def is_finite(self, name: str, found: Array) -> None:
        """Refuse where NumPy gives nan, or an infinity: there what is called `name` may raise for Python's numbers."""
        for x in found if isinstance(found, tuple) else (found,):
            if isinstance(x, Box) and not self.truth(np.all(np.isfinite(raw(x)))):
                raise self.refuse(f"{name} gives no finite number")

    def as_plain(self, x: object) -> Value:
        """A list from outside, or a view of a dictionary, as one that was made inside."""
        if isinstance(x, Outside) and type(x.o) is list:
            return self.items(x)
        if isinstance(x, Outside) and type(x.o) in MAPPINGS:
            return OrderedDict(self.mapping(x)) if type(x.o) is OrderedDict else self.mapping(x)
        if (isinstance(x, Outside) and type(x.o) is set) or (isinstance(x, DictView) and x.kind == "keys"):
            return self.table(x)
        return set(self.items(x)) if isinstance(x, DictView) and x.kind == "items" else x

    def _of_numbers(self, name: str, a: Array, b: Array) -> Array | None:
        """Python's numbers, whose own errors stay."""
        whole = all(kind_of_number(x) in (int, bool) for x in (a, b))
        if whole and (name not in _INSIDE or not self.reaches.stays(name, a, b)):
            return self.native(_function(name), (self.value(a), self.value(b)), {})
        a, b = self.exact(a, b) if whole and name == "truediv" else (a, b)
        if name in ("truediv", "floordiv", "mod") and self.truth(operator.eq(b, 0)):
            self.raises()
            return self.native(_function(name), tuple(x.value if type(x) is Number else x for x in (a, b)), {})
        if name == "pow":
            a, b = (self.value(x) if kind_of_number(x) in (int, bool, complex) else x for x in (a, b))
            known = type(b) is not Number and float(b).is_integer() and b > 0 if not isinstance(b, complex) else False
            if not known and (not isinstance(a, Box) or not self.truth(self.compare("gt", a, 0.0))):
                if isinstance(a, Box) or not a > 0:
                    a, b = self.value(a), self.value(b)
            if not isinstance(a, Box) and not isinstance(b, Box):
                return self.native(operator.pow, (a, b), {})
            found = self.native(operator.pow, (a, b), {})
            if not self.truth(np.isfinite(found)):
                return self.native(operator.pow, (self.value(a), self.value(b)), {})
            return found
        return self.native(_function(name), (a, b), {})

    def exact(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Python's numbers; their values, if a whole one may be no floating-point number: Python does not round it."""
        exact = all(kind_of_number(x) is not int or self.reaches.is_exact(x) for x in (a, b))
        return (a, b) if exact else (self.value(a), self.value(b))

    def _dunder(self, name: str, a: Value, b: Value) -> object:
        """The methods of a user's class for an operator."""
        kinds = [self.kind_of(x) for x in (a, b)]
        if any(getattr(kind, "never_changes", False) and root_of(kind) == "adjoint" for kind in kinds):
            return self.native(_function(name), (self.val(a), self.val(b)), {})
        if issubclass(kinds[0], np.number | int | float | complex) and is_users(kinds[1]):
            found = self.static(kinds[1], f"__r{name}__")
            if isinstance(found, types.FunctionType):
                # One of NumPy's numbers comes as Python's, unless the class says that it is asked first.
                first = [self.static(kinds[1], own) for own in ("__array_ufunc__", "__array_priority__")]
                if hasattr(kinds[0], "item") and first == [MISSING, MISSING]:
                    if any(self.static(kinds[1], own) is not MISSING for own in _AS_ARRAY):
                        raise self.refuse(f"NumPy takes a {kinds[1].__name__} as an array")
                    a = self.native(a.item, (), {})
                if (result := self.call(BoundMethod(b, self.pinned(found)), (a,), {})) is not NotImplemented:
                    return result
        turns = [(a, f"__{name}__", b, kinds[0]), (b, f"__r{name}__", a, kinds[1])]
        heir = kinds[1] is not kinds[0] and issubclass(kinds[1], kinds[0])
        if heir and lookup(kinds[1], f"__r{name}__") not in (MISSING, lookup(kinds[0], f"__r{name}__")):
            turns.reverse()
        for of, method, other, kind in turns:
            if is_users(kind) and not issubclass(kind, Box):
                found = self.static(kind, method)
                if isinstance(found, types.FunctionType):
                    result = self.call(BoundMethod(of, self.pinned(found)), (other,), {})
                    if result is not NotImplemented:
                        return result
                    continue
                if found is MISSING:
                    continue
            raise self.refuse(f"{name} of a {kinds[0].__name__} and a {kinds[1].__name__}")
        raise self.genuine(TypeError(Unsaid()))

    def inplace(self, name: str, a: object, b: object) -> object:
        """``a += b`` and the like: what `a` is afterwards."""
        if isinstance(a, Box) and type(a) is not Number:
            if isinstance(getattr(a, "value", a), np.ndarray | Box):  # a number's name moves on to another one
                self.writes_into(a)
            b = self._exponent(a, b) if name == "pow" else b
            return self.native(getattr(operator, f"i{name}"), (self.now(a), self.val(b)), {})
        if self.kind_of(a) is list and name == "add" and hasattr(self.kind_of(b), "__radd__"):
            return self.op(name, a, b)  # an array, say: Python asks it before the list
        if type(a) in SEQUENCES and name == "add":
            return self.native(operator.iadd, (a, self.items(b)), {})
        if type(a) in SEQUENCES and name == "mul" and self.kind_of(b) in (int, bool):
            return self.native(operator.imul, (a, self.value(b)), {})
        if isinstance(a, Outside):
            if type(a.o) is list and name == "add":
                self.container_method(a, "extend", (b,), {})
                return a
            if type(a.o) in MAPPINGS and name == "or":
                self.container_method(a, "update", (b,), {})
                return a
            if not is_users(type(a.o)) or lookup(type(a.o), f"__i{name}__") is not MISSING:
                return self._in_place_method(name, a, b)
        if self.is_made(a) and lookup(type(a), f"__i{name}__") is not MISSING:
            return self._in_place_method(name, a, b)
        if isinstance(a, np.ndarray):
            if isinstance(b, Box):
                raise self.symbolic(a, "it writes into an array that it made")
            return self.native(getattr(operator, f"i{name}"), (a, self.val(b)), {})
        if isinstance(a, dict | set):
            return self.native(getattr(operator, f"i{name}"), (a, self.as_plain(b)), {})
        return self.op(name, a, b)

    def _in_place_method(self, name: str, a: object, b: object) -> object:
        kind = self.kind_of(a)
        if not is_users(kind):
            raise self.refuse(f"{name}= of a {kind.__name__}")
        found = self.static(kind, f"__i{name}__")
        if not isinstance(found, types.FunctionType):
            raise self.refuse(f"{name}= of a {kind.__name__}")
        return self.call(BoundMethod(a, self.pinned(found)), (b,), {})

    def unary(self, name: str, a: Array) -> Array:
        """``-a`` and the like."""
        if isinstance(a, Closed) or self.is_made(a):
            kind = self.kind_of(a)
            found = self.static(kind, f"__{name}__") if is_users(kind) else MISSING
            if not isinstance(found, types.FunctionType):
                raise self.refuse(f"{name} of a {kind.__name__}")
            return self.call(BoundMethod(a, self.pinned(found)), (), {})
        a = self.now(a)
        found = self.native(getattr(operator, name), (a,), {})
        return as_number(found) if type(a) is Number and type(found) is Symbol else found

    # -- Tests ------------------------------------------------------------------------------------------

    def truth(self, x: Array) -> bool:
        """Whether `x` counts as true."""
        if isinstance(x, Box):
            return bool(self.native(bool, (self.now(x),), {}))
        if isinstance(x, Outside):
            return self._truth_outside(x)
        if isinstance(x, DictView):
            return bool(self.items(x))
        if isinstance(x, BoundMethod):
            return True
        if isinstance(x, Closed):
            raise self.refuse(f"it asks whether a {x.what} is true")
        if self.is_made(x):
            return self._truth_of(x, type(x))
        return bool(self.native(bool, (x,), {}))

    def _truth_outside(self, x: Outside) -> bool:
        o = x.o
        if (isinstance(o, list | dict | set) and not is_users(type(o))) or type(o).__module__ == "collections":
            return bool(self.items(x))
        if is_users(type(o)) and not isinstance(o, type):
            return self._truth_of(x, type(o))
        if hasattr(type(o), "__bool__") or (hasattr(type(o), "__len__") and not isinstance(o, type)):
            raise self.refuse(f"it asks whether a {x.what} is true")
        return True

    def _truth_of(self, x: object, kind: type) -> bool:
        for name in ("__bool__", "__len__"):
            found = self.static(kind, name)
            if found is not MISSING:
                if not isinstance(found, types.FunctionType):
                    raise self.refuse(f"it asks whether a {kind.__name__} is true")
                return self.truth(self.asked(x, name, found))
        return True

    def asked(self, x: object, name: str, found: Value, args: Sequence[Value] = (), kwargs: Value = None) -> Value:
        """The result of the special method that Python asks. It has one type: Python refuses or converts others."""
        result = self.call(BoundMethod(x, self.pinned(found)), tuple(args), kwargs or {})
        found = self.val(result)
        value: Value = found.value if type(found) is Number else found
        is_wrong = type(value) is not GIVES.get(name, type(value))
        if is_wrong or (name == "__len__" and value < 0):
            raise self.refuse(f"{name} of a {self.kind_of(x).__name__} gives a {type(value).__name__}: {value!r}")
        return result

    # -- Texts ------------------------------------------------------------------------------------------

    def formatted(self, value: Value, conversion: int, spec: Value) -> object:
        """``{value!r:spec}``"""
        convert = {114: repr, 115: str, 97: ascii}.get(conversion)
        value = self.shown(value)
        if convert is not None:
            value = self.native(convert, (value,), {})
        return self.native(format, (value, spec), {})

    def shown(self, value: object) -> object:
        """A value of which a text is made: the program holds for this one."""
        self.hold_kinds(value)
        value = self._asked(self.val(value))
        if not self.is_plain(value):
            raise self.refuse(f"it makes a text of a {type(value).__name__}")
        if not isinstance(value, PLAIN):
            options = np.get_printoptions()
            self.guards.text("texts", lambda name_of: f"{name_of(np.get_printoptions)}() == {name_of(options)}")
        return value

    def hold_kinds(self, value: Value) -> None:
        """Refuse texts that would tell what stands for things here.

        Containers from outside are lists, sets and dictionaries; errors hold symbols.
        """
        if isinstance(value, BaseException):
            self.reads_error(value)
            if any(map(has_box, value.args)):
                raise self.refuse("it makes a text of an error that holds its numbers")
        kind = type(value.o) if isinstance(value, Outside) else type(value)
        if kind is DictView or (isinstance(value, Outside) and kind in CONTAINERS and kind not in (dict, list, set)):
            raise self.refuse(f"it makes a text of a container: {'view' if kind is DictView else kind.__name__}")
        if kind is dict or kind is list or isinstance(value, tuple):
            for part in self.mapping(value).values() if kind is dict else self.items(value):
                self.hold_kinds(part)

    def _asked(self, value: Value) -> Value:
        if isinstance(value, list | tuple):
            make: Function = getattr(value, "_make", type(value))  # as named tuples are made
            return make(map(self._asked, value))
        if isinstance(value, dict):
            return {k: self._asked(v) for k, v in value.items()}
        if isinstance(value, Symbol):
            asked = value.numpy()
            return (
                asked.item() if type(value) is Number else asked if isinstance(value.value, np.ndarray) else asked[()]
            )
        if isinstance(value, Box):
            raise self.refuse(f"it makes a text of a {type(value).__name__}")
        return value

    def joined(self, *parts: Value) -> Value:
        """The text of an f-string."""
        return "".join(parts)

    def is_plain(self, x: object) -> bool:
        raise NotImplementedError


@cache
def _function(name: str) -> object:
    return divmod if name == "divmod" else getattr(operator, f"{name}_" if name in ("and", "or") else name)


_INSIDE = frozenset(("add", "sub", "mul", "truediv", "floordiv", "mod"))  # which stay among 64 bits: see `Reaches`
_RAISING = frozenset(("truediv", "floordiv", "mod", "pow"))  # of Python's numbers
__all__ = ["PLAIN", "Operators", "as_number"]
