"""Making an instance of a followed class: the steps of its metaclass, with the twins of the methods that take part."""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable
from types import FunctionType

from adjoint.core.box import Box
from adjoint.core.types import Function, Value
from adjoint.twin.runtime.fresh import fresh

#: The methods of a class that take part when an instance is made.
STEPS = ("__init__", "__new__", "__post_init__")
#: Python's classes whose objects are one plain value.
NUMBERS = (float, int, complex, str)
Twin = Callable[[FunctionType], Callable[..., Value]]


def maker(cls: type, twin: Twin) -> Function | None:
    """A function that makes instances of `cls` with the twins of its methods; None if `cls` itself makes them."""
    begin: Value = type(cls).__call__
    if begin is type.__call__:
        return steps(cls, twin)
    if begin is enum.EnumType.__call__ and isinstance(missing := _missing(cls), FunctionType):
        return _member(cls, twin(missing))
    first = twin(begin) if isinstance(begin, FunctionType) else begin
    return None if first is begin else functools.partial(first, cls)  # a metaclass that makes instances itself


def _missing(cls: Value) -> object:
    found = getattr(getattr(cls, "_missing_", None), "__func__", None)
    return None if getattr(found, "__module__", None) == "enum" else found


def _member(cls: Value, missing: Function) -> Function:
    """What is called in the place of a class of `enum`: a value of no member goes to the twin of ``_missing_``."""

    def member(value: Value, *names: object, **kwargs: object) -> object:
        if isinstance(value, Box) and not (names or kwargs):
            found = missing(cls, value) if all(each.value != value for each in cls) else None
            if isinstance(found, cls):
                return found
        return cls(value, *names, **kwargs)

    return member


def type_call(twin: Twin) -> Function:
    """What is called in place of ``type.__call__``."""

    def call(cls: type, /, *args: object, **kwargs: object) -> Value:
        made = steps(cls, twin)
        return type.__call__(cls, *args, **kwargs) if made is None else made(*args, **kwargs)

    return call


def steps(cls: type, twin: Twin) -> Function | None:
    """The steps of ``type.__call__`` with the twins of the methods that take part; None if there are no twins."""
    begin: Value = getattr(cls, "__init__")  # noqa: B009 - of the class, and not called on an instance
    new: Value = cls.__new__
    if isinstance(begin, FunctionType) and begin.__code__.co_filename == "<string>" and dataclasses.is_dataclass(cls):
        return _dataclass(cls, begin, twin) if new is object.__new__ else None
    first = twin(begin) if isinstance(begin, FunctionType) else begin
    second = twin(new) if isinstance(new, FunctionType) or issubclass(cls, NUMBERS) else new
    if first is begin and second is new:
        return None

    def make(*args: Value, **kwargs: Value) -> Value:
        plain = new is object.__new__
        made = new(cls) if plain else second(cls, *args, **kwargs)
        if type(made) is cls:
            first(made, *args, **kwargs)
        elif isinstance(made, cls):  # of a class below
            own: Value = getattr(type(made), "__init__")  # noqa: B009 - of the class, and not called on an instance
            (twin(own) if isinstance(own, FunctionType) else own)(made, *args, **kwargs)
        return made

    return make


def _dataclass(cls: type, begin: FunctionType, twin: Twin) -> Function | None:
    """As `dataclasses` writes it: the fields are set, then ``__post_init__`` is called."""
    after: Value = getattr(cls, "__post_init__", None)
    fields = [f for f in dataclasses.fields(cls) if f.default_factory is not dataclasses.MISSING]
    if not isinstance(after, FunctionType) and not fields:
        return None
    import inspect  # only where such a class is met

    signature = inspect.signature(begin)
    every: dict[str, Value] = cls.__dataclass_fields__  # type: ignore[attr-defined]  # of every dataclass

    def make(*args: object, **kwargs: object) -> Value:
        made: Value = object.__new__(cls)
        given = signature.bind(made, *args, **kwargs).arguments
        late = []
        for name, field in every.items():
            kind = getattr(field._field_type, "name", "")
            if kind == "_FIELD_CLASSVAR":
                continue
            if name in given and field.init:
                value = given[name]
            elif field.default_factory is not dataclasses.MISSING:
                factory = field.default_factory
                value = fresh((twin(factory) if isinstance(factory, FunctionType) else factory)())
            elif field.default is not dataclasses.MISSING:
                value = field.default
            else:
                continue
            if kind == "_FIELD_INITVAR":
                late.append(value)
            else:
                object.__setattr__(made, name, value)
        if isinstance(after, FunctionType):
            twin(after)(made, *late)
        return made

    return make
