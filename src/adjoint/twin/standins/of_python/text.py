"""Numbers as text: printing a value, or writing it into a message, loses no derivative."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from adjoint.core.box import raw, varies
from adjoint.core.types import Array, Function, Value
from adjoint.twin.standins.of_python.exits import wrote
from adjoint.twin.standins.of_python.sample_texts import SampleTexts, in_each
from adjoint.twin.standins.values import CONTAINERS, is_box, plainly


def formatted(x: object) -> Value:
    """`x` for a text that `in_each` makes: the numbers of a box, or of the boxes in a container."""
    return _shown(x, _of_samples)


def printed(x: object) -> Value:
    """The same for printing, which nothing reads: of samples, all."""
    return _shown(x, lambda box: np.asarray(_values(box)))


def _shown(x: object, of_samples: Callable[[Value], Value]) -> object:
    if of_samples is _of_samples:
        wrote(x, "a text of t")
    if is_box(x):
        return of_samples(x) if varies(x) else plainly(x)
    if not isinstance(x, CONTAINERS):
        return x
    if not _differ(x):
        return plainly(x)
    if isinstance(x, dict):
        return {key: _shown(value, of_samples) for key, value in x.items()}
    items = [_shown(q, of_samples) for q in x]
    return tuple(items) if isinstance(x, tuple) else items


def _of_samples(x: Array) -> object:
    values = np.asarray(_values(x))
    if x.is_python:
        return SampleTexts(values.ravel().tolist()) if values.size else values
    return SampleTexts(values.reshape(-1, *x.shape)) if values.size else values


def _values(x: Array) -> Array:
    values = raw(x)
    return getattr(values, "value", values)


def _differ(x: Array) -> bool:
    if isinstance(x, CONTAINERS):
        return any(map(_differ, x.values() if isinstance(x, dict) else x))
    return varies(x)


def shown(original: Function) -> Function:
    """The stand-in of a function that makes text of its arguments."""

    def stand_in(*args: object, **kwargs: object) -> object:
        named = {name: formatted(value) for name, value in kwargs.items()}
        return in_each(lambda args, named: original(*args, **named), tuple(map(formatted, args)), named)

    return stand_in


def shown_array(original: Function) -> Function:
    """The stand-in of a function of NumPy's that makes text of an array."""

    def stand_in(*args: object, **kwargs: object) -> object:
        wrote((*args, *kwargs.values()), f"np.{original.__name__}")
        if not any(map(varies, args)):
            return original(*args, **kwargs)
        return in_each(lambda args: original(*args, **kwargs), tuple(map(formatted, args)))

    return stand_in


def shown_in(x: Array, conversion: int, spec: str) -> str:
    """A part of an f-string, ``{x!r:spec}``; a conversion is the number of its letter, or -1."""
    convert = _CONVERSIONS[conversion]
    return in_each(lambda x, spec: format(convert(x), spec), formatted(x), spec)  # type: ignore[no-any-return]  # a text


_CONVERSIONS: dict[int, Function] = {-1: lambda x: x, ord("s"): str, ord("r"): repr, ord("a"): ascii}


def joined(between: str, parts: Iterable[str]) -> str:
    """``between.join(parts)``"""
    return in_each(str.join, between, list(parts))  # type: ignore[no-any-return]  # a text


def joined_text(*parts: str) -> str:
    """The parts of an f-string as one."""
    return in_each(lambda *parts: "".join(parts), *parts)  # type: ignore[no-any-return]  # a text


def serialising(original: Function) -> Function:
    """The stand-in of a function that writes Python's numbers: ``json.dumps``."""

    def stand_in(*args: object, **kwargs: object) -> object:
        wrote(args, f"json.{original.__name__}")
        if original.__name__ == "dumps":
            return in_each(lambda *args: original(*args, **kwargs), *(_pythons(x, _of_samples) for x in args))
        return original(*map(_pythons, args), **kwargs)

    return stand_in


def _pythons(x: object, of_samples: Function = plainly) -> object:
    if is_box(x):
        if varies(x):
            return of_samples(x)
        values = plainly(x)
        return values.item() if isinstance(values, np.generic) else values
    if isinstance(x, dict):
        return {key: _pythons(value, of_samples) for key, value in x.items()}
    return [_pythons(q, of_samples) for q in x] if isinstance(x, list | tuple) else x
