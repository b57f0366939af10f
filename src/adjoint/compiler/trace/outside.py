"""Wrappers that replace outside objects while a function is recorded. A wrapper does nothing by itself."""

from __future__ import annotations

import types
from contextlib import suppress

from adjoint.core.types import Function, Value

MISSING: Value = object()


class Refuse(BaseException):
    """The call cannot be recorded. Nothing has happened yet, so the function can run as it is."""


class Again(BaseException):
    """The trace begins once more, knowing more. Nothing has happened yet."""


def _refuse(self: Value, *_: object, **__: object) -> object:
    raise Refuse(f"it hands a {self.what} to code that is not known")


class Closed:
    """Whatever was not sent through the door is refused."""

    __slots__ = ()
    __array_ufunc__ = None

    @property
    def what(self) -> str:
        """Its name in a refusal."""
        return type(self).__name__.lower()


_METHODS = "bool len iter next float int index complex str repr format hash eq ne lt le gt ge contains getitem setitem "
_METHODS += "call array add radd sub rsub mul rmul truediv rtruediv pow rpow neg abs enter exit reduce_ex"
for _name in _METHODS.split():
    setattr(Closed, f"__{_name}__", _refuse)


class Outside(Closed):
    """A thing from outside.

    Attributes:
        o: the thing itself, which stays as it is.
        path: where it is found among the arguments; None if it is known by its identity.
        read: what was read of it.
        over: what was written to it: attributes, or items of a dictionary.
        added: what was appended to it.
        content: of a container that was changed in other ways, all that it has now.
    """

    __slots__ = ("added", "content", "o", "over", "path", "read")

    def __init__(self, o: Value, path: str | None = None) -> None:
        self.o, self.path = o, path
        self.read: dict[Value, Value] = {}
        self.over: dict[Value, Value] = {}
        self.added: list[Value] = []
        self.content: Value = None

    @property
    def what(self) -> str:
        return type(self.o).__name__

    @property
    def changed(self) -> bool:
        """Whether anything was written to it."""
        return bool(self.over or self.added) or self.content is not None


class BoundMethod(Closed):
    """A method of something, not called yet: by its name, or the function that it is."""

    __slots__ = ("function", "of")

    def __init__(self, of: Value, function: Value) -> None:
        self.of, self.function = of, function


class DictView(Closed):
    """``keys()``, ``values()`` or ``items()`` of a dictionary from outside."""

    __slots__ = ("kind", "of")

    def __init__(self, of: Outside, kind: str) -> None:
        self.of, self.kind = of, kind


class Super(Closed):
    """The result of ``super()``."""

    __slots__ = ("kind", "of")

    def __init__(self, kind: type, of: Outside) -> None:
        self.kind, self.of = kind, of


class Unsaid(Closed):
    """The text of an error, whose words depend on Python's version or on values: a program that reads it is refused."""

    __slots__ = ()
    what = "text of an error"


class Ours(Closed):
    """A function that one of ours made of the user's, as `grad` does."""

    __slots__ = ("function",)

    def __init__(self, function: Function) -> None:
        self.function = function


class Frame:
    """A function that is followed: the function, its globals, and which of these were found already."""

    __slots__ = ("cache", "function", "space")

    def __init__(self, function: Outside, space: Outside) -> None:
        self.function, self.space = function, space
        self.cache: dict[str, Value] = {}


def lookup(kind: type, name: str) -> Value:
    """The value of a name in a class, as it stands in its dictionary."""
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return MISSING


def space_of(x: object) -> Value:
    """The dictionary of an object's attributes, if it has one; no code of its class is asked."""
    try:
        return object.__getattribute__(x, "__dict__")
    except AttributeError:
        return None


def slots_of(x: object) -> dict[str, Value]:
    """What the slots of an object hold, by their names."""
    found = {}
    for base in type(x).__mro__:
        for name, slot in vars(base).items():
            with suppress(AttributeError):
                if isinstance(slot, types.MemberDescriptorType):
                    found[name] = slot.__get__(x)
    return found


_LIBRARIES = frozenset(("numpy", "scipy", "builtins"))


def root_of(thing: object) -> str:
    """The package of a function, class or module."""
    return _ROOTS[getattr(thing, "__module__", None) or getattr(thing, "__name__", "")]


class _Roots(dict[Value, str]):
    """The packages of modules, by the modules' names; kept once they are known."""

    def __missing__(self, name: Value) -> str:
        found = self[name] = str(name).partition(".")[0]
        return found


_ROOTS = _Roots()


# The flag of classes whose attributes cannot be set: static ones, and more and more of C's others from Python 3.10 on.
_IMMUTABLE = 1 << 8


def is_fixed(kind: type) -> bool:
    """Whether a class belongs to a library, so that its attributes do not change."""
    if kind.__flags__ & _IMMUTABLE or root_of(kind) in _LIBRARIES:
        return True
    return root_of(kind) == "adjoint" and not kind.__module__.startswith("adjoint.nn")


def is_users(kind: type) -> bool:
    """Whether a class is written in Python, so that its methods can be followed."""
    return not kind.__flags__ & _IMMUTABLE and root_of(kind) not in ("numpy", "scipy", "builtins")


_FUNCTIONS = (types.FunctionType, types.WrapperDescriptorType, types.MethodDescriptorType)


def is_odd(method: Value) -> bool:
    """Whether a special method is None, or another object that is called: Python then does something else."""
    is_method = isinstance(method, _FUNCTIONS) or hasattr(type(method), "explain")
    return method is None or (callable(method) and not is_method)
