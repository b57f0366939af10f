"""The twins of functions under one policy: made when they are first met, and kept as long as their functions live."""

from __future__ import annotations

import cmath
import functools
import math
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import RLock
from types import CellType, CodeType, FunctionType, MethodType

import numpy as np

from adjoint.core.box import Box
from adjoint.core.types import Array, Function, Value
from adjoint.twin import instances, natives, standins
from adjoint.twin.facts import Facts
from adjoint.twin.hooks import PolicyHooks
from adjoint.twin.known import KnownNames
from adjoint.twin.lists import Given
from adjoint.twin.names import PREFIX, SourceSpan
from adjoint.twin.policy import SAMPLES, Follows, Patterns, forgets, is_scipys, package
from adjoint.twin.rewrite import Rewriter
from adjoint.twin.source import NoTwinError, build, classes_beside, deeply, find
from adjoint.twin.standins import scientific

Depends = tuple[tuple[Mapping[str, Value], str, Value], ...]

# Where stand-ins come from, which are not resolved again.
_HERE = "adjoint.twin."
# How deep in calls of calls it is looked for what needs a twin; beyond, one is made.
_DEEPEST = 8
# Codes that were rewritten, with those inside of them, by id: never to be rewritten again, and kept for that.
_ours: dict[int, CodeType] = {}


@dataclass
class _Rewritten:
    """What rewriting a code gave: the new one, or None where the function is as good as its twin.

    `always` is False where it is as good but for arguments that are lists of tensors.
    """

    original: CodeType
    new: CodeType | None = None
    always: bool = True
    constants: Mapping[str, object] = field(default_factory=dict)
    stored: frozenset[SourceSpan] = frozenset()
    depends: Depends = ()
    why: str | None = None


class Twins:
    """Twins of functions of the packages that a set of patterns names."""

    def __init__(self, names: Patterns) -> None:
        self.follows = Follows(names)
        self.indexes = SAMPLES in names
        self.facts = Facts(self.follows)
        self._lock = RLock()
        self._codes: dict[int, _Rewritten] = {}
        self._functions: dict[int, tuple[Value, CodeType, Function]] = {}
        #: Classes whose objects are called as they are.
        self.inert: set[type] = set()
        self._special: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()
        self._cells: dict[str, CellType] = {}
        self._constants: dict[int, tuple[Value, CellType]] = {}
        self._open: list[CodeType] = []
        self._gives = Given()
        self._hooks = PolicyHooks(self)
        self._cells |= {f"{PREFIX}{name}": CellType(hook) for name, hook in self._hooks.table().items()}
        self.facts.refreshed()

    def refresh(self) -> None:
        """Look at what was imported since; forget twins that were made without knowing it."""
        if self.facts.refreshed():
            self.forget()

    def forget(self) -> None:
        """Make all twins anew when they are next needed."""
        with self._lock:
            self._codes.clear()
            self._gives = Given()
            self._constants.clear()
            self._functions.clear()
            self._special.clear()
            self.inert.clear()
            self._hooks.forget()

    # -- From a callable to what is called instead ----------------------------------------------------------

    def resolve(self, f: Value) -> Value:
        """What is called in place of `f`: its twin, a stand-in, or `f` itself."""
        cls = type(f)
        if cls is FunctionType:
            known = self._functions.get(id(f))
            if known is not None and known[1] is f.__code__:
                return known[2]
            return self._function(f)
        if cls is MethodType:
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
        if found is f and not self.special(cls) and package(cls.__module__) not in _WITH_STAND_INS:
            self.inert.add(cls)
        return found

    def of_module(self, f: Value) -> Value:
        """The same for `f` of a module that the user passed on, which is NumPy nearly always."""
        held = self._constants.get(id(f)) if type(f) in _OF_NUMPY else None
        return self.resolve(f) if held is None else held[1].cell_contents or f

    def _stand_in(self, f: Value) -> Value:
        make = standins.maker(f)
        found = standins.find(f) if make is None else make(self.resolve)
        if natives.concerns(f, self.facts.methods, self.facts.attributes):
            return natives.native(f, f if found is None else found, self._hooks, self.method)
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
        if isinstance(inner := getattr(f, "py_func", None), FunctionType):  # a function that is compiled elsewhere
            return self.resolve(inner)
        if (method := self.method(cls, "__call__")) is not None:
            return MethodType(method, f)
        return f

    def _uncached(self, f: Value) -> Function:
        """A function with a cache: tensors are no keys, so with them it is computed."""
        twin = self.resolve(f.__wrapped__)

        @functools.wraps(f)
        def call(*args: Value, **kwargs: Value) -> Value:
            return twin(*args, **kwargs) if standins.live((args, kwargs)) else f(*args, **kwargs)

        return call

    def _class(self, cls: type) -> Function:
        if self.special(cls):
            made = instances.maker(cls, self.resolve)
            return cls if made is None else made
        found = self._stand_in(cls)
        return cls if found is None else found

    def special(self, cls: type) -> bool:
        """Whether code of a followed class may run where an object of `cls` is used."""
        known = self._special.get(cls)
        if known is None:
            known = self._special[cls] = not issubclass(cls, Box | type) and any(
                self.follows[base.__module__] for base in cls.__mro__[:-1]
            )
        return known

    def method(self, cls: type, name: str) -> Function | None:
        """The twin of a method of a followed class; None if there is none that is written in Python."""
        if not self.special(cls):
            return None
        found = getattr(cls, name, None)
        return self.resolve(found) if isinstance(found, FunctionType) else None

    # -- Functions ------------------------------------------------------------------------------------------

    def _function(self, f: FunctionType) -> Function:
        twin: Function = f
        if id(f.__code__) not in _ours and not str(f.__globals__.get("__name__")).startswith(_HERE):
            found = self._stand_in(f)
            if found is not None:
                twin = found
            elif is_scipys(f):
                twin = scientific.followed(f, lambda: self._made(f))
            elif self.follows[f.__globals__.get("__name__")]:
                twin = self._made(f)
            elif hasattr(f, "registry") and hasattr(f, "dispatch"):
                twin = self._dispatched(f)
            else:
                twin = self._wrapping(f)
        key = id(f)
        self._functions[key] = (weakref.ref(f, forgets(self._functions, key)), f.__code__, twin)
        return twin

    def _made(self, f: FunctionType) -> Function:
        code = self._code(f)
        if code.new is None:
            return f
        own = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        cells = tuple(own[name] if name in own else self._cell(name, code) for name in code.new.co_freevars)
        twin = FunctionType(code.new, f.__globals__, f.__name__, f.__defaults__, cells)
        twin.__kwdefaults__, twin.__qualname__ = f.__kwdefaults__, f.__qualname__
        twin.__module__, twin.__doc__ = f.__module__, f.__doc__
        twin.__dict__ = f.__dict__  # the same one: what is set on either shows on both
        return twin

    def _cell(self, name: str, code: _Rewritten) -> CellType:
        if name in self._cells:
            return self._cells[name]
        original = code.constants[name]
        known = self._constants.get(id(original))
        if known is None:
            known = self._constants[id(original)] = original, CellType(self._stand_in(original))
        return known[1]

    def _code(self, f: FunctionType) -> _Rewritten:
        code = f.__code__
        known = self._codes.get(id(code))
        if known is None:
            with self._lock:
                depth = len(self._open)
                try:
                    self._open.append(code)
                    known = deeply(lambda: self._rewritten(f))
                except NoTwinError as error:
                    known = _Rewritten(code, why=str(error))
                finally:
                    del self._open[depth:]
                self._codes[id(code)] = known
        return known

    def _rewritten(self, f: FunctionType) -> _Rewritten:
        self.facts.see_file(classes_beside(f))
        found = find(f)
        work = Rewriter(found, f.__globals__, self.facts, self)
        work.rewritten()
        depends: list[tuple[Mapping[str, object], str, object]] = []
        depends += [(f.__globals__, name, value) for name, value in work.depends.items()]
        for value in work.depends.values():
            if isinstance(value, FunctionType) and id(value.__code__) in self._codes:
                depends += self._codes[id(value.__code__)].depends
        if not work.needs and not work.needs_for_lists:
            return _Rewritten(f.__code__, depends=tuple(depends))
        new = build(found, sorted({*(f"{PREFIX}{name}" for name in work.hooks), *work.constants}))
        todo = [new]
        while todo:
            inner = todo.pop()
            _ours[id(inner)] = inner
            todo += [below for below in inner.co_consts if isinstance(below, CodeType)]
        return _Rewritten(f.__code__, new, work.needs, work.constants, frozenset(work.stored), tuple(depends))

    def _wrapping(self, f: FunctionType) -> Function:
        """A wrapper that some other library made around a function that is followed: the same around its twin."""
        cells = [c.cell_contents if _filled(c) else None for c in f.__closure__ or ()]
        twins = [self.resolve(x) if isinstance(x, FunctionType) and x is not f else x for x in cells]
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
        code = self._codes.get(id(f.__code__)) if self.resolve(f) is not f else None
        return None if code is None or code.new is None else code.stored

    def made(self, f: object) -> bool:
        """Whether `f` is a twin already."""
        return isinstance(f, FunctionType) and id(f.__code__) in _ours

    def is_known(self, f: FunctionType) -> bool:
        """Whether the code of `f` alone decides what is called in its place."""
        return id(f.__code__) in self._codes and self._stand_in(f) is None

    def twin_of(self, f: FunctionType) -> Function:
        """The twin of a function whose code was rewritten before."""
        return self._made(f)

    # -- What the rewriter asks -----------------------------------------------------------------------------

    def stands(self, original: object) -> bool:
        """Whether something else is called in place of `original`, which is no code of a followed package."""
        known = standins.find(original) is not None or standins.maker(original) is not None
        return known or natives.concerns(original, self.facts.methods, self.facts.attributes)

    def needed(self, original: object) -> bool:
        """Whether `original` itself would not do with tensors."""
        return standins.needed(original) or natives.concerns(original, self.facts.methods, self.facts.attributes)

    def gives(self, f: FunctionType) -> int:
        """How deep the lists are that a followed function gives; 0 if it gives none."""
        if is_scipys(f) or not self.follows[f.__globals__.get("__name__")]:
            return 0
        return self._gives.of(f.__code__, lambda: KnownNames(find(f), f.__globals__, self.facts, self).gives)

    def method_matters(self, name: str) -> bool:
        """Whether a method of that name of an array, a tensor, a random generator or a string has a stand-in."""
        known = name in _names() or name in standins.OTHER_METHODS
        return known or standins.array_method(name) is not None or standins.box_method(name) is not None

    def attribute_matters(self, name: str) -> bool:
        """Whether an attribute of that name of a tensor has a stand-in."""
        return standins.box_attribute(name) is not None

    def matters(self, value: object, with_lists: bool = False) -> bool:
        """Whether `value` has to be called through its twin; `with_lists`, if it is given lists of tensors."""
        if isinstance(value, FunctionType):
            if id(value.__code__) in _ours:
                return False
            if not self.follows[value.__globals__.get("__name__")]:
                return self.needed(value) or self._wrapping(value) is not value
            if is_scipys(value):
                return True
            if value.__code__ in self._open:
                return value.__code__ is not self._open[-1]
            if len(self._open) > _DEEPEST:
                return True
            code = self._code(value)
            return code.new is not None and (code.always or with_lists)
        if isinstance(value, type) and self.special(value):
            return any(
                isinstance(f, FunctionType) and (f.__code__.co_filename == "<string>" or self.matters(f, with_lists))
                for f in (getattr(value, name, None) for name in ("__init__", "__new__", "__post_init__"))
            )
        if isinstance(value, functools.partial):
            return self.matters(value.func, with_lists)
        if isinstance(value, functools._lru_cache_wrapper):
            return True  # numbers hash by value: what was kept for a number must not be given for a tensor
        if isinstance(value, np.vectorize) or hasattr(value, "py_func"):
            return True
        return self.needed(value) or self.method(type(value), "__call__") is not None

    def why(self, f: object) -> str | None:
        """Why there is no twin of the function `f`; None if there is one, or none is needed."""
        known = self._codes.get(id(getattr(f, "__code__", None)))
        return None if known is None else known.why

    def depends(self, f: Function) -> Depends:
        """The global names by which `f` needs no twin, and their values; also those of the functions that it calls."""
        known = self._codes.get(id(getattr(f, "__code__", None)))
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


# The classes of NumPy's functions, of which there is a fixed number.
_OF_NUMPY = frozenset((type(np.sum), np.ufunc))
# Packages some of whose objects have stand-ins of their own.
_WITH_STAND_INS = frozenset({"numpy", "scipy", "builtins", "functools", "operator", "statistics", "random"})


def _filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - an empty cell raises
    except ValueError:
        return False
    return True
