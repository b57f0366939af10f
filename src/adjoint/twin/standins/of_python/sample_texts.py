"""`TextsOfSamples`: a text for each of many samples, if the numbers written into it differ."""

from __future__ import annotations

from typing import NoReturn

from adjoint.core.errors import BatchedValueError
from adjoint.core.types import Array, Function, Value
from adjoint.twin.standins.values import CONTAINERS


class SampleTexts:
    """A value for each of many samples, in a text: `in_each` makes one for each; by itself it has no text."""

    __slots__ = ("values",)

    def __init__(self, values: Array) -> None:
        self.values = values

    def _one(self, make: Function) -> Value:
        return one_of([make(value) for value in self.values])

    def __str__(self) -> str:
        return self._one(str)  # type: ignore[no-any-return]  # a text

    def __repr__(self) -> str:
        return self._one(repr)  # type: ignore[no-any-return]  # a text

    def __format__(self, spec: str) -> str:
        return self._one(lambda value: format(value, spec))  # type: ignore[no-any-return]  # a text

    def __float__(self) -> float:
        return self._one(float)  # type: ignore[no-any-return]  # a number

    def __int__(self) -> int:
        return self._one(int)  # type: ignore[no-any-return]  # a number


def one_of(found: list[Value]) -> Value:
    """The value that was found for each sample, if it is the same for all.

    Raises:
        BatchedValueError: if it is not.
    """
    if any(x != found[0] for x in found):
        _refuse()
    return found[0]


def _refuse() -> NoReturn:
    raise BatchedValueError(
        "inside vmap this is a value for each of many samples, and the texts made of them, or what is asked of these "
        "texts, differ: there is not one of them all. print(t) shows all; or call the function for one sample after "
        "another"
    )


class TextsOfSamples:
    """A text for each of many samples. What is asked of it is asked of each, and is one a sample, or the same of all.

    It says that it is a `str`, and is none: so functions written in C, which read the letters of one text, refuse it.
    Printed or logged it is all of them, one after another.
    """

    __slots__ = ("each",)

    def __init__(self, each: list[str]) -> None:
        self.each = each

    @property  # type: ignore[misc]  # nobody sets it
    def __class__(self) -> type:
        return str

    def __copy__(self) -> TextsOfSamples:
        return self

    def __deepcopy__(self, memo: object) -> TextsOfSamples:
        return self

    def __hash__(self) -> int:  # noqa: PLE0309 - it raises
        _refuse()

    def __array__(self, *given: object, **named: object) -> NoReturn:
        _refuse()

    def __float__(self) -> float:
        return in_each(float, self)  # type: ignore[no-any-return]  # a number

    def __int__(self) -> int:
        return in_each(int, self)  # type: ignore[no-any-return]  # a number

    def __bool__(self) -> bool:
        return in_each(bool, self)  # type: ignore[no-any-return]  # a truth value

    def __radd__(self, other: str) -> object:
        return in_each(lambda mine, text: text + mine, self, other)

    def __str__(self) -> str:
        return " | ".join(self.each)

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.each))

    def __format__(self, spec: str) -> str:
        return " | ".join(format(text, spec) for text in self.each)


def _by_sample(name: str) -> Function:
    method = getattr(str, name)

    def of_each(self: TextsOfSamples, *args: Value, **kwargs: Value) -> object:
        return in_each(lambda text, *given: method(text, *given, **kwargs), self, *args)

    of_each.__name__ = name
    return of_each


# Attributes of any class, and those defined above; all others are asked of each sample's text.
_COMPARISONS = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
_OWN = {*vars(TextsOfSamples), *vars(object), "maketrans"} - _COMPARISONS
for _name in vars(str).keys() - _OWN:
    setattr(TextsOfSamples, _name, _by_sample(_name))


def in_each(make: Function, *given: object) -> Value:
    """``make(*given)``; if there are samples in what is given, of each of them.

    Texts that differ become `TextsOfSamples`.

    Raises:
        BatchedValueError: if anything else differs.
    """
    count = _count(given)
    if count is None:
        return make(*given)
    found = [make(*[_of(x, i) for x in given]) for i in range(count)]
    if all(type(x) is str for x in found) and len(set(found)) > 1:
        return TextsOfSamples(found)
    return one_of(found)


def _count(x: object) -> int | None:
    """The number of samples in a tree; None if it has none."""
    if isinstance(x, SampleTexts):
        return len(x.values)
    if type(x) is TextsOfSamples:
        return len(x.each)
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, list | tuple) else ()
    return next((n for n in map(_count, parts) if n is not None), None)


def _of(x: object, i: int) -> object:
    """A tree of sample number `i`."""
    if isinstance(x, SampleTexts):
        return x.values[i]
    if type(x) is TextsOfSamples:
        return x.each[i]
    if not isinstance(x, CONTAINERS) or _count(x) is None:
        return x
    if isinstance(x, dict):
        return {key: _of(value, i) for key, value in x.items()}
    items = [_of(q, i) for q in x]
    return tuple(items) if isinstance(x, tuple) else items
