"""`Switch`: a mode that a block turns on, and that no interrupt leaves on.

Python looks for signals between its own instructions: after a call, at the start of a function. So an ``__enter__``
written in Python can end after the mode was set, and an ``__exit__`` before it is restored. Here both are C functions,
prepared before anything is set; inside them, nothing looks for signals.

A function that sets a mode for itself needs less: it reads the old mode, sets the new one inside ``try``, and restores
the old one in ``finally``. Tokens would not work: an interrupt just after the mode was set finds no token yet.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar, Token
from itertools import chain, repeat

from adjoint.core.types import Function, Value

_LAST = repeat(-1)


class ExceptionCloser(io.IOBase):
    """Its ``__exit__``, in C, takes what an exception gives, and calls `close` without: the only one that does both."""

    closed = True  # nothing is closed when it dies
    close: Value


class _Entering:
    """Gives an object's `Switch.entering` as its ``__enter__``; called with the object, carries it out."""

    def __get__(self, switch: Switch | None, kind: type) -> Function:
        return self if switch is None else switch.entering()

    def __call__(self, switch: Switch) -> None:
        switch.entering()()


class _Exiting:
    """The same for `Switch.leaving` and ``__exit__``."""

    def __get__(self, switch: Switch | None, kind: type) -> Function:
        return self if switch is None else switch.leaving

    def __call__(self, switch: Switch, *error: object) -> None:
        switch.leaving(*error)


class Switch:
    """A context manager that sets `variable` to what `value` gives, and takes that back; it may be entered again."""

    __enter__ = _Entering()
    __exit__ = _Exiting()

    def __init__(self, variable: ContextVar[Value]) -> None:
        self._variable = variable
        self._tokens: list[Token[Value]] = []
        leaving = ExceptionCloser()
        leaving.close = map(variable.reset, map(self._tokens.pop, _LAST)).__next__
        self.leaving: Callable[..., None] = leaving.__exit__

    def value(self) -> Value:
        """What the mode is in the block."""
        raise NotImplementedError

    def entering(self) -> Callable[[], None]:
        """What enters the block."""
        return map(self._tokens.append, map(self._variable.set, (self.value(),))).__next__


class Giving(Switch):
    """A switch of which a ``with`` statement gets what it `gives` by ``as``, unless that is None."""

    gives: Value = None

    def entering(self) -> Callable[[], Value]:
        entered = super().entering()  # which gives None
        return entered if self.gives is None else filter(None, chain(iter(entered, 0), (self.gives,))).__next__


class Setting(Giving, ContextDecorator):
    """A switch to one value."""

    def __init__(self, variable: ContextVar[Value], value: Value, gives: Value = None) -> None:
        super().__init__(variable)
        self._value, self.gives = value, gives

    def value(self) -> Value:
        return self._value

    def _recreate_cm(self) -> Setting:
        return Setting(self._variable, self._value, self.gives)
