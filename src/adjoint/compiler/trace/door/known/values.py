"""What the door does with values that are passed to known code, and with its results."""

from __future__ import annotations

import inspect
import types
from collections import Counter, OrderedDict, defaultdict, deque
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from adjoint.arrays.count import Count
from adjoint.arrays.flat import Flat
from adjoint.compiler.trace.door.items.containers import MAPPINGS, SEQUENCES
from adjoint.compiler.trace.door.writes import Writes
from adjoint.compiler.trace.guards import PLAIN
from adjoint.compiler.trace.outside import BoundMethod, Closed, DictView, Ours, Outside, root_of
from adjoint.core.box import Box
from adjoint.core.errors import AdjointError
from adjoint.core.messages.warned import REFUSES, is_refused
from adjoint.core.op import Op
from adjoint.core.registry import Composite
from adjoint.core.types import Function, Value
from adjoint.graph.captures.drawing import Drawing

if TYPE_CHECKING:
    from types import FunctionType

__warningregistry__: Value = REFUSES  # a program would warn once, and not at each call
_KNOWN = ("numpy", "adjoint", "builtins", "numbers", "collections")

#: The dictionaries that a function may make.
DICTS = (dict, OrderedDict, defaultdict, Counter)


class Values(Writes):
    """Values for code that is known."""

    @property
    def fills(self) -> bool:
        """Whether arrays that are made inside become part of the program, since values are written into them."""
        raise NotImplementedError

    def val(self, x: Value) -> Value:
        """A value as code that is known takes it."""
        kind = type(x)
        if isinstance(x, Box):
            return self.now(x)
        if kind in PLAIN:
            return x
        if kind is Outside:
            return self._val_outside(x)
        if kind is list or kind is tuple:
            return kind(map(self.val, x))
        if kind is dict or kind is OrderedDict:
            return kind((k, self.val(v)) for k, v in x.items())
        if kind is slice:
            return slice(self.val(x.start), self.val(x.stop), self.val(x.step))
        if kind is Count:
            return int(x)
        if kind is DictView:
            return self.items(x)
        if kind is Ours:
            return x.function
        if kind is Drawing or kind is Flat:
            return x
        if kind is BoundMethod or kind is types.FunctionType:
            return self.callback(x)
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return kind._make(map(self.val, x))
        if isinstance(x, np.ndarray | np.generic | np.dtype | set | frozenset | Exception) or inspect.isgenerator(x):
            return x
        if getattr(kind, "never_changes", False) and root_of(kind) == "adjoint":
            return x
        if hasattr(x, "__next__") and not isinstance(x, Closed) and root_of(kind) in ("builtins", "itertools"):
            return x
        raise self.refuse(f"it hands a {kind.__name__.lower()} to code that is not known")

    def _val_outside(self, x: Outside) -> object:
        o = x.o
        if type(o) in SEQUENCES:
            return [self.val(e) for e in self.items(x)]
        if type(o) in MAPPINGS:
            return {k: self.val(v) for k, v in self.mapping(x).items()}
        if type(o) is set:
            return set(self.items(x))
        if isinstance(o, type | np.ufunc | Op | Composite | types.ModuleType) and root_of(o) in _KNOWN:
            return o
        if isinstance(o, types.UnionType) or (isinstance(o, type) and issubclass(o, BaseException)):
            return o
        if isinstance(o, types.BuiltinFunctionType) and root_of(o) in ("builtins", "math", "numpy", "_operator"):
            return o
        if callable(o):
            return self.callback(x)
        if root_of(type(o)) == "adjoint" and getattr(type(o), "never_changes", False):
            if hasattr(o, "__dict__") and self.pinned(o.__dict__).changed:
                raise self.refuse(f"it sets attributes of a {x.what}")
            return self.stand_in(x) if hasattr(o, "__dict__") else o
        raise self.refuse(f"it hands a {x.what} to code that is not known")

    def stand_in(self, f: Outside) -> object:
        """A thing of ours, with the user's in it followed."""
        raise NotImplementedError

    def callback(self, f: Value) -> Function:
        """A function of the user's for code that is known, which calls it."""

        def called(*args: object, **kwargs: object) -> object:
            call = self.with_twin if in_transform((args, kwargs)) else self.call
            return self.val_out(call(f, args, kwargs))

        name = getattr(f.o, "__name__", "f") if isinstance(f, Outside) else getattr(f, "__name__", "f")
        called.__name__ = called.__qualname__ = str(name)
        target = f.o if isinstance(f, Outside) else self._function_of(f)
        with suppress(TypeError, ValueError):
            called.__signature__ = inspect.signature(target)  # type: ignore[attr-defined]  # what a function may have
        return called

    def _function_of(self, f: FunctionType) -> FunctionType:
        if isinstance(f, BoundMethod) and isinstance(f.function, Outside):
            return types.MethodType(f.function.o, object())
        return f

    def with_twin(self, f: object, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """``f(*args, **kwargs)``, as transforms call it."""
        raise NotImplementedError

    def val_out(self, x: object) -> object:
        """What the user's function gave, for code that is known."""
        return self.val(x)

    def is_plain(self, x: Value) -> bool:
        """Whether methods of `x` are Python's, NumPy's or ours, to any depth."""
        kind = type(x)
        if kind in PLAIN or isinstance(x, Box | np.ndarray | np.generic | np.dtype | Flat):
            return True
        if kind in (list, tuple, set, frozenset, deque):
            return all(map(self.is_plain, x))
        if kind in DICTS:
            return all(self.is_plain(k) and self.is_plain(v) for k, v in x.items())
        return kind is slice or isinstance(x, Exception) or (isinstance(x, type) and root_of(x) == "builtins")

    def native(self, f: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """What known code gives for values; what it raises, the plain function gets too, or the call is refused."""
        try:
            found = f(*args, **kwargs)
        except AdjointError as error:
            raise self.refuse(str(error)) from error
        except Exception as error:
            if isinstance(error, ValueError) and "read-only" in str(error):
                self.inputs.wrote([getattr(f, "__self__", None), *args, *kwargs.values()])
            if is_refused(error):
                raise self.refuse("NumPy warns of it at each call") from None
            if isinstance(error, AttributeError) and any(isinstance(x, Box) for x in (*args, *kwargs.values())):
                raise self.refuse(f"an array or number has no such attribute: {error}") from None
            if not any(isinstance(x, Box) for x in (*args, *kwargs.values())) or self.notes.is_genuine(error):
                self.genuine(error)
            raise
        return self.without_objects(found)

    def without_objects(self, found: Value) -> Value:
        """`found`; arrays of objects are refused: what stands for numbers may be in them."""
        for x in found if type(found) is tuple else (found,):
            if type(x) is np.ndarray and x.dtype.hasobject:
                raise self.refuse("it makes an array of objects")
        return found


def in_transform(x: object) -> bool:
    """Whether there is a box of a transform in `x`."""
    if isinstance(x, Box):
        return x.level > 0
    if isinstance(x, list | tuple):
        return any(map(in_transform, x))
    return isinstance(x, dict) and any(map(in_transform, x.values()))
