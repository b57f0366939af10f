"""Objects that are one plain value: of users' classes of numbers and texts, fractions, decimals, spans of time."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from adjoint.core.box import varies
from adjoint.core.errors import BatchedValueError, LeavesGraphError
from adjoint.core.leaks.left import notes_of
from adjoint.core.leaks.notes import plain
from adjoint.core.leaks.texts import seen_again
from adjoint.core.types import Array, Function, Value
from adjoint.twin.standins.of_python.builtin import to_int
from adjoint.twin.standins.of_python.text import formatted
from adjoint.twin.standins.values import is_box, plainly


def exact(original: Function) -> Function:
    """What stands for a function that makes a fraction or a decimal, which can not know where its number came from."""
    name = original.__qualname__

    def stand_in(*args: Value, **kwargs: Value) -> object:
        what = f"{name}(t): a {name} holds a plain number, so a derivative would be lost. Compute with t itself"
        args = tuple(_number(x, what, f"{name}(t.item())") for x in args)
        named = {key: plain(_number(x, what, f"{name}(t.item())")) for key, x in kwargs.items()}
        made = original(*map(plain, args), **named)
        read: Value = None
        if any(isinstance(x, str) for x in args):
            with suppress(ValueError, OverflowError):
                read = seen_again(float(made))
        for note in notes_of([*args, read]):
            note.enter()
        return made

    return stand_in


def _number(x: Value, what: str, instead: str) -> Value:
    """The number of `x`, which has no history.

    Raises:
        LeavesGraphError: if it has one, by the text `what`, and `instead` for its value alone.
        BatchedValueError: if it is another number for each sample.
    """
    if not is_box(x):
        return x
    try:
        x._leaving(what.partition(":")[0])
    except BatchedValueError:
        raise BatchedValueError(what) from None
    except LeavesGraphError:
        raise LeavesGraphError(f"{what}; for the value alone, {instead}") from None
    return plainly(x)


def _made(base: Value) -> Function:
    """What stands for ``base.__new__``, which makes objects of users' classes of such values."""

    def new(cls: type, *args: Value, **kwargs: Value) -> object:
        if any(map(is_box, (*args, *kwargs.values()))):
            name, kind = cls.__name__, base.__name__
            what = (
                f"{name}(t): {name} is a subclass of {kind}, whose objects are plain numbers, so a derivative would be "
                f"lost. Let the number be an attribute (self.value = value) of a class without that base, and write "
                f"the operators that it needs"
            )
            if base is str:
                args = tuple(map(_text, args))
            else:
                whole = base is int
                args = tuple(_number(_whole(x) if whole else x, what, f"{name}(t.item())") for x in args)
                kwargs = {key: _number(x, what, f"{name}(t.item())") for key, x in kwargs.items()}
        return base.__new__(cls, *args, **kwargs)

    return new


def _whole(x: Array) -> Array:
    return to_int(x) if is_box(x) else x


def _text(x: Value) -> Value:
    if varies(x):
        raise BatchedValueError("inside vmap, a text of a number that differs between samples is one for each sample")
    return formatted(x)


def table() -> Iterable[tuple[Value, Function]]:
    """The constructors, and what stands for them."""
    for base in (float, int, complex, str):
        yield base.__new__, _made(base)
