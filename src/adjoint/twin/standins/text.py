"""Numbers as text: printing a value and writing it into a message drops no derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.box import raw, varies
from adjoint.core.errors import BatchedValueError
from adjoint.core.types import Function
from adjoint.twin.standins.exits import wrote
from adjoint.twin.standins.values import CONTAINERS, is_box, plainly


class Samples:
    """A value for each of many samples, in a text: which there is only where it is the same for all of them."""

    __slots__ = ("values",)

    def __init__(self, values: Any) -> None:
        self.values = values

    def _one(self, make: Callable[[Any], Any], how: str) -> Any:
        first, *others = {make(value) for value in self.values}
        if others:
            raise BatchedValueError(
                f"{how}: inside vmap this is a value for each of many samples, and the texts or numbers made of them "
                f"differ: there is not one of them all. print(t) shows all; or call the function for one sample after "
                f"another"
            )
        return first

    def __str__(self) -> str:
        return self._one(str, "str(t)")  # type: ignore[no-any-return]  # a text

    def __repr__(self) -> str:
        return self._one(repr, "repr(t)")  # type: ignore[no-any-return]  # a text

    def __format__(self, spec: str) -> str:
        return self._one(lambda value: format(value, spec), "a format of t")  # type: ignore[no-any-return]  # a text

    def __float__(self) -> float:
        return self._one(float, "a format of t")  # type: ignore[no-any-return]  # a number

    def __int__(self) -> int:
        return self._one(int, "a format of t")  # type: ignore[no-any-return]  # a number


def formatted(x: Any) -> Any:
    """`x` for a text: the numbers of a box, or of the boxes in a container.

    Of samples, what raises a BatchedValueError where their texts differ.
    """
    return _shown(x, _of_samples)


def printed(x: Any) -> Any:
    """The same for printing, which nothing reads: of samples, all."""
    return _shown(x, lambda box: np.asarray(_values(box)))


def _shown(x: Any, of_samples: Callable[[Any], Any]) -> Any:
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


def _of_samples(x: Any) -> Any:
    values = np.asarray(_values(x))
    if x.is_python:
        return Samples(values.ravel().tolist()) if values.size else values
    return Samples(values.reshape(-1, *x.shape)) if values.size else values


def _values(x: Any) -> Any:
    values = raw(x)
    return getattr(values, "value", values)


def _differ(x: Any) -> bool:
    if isinstance(x, CONTAINERS):
        return any(map(_differ, x.values() if isinstance(x, dict) else x))
    return varies(x)


def shown(original: Function) -> Function:
    """The stand-in of a function that makes text of its arguments."""

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        return original(*map(formatted, args), **{name: formatted(value) for name, value in kwargs.items()})

    return stand_in


def serialising(original: Function) -> Function:
    """The stand-in of a function that writes Python's numbers: ``json.dumps``."""

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        wrote(args, f"json.{original.__name__}")
        return original(*map(_pythons, args), **kwargs)

    return stand_in


def _pythons(x: Any) -> Any:
    if is_box(x):
        values = plainly(x)
        return values.item() if isinstance(values, np.generic) else values
    if isinstance(x, dict):
        return {key: _pythons(value) for key, value in x.items()}
    return list(map(_pythons, x)) if isinstance(x, list | tuple) else x
