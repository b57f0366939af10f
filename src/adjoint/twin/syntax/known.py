"""Facts about a function before it runs: the meaning of its global names, and which have stand-ins."""

from __future__ import annotations

import ast
import builtins
import collections
import sys
from collections.abc import Mapping
from types import FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Protocol

import numpy as np

from adjoint.core.objects.looking import looked_up
from adjoint.core.types import Value
from adjoint.twin.syntax.facts import Facts
from adjoint.twin.syntax.lists import Lists
from adjoint.twin.syntax.names import MISSING, PREFIX, EveryName, Texts, bound, bound_once, imports, imports_unknown
from adjoint.twin.syntax.source import FunctionSyntax
from adjoint.twin.syntax.trees import walk

_READING = frozenset(
    {"len", "range", "print", "zip", "enumerate", "reversed", "isinstance", "type", "id", "repr", "str", "iter"}
    | {"min", "max", "sum", "abs"}
)

#: Functions that look at what they are given, or keep it, and call nothing.
_LOOKING = (
    getattr,
    hasattr,
    setattr,
    delattr,
    id,
    hash,
    callable,
    isinstance,
    issubclass,
    repr,
    print,
    vars,
    dir,
    type,
    str,
    list,
    tuple,
    dict,
    set,
    frozenset,
    zip,
    enumerate,
    reversed,
    collections.deque,
    SimpleNamespace,
    np.array,
    np.asarray,
)

#: Modules whose functions call what they are given, without a stand-in that looks for the twin.
_CALLING = frozenset({"asyncio", "atexit", "bisect", "concurrent", "contextlib", "heapq", "multiprocessing", "signal"})
_CALLING |= {"threading", "timeit", "weakref"}
_NOT_CALLING = (sys.stdlib_module_names | {"numpy"}) - _CALLING


class Standing(Protocol):
    """What the rewriter asks of the stand-ins, and of the functions that a function calls.

    With `indexes`, plain arrays and lists may be indexed by what differs between samples.
    """

    indexes: bool

    def stands(self, original: object) -> bool:
        """Whether something else is called in place of `original`."""

    def needed(self, original: object) -> bool:
        """Whether `original` itself would not do with tensors."""

    def matters(self, value: object, with_lists: bool = False) -> bool:
        """Whether `value` has to be called through its twin; `with_lists`, if it is given lists of tensors."""

    def gives(self, f: FunctionType) -> int:
        """How deep the lists are that a followed function gives; 0 if it gives none."""

    def method_matters(self, name: str) -> bool:
        """Whether a method of that name of an array, a number or a tensor has a stand-in."""

    def attribute_matters(self, name: str) -> bool:
        """Whether an attribute of that name of a tensor has a stand-in."""


class KnownNames:
    """What the names of one function stand for.

    `constants` are the objects that it calls by stand-ins, by the names of their cells; `depends` are the global and
    imported names that decided anything: where they are looked up, and what they were.
    """

    def __init__(self, found: FunctionSyntax, scope: Mapping[str, Value], facts: Facts, standing: Standing) -> None:
        self.scope, self.facts, self.standing = scope, facts, standing
        self.constants: dict[str, Value] = {}
        self.depends: dict[str, tuple[Mapping[str, Value], str, Value]] = {}
        node = found.node
        self._imported = imports(node)
        self._local = bound(node) - self._imported.keys() | set(found.code.co_freevars)
        for name, value in bound_once(node).items():
            if isinstance(module := self.resolve(value), ModuleType):  # special = scipy.special
                self._imported[name] = {name: module}, name
                self._local.discard(name)
        self._lists, self._texts = Lists(node, self.resolve, standing.gives), Texts(node)
        for inner in walk(node):
            if isinstance(inner, ast.Attribute) and isinstance(cls := self.resolve(inner), type):
                facts.see_class(cls)  # of another package, reached through its module
        blind = imports_unknown(node)
        self._methods = EveryName() if blind else facts.methods
        self._attributes = EveryName() if blind else facts.attributes

    def resolve(self, node: ast.expr) -> Value:
        """The object that an expression stands for, if it is a global name or an attribute of a module."""
        if isinstance(node, ast.Name):
            if node.id in self._imported:
                scope, name = self._imported[node.id]
                return scope.get(name, MISSING)
            if node.id in self._local:
                return MISSING
            found = self.scope.get(node.id, MISSING)
            return getattr(builtins, node.id, MISSING) if found is MISSING else found
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value)
            if isinstance(base, ModuleType) and not self.facts.follows[base.__name__]:
                return getattr(base, node.attr, MISSING)
            return looked_up(base, node.attr, MISSING) if isinstance(base, ModuleType | type) else MISSING
        return MISSING

    def _depend(self, name: str, value: object) -> None:
        """Note that a name, which is no local variable, decides something by what it stands for."""
        self.depends[name] = (*self._imported.get(name, (self.scope, name)), value)

    def _fixed(self, node: ast.expr) -> bool:
        """Whether an expression can be resolved once: a builtin, or an attribute of a module that is not followed."""
        first = node
        while isinstance(first, ast.Attribute):
            first = first.value
        if not isinstance(first, ast.Name) or first.id in self._local:
            return False
        value = self.resolve(first)
        if first is node and first.id in self._imported:
            if isinstance(value, type):
                return not self.facts.follows.cls(value)
            return not self.facts.follows[getattr(value, "__module__", None)]
        if first is node:
            if first.id in self.scope or value is MISSING:
                return False
            self._depend(first.id, None)  # no global has this name
            return True
        return isinstance(value, ModuleType) and not self.facts.follows[value.__name__]

    def _stand_in(self, node: ast.expr) -> tuple[ast.expr, Value]:
        """`node` with its longest part that has a stand-in replaced by it, and the original."""
        if not self._fixed(node):
            return node, MISSING
        rest: list[ast.Attribute] = []
        part = node
        while True:
            value = self.resolve(part)
            if value is not MISSING and not isinstance(value, ModuleType) and self.standing.stands(value):
                break
            if not isinstance(part, ast.Attribute):
                return node, MISSING
            rest.append(part)
            part = part.value
        name = next((n for n, o in self.constants.items() if o is value), f"{PREFIX}{len(self.constants) + 1}")
        self.constants[name] = value
        result: ast.expr = ast.copy_location(ast.Name(name, ast.Load()), part)
        for attribute in reversed(rest):
            result = ast.copy_location(ast.Attribute(result, attribute.attr, ast.Load()), attribute)
        return result, value

    @property
    def gives(self) -> int:
        """How deep the lists are that the function gives."""
        return self._lists.result

    def _only_reads(self, call: ast.Call) -> bool:
        """Whether a call does not write into its arguments or keep them: NumPy's functions and some builtins."""
        if isinstance(call.func, ast.Name) and call.func.id in _READING:
            return True
        value = self.resolve(call.func)
        module = getattr(value, "__module__", None) or ""
        return value is not MISSING and module.split(".")[0] in ("numpy", "math", "scipy", "_operator", "adjoint")

    def _goes_outside(self, func: ast.expr) -> bool:
        """Whether a call goes to code that is not followed: functions among its arguments must be twins already."""
        value = self.resolve(func)
        if any(value is looks for looks in _LOOKING):
            return False
        if isinstance(value, type):
            return not self.facts.follows.cls(value)
        return value is not MISSING and not self._is_followed(value)

    def _keeps_objects(self, func: ast.expr) -> bool:
        """Whether a call may look into an object that can be called, or keep it: then its twin would not do.

        ``list(o)``, ``copy.copy(o)``. Those of these functions that call it have stand-ins, which look for the twin.
        """
        value = self.resolve(func)
        module = getattr(value, "__module__", None) or type(value).__module__
        return module.partition(".")[0] in _NOT_CALLING

    def _is_followed(self, value: object) -> bool:
        """Whether `value` is a function or class of a followed module, reached by way of one that is not."""
        if isinstance(value, type):
            return self.facts.follows.cls(value)
        if isinstance(value, MethodType):  # Polynomial.fit
            value = value.__func__
        return isinstance(value, FunctionType) and self.facts.follows.function(value)

    def _runs(self, *names: str) -> bool:
        """Whether a class that is followed has a method of one of these names which would not do with tensors."""
        return isinstance(self._methods, EveryName) or self.facts.runs(names, self.standing.matters)

    def _defined(self, name: str) -> bool:
        name = name.rstrip("_")
        return any(n in self._methods for n in (f"__{name}__", f"__r{name}__", "__array_ufunc__"))
