"""Lists to which turns append, and whose last elements they read: ``states.append(step(states[-1]))``.

These elements are carried from turn to turn, as what the names have. Symbols take their places in a turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adjoint.core.box import Box
from adjoint.core.types import Value


class Tails:
    """The last elements of lists.

    Attributes:
        names: the names of these lists.
        count: how many elements.
    """

    def __init__(self, depths: Mapping[str, int]) -> None:
        self._depths = {name: depth for name, depth in depths.items() if depth}
        self._lists: list[tuple[list[Value], int]] = []
        self._before: list[list[Value]] = []
        self._places: list[int] = []
        self.names: set[str] = set()
        self.count = 0

    def find(self, space: Mapping[str, Value]) -> None:
        """Look for lists among the names, whose last elements are arrays."""
        lists = [id(x) for x in space.values() if type(x) is list]
        for name, depth in self._depths.items():
            each = space.get(name)
            if type(each) is not list or len(each) < depth or lists.count(id(each)) > 1:
                continue
            if all(isinstance(x, Box) for x in each[-depth:]):
                self._lists.append((each, depth))
                self.names.add(name)
                self.count += depth

    def leaves(self) -> list[Value]:
        """The last elements."""
        return [x for each, depth in self._lists for x in each[-depth:]]

    def replace(self, own: Sequence[Value]) -> None:
        """A turn begins: these are the last elements in it."""
        fresh = iter(own)
        self._places = [len(each) - depth for each, depth in self._lists]
        self._before = [each[-depth:] for each, depth in self._lists]
        for each, depth in self._lists:
            each[-depth:] = [next(fresh) for _ in range(depth)]

    def restore(self) -> None:
        """A turn is over: the elements that the lists had when it began are in them again."""
        for (each, depth), at, before in zip(self._lists, self._places, self._before, strict=True):
            each[at : at + depth] = before
