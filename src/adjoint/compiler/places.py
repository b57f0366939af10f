"""Where a function finds values besides its arguments: closure cells, globals, attributes, items of containers.

Nobody says what a function reads; but it can be found from the names in its code. Of an object, those attributes
count that are named in the code of the function, of what that calls, or of the object's class.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Container, Iterator
from dis import get_instructions
from functools import cached_property, lru_cache, partial
from types import BuiltinFunctionType, BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from adjoint.core.box import Box
from adjoint.core.op import Op
from adjoint.optim.optimizer import Optimizer
from adjoint.tape.lines import line_of_name
from adjoint.tape.reach import is_machinery
from adjoint.tape.tensor import Tensor

MISSING: Any = object()
SCALARS = (int, float, complex, bool, str, bytes, type(None))
# Python's own modules keep no state of the user's either.
LIBRARIES = sys.stdlib_module_names | {"adjoint", "numpy", "scipy", "optree"}
# What these modules do has to happen at each call, or is another thing at each call.
_OUTSIDE = frozenset(
    ("time", "random", "secrets", "uuid", "datetime", "logging", "warnings", "sys", "os", "io", "subprocess",
     "socket")
)  # fmt: skip
_WRITES_OUT = frozenset({"print", "input", "open"})
# Code that names one of these may look at attributes that it does not name.
_ANY_NAME = frozenset({"getattr", "setattr", "hasattr", "vars", "__dict__", "__getattr__", "__getattribute__"})
# Methods that are called where an object is made, and those that no program calls.
_MAKING = frozenset({"__init__", "__new__", "__post_init__"})
_NOT_ASKED = _MAKING | {"__repr__", "__str__", "__del__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__",
                        "__init_subclass__", "__set_name__", "__copy__", "__deepcopy__"}  # fmt: skip
_CONTAINERS = (list, tuple, dict, set, frozenset, deque)
# What keeps nothing: NumPy's functions have attributes, of which its signatures lead to half of Python.
_PLAIN = (*SCALARS, np.ndarray, np.generic, np.ufunc, type(np.where), Box, Op, ModuleType)


class Place:
    """Where a value is read: an item of a dictionary or a list, or the contents of a closure's cell."""

    __slots__ = ("holder", "key", "name")

    def __init__(self, holder: Any, key: Any, name: str) -> None:
        self.holder, self.key, self.name = holder, key, name

    @property
    def identity(self) -> Any:
        """What tells it apart from other places."""
        return id(self.holder), self.key

    def read(self) -> Any:
        """The value that is there now; `MISSING`, if there is none."""
        try:
            return self.holder.cell_contents if self.key is None else self.holder[self.key]
        except (KeyError, IndexError, ValueError):
            return MISSING

    def text(self, name_of: Callable[[Any], str]) -> str:
        """How the value is read in Python."""
        holder = name_of(self.holder)
        return f"{holder}.cell_contents" if self.key is None else f"{holder}[{name_of(self.key)}]"

    def write(self, value: Any) -> None:
        """Put `value` back."""
        if self.key is None:
            self.holder.cell_contents = value
        elif not isinstance(self.holder, tuple):
            self.holder[self.key] = value


class Attribute(Place):
    """An attribute that is in no dictionary of the user's to write: one of a class, or in a slot."""

    __slots__ = ()

    def read(self) -> Any:
        return getattr(self.holder, self.key, MISSING)

    def text(self, name_of: Callable[[Any], str]) -> str:
        return f"{name_of(self.holder)}.{self.key}"

    def write(self, value: Any) -> None:
        setattr(self.holder, self.key, value)


class Places:
    """All places that `function` may read when it is called with `args`.

    Attributes:
        arrays: places of NumPy arrays.
        floats: places of floats that are known to change.
        generators: places of the user's where there are generators of random numbers.
        expected: the other places, and what is there.
        containers: lists, dictionaries and sets that it may look through.
        refusal: why calls can not be recorded; empty if they can.
    """

    def __init__(self, function: Any, args: Any, changing: Container[Any] = ()) -> None:
        self._changing = changing
        self._names: set[str] = set()  # what counts of objects and classes: more, with each method that counts
        self._walk(function, args)
        while not self._met <= self._names:
            self._names |= self._met
            self._walk(function, args)

    def _walk(self, function: Any, args: Any) -> None:
        self.arrays: list[Place] = []
        self.floats: list[Place] = []
        self.generators: list[Place] = []
        self.expected: list[tuple[Place, Any]] = []
        self.containers: list[Any] = []
        self.refusal = ""
        self._met: set[str] = set()
        seen: set[int] = set()
        stack: list[Any] = [function, args]
        while stack:
            thing = stack.pop()
            if id(thing) in seen or isinstance(thing, _PLAIN):
                continue
            seen.add(id(thing))
            for place in self._of(thing):
                value = place.read()
                if isinstance(value, np.ndarray) and value.dtype.kind in "fciub":
                    self.arrays.append(place)
                elif type(value) is float and place.identity in self._changing:
                    self.floats.append(place)
                elif isinstance(value, np.random.Generator) and not type(thing).__module__.startswith("adjoint."):
                    self.generators.append(place)
                    self.expected.append((place, value))
                elif value is not MISSING and not (isinstance(thing, _Settings) and type(value) is float):
                    self.expected.append((place, value))
                    group = isinstance(value, dict) and isinstance(thing, _Groups)
                    stack.append(_Settings(value) if group else value)

    def _of(self, thing: Any) -> Iterator[Place]:
        """The places that `thing` gives to read."""
        if isinstance(thing, _Settings):
            yield from (Place(thing.group, key, f"{key}") for key in thing.group)
        elif isinstance(thing, _Groups):
            self.containers.append(thing.groups)
            yield from (Place(thing.groups, i, "a group of parameters") for i in range(len(thing.groups)))
        elif isinstance(thing, Optimizer):
            yield from _fixed(_Groups(thing.param_groups))
        elif isinstance(thing, FunctionType):
            yield from self._of_function(thing)
        elif isinstance(thing, MethodType):
            yield from _fixed(thing.__self__, thing.__func__)
        elif isinstance(thing, BuiltinFunctionType | BuiltinMethodType):
            self._refuse_outside(thing)
        elif isinstance(thing, partial):
            yield from _fixed(thing.func, thing.args, thing.keywords)
        elif isinstance(thing, _CONTAINERS):
            yield from self._contained(thing)
        elif is_machinery(type(thing)):
            yield from _fixed(getattr(thing, "__wrapped__", None))  # of a compiled function, the function
        elif isinstance(thing, type):
            yield from self._of_class(thing)
        else:
            yield from self._of_object(thing)

    def _contained(self, thing: Any) -> Iterator[Place]:
        if not isinstance(thing, tuple | frozenset):
            self.containers.append(thing)
        if isinstance(thing, dict):
            yield from (Place(thing, key, f"[{key!r}]") for key in thing)
        elif isinstance(thing, list | tuple | deque):
            yield from (Place(thing, i, f"[{i}]") for i in range(len(thing)))

    def _of_object(self, thing: Any) -> Iterator[Place]:
        kind = type(thing)
        self._refuse_outside(kind)
        if hasattr(kind, "__next__"):
            self._refuse(f"it uses a {kind.__name__}, which gives something else at each call")
        own = getattr(thing, "__dict__", {})
        slots = [s for base in kind.__mro__ for s in _names_in(getattr(base, "__slots__", ()))]
        bases = [base for base in kind.__mro__ if not is_library(base)]
        if not own and not slots and not bases:
            return
        named = self._named(kind)
        what = kind.__name__
        yield from (Place(own, key, f"{what}.{key}") for key, value in own.items() if named(key, value))
        yield from (Attribute(thing, key, f"{what}.{key}") for key in slots if named(key, getattr(thing, key, None)))
        common = {key for base in bases for key, value in vars(base).items() if _is_value(key, value)}
        yield from (Attribute(thing, key, f"{what}.{key}") for key in common - own.keys() if self._counts(key))
        yield from _fixed(*bases)

    def _of_class(self, kind: type) -> Iterator[Place]:
        """What is common to the objects of a user's class: its methods, and values."""
        self._refuse_outside(kind)
        if is_library(kind):
            return
        inside = _names_inside(kind)
        made = _MAKING if kind.__name__ in self._names else frozenset()
        for key, function in _functions(kind):
            acts = key[:2] == "__" and key not in _NOT_ASKED
            if acts or key in made or key in inside or self._counts(key):
                yield from _fixed(function)
        for key, value in vars(kind).items():
            if (_is_value(key, value) or callable(value)) and key[:2] != "__" and self._counts(key):
                yield Attribute(kind, key, f"{kind.__name__}.{key}")

    def _counts(self, name: str) -> bool:
        return name in self._names or not _ANY_NAME.isdisjoint(self._names)

    def _named(self, kind: type) -> Callable[[str, Any], bool]:
        """Whether an attribute of objects of this class may be read, by its name and value."""
        inside = _names_inside(kind)
        through_all = not _ANY_NAME.isdisjoint(inside)  # as a module's, which look for modules and parameters

        def named(key: str, value: Any) -> bool:
            return self._counts(key) or key in inside or (through_all and not _is_data(value))

        return named

    def _of_function(self, function: FunctionType) -> Iterator[Place]:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            yield Place(cell, None, name)
        yield from _fixed(function.__defaults__, function.__kwdefaults__)
        if is_library(function):  # which has nothing of the user's but what it was given
            return
        self._met |= _names_of(function.__code__)
        for code in _codes(function.__code__):
            if out := _WRITES_OUT & set(code.co_names):
                called = f"{function.__qualname__} calls {', '.join(sorted(out))}"
                self._refuse(f"{called}, which has to happen at each call ({line_of_name(code, out)})")
            spaces = [function.__globals__]
            for space in spaces:
                own = space is function.__globals__
                for name in _globals_of(code) if own else code.co_names:
                    if name in space and name[0] != "@":  # such are a tool's
                        yield Place(space, name, name)
                        inner = space[name]
                        self._refuse_outside(inner, code, name)
                        if isinstance(inner, ModuleType) and not is_library(inner) and vars(inner) not in spaces:
                            spaces.append(vars(inner))

    def _refuse_outside(self, thing: Any, code: CodeType | None = None, said: str = "") -> None:
        """Refuse the clock, Python's own random numbers, files and loggers; `code` calls it what was `said`."""
        owner = getattr(thing, "__self__", thing)
        owner = owner if isinstance(owner, ModuleType | type) else type(owner) if owner is not thing else thing
        name = owner.__name__ if isinstance(owner, ModuleType) else f"{getattr(owner, '__module__', '')}"
        if name.split(".")[0].lstrip("_") in _OUTSIDE:
            line = f" ({line_of_name(code, (said,))})" if code is not None else ""
            self._refuse(f"it uses {name}, which has to happen at each call{line}")

    def _refuse(self, why: str) -> None:
        self.refusal = self.refusal or why


class _Settings:
    """The settings of one group of an optimiser's parameters. Real ones are state, which may change."""

    def __init__(self, group: dict[str, Any]) -> None:
        self.group = group


class _Groups:
    """An optimiser's groups."""

    def __init__(self, groups: list[dict[str, Any]]) -> None:
        self.groups = groups


def _fixed(*things: Any) -> Iterator[Place]:
    """Things that are where they are for good."""
    yield from (Place(things, i, type(thing).__name__) for i, thing in enumerate(things))


def is_library(thing: Any) -> bool:
    """Whether a function, class or module is of a library that keeps no state of the user's."""
    name = thing.__name__ if isinstance(thing, ModuleType) else f"{thing.__module__}"
    return name.split(".")[0] in LIBRARIES


def _functions(kind: type) -> Iterator[tuple[str, FunctionType]]:
    """The functions that a class has, by name: methods, and those behind properties and the like."""
    for key, value in vars(kind).items():
        inner = getattr(value, "__func__", None) or (value.func if isinstance(value, cached_property) else value)
        inner = (
            inner if isinstance(inner, FunctionType | type) else getattr(inner, "__wrapped__", None)
        )  # a compiled one
        several = (value.fget, value.fset, value.fdel) if isinstance(value, property) else (inner,)
        yield from ((key, f) for f in several if isinstance(f, FunctionType))


def _names_inside(kind: type) -> set[str]:
    """The names that the libraries' classes below a class use, as `nn.Module` does ``forward`` and ``training``."""
    return {
        name
        for base in kind.__mro__[:-1]
        if is_library(base)
        for _, f in _functions(base)
        for name in _names_of(f.__code__)
    }


def _codes(code: CodeType) -> Iterator[CodeType]:
    """`code`, and that of functions inside."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


@lru_cache(4096)
def _globals_of(code: CodeType) -> tuple[str, ...]:
    """The global names that code uses; its other names are of attributes."""
    loads = (step.argval for step in get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    return tuple(dict.fromkeys(loads))


@lru_cache(4096)
def _names_of(code: CodeType) -> frozenset[str]:
    """Names that code uses, and texts in it, which may be names of attributes."""
    found: set[str] = set()
    for inner in _codes(code):
        found.update(inner.co_names, (const for const in inner.co_consts if isinstance(const, str)))
    return frozenset(found)


def _names_in(slots: Any) -> list[str]:
    names = [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _is_value(key: str, value: Any) -> bool:
    """Whether what a class has under a name is a value, and nothing that acts when it is asked for."""
    return key[:2] != "__" and isinstance(value, SCALARS + _CONTAINERS + (np.ndarray, Tensor))


def _is_data(value: Any) -> bool:
    """Whether a value is a number, or a container of numbers."""
    if isinstance(value, dict):
        return all(isinstance(x, SCALARS) for x in value.values())
    if isinstance(value, list | tuple | set | frozenset | deque):
        return all(isinstance(x, SCALARS) for x in value)
    return isinstance(value, SCALARS)
