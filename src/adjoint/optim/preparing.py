"""States of parameters that were made before their first step: programs for an empty state would hold for one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.types import Array, Value

if TYPE_CHECKING:
    from adjoint.tape.tensor import Tensor


class Preparing:
    """An optimiser that can make its states beforehand. Until a step has written one, nobody sees it."""

    param_groups: list[dict[str, Value]]
    _state: dict[int, dict[str, Value]]
    #: By parameter: of each array of a state made beforehand, the number that it is made of.
    _prepared: dict[int, dict[str, Value]]

    def prepare(self) -> None:
        """Make the state of all parameters, which otherwise their first step makes: with what holds then."""
        for group in self.param_groups:
            for p in group["params"]:
                start = self.begin(p.held, group)  # arrays of their own, which no thread steps
                if self._waits(p) or not self._state.get(id(p)):
                    self._begin_anew(p, p.held, group)
                    self._prepared[id(p)] = firsts(start)
                    continue
                kept = self._state[id(p)]
                for name, value in start.items():
                    kept.setdefault(name, value)

    def begin(self, data: np.ndarray, group: dict[str, Value]) -> dict[str, Array]:
        """The state of a parameter before its first step."""
        raise NotImplementedError

    def _begin_anew(self, p: Tensor, data: Array, group: dict[str, Value]) -> dict[str, Value]:
        """The state of `p`; without a step yet, the one with which it would begin now.

        Compiled steps know its dictionary, and another thread may be stepping: it is never seen empty.
        """
        start = self.begin(data, group)
        kept = self._state.setdefault(id(p), start)
        if kept is not start and not kept:
            kept.update(start)
        elif kept is not start and self._waits(p) and not _are_alike(kept, start):
            kept.update(start)
            for name in kept.keys() - start.keys():
                del kept[name]
        return kept

    def _attach(self, p: Tensor, start: dict[str, Value], made_of: dict[str, Value]) -> None:
        """Take `start`, which was made of these numbers, as the state of a parameter that has none."""
        if self._state.setdefault(id(p), start) is start:
            self._prepared[id(p)] = made_of

    def _waits(self, p: Tensor) -> bool:
        """Whether the state of `p` was made before its first step, and is as it was made: of one number throughout."""
        made_of, kept = self._prepared.get(id(p)), self._state.get(id(p), {})
        if made_of is None:
            return False
        if made_of.keys() == kept.keys() and all(np.all(kept.get(name) == x) for name, x in made_of.items()):
            return True
        self._prepared.pop(id(p), None)
        return False


def _are_alike(kept: Mapping[str, Array], start: Mapping[str, Array]) -> bool:
    """Whether two states have the same arrays: a program may be about to write those that are kept."""
    return kept.keys() == start.keys() and all(
        kept[name].dtype == x.dtype and np.array_equal(kept[name], x) for name, x in start.items()
    )


def firsts(start: Mapping[str, Array]) -> dict[str, Value]:
    """The numbers that arrays of a state are made of."""
    return {name: np.ravel(x)[:1].copy() for name, x in start.items()}
