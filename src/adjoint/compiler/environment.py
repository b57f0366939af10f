"""What a function depends on besides its arguments: closure cells, globals, attributes, contents of containers.

A recording holds as long as these are what they were. Whoever reads them says so here, once, when a function is
recorded; at each call the few values that were found are compared. NumPy arrays are not compared: they are read
afresh, as inputs of the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from adjoint.core.box import Box
from adjoint.core.op import Op
from adjoint.optim.optimizer import Optimizer
from adjoint.tape.reach import is_machinery
from adjoint.tape.tensor import Tensor

MISSING: Any = object()
_LIBRARIES = ("adjoint", "numpy", "scipy", "builtins", "optree", "math", "functools", "itertools")
_SCALARS = (int, float, complex, bool, str, bytes, type(None))
_WRITES_OUT = frozenset({"print", "input", "open"})


class Place:
    """Where a value is read: an item of a dictionary or a list, or the contents of a closure's cell."""

    __slots__ = ("holder", "key", "name")

    def __init__(self, holder: Any, key: Any, name: str) -> None:
        self.holder, self.key, self.name = holder, key, name

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


class Environment:
    """The places that a function reads, and what was there.

    Attributes:
        arrays: the places of NumPy arrays, which a program reads at each call.
        refusal: why the function can not be recorded; empty if it can.
    """

    def __init__(self, function: Any, args: Any) -> None:
        self.arrays: list[Place] = []
        self.refusal = ""
        self._expected: list[tuple[Place, Any]] = []
        self._lengths: list[tuple[Any, int]] = []
        self._containers: list[Any] = []
        self._seen: set[int] = set()
        self._walk(function, args)
        self._copies = [(c, type(c)(c)) for c in self._containers]
        self._values = [np.array(place.read()) for place in self.arrays]

    def holds(self) -> bool:
        """Whether everything is as it was."""
        for place, value in self._expected:
            now = place.read()
            if now is not value and (type(now) is not type(value) or not _equal(now, value)):
                return False
        return all(len(container) == count for container, count in self._lengths)

    def conditions(self, name_of: Callable[[Any], str]) -> Iterator[str]:
        """What has to be true in Python for this to hold; it may hold although it is not."""
        for place, value in self._expected:
            if not isinstance(place.holder, tuple):
                yield f"{place.text(name_of)} is {name_of(value)}"
        yield from (f"len({name_of(container)}) == {count}" for container, count in self._lengths)

    def changed(self) -> str:
        """What the function itself changed, of that which is compared; empty if nothing."""
        for place, value in self._expected:
            now = place.read()
            if now is not value and (type(now) is not type(value) or not _equal(now, value)):
                return place.name
        for container, count in self._lengths:
            if len(container) != count:
                return f"a {type(container).__name__}"
        for place, before in zip(self.arrays, self._values, strict=True):
            now = place.read()
            if not isinstance(now, Box) and (not isinstance(now, np.ndarray) or now.tobytes() != before.tobytes()):
                return place.name
        return ""

    def restore(self) -> None:
        """Put everything back, after a recording that came to nothing."""
        for place, value in self._expected:
            if place.read() is not value:
                place.write(value)
        for container, copy in self._copies:
            if isinstance(container, list):
                container[:] = copy
            elif isinstance(container, dict):
                if container.keys() != copy.keys() or any(container[k] is not v for k, v in copy.items()):
                    container.clear()
                    container.update(copy)
            else:
                container.clear()
                container.update(copy)
        for place, before in zip(self.arrays, self._values, strict=True):
            now = place.read()
            if isinstance(now, np.ndarray) and now.flags.writeable and now.tobytes() != before.tobytes():
                now[...] = before

    def _walk(self, function: Any, args: Any) -> None:
        stack: list[Any] = [function, args]
        while stack:
            thing = stack.pop()
            if id(thing) in self._seen or isinstance(thing, (*_SCALARS, np.ndarray, np.generic, Box, Op, ModuleType)):
                continue
            self._seen.add(id(thing))
            for place in self._places(thing):
                value = place.read()
                if isinstance(value, np.ndarray) and value.dtype.kind in "fciub":
                    self.arrays.append(place)
                elif value is not MISSING and not (isinstance(thing, _Settings) and type(value) is float):
                    self._expected.append((place, value))
                    stack.append(_Settings(value) if self._is_group(thing, value) else value)

    def _is_group(self, thing: Any, value: Any) -> bool:
        return isinstance(value, dict) and isinstance(thing, _Groups)

    def _places(self, thing: Any) -> Iterator[Place]:
        """The places that `thing` gives to read."""
        if isinstance(thing, _Settings):
            yield from (Place(thing.group, key, f"{key}") for key in thing.group)
        elif isinstance(thing, _Groups):
            yield from (Place(thing.groups, i, "a group of parameters") for i in range(len(thing.groups)))
        elif isinstance(thing, Optimizer):
            yield from _Listed(_Groups(thing.param_groups)).places()
        elif isinstance(thing, FunctionType):
            yield from self._of_function(thing)
        elif isinstance(thing, MethodType):
            yield from _Listed(thing.__self__, thing.__func__).places()
        elif isinstance(thing, partial):
            yield from _Listed(thing.func, thing.args, thing.keywords).places()
        elif isinstance(thing, dict):
            self._contained(thing)
            yield from (Place(thing, key, f"[{key!r}]") for key in thing)
        elif isinstance(thing, list | tuple):
            if isinstance(thing, list):
                self._contained(thing)
            yield from (Place(thing, i, f"[{i}]") for i in range(len(thing)))
        elif isinstance(thing, set):
            self._contained(thing)
        elif is_machinery(type(thing)):
            yield from _Listed(getattr(thing, "__wrapped__", None)).places()  # of a compiled function, the function
        elif hasattr(thing, "__dict__") and not isinstance(thing, type | BuiltinFunctionType):
            yield from (Place(vars(thing), key, f"{type(thing).__name__}.{key}") for key in vars(thing))
            yield from _Listed(*_methods(type(thing))).places()

    def _contained(self, thing: Any) -> None:
        self._lengths.append((thing, len(thing)))
        self._containers.append(thing)

    def _of_function(self, function: FunctionType) -> Iterator[Place]:
        if f"{function.__module__}".split(".")[0] in _LIBRARIES:
            return
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            yield Place(cell, None, name)
        yield from _Listed(function.__defaults__, function.__kwdefaults__).places()
        codes = [function.__code__]
        for code in codes:
            if out := _WRITES_OUT & set(code.co_names):
                self.refusal = (
                    f"{function.__qualname__} calls {', '.join(sorted(out))}, which has to happen at each call"
                )
            spaces = [function.__globals__]
            for space in spaces:
                for name in code.co_names:
                    if name in space and name[0] != "@":  # such are a tool's
                        yield Place(space, name, name)
                        inner = space[name]
                        if isinstance(inner, ModuleType) and inner.__name__.split(".")[0] not in _LIBRARIES:
                            spaces += [vars(inner)] if vars(inner) not in spaces else []
            codes += (const for const in code.co_consts if isinstance(const, CodeType))


class _Settings:
    """The settings of one group of an optimiser's parameters. Real ones are state, which may change."""

    def __init__(self, group: dict[str, Any]) -> None:
        self.group = group


class _Groups:
    """An optimiser's groups."""

    def __init__(self, groups: list[dict[str, Any]]) -> None:
        self.groups = groups


class _Listed:
    """Things that are where they are for good, as places."""

    def __init__(self, *things: Any) -> None:
        self.things = things

    def places(self) -> Iterator[Place]:
        yield from (Place(self.things, i, f"{thing!r:.40}") for i, thing in enumerate(self.things))


def _methods(kind: type) -> Iterator[FunctionType]:
    """The methods of a user's class."""
    for base in kind.__mro__[:-1]:
        if base.__module__.split(".")[0] not in _LIBRARIES:
            yield from (value for value in vars(base).values() if isinstance(value, FunctionType))


def _equal(a: Any, b: Any) -> bool:
    """Whether two values of one type mean the same to a program: only plain ones can."""
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, _SCALARS):
        return bool(a == b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(
            x is y or (type(x) is type(y) and _equal(x, y)) for x, y in zip(a, b, strict=True)
        )
    return isinstance(a, Tensor) and a is b
