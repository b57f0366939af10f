"""What a backward pass notes from its first selection on, in order to go again from there if it ends in NaN."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from numpy import ndarray

from adjoint.core.box import Box, raw
from adjoint.core.rules.cotangents import Lazy
from adjoint.core.rules.pullbacks import Pullback, freed
from adjoint.core.types import Array, Value
from adjoint.tape.node import TapeNode, next_order
from adjoint.tape.zeros.hazards import oldest_hazard
from adjoint.tape.zeros.selected import NO_NUMBERS, has_nan, is_finite, numbers

# Of so many elements, it is worth a look whether they are made of fewer.
MANY = 1 << 16


class Notes:
    """What a pass notes from its first selection on, in order to go again from there if it ends in nan.

    Attributes:
        start: the cotangents that waited then, the leaves' too; None if the pass need not go again.
        plain: whether the cotangents do not know where they were taken, as in a first attempt.
        left: nodes to be freed in the end.
        mark: nodes with orders below were made later, and will be made again.
        known: cotangents of leaves that had theirs before, or large ones without nan; those of `own` are buffers of
            the pass.
        until: the order of the oldest node that may make nan of a zero; None if it is not known.
    """

    __slots__ = ("known", "left", "mark", "own", "plain", "start", "until")
    start: dict[TapeNode, Value] | None
    until: float | None

    def __init__(self, start: dict[TapeNode, Array], plain: bool) -> None:
        self.start, self.plain, self.mark = start, plain, next_order()
        self.left: list[TapeNode] = []
        self.known: dict[TapeNode, Value] = {}
        self.own: list[TapeNode] = []
        self.until = None

    def needed(
        self, node: TapeNode, g: Array, waiting: dict[TapeNode, object], owned: set[TapeNode], last_write: float
    ) -> Notes | None:
        """These notes of a pass that comes to `node`, with its cotangent `g`; None if it need not go again any more."""
        if self.until is None:
            self.until = oldest_hazard([node, *waiting], last_write) if self.plain else inf
        if node.order <= self.until:
            return self
        if self.has_nan({**waiting, node: g}):
            self.until = inf
            return self
        owned |= self.owned(waiting)
        free(self.left)
        return None

    def owned(self, cotangents: dict[TapeNode, Array]) -> set[TapeNode]:
        """The leaves whose `cotangents` are buffers of the pass, and were not added to any more."""
        return {leaf for leaf in self.own if cotangents[leaf] is self.known[leaf]}

    def has_nan(self, cotangents: dict[TapeNode, Array]) -> bool:
        """Whether there is nan in one that has changed since the start."""
        start, known = self.start or {}, self.known
        return has_nan([g for node, g in cotangents.items() if g is not start.get(node) and g is not known.get(node)])

    def knows(self, leaf: TapeNode, c: Array, pullback: Pullback, g: Array, saved: tuple[Array, ...]) -> bool:
        """Whether `c`, by a finite rule, has no nan, as it is made of much fewer numbers, which are finite."""
        if issubclass(type(c), Lazy) or (size := raw(c).size) <= MANY:
            return False
        inputs: list[Array] = []
        for x in (g, *saved):
            if type(x) is ndarray:
                inputs += (x,) if x.dtype.kind in "fc" else ()
            elif type(x) not in NO_NUMBERS and not (type(x) is tuple and NO_NUMBERS.issuperset(map(type, x))):
                inputs += numbers(x)
        if 2 * sum([x.size for x in inputs]) > size or not all(map(is_finite, inputs)):
            return False
        self.known[leaf] = c
        if pullback.fresh and is_own(c, g):
            self.own.append(leaf)
        return True

    def stops_at_hooks(self) -> bool:
        """Whether a pass that comes to hooks, which are called once, is to go again first; if not, it never will."""
        if not self.plain:
            self.start = None
        return self.plain


def free(nodes: Sequence[TapeNode]) -> None:
    """Let go of what these nodes saved."""
    for node in nodes:
        node.pullback, node.parents, node.saved = freed, (), ()


def is_own(c: Array, g: Array) -> bool:
    """Whether a rule made `c` anew, so that it may be added to in place."""
    if type(c) is ndarray:
        return c is not g and c.base is None
    return c is not g and issubclass(type(c), Box) and c.is_alone()
