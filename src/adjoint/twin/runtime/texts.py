"""Texts that show objects of users' classes, by the twins of their methods: ``"%f" % o``, ``"{:.2f}".format(o)``."""

from __future__ import annotations

import itertools
import operator
import re
from typing import TYPE_CHECKING

from adjoint.core.box import Box
from adjoint.core.types import Function, Index, Value
from adjoint.twin.standins import TextsOfSamples, formatted, in_each
from adjoint.twin.standins.of_python.sample_texts import one_of

if TYPE_CHECKING:
    from adjoint.twin.runtime.hooks import PolicyHooks
    from adjoint.twin.runtime.protocols import Protocols
    from adjoint.twin.twins import Twins

# The places of a text for ``%``: a key, and letters of what they show, ``*`` of a whole number.
_PLACES = re.compile(r"%(?:\((.*?)\))?[#0\- +]*(\*?)\d*(?:\.(\*?)\d*)?[hlL]?([a-zA-Z])")
_SHOWN_BY: dict[str, Value] = {"s": str} | dict.fromkeys("eEfFgG", float)
_SHOWN_BY |= dict.fromkeys("diu", int)


class TextsOfObjects:
    """What is called in the place of operators and methods of texts that show objects."""

    def __init__(self, twins: Twins, hooks: PolicyHooks, protocols: Protocols) -> None:
        self._resolve, self._special, self._hooks, self._protocols = twins.resolve, twins.special, hooks, protocols

    def _is_followed(self, x: object) -> bool:
        return not isinstance(x, float | str | Box) and self._special(type(x))

    def written(self, text: Value, values: Value) -> object:
        """``text % values``"""
        if isinstance(text, str):
            found = _PLACES.findall(text)
            places = [(key, each) for key, *stars, letter in found for each in (*"".join(stars), letter)]
            if isinstance(values, dict):
                letters = dict(places)
                values = {key: self._shown(x, letters.get(key, "")) for key, x in values.items()}
            elif type(values) is tuple:
                each = itertools.zip_longest(values, [letter for _, letter in places][: len(values)], fillvalue="")
                values = tuple([self._shown(x, letter) for x, letter in each])
            else:
                values = self._shown(values, places[0][1] if places else "")
        return in_each(operator.mod, text, formatted(values))

    def _shown(self, x: Value, letter: str) -> Value:
        """`x`; of an object of a followed class, what a place of this letter in a text shows."""
        if letter in ("r", "a"):
            return self.in_format(x)
        convert: Function | None = _SHOWN_BY.get(letter)
        if convert is None or not self._is_followed(x):
            return x
        if convert is int and not hasattr(type(x), "__int__"):  # which Python refuses
            return x
        return self._resolve(convert)(x)

    def in_format(self, x: Value) -> object:
        """`x` for ``text.format(x)``; in the place of an object of a followed class, what shows it by its twins."""
        return _InFormat(x, self) if self._is_followed(x) else x

    def one(self, x: Value, conversion: int, spec: str) -> str:
        """A part of a text, which is one for all samples."""
        text: Value = self._protocols.shown_in(x, conversion, spec)
        found: str = one_of(text.each) if type(text) is TextsOfSamples else text
        return found

    def attribute(self, o: object, name: str) -> object:
        """``{0.name}``"""
        return self.in_format(self._hooks.attribute(o, name))

    def item(self, o: object, index: Index) -> object:
        """``{0[index]}``"""
        return self.in_format(self._protocols.items(o)[index])


class _InFormat:
    """An object in whose place ``text.format`` shows parts of it."""

    def __init__(self, o: Value, texts: TextsOfObjects) -> None:
        self._o, self._texts = o, texts

    def __format__(self, spec: str) -> str:
        return self._texts.one(self._o, -1, spec)

    def __str__(self) -> str:
        return self._texts.one(self._o, ord("s"), "")

    def __repr__(self) -> str:
        return self._texts.one(self._o, ord("r"), "")

    def __getattr__(self, name: str) -> object:
        return self._texts.attribute(self._o, name)

    def __getitem__(self, index: Index) -> object:
        return self._texts.item(self._o, index)
