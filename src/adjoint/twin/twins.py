"""The twins of functions under one policy: made when they are first met, and kept as long as their functions live.

A twin holds what its function holds: its globals and its closure, which may lead back to the function. So only twins of
functions that a module has are kept. Others would keep their own functions alive: their twins are made again, from the
code that was rewritten, unless they are in use.
"""

from __future__ import annotations

import cmath
import functools
import math
import weakref
from collections.abc import Iterable
from types import CellType, CodeType, FunctionType, MethodType

import numpy as np

from adjoint.core.box import Box
from adjoint.core.objects.looking import looked_up
from adjoint.core.threads.weak import WeakIds
from adjoint.core.types import Array, Function, Value
from adjoint.twin import standins
from adjoint.twin.codes import OURS, Codes, Depends, Rewritten
from adjoint.twin.policy import SAMPLES, Follows, Patterns, forgets, is_modules, is_scipys, package
from adjoint.twin.runtime import containers, copying, instances, natives
from adjoint.twin.runtime.fresh import LATEST, in_call
from adjoint.twin.runtime.hooks import PolicyHooks
from adjoint.twin.standins.of_scipy import scientific
from adjoint.twin.subclasses.base import users
from adjoint.twin.subclasses.classes import NUMPYS_NEW, TwinClasses
from adjoint.twin.syntax.facts import Facts
from adjoint.twin.syntax.known import KnownNames
from adjoint.twin.syntax.lists import Given
from adjoint.twin.syntax.names import PREFIX, SourceSpan
from adjoint.twin.syntax.source import find, has_defaults_of, is_filled

# Where stand-ins come from, which are not resolved again.
_HERE = "adjoint.twin."
# How many levels of calls are searched for code that needs a twin; at deeper levels, a twin is always made.
_DEEPEST = 8


class Twins:
    """Twins of functions of the packages that a set of patterns names."""

    def __init__(self, names: Patterns) -> None:
        self.follows = Follows(names)
        self.indexes = SAMPLES in names
        self.facts = Facts(self.follows)
        self._codes = Codes(self.facts, self)
        self._functions: dict[int, tuple[Value, CodeType, Function | None]] = {}
        self._in_use: WeakIds[FunctionType, tuple[CodeType, weakref.ref[Function]]] = WeakIds()
        #: Classes whose objects are called as they are.
        self.inert: set[type] = set()
        self._special: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()
        self._cells: dict[str, CellType] = {}
        self._constants: dict[int, tuple[Value, CellType]] = {}
        self._gives = Given()
        #: The twin classes of classes of arrays.
        self.classes = TwinClasses(self.resolve, self.special, self.followed)
        self._hooks = PolicyHooks(self)
        self._cells |= {f"{PREFIX}{name}": CellType(hook) for name, hook in self._hooks.table().items()}
        self.facts.refreshed()

    def refresh(self) -> None:
        """Look at what was imported since; forget twins that were made without knowing it."""
        if self.facts.refreshed():
            self.forget()

    def forget(self) -> None:
        """Make all twins anew when they are next needed."""
        with self._codes.lock:
            self._codes.clear()
            self._in_use.clear()
            self._gives = Given()
            self._constants.clear()
            self._functions.clear()
            self._special.clear()
            self.inert.clear()
            self._hooks.forget()
            self.classes.forget()

    # -- From a callable to what is called instead ----------------------------------------------------------

    def resolve(self, f: Value) -> Value:
        """Return what is called in place of `f`: its twin, a stand-in, or `f` itself."""
        cls = type(f)
        if cls is FunctionType:
            known = self._functions.get(id(f))
            if known is not None and known[1] is f.__code__ and has_defaults_of(f, known[2]):
                return known[2] or f
            return f if f.__code__ in OURS else self._kept(f) if is_modules(f) else self._passed(f)
        if cls is MethodType:
            of_python = isinstance(f.__func__, FunctionType)
            if of_python and is_scipys(f.__func__) and (method := standins.method_of_scipys(f)) is not None:
                return method
            twin = self.resolve(f.__func__)
            return f if twin is f.__func__ else MethodType(twin, f.__self__)
        if isinstance(f, type):
            return self._class(f)
        if cls in self.inert:
            return f
        if cls in _OF_NUMPY:
            held = self._constants.get(id(f))
            if held is not None:
                return f if held[1].cell_contents is None else held[1].cell_contents
        found = self._stand_in(f)
        if cls in _OF_NUMPY and (cls is not np.ufunc or getattr(np, f.__name__, None) is f):  # others may be made anew
            self._constants[id(f)] = f, CellType(found)
        if found is not None:
            return found
        found = self._object(f, cls)
        lone = package(cls.__module__) not in _WITH_STAND_INS and not scientific.module_of(f)
        if found is f and lone and not self.special(cls):
            self.inert.add(cls)
        return found

    def of_module(self, f: Value) -> Value:
        """The same for `f` of a module that the user passed on, which is NumPy nearly always."""
        held = self._constants.get(id(f)) if type(f) in _OF_NUMPY else None
        return self.resolve(f) if held is None else held[1].cell_contents or f

    def _stand_in(self, f: Value) -> Value:
        if f is type.__call__:
            return instances.type_call(self.resolve)
        if f is NUMPYS_NEW:
            return self.classes.new
        make = standins.maker(f)
        found = standins.find(f) if make is None else standins.named_as(f, make(self.resolve))
        if natives.concerns(f, self.facts.methods, self.facts.attributes):
            return standins.named_as(f, natives.native(f, f if found is None else found, self._hooks, self.method))
        if copying.concerns(f, self.facts.methods):
            return copying.copying(f, found or f, self.resolve, self.method)
        return found

    def _object(self, f: Value, cls: type) -> Value:
        """A callable that is neither a function nor a class."""
        if cls is functools.partial:
            twin = self.resolve(f.func)
            return f if twin is f.func else functools.partial(twin, *f.args, **f.keywords)
        if cls is functools._lru_cache_wrapper:
            return self._uncached(f)
        if cls is np.vectorize:
            make = standins.maker(np.vectorize)
            return (
                f
                if make is None
                else make(self.resolve)(f.pyfunc, f.otypes, f.__doc__, f.excluded, f.cache, f.signature)
            )
        if isinstance(inner := looked_up(f, "py_func"), FunctionType):  # a function that is compiled elsewhere
            return self.resolve(inner)
        if (method := self.method(cls, "__call__")) is not None:
            return MethodType(method, f)
        return f

    def _uncached(self, f: Value) -> Function:
        """A function with a cache. Tensors cannot be keys, so for tensors the function is computed."""
        twin = self.resolve(f.__wrapped__)

        @functools.wraps(f)
        def call(*args: Value, **kwargs: Value) -> Value:
            return twin(*args, **kwargs) if standins.live((args, kwargs)) else f(*args, **kwargs)

        return call

    def _class(self, cls: type) -> Function:
        if self.classes.concerns(users(cls)):
            return self.classes.maker(users(cls))
        scipys = package(cls.__module__) == "scipy"
        found = self._stand_in(cls) if scipys or not self.special(cls) else None
        if found is None and self.special(cls):
            made = instances.maker(cls, self.resolve)
            found = scientific.followed(cls, lambda: made) if scipys and made is not None else made
        return cls if found is None else found

    def special(self, cls: type) -> bool:
        """Whether code of a followed class may run where an object of `cls` is used."""
        known = self._special.get(cls)
        if known is None:
            known = self._special[cls] = not issubclass(cls, Box | type) and any(
                self.follows.cls(base) for base in cls.__mro__[:-1]
            )
        return known

    def method(self, cls: type, name: str) -> Function | None:
        """The twin of a method of a followed class; None if there is none that is written in Python."""
        if not self.special(cls):
            return None
        found = getattr(cls, name, None)
        return self.resolve(found) if isinstance(found, FunctionType) else None

    # -- Functions ------------------------------------------------------------------------------------------

    def _kept(self, f: FunctionType) -> Value:
        """The twin of a function that a module has, which is kept; not `f` itself, which would keep itself alive."""
        twin, key = self._function(f), id(f)
        kept = None if twin is f else twin
        self._functions[key] = (weakref.ref(f, forgets(self._functions, key)), f.__code__, kept)
        return twin

    def _passed(self, f: FunctionType) -> Value:
        """The twin of a function that was made in another one: the same one as long as somebody has it."""
        known = self._in_use.get(f)
        found = None if known is None or known[0] is not f.__code__ else known[1]()
        if found is not None and has_defaults_of(f, found):
            return found
        twin = self._function(f)
        if twin is not f and isinstance(twin, FunctionType):
            self._in_use[f] = f.__code__, weakref.ref(twin)
            if in_call() is not None:
                LATEST.append(twin)
        return twin

    def _function(self, f: FunctionType) -> Value:
        code = self._codes.known(f)
        if code is not None and code.alone:
            return self._made(f)
        home = f.__globals__.get("__name__")
        if str(home).startswith(_HERE):
            return f
        if (found := self._stand_in(f)) is not None:
            return found
        if is_scipys(f):
            return scientific.followed(f, lambda: self._made(f))
        if self.follows.function(f):
            self._codes.of(f).alone = True
            return self._made(f)
        if hasattr(f, "registry") and hasattr(f, "dispatch"):
            return self._dispatched(f)
        return self._wrapping(f)

    def followed(self, f: FunctionType) -> Function:
        """The twin of `f`, whosever code it is."""
        return self._made(f)

    def _made(self, f: FunctionType) -> Function:
        code = self._codes.of(f)
        if code.new is None:
            return f
        own = f.__closure__ or ()
        if code.cells is None:
            free = f.__code__.co_freevars
            code.cells = [free.index(name) if name in free else self._cell(name, code) for name in code.new.co_freevars]
        cells = tuple([own[cell] if isinstance(cell, int) else cell for cell in code.cells])
        twin = FunctionType(code.new, f.__globals__, f.__name__, f.__defaults__, cells)
        twin.__kwdefaults__, twin.__qualname__ = f.__kwdefaults__, f.__qualname__
        twin.__module__, twin.__doc__ = f.__module__, f.__doc__
        twin.__dict__ = f.__dict__  # the same one: what is set on either shows on both
        return twin

    def _cell(self, name: str, code: Rewritten) -> CellType:
        if name in self._cells:
            return self._cells[name]
        original = code.constants[name]
        known = self._constants.get(id(original))
        if known is None:
            known = self._constants[id(original)] = original, CellType(self._stand_in(original))
        return known[1]

    def _wrapping(self, f: FunctionType) -> Function:
        """A wrapper that some other library made around a function that is followed: the same around its twin."""
        cells = [c.cell_contents if is_filled(c) else None for c in f.__closure__ or ()]
        twins = [self.resolve(x) if isinstance(x, _FUNCTIONS) and x is not f else x for x in cells]
        if all(a is b for a, b in zip(cells, twins, strict=True)):
            return f
        closure = tuple(
            old if a is b else CellType(b) for old, a, b in zip(f.__closure__ or (), cells, twins, strict=True)
        )
        twin = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, closure)
        twin.__kwdefaults__ = f.__kwdefaults__
        twin.__dict__ = f.__dict__  # the same one: what is set on either shows on both
        return twin

    def _dispatched(self, f: Value) -> Function:
        """A generic function, which chooses by the type that a tensor stands for."""
        kind = standins.find(type) or type

        @functools.wraps(f)
        def call(first: Array, *args: Value, **kwargs: Value) -> Array:
            return self.resolve(f.dispatch(kind(first)))(first, *args, **kwargs)

        return call

    def stored(self, f: FunctionType) -> frozenset[SourceSpan] | None:
        """Where the twin of `f` makes arrays that hold histories; None if there is none, or it is a stand-in."""
        code = self._codes.known(f) if self.resolve(f) is not f else None
        return None if code is None or code.new is None else code.stored

    def made(self, f: object) -> bool:
        """Whether `f` is a twin already."""
        return isinstance(f, FunctionType) and f.__code__ in OURS

    def is_known(self, f: FunctionType) -> bool:
        """Whether the code of `f` alone decides what is called in its place."""
        return self._codes.known(f) is not None and self._stand_in(f) is None

    def twin_of(self, f: FunctionType) -> Function:
        """The twin of a function whose code was rewritten before."""
        return self._made(f)

    # -- What the rewriter asks -----------------------------------------------------------------------------

    def stands(self, original: object) -> bool:
        """Whether something else is called in place of `original`, which is no code of a followed package."""
        known = standins.find(original) is not None or standins.maker(original) is not None or original is NUMPYS_NEW
        return known or natives.concerns(original, self.facts.methods, self.facts.attributes)

    def needed(self, original: object) -> bool:
        """Whether `original` itself would not do with tensors."""
        return (
            standins.needed(original)
            or original is NUMPYS_NEW
            or natives.concerns(original, self.facts.methods, self.facts.attributes)
        )

    def gives(self, f: FunctionType) -> int:
        """How deep the lists are that a followed function gives; 0 if it gives none."""
        if is_scipys(f) or not self.follows.function(f):
            return 0
        return self._gives.of(f.__code__, lambda: KnownNames(find(f), f.__globals__, self.facts, self).gives)

    def method_matters(self, name: str) -> bool:
        """Whether a method of that name of an array, a tensor, a random generator or a string has a stand-in."""
        known = name in _names() or name in standins.OTHER_METHODS
        known = known or (name in containers.RUNNING and self.runs(containers.RUNNING[name]))
        return known or standins.array_method(name) is not None or standins.box_method(name) is not None

    def runs(self, names: Iterable[str]) -> bool:
        """Whether a method of one of these names of a followed class would not do with tensors."""
        return self.facts.runs(names, self.matters)

    def attribute_matters(self, name: str) -> bool:
        """Whether an attribute of that name of a tensor has a stand-in."""
        return standins.box_attribute(name) is not None

    def matters(self, value: object, with_lists: bool = False) -> bool:
        """Whether `value` has to be called through its twin; `with_lists`, if it is given lists of tensors."""
        if isinstance(value, FunctionType):
            if value.__code__ in OURS:
                return False
            if not self.follows.function(value):
                return self.needed(value) or self._wrapping(value) is not value
            if is_scipys(value):
                return True
            if value.__code__ in (asked := self._codes.asked):
                return value.__code__ is not asked[-1]
            if len(asked) > _DEEPEST:
                return True
            code = self._codes.of(value)
            return code.new is not None and (code.always or with_lists)
        if isinstance(value, type) and self.special(value):
            if self.classes.concerns(value) or issubclass(value, instances.NUMBERS):
                return True
            steps = [type(value).__call__, *(getattr(value, name, None) for name in instances.STEPS)]
            return any(
                isinstance(f, FunctionType) and (f.__code__.co_filename == "<string>" or self.matters(f, with_lists))
                for f in steps
            )
        if isinstance(value, functools.partial):
            return self.matters(value.func, with_lists)
        if isinstance(value, functools._lru_cache_wrapper):
            return True  # numbers hash by value: what was kept for a number must not be given for a tensor
        if isinstance(value, np.vectorize) or looked_up(value, "py_func") is not None:
            return True
        return self.needed(value) or self.method(type(value), "__call__") is not None

    def why(self, f: object) -> str | None:
        """Why there is no twin of the function `f`; None if there is one, or none is needed."""
        known = self._codes.known(f)
        return None if known is None else known.why

    def depends(self, f: Function) -> Depends:
        """The global names by which `f` needs no twin, and their values; also those of the functions that it calls."""
        known = self._codes.known(f)
        return () if known is None else known.depends


@functools.cache
def _names() -> frozenset[str]:
    """What programs call of a module that they were given: `xp.array(...)`, `self.math.log(...)`."""
    found = {
        name
        for module in (np, np.emath, math, cmath)
        for name, value in list(vars(module).items())
        if callable(value) and standins.needed(value)
    }
    return frozenset({*found, "zeros", "ones", "empty", "eye"} - set(dir(np.ndarray)))


# What a wrapper may be around.
_FUNCTIONS = (FunctionType, MethodType, functools.partial)
# The classes of NumPy's functions, of which there is a fixed number.
_OF_NUMPY = frozenset((type(np.sum), np.ufunc))
# Packages some of whose objects have stand-ins of their own.
_WITH_STAND_INS = frozenset({"numpy", "scipy", "builtins", "functools", "operator", "statistics", "random"})
