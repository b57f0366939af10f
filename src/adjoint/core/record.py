"""`Record`: a few named values. What `typing.NamedTuple` is, but made without compiling each annotation at import."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import ClassVar, Self, dataclass_transform

from adjoint.core.types import Value


@dataclass_transform(frozen_default=True)
class Record(tuple[Value, ...]):
    """The base of a class whose annotated names are its fields, in order, with their defaults.

    Example:
        >>> class Point(Record):
        ...     x: float
        ...     y: float = 0.0
        >>> Point(1.0), Point(1.0).y
        (Point(x=1.0, y=0.0), 0.0)
    """

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[dict[str, Value]] = {}

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(cls.__annotations__)
        cls._defaults = {name: vars(cls)[name] for name in cls._fields if name in vars(cls)}
        for place, name in enumerate(cls._fields):
            setattr(cls, name, property(itemgetter(place)))

    def __new__(cls, *values: Value, **named: Value) -> Self:
        if len(values) != len(cls._fields):
            given = cls._defaults | dict(zip(cls._fields, values, strict=False)) | named
            if len(values) > len(cls._fields) or given.keys() != set(cls._fields):
                raise TypeError(f"{cls.__name__} has the fields {', '.join(cls._fields)}; got {values} and {named}")
            values = tuple([given[name] for name in cls._fields])
        return tuple.__new__(cls, values)

    @classmethod
    def _make(cls, values: Iterable[Value]) -> Self:
        """The record of `values`, as of every named tuple."""
        return cls(*values)

    def _replace(self, **changes: Value) -> Self:
        """The same record with some fields changed."""
        return type(self)(**dict(zip(self._fields, self, strict=True)) | changes)

    def __getnewargs__(self) -> tuple[Value, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({fields})"
