"""What the door does where a function reads: names, attributes, and things from outside as they are met."""

from __future__ import annotations

import builtins
import enum
import functools
import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Container
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.compiler.trace.guards import PLAIN, AttributePlace, CellPlace, Guards, Place
from adjoint.compiler.trace.outside import (
    MISSING,
    Closed,
    DictView,
    Frame,
    Method,
    Outside,
    Refuse,
    Super,
    is_fixed,
    is_users,
    lookup,
    root_of,
)
from adjoint.core.box import Box
from adjoint.core.op import Op
from adjoint.core.registry import Composite
from adjoint.graph.drawing import DRAWS, Drawing
from adjoint.graph.symbol import Number, Symbol, symbol_of
from adjoint.optim.optimizer import Optimizer
from adjoint.tape.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.compiler.trace.inputs import Inputs

CONTAINERS = (list, dict, set, deque, OrderedDict, defaultdict)
CALLABLES = (types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType, np.ufunc, Op, Composite,
             types.MethodDescriptorType, types.WrapperDescriptorType, type(np.where))  # fmt: skip
_LIBRARIES = frozenset(("numpy", "adjoint", "scipy", "math", "cmath", "operator", "functools", "itertools"))
_FOREIGN = frozenset(
    ("register_hook", "tofile", "dump", "dumps", "resize", "ctypes", "setflags", "flags", "base", "data_ptr",
     "__array_interface__", "__array_struct__", "__dlpack__", "byteswap", "newbyteorder", "getfield", "setfield")
)  # fmt: skip
_NAMES = ("__name__", "__qualname__", "__module__", "__doc__")


def fields_of(value: Any) -> Any:
    """The class of a named tuple."""
    return type(value)


class GivenPlace(Place):
    """A thing among the arguments, by the expression for it."""

    __slots__ = ()

    def text(self, name_of: Any) -> str:
        return str(self.key)

    @property
    def identity(self) -> Any:
        return "given", self.key


class Reads:
    """Names and attributes.

    Attributes:
        guards, inputs: what was read, as conditions, and as inputs of the program.
        memo: what stands for each thing from outside, by its identity.
        varying: the identities of places of numbers that change, and are inputs.
    """

    guards: Guards
    inputs: Inputs
    memo: dict[int, Any]
    varying: Container[Any]
    leaf_of: dict[str, int]
    ours: bool  # whether one of our functions is followed

    def refuse(self, why: str) -> Refuse:
        """The exception to raise, which goes through whatever the function catches."""
        raise NotImplementedError

    def genuine(self, error: Exception) -> Exception:
        """An exception that the plain function gets too."""
        raise NotImplementedError

    def call(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError

    # -- Things from outside --------------------------------------------------------------------------

    def pinned(self, thing: Any) -> Any:
        """What stands for a thing that is known by its identity, which is guarded already or can not change."""
        found = self.memo.get(id(thing))
        if found is None:
            found = self.memo[id(thing)] = Outside(thing)
        return found

    def take(self, value: Any, place: Place) -> Any:
        """What stands for a value from outside; what it is, is guarded."""
        kind = type(value)
        if kind in PLAIN or isinstance(value, np.dtype | np.generic):
            return self._plain(value, place)
        if kind is np.ndarray:
            if value.dtype.kind in "SU":
                self.guards.equal(place, np.array(value))
                return np.array(value)
            return self.inputs.array(value, place)
        if isinstance(value, Tensor):
            return self.inputs.tensor(value, place)
        if kind is np.random.Generator:
            return self.inputs.generator(value, place)
        if isinstance(value, Box | np.ndarray):
            raise self.refuse(f"{place.name} is a {kind.__name__}")
        if isinstance(value, tuple):
            return self._tuple(value, place)
        if kind is slice or kind is frozenset:
            self.guards.equal(place, value)
            return value
        if kind is types.MethodType:
            self.guards.at(place, value)
            return Method(self.take(value.__self__, AttributePlace(value, "__self__")), self.pinned(value.__func__))
        known = self.memo.get(id(value))
        if isinstance(known, Outside) and known.path is not None:
            path = known.path
            self.guards.text(("given", place.identity), lambda name_of: f"{place.text(name_of)} is {path}")
            return known
        self.guards.at(place, value)
        if kind is types.BuiltinFunctionType and isinstance(value.__self__, (np.random.Generator, *CONTAINERS)):
            of = self.take(value.__self__, AttributePlace(value, "__self__"))
            return Method(of, value.__name__)
        return self.pinned(value)

    def _plain(self, value: Any, place: Place) -> Any:
        if value is None or type(value) is bool or value is Ellipsis or value is NotImplemented:
            self.guards.at(place, value)
            return value
        number = type(value) in (int, float, complex) or (isinstance(value, np.generic) and value.dtype.kind in "fciu")
        if number and place.identity in self.varying and not (type(value) is int and abs(value) >= 1 << 31):
            return self.inputs.number(value, place)
        if isinstance(value, np.generic) and value.dtype.kind not in "fciubSUmM":
            raise self.refuse(f"{place.name} is a {type(value).__name__}")
        self.guards.equal(place, value)
        return value

    def _tuple(self, value: Any, place: Place) -> Any:
        if type(value) is not tuple and not hasattr(value, "_fields"):
            raise self.refuse(f"{place.name} is a {type(value).__name__}")
        self.guards.equal(place, value)
        kind: Any = type(value)
        parts = [self.take(x, Place(value, i)) for i, x in enumerate(value)]
        return tuple(parts) if kind is tuple else kind._make(parts)

    def given(self, value: Any, path: str) -> Any:
        """What stands for a part of the arguments, which the expression `path` reads."""
        k = self.leaf_of.get(path)
        if k is not None:
            box = self.inputs.arguments.boxed[k]
            if box is not value or type(value) in PLAIN or isinstance(value, np.generic | np.dtype):
                return box
            return self.take(value, GivenPlace(None, path))
        if value is None:
            return None
        if isinstance(value, tuple):
            fields = getattr(value, "_fields", None)
            parts = [
                self.given(x, f"{path}[{i}]" if fields is None else f"{path}.{fields[i]}") for i, x in enumerate(value)
            ]
            return tuple(parts) if fields is None else fields_of(value)._make(parts)
        known = self.memo.get(id(value))
        if known is None:
            known = self.memo[id(value)] = Outside(value, path)
        elif known.path is None:
            self.guards.text(("given", path), lambda name_of: f"{path} is {name_of(value)}")
        elif known.path != path:
            first = known.path
            self.guards.text(("given", path), lambda name_of: f"{path} is {first}")
        return known

    # -- Names ----------------------------------------------------------------------------------------

    def glob(self, frame: Frame, name: str) -> Any:
        """A global name, or a built-in one."""
        if name in frame.space.over:
            return frame.space.over[name]
        if name not in frame.cache:
            space = frame.space.o
            if self.ours:
                frame.cache[name] = self._of_ours(space, name)
            elif name in space:
                frame.cache[name] = self.take(space[name], Place(space, name))
            else:
                self.guards.has(space, name, False)
                found = getattr(builtins, name, MISSING)
                if found is MISSING:
                    raise self.genuine(NameError(f"name {name!r} is not defined"))
                space = vars(builtins)
                frame.cache[name] = self.take(found, Place(space, name))
        return frame.cache[name]

    def _of_ours(self, space: dict[str, Any], name: str) -> Any:
        """A name in one of our own modules, which nobody changes."""
        found = space[name] if name in space else getattr(builtins, name)
        return found if type(found) in PLAIN else self.pinned(found)

    def free(self, frame: Frame, name: str) -> Any:
        """A variable of the function around."""
        cell = self.cell(frame, name)
        if "" in cell.over:
            return cell.over[""]
        if "" not in cell.read:
            try:
                value = cell.o.cell_contents
            except ValueError:
                raise self.refuse(f"{name} has no value yet") from None
            cell.read[""] = self.pinned(value) if name == "__class__" else self.take(value, CellPlace(cell.o, name))
        return cell.read[""]

    def cell(self, frame: Frame, name: str) -> Outside:
        """The closure's cell of a variable."""
        function = frame.function.o
        found: Outside = self.pinned(function.__closure__[function.__code__.co_freevars.index(name)])
        return found

    def module(self, name: str, whole: bool) -> Any:
        """What ``import name`` gives, of a module that was imported already."""
        found = sys.modules.get(name)
        if found is None:
            raise self.refuse(f"it imports {name}")
        key = name if whole else name.partition(".")[0]
        return self.take(sys.modules[key], Place(sys.modules, key))

    # -- Attributes -----------------------------------------------------------------------------------

    def attr(self, o: Any, name: str) -> Any:
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
                return Method(o, name)
            raise self.refuse(f"it uses {name} of a generator of random numbers")
        if kind is Method and name in ("__self__", "__func__") and not isinstance(o.function, str):
            return o.of if name == "__self__" else o.function
        if isinstance(o, DictView) or kind is Method:
            return self._missing(o, name) if name not in _NAMES else self._text_of(o, name)
        if isinstance(o, Closed):
            raise self.refuse(f"it uses {name} of a {o.what}")
        if self.is_made(o):
            return self.instance(o, o, name)
        return self._native(o, name)

    def _missing(self, o: Any, name: str) -> Any:
        raise self.refuse(f"it uses {name} of a {type(o).__name__.lower()}")

    def _text_of(self, o: Any, name: str) -> Any:
        if isinstance(o, Method) and isinstance(o.function, Outside):
            return self.attr(o.function, name)
        return self._missing(o, name)

    def is_made(self, o: Any) -> bool:
        """Whether it is an object of a user's class that was made while recording."""
        raise NotImplementedError

    def _native(self, o: Any, name: str) -> Any:
        """Of a plain thing that was made inside."""
        if name in _FOREIGN:
            raise self.refuse(f"it uses {name} of a {type(o).__name__}")
        try:
            value = getattr(o, name)
        except AttributeError as error:
            raise self.genuine(error) from None
        if name == "__class__":
            return self.pinned(value)
        return Method(o, name) if callable(value) and not isinstance(o, types.FunctionType) else value

    def _of_box(self, o: Any, name: str) -> Any:
        kind: Any = type(o.value) if type(o) in (Symbol, Number) else type(o)
        if not hasattr(kind, name):
            raise self.genuine(AttributeError(f"{kind.__name__!r} object has no attribute {name!r}"))
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
        return Method(o, name) if callable(value) and not isinstance(value, Box) else value

    def _of_super(self, o: Super, name: str) -> Any:
        live = o.of.o if isinstance(o.of, Outside) else o.of
        kinds = type(live).__mro__
        for base in kinds[kinds.index(o.kind) + 1 :]:
            if name in vars(base):
                value = vars(base)[name]
                if not is_fixed(base):
                    self.guards.text(
                        ("super", base, name),
                        lambda name_of, base=base, value=value: f"{name_of(vars(base))}[{name!r}] is {name_of(value)}",  # type: ignore[misc]  # bound at once
                    )
                return self.of_class(value, o.of, type(live), name)
            if not is_fixed(base):
                self.guards.class_grows(base)
        raise self.genuine(AttributeError(f"'super' object has no attribute {name!r}"))

    def _of_outside(self, o: Outside, name: str) -> Any:
        x = o.o
        if isinstance(x, types.ModuleType):
            return self._of_module(x, name)
        if isinstance(x, type):
            return self._of_class(o, name)
        if isinstance(x, types.FunctionType):
            return self._of_function(o, name)
        if isinstance(x, Optimizer) and is_fixed(type(x)):
            return self._of_optimizer(o, name)
        if type(x) in CONTAINERS or isinstance(x, CALLABLES):
            return self._library(o, name)
        if hasattr(type(x), "explain") and root_of(type(x)) == "adjoint":  # a compiled function
            own = MISSING if name in ("function", "options") or name[0] == "_" else self.get(self.pinned(vars(x)), name)
            return self.attr(self.pinned(x.function), name) if own is MISSING else own
        if isinstance(x, functools.partial) and name in ("func", "args", "keywords"):
            return self.take(getattr(x, name), AttributePlace(x, name))
        if isinstance(x, enum.Enum) and name in ("name", "value"):
            return self.take(getattr(x, name), AttributePlace(x, name))
        return self.instance(o, x, name)

    def _library(self, o: Outside, name: str) -> Any:
        try:
            value = getattr(o.o, name)
        except AttributeError as error:
            raise self.genuine(error) from None
        if name == "__class__":
            return self.pinned(value)
        return value if type(value) in PLAIN else Method(o, name)

    def _of_module(self, x: types.ModuleType, name: str) -> Any:
        root = x.__name__.partition(".")[0]
        if root in _LIBRARIES:
            value = getattr(x, name, MISSING)
            if value is MISSING:
                raise self.genuine(AttributeError(f"module {x.__name__!r} has no attribute {name!r}"))
            if isinstance(value, types.ModuleType):
                return self.pinned(value)
            place = Place(vars(x), name) if name in vars(x) else AttributePlace(x, name)
            return value if type(value) in PLAIN else self.take(value, place)
        space = vars(x)
        if name in space:
            return self.get(self.pinned(space), name)
        if "__getattr__" in space:
            raise self.refuse(f"the module {x.__name__} makes {name} when it is asked for")
        self.guards.has(space, name, False)
        raise self.genuine(AttributeError(f"module {x.__name__!r} has no attribute {name!r}"))

    def _of_function(self, o: Outside, name: str) -> Any:
        x = o.o
        if name in _NAMES:
            return self.take(getattr(x, name), AttributePlace(x, name))
        if name in ("__code__", "__closure__", "__globals__", "__dict__", "__defaults__", "__kwdefaults__"):
            raise self.refuse(f"it uses {name} of a function")
        found = self.get(self.pinned(x.__dict__), name)
        if found is MISSING:
            if hasattr(x, name):
                raise self.refuse(f"it uses {name} of a function")
            raise self.genuine(AttributeError(f"'function' object has no attribute {name!r}"))
        return found

    def _of_class(self, o: Outside, name: str) -> Any:
        x = o.o
        if name in ("__name__", "__qualname__", "__module__"):
            return self.take(getattr(x, name), AttributePlace(x, name))
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

    def _of_optimizer(self, o: Outside, name: str) -> Any:
        shadow = self.inputs.optimizer(o.o, self.take)
        if name.startswith("_") or not hasattr(shadow, name):
            raise self.refuse(f"it uses {name} of an optimiser")
        if name in vars(shadow):
            return vars(shadow)[name]
        value = lookup(type(shadow), name)
        if isinstance(value, property):
            return getattr(shadow, name)
        if name not in ("step", "zero_grad"):
            raise self.refuse(f"it uses {name} of an optimiser")
        return Method(o, name)

    def static(self, kind: type, name: str) -> Any:
        """What a class has under a name; guarded, if it may change."""
        return lookup(kind, name) if is_fixed(kind) else self.guards.attribute(kind, name)

    def of_class(self, value: Any, of: Any, kind: type, name: str) -> Any:
        """What an attribute of a class gives: of an object of it, or (None) of the class itself."""
        if isinstance(value, types.FunctionType):
            return self.pinned(value) if of is None else Method(of, self.pinned(value))
        if isinstance(value, staticmethod):
            return self.pinned(value.__func__)
        if isinstance(value, classmethod):
            return Method(self.pinned(kind), self.pinned(value.__func__))
        if isinstance(value, CALLABLES) and not isinstance(
            value, types.MethodDescriptorType | types.WrapperDescriptorType
        ):
            return self.pinned(value)
        if hasattr(value, "function") and root_of(type(value)) == "adjoint" and hasattr(value, "explain"):
            inner = self.pinned(value.function)  # a compiled method: part of this recording
            return inner if of is None else Method(of, inner)
        if isinstance(value, types.WrapperDescriptorType | types.MethodDescriptorType):
            return Method(of, self.pinned(value))
        if hasattr(type(value), "__get__"):
            raise self.refuse(f"{name} is a {type(value).__name__} in a class")
        for base in kind.__mro__:
            if name in vars(base):
                return self.take(value, Place(vars(base), name))
        raise self.refuse(f"{name} of a class")

    def special(self, w: Any, x: Any, name: str) -> Any:
        """A method that Python looks for in the class alone, such as ``__call__``."""
        kind = type(x)
        if not is_users(kind):
            raise self.refuse(f"it uses {name} of a {kind.__name__}")
        if isinstance(w, Outside) and w.path is None:
            self._stays(x, kind)
        found = self.static(kind, name)
        if found is MISSING:
            raise self.genuine(TypeError(f"{kind.__name__!r} object has no {name}"))
        return self.of_class(found, w, kind, name)

    def instance(self, w: Any, x: Any, name: str) -> Any:
        """An attribute of an object of a class that is written in Python."""
        kind = type(x)
        plain = kind is types.SimpleNamespace
        if not plain and not is_users(kind):
            raise self.refuse(f"it uses {name} of a {kind.__name__}")
        if not plain and lookup(kind, "__getattribute__") is not object.__getattribute__:
            raise self.refuse(f"{kind.__name__} has a __getattribute__ of its own")
        if name == "__class__":
            return self.pinned(kind)
        outside = isinstance(w, Outside)
        if outside and w.path is None:
            self._stays(x, kind)
        found = MISSING if plain else self.static(kind, name)
        written = MISSING if plain else self._written_class(kind, name)
        if isinstance(found, property):
            return self.call(self.pinned(found.fget), (w,), {})
        if isinstance(found, types.MemberDescriptorType):
            return self._slot(w, x, name)
        if found is not MISSING and hasattr(type(found), "__set__") and name != "__dict__":
            raise self.refuse(f"{name} of {kind.__name__} is a {type(found).__name__}")
        space = getattr(x, "__dict__", None)
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
            self.setattr(w, name, value)
            return value
        if found is not MISSING:
            return self.of_class(found, w, kind, name)
        otherwise = MISSING if plain else self.static(kind, "__getattr__")
        if otherwise is not MISSING:
            return self.call(self.pinned(otherwise), (w, name), {})
        raise self.genuine(AttributeError(f"{kind.__name__!r} object has no attribute {name!r}"))

    def _written_class(self, kind: type, name: str) -> Any:
        """What the function has set as an attribute of a class."""
        for base in kind.__mro__:
            known = self.memo.get(id(base))
            if isinstance(known, Outside) and name in known.over:
                value = known.over[name]
                if isinstance(value, types.FunctionType | Method) or (isinstance(value, Outside) and callable(value.o)):
                    raise self.refuse(f"it sets {name} of a class to a function")
                return value
            if name in vars(base):
                break
        return MISSING

    def _stays(self, x: Any, kind: type) -> None:
        """Its class and its attributes' dictionary stay the same ones."""
        if root_of(kind) == "adjoint":
            return
        self.guards.text(("class", id(x)), lambda name_of: f"type({name_of(x)}) is {name_of(kind)}")
        space = getattr(x, "__dict__", None)
        if space is not None:
            self.guards.text(("space", id(x)), lambda name_of: f"{name_of(x)}.__dict__ is {name_of(space)}")

    def _own(self, w: Any, x: Any, space: dict[str, Any], name: str) -> Any:
        if not isinstance(w, Outside):
            return space.get(name, MISSING)
        if w.path is None:
            return self.get(self.pinned(space), name)
        if name in w.over:
            return w.over[name]
        if name not in space:
            path = w.path
            self.guards.text(("own", path, name), lambda name_of: f"{name!r} not in {path}.__dict__")
            return MISSING
        if name not in w.read:
            w.read[name] = self.given(space[name], f"{w.path}.{name}")
        return w.read[name]

    def _slot(self, w: Any, x: Any, name: str) -> Any:
        if not isinstance(w, Outside):
            try:
                return getattr(x, name)
            except AttributeError as error:
                raise self.genuine(error) from None
        if name in w.over:
            return w.over[name]
        if name not in w.read:
            if not hasattr(x, name):
                raise self.refuse(f"{name} of a {type(x).__name__} has no value yet")
            path = w.path
            value = getattr(x, name)
            w.read[name] = (
                self.take(value, AttributePlace(x, name)) if path is None else self.given(value, f"{path}.{name}")
            )
        return w.read[name]

    # -- Of the other parts of the door ---------------------------------------------------------------

    def get(self, o: Outside, key: Any) -> Any:
        """An item of a dictionary from outside; MISSING, if it has none."""
        raise NotImplementedError

    def setattr(self, o: Any, name: str, value: Any) -> None:
        raise NotImplementedError
