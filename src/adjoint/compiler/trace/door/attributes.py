"""What the door does with attributes."""

from __future__ import annotations

import enum
import functools
import os
import re
import sys
import types

import numpy as np

from adjoint.arrays.count import Count
from adjoint.arrays.python_number import PythonNumber, has_attribute
from adjoint.compiler.trace.door.instances import Instances
from adjoint.compiler.trace.door.items.trees import is_spec
from adjoint.compiler.trace.door.reads import CALLABLES, CONTAINERS
from adjoint.compiler.trace.guards import PLAIN, AttributeBinding, Binding
from adjoint.compiler.trace.outside import (
    MISSING,
    BoundMethod,
    Closed,
    DictView,
    Outside,
    Super,
    is_fixed,
    is_odd,
    is_users,
    lookup,
    root_of,
)
from adjoint.core.box import Box
from adjoint.core.types import Array, Value
from adjoint.graph.captures.drawing import DRAWS, Drawing
from adjoint.graph.symbol import Number, Symbol, symbol_of
from adjoint.optim.optimizer import Optimizer
from adjoint.tape.tensor import Tensor
from adjoint.twin.standins import box_attribute

_HERE = os.path.dirname(__file__)
_LIBRARIES = frozenset(("numpy", "adjoint", "scipy", "math", "cmath", "operator", "functools", "itertools"))
_FOREIGN = frozenset(
    ("register_hook", "tofile", "dump", "dumps", "resize", "ctypes", "setflags", "flags", "base", "data_ptr",
     "__array_interface__", "__array_struct__", "__dlpack__", "byteswap", "newbyteorder", "getfield", "setfield")
)  # fmt: skip
_OF_EXCEPTIONS = frozenset(("args", "__cause__", "__context__", "__suppress_context__", "with_traceback", "add_note"))
_OTHERWISE = frozenset(("__hash__", "__new__", "__class__", "__doc__", "__init_subclass__", "__class_getitem__"))
_NAMES = ("__name__", "__qualname__", "__module__", "__doc__")


def is_of_door(code: types.CodeType) -> bool:
    """Whether it is code of the door itself, in whichever of its folders."""
    return code.co_filename.startswith(_HERE)


class Attributes(Instances):
    """Attributes."""

    histories: str  # see `Histories`

    # -- Attributes -----------------------------------------------------------------------------------

    def attr(self, o: Value, name: str) -> Value:
        """``o.name``"""
        kind = type(o)
        if kind is Outside:
            return self._of_outside(o, name)
        if isinstance(o, Box):
            return self._of_box(o, name)
        if kind is Super:
            return self._of_super(o, name)
        if kind is Drawing:
            if name in DRAWS:
                return BoundMethod(o, name)
            if not hasattr(o.generator, name):
                return self._native(o.generator, name)
            raise self.refuse(f"it uses {name} of a generator of random numbers")
        if kind is BoundMethod and name in ("__self__", "__func__") and not isinstance(o.function, str):
            return o.of if name == "__self__" else o.function
        if isinstance(o, DictView) or kind is BoundMethod:
            return self._missing(o, name) if name not in _NAMES else self._text_of(o, name)
        if isinstance(o, Closed):
            raise self.refuse(f"it uses {name} of a {o.what}")
        if self.is_made(o) and not (isinstance(o, Exception) and name in _OF_EXCEPTIONS):
            return self.instance(o, o, name)
        return self._native(o, name)

    def _missing(self, o: object, name: str) -> object:
        raise self.refuse(f"it uses {name} of a {type(o).__name__.lower()}")

    def _text_of(self, o: object, name: str) -> object:
        if isinstance(o, BoundMethod) and isinstance(o.function, Outside):
            return self.attr(o.function, name)
        return self._missing(o, name)

    def is_tool(self, o: object) -> bool:
        """Whether it is a function of the door, which stands for a partial one, or for a getter."""
        return isinstance(o, types.FunctionType) and is_of_door(o.__code__)

    def is_made(self, o: object) -> bool:
        """Whether it is an object of a user's class that was made while recording."""
        raise NotImplementedError

    def native(self, f: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """What `f` gives for values of the program."""
        raise NotImplementedError

    def _native(self, o: object, name: str) -> object:
        """An attribute of a plain object that was made while recording."""
        if self.is_tool(o):
            raise self.refuse(f"it uses {name} of a partial function, or of a getter")
        if name in _FOREIGN or (isinstance(o, AttributeError | NameError) and name in ("name", "obj")):
            raise self.refuse(f"it uses {name} of a {type(o).__name__}")
        if isinstance(o, Exception):
            self.reads_error(o)
        try:
            value = getattr(o, name)
        except AttributeError as error:
            raise self.genuine(error) from None
        if name == "__class__":
            return self.call(self.pinned(type), (o,), {})
        held = isinstance(o, types.FunctionType) or (isinstance(o, tuple) and name in getattr(o, "_fields", ()))
        return BoundMethod(o, name) if callable(value) and not held else value

    def _of_box(self, o: Array, name: str) -> object:
        if self.light is not None:
            if not hasattr(np.ndarray, name):
                raise self.light.off(f"it uses {name} of an array")
            o = self.now(o)
        kind: Value = type(o.value) if type(o) in (Symbol, Number) else type(o)
        if self.histories and kind is type(o) and not isinstance(o, PythonNumber):
            stand_in = box_attribute(name)
            if stand_in is not None:
                value = self.native(stand_in, (o,), {})
                return self.pinned(value) if isinstance(value, type) else value
            if not hasattr(kind, name) and hasattr(np.ndarray, name):
                raise self.refuse(f"it uses {name} of an array that has a history")
        if isinstance(o, PythonNumber):
            kind = o.python_type
        if not (has_attribute(o, name) if isinstance(o, PythonNumber) else hasattr(kind, name)):
            called = f"numpy.{kind.__name__}" if root_of(kind) == "numpy" else kind.__name__
            raise self.genuine(AttributeError(f"{called!r} object has no attribute {name!r}"))
        if name == "__class__":
            return self.pinned(kind)
        if name in _FOREIGN or (name == "data" and not isinstance(o, Tensor)):
            raise self.refuse(f"it uses {name} of a {kind.__name__}")
        try:
            value = getattr(o, name)
        except AttributeError:
            raise self.refuse(f"it uses {name} of a {kind.__name__}") from None
        if type(o) is Number and type(value) is Symbol:
            return symbol_of(value.value.item(), value.node)
        if isinstance(o, Tensor) and name == "size" and not o.level and not self.histories:
            return value if self.light is not None else Count.of(value, o.shape)
        if isinstance(o, Tensor) and name in ("data", "numpy"):
            self.taken.append(getattr(o, "root", o))
        return BoundMethod(o, name) if callable(value) and not isinstance(value, Box) else value

    def _of_super(self, o: Super, name: str) -> object:
        live = o.of.o if isinstance(o.of, Outside) else o.of
        value = self.guards.attribute(type(live), name, after=o.kind)
        if value is not MISSING:
            return self.of_class(value, o.of, type(live), name)
        raise self.genuine(AttributeError(f"'super' object has no attribute {name!r}"))

    def _of_outside(self, o: Outside, name: str) -> object:
        x = o.o
        if isinstance(x, types.ModuleType):
            return self._of_module(x, name)
        if isinstance(x, type):
            return self._of_class(o, name)
        if is_spec(x):
            return self._native(x, name)
        if isinstance(x, types.FunctionType):
            return self._of_function(o, name)
        if isinstance(x, Optimizer) and is_fixed(type(x)):
            return self._of_optimizer(o, name)
        if type(x) in CONTAINERS or isinstance(x, (*CALLABLES, re.Pattern, re.Match)):
            return self._library(o, name)
        if hasattr(type(x), "explain") and root_of(type(x)) == "adjoint":  # a compiled function
            own = MISSING if name in ("function", "options") or name[0] == "_" else self.get(self.pinned(vars(x)), name)
            return self.attr(self.pinned(x.function), name) if own is MISSING else own
        if isinstance(x, functools.partial) and name in ("func", "args", "keywords"):
            return self.take(getattr(x, name), AttributeBinding(x, name))
        if isinstance(x, enum.Enum) and name in ("name", "value"):
            return self.take(getattr(x, name), AttributeBinding(x, name))
        return self.instance(o, x, name)

    def _library(self, o: Outside, name: str) -> object:
        try:
            value = getattr(o.o, name)
        except AttributeError as error:
            raise self.genuine(error) from None
        if name == "__class__":
            return self.pinned(value)
        return value if type(value) in PLAIN else BoundMethod(o, name)

    def _of_module(self, x: types.ModuleType, name: str) -> object:
        root = x.__name__.partition(".")[0]
        if root in _LIBRARIES:
            value = getattr(x, name, MISSING)
            if value is MISSING:
                raise self.genuine(AttributeError(f"module {x.__name__!r} has no attribute {name!r}"))
            if isinstance(value, types.ModuleType):
                return self.pinned(value)
            return self.of_library(x, name, value)
        space = vars(x)
        if name in space:
            return self.get(self.pinned(space), name)
        if "__getattr__" in space:
            raise self.refuse(f"the module {x.__name__} makes {name} when it is asked for")
        self.guards.has(space, name, False)
        raise self.genuine(AttributeError(f"module {x.__name__!r} has no attribute {name!r}"))

    def _of_function(self, o: Outside, name: str) -> Array | None:
        x = o.o
        if name in _NAMES:
            return self.take(getattr(x, name), AttributeBinding(x, name))
        if name in ("__code__", "__closure__", "__globals__", "__dict__", "__defaults__", "__kwdefaults__"):
            raise self.refuse(f"it uses {name} of a function")
        found = self.get(self.pinned(x.__dict__), name)
        if found is MISSING:
            if hasattr(x, name):
                raise self.refuse(f"it uses {name} of a function")
            raise self.genuine(AttributeError(f"'function' object has no attribute {name!r}"))
        return found

    def _of_class(self, o: Outside, name: str) -> Value:
        x = o.o
        if name in ("__name__", "__qualname__", "__module__"):
            return self.take(getattr(x, name), AttributeBinding(x, name))
        written = self._written_class(x, name)
        if written is not MISSING:
            return written
        if type(x) is not type and lookup(type(x), name) is not MISSING:
            raise self.refuse(f"{name} is an attribute of a metaclass")
        value = self.static(x, name)
        if value is MISSING:
            raise self.genuine(AttributeError(f"type object {x.__name__!r} has no attribute {name!r}"))
        if isinstance(value, enum.Enum):
            return self.pinned(value)
        if is_fixed(x) and not isinstance(value, staticmethod | classmethod):
            bound = getattr(x, name)
            return bound if type(bound) in PLAIN else self.pinned(bound)
        return self.of_class(value, None, x, name)

    def _of_optimizer(self, o: Outside, name: str) -> Value:
        shadow = self.inputs.optimizer(o.o, self.take)
        if name.startswith("_") or not hasattr(shadow, name):
            raise self.refuse(f"it uses {name} of an optimiser")
        if name in vars(shadow):
            return vars(shadow)[name]
        value = lookup(type(shadow), name)
        if isinstance(value, property):
            rate = getattr(shadow, name)
            return rate.item() if type(rate) is Symbol else rate
        if name not in ("step", "zero_grad"):
            raise self.refuse(f"it uses {name} of an optimiser")
        return BoundMethod(o, name)

    def static(self, kind: type, name: str) -> Value:
        """Read a name from a class; a guard is added if it may change."""
        fixed = is_fixed(kind)
        found = lookup(kind, name) if fixed else self.guards.attribute(kind, name)
        if name[:2] == "__" and not fixed and name not in _OTHERWISE and is_odd(found):
            raise self.refuse(f"{name} of a {kind.__name__} is a {type(found).__name__}")
        return found

    def of_class(self, value: Value, of: Value, kind: type, name: str) -> Value:
        """What an attribute of a class gives: of an object of it, or (None) of the class itself."""
        if isinstance(value, types.FunctionType):
            return self.pinned(value) if of is None else BoundMethod(of, self.pinned(value))
        if isinstance(value, staticmethod):
            return self.pinned(value.__func__)
        if isinstance(value, classmethod):
            return BoundMethod(self.pinned(kind), self.pinned(value.__func__))
        if isinstance(value, functools._lru_cache_wrapper):
            return self.pinned(value) if of is None else BoundMethod(of, self.pinned(value))
        if isinstance(value, CALLABLES) and not isinstance(
            value, types.MethodDescriptorType | types.WrapperDescriptorType
        ):
            return self.pinned(value)
        if hasattr(value, "function") and root_of(type(value)) == "adjoint" and hasattr(value, "explain"):
            inner = self.pinned(value.function)  # a compiled method: part of this trace
            return inner if of is None else BoundMethod(of, inner)
        if isinstance(value, types.WrapperDescriptorType | types.MethodDescriptorType):
            return BoundMethod(of, self.pinned(value))
        if hasattr(type(value), "__get__"):
            return self._described(value, of, kind, name)
        for base in kind.__mro__:
            if name in vars(base):
                return self.take(value, Binding(vars(base), name))
        raise self.refuse(f"{name} of a class")

    def _described(self, found: Value, of: Value, kind: type, name: str) -> Value:
        """What a descriptor of a user's class gives, of an object or (None) of the class."""
        own = is_users(type(found)) and root_of(type(found)) not in sys.stdlib_module_names
        getter = self.static(type(found), "__get__") if own else MISSING
        if not isinstance(getter, types.FunctionType):
            raise self.refuse(f"{name} of {kind.__name__} is a {type(found).__name__}")
        return self.call(BoundMethod(self.pinned(found), self.pinned(getter)), (of, self.pinned(kind)), {})

    def special(self, w: Value, x: object, name: str) -> object:
        """A method that Python looks for in the class alone, such as ``__call__``."""
        kind = type(x)
        if not is_users(kind):
            raise self.refuse(f"it uses {name} of a {kind.__name__}")
        if isinstance(w, Outside) and w.path is None:
            self.stays(x, kind)
        found = self.static(kind, name)
        if found is MISSING:
            raise self.refuse(f"a {kind.__name__} has no {name}")
        return self.of_class(found, w, kind, name)
