"""Whole numbers among arguments: part of the signature at first; when they vary, inputs of the program."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

from adjoint.compiler.call.signatures import LEAVES
from adjoint.compiler.trace.loops.numbers.reaches import LARGEST
from adjoint.core.types import Value

if TYPE_CHECKING:
    from adjoint.compiler.recording.tracing import Trace

FEW_VALUES = 4  # so many are recorded each for itself
_NONE: frozenset[int] = frozenset()


class WholeNumbers:
    """Facts about the whole numbers in signatures that are alike otherwise (a *family*)."""

    def __init__(self) -> None:
        self._values: dict[Value, int] = {}  # how many signatures of a family are recorded
        # The leaves whose numbers are inputs, and those whose numbers the program asks for.
        self._leaves: dict[Value, tuple[frozenset[int], frozenset[int]]] = {}

    def left_out(self, key: Value, recorded: Iterable[Value]) -> object:
        """A signature, in which whole numbers that are inputs of the program have no values."""
        if key is None or (family := without_numbers(key)) == key:
            return key
        inputs, asked = self._leaves.get(family, (_NONE, _NONE))
        made = without_numbers(key, inputs)
        if self._values.get(family, 0) < FEW_VALUES or made in recorded:
            return made
        alike = [k for k in recorded if without_numbers(k) == family and without_numbers(k, inputs) == k]
        more = numbers_that_differ(made, alike) - asked if len(alike) >= FEW_VALUES else _NONE
        self._leaves[family] = inputs | more, asked
        return without_numbers(made, more)

    def asked_for(self, key: Value, trace: Trace | None) -> bool:
        """Whether numbers that were inputs are asked for by `trace`; from now on, each value is recorded."""
        inputs = {k - LEAVES for k, part in enumerate(key) if k >= LEAVES and part is int}
        if not inputs:
            return False
        wanted = frozenset(inputs) if trace is None else trace.asks_for(inputs)
        family = without_numbers(key)
        known, asked = self._leaves[family]
        self._leaves[family] = known - wanted, asked | wanted
        self._values[family] -= bool(wanted)
        return bool(wanted)

    def count(self, key: Value) -> None:
        """Note that a further signature is recorded."""
        family = without_numbers(key)
        self._values[family] = self._values.get(family, 0) + 1

    def values_of(self, key: Value) -> int:
        """The number of recorded signatures that differ from `key` only in whole numbers."""
        return self._values.get(without_numbers(key), 0)


def without_numbers(signature: Sequence[object], leaves: Container[int] | None = None) -> tuple[object, ...]:
    """A signature without the values of whole numbers: of all of them, or of these leaves."""
    return tuple(
        [
            int if _is_whole(part) and (leaves is None or k - LEAVES in leaves) else part
            for k, part in enumerate(signature)
        ]
    )


def numbers_that_differ(signature: Sequence[object], others: Iterable[Sequence[object]]) -> frozenset[int]:
    """The leaves whose whole numbers differ in `others`, signatures that are alike otherwise."""
    found = [k for k, part in enumerate(signature) if _is_whole(part)]
    return frozenset(k - LEAVES for k in found if any(other[k] != signature[k] for other in others))


def _is_whole(part: object) -> bool:
    return type(part) is tuple and part[:1] == (int,) and abs(part[1]) < LARGEST
