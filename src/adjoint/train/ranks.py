"""A training on several ranks: each learns from its rows of every batch, and all decide alike.

In: whole batches, the same on all ranks. Out: figures of whole batches, and flags that are set if one rank has set
them. The weights are those of one process, up to the rounding of sums.

A batch may be divided into more pieces than there are ranks. A rank then computes one piece after the other, each as a
rank of its own would: from the same state of generators and buffers. Sums over pieces are taken by pairs. So 1, 2 or 4
ranks that share 4 pieces have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np

from adjoint import distributed
from adjoint.core.errors import ArgumentError
from adjoint.core.objects.trees import map_tree
from adjoint.core.rows import ROWS
from adjoint.core.types import Array, Value
from adjoint.distributed.exchange import joined
from adjoint.nn import Module
from adjoint.tape.reach import RandomSource, reach
from adjoint.tape.writes import mutations
from adjoint.train.steps import Means

PieceFigures = tuple[float, Sequence[float]]  # of a piece: its weight, and means over its rows


class Ranks:
    """The ranks of a training.

    Args:
        pieces: into how many pieces a batch is divided; None for one a rank.

    Attributes:
        alone: whether there is one rank only.
        first: whether this is rank 0, which shows and writes.

    Raises:
        ArgumentError: if `pieces` is no power of two, or not a multiple of the number of ranks.
    """

    def __init__(self, pieces: int | None = None) -> None:
        self.size, self.rank = distributed.size(), distributed.rank()
        self.alone, self.first = self.size == 1, self.rank == 0
        self.fixed, self.pieces = pieces is not None, self.size if pieces is None else pieces
        if self.fixed and (self.pieces < 1 or self.pieces & (self.pieces - 1) or self.pieces % self.size):
            raise ArgumentError(f"fit: pieces is 1, 2, 4, 8, … and a multiple of the number of ranks, which is "
                                f"{self.size}; got {pieces}")  # fmt: skip
        self.own = range(self.rank * self.pieces // self.size, (self.rank + 1) * self.pieces // self.size)
        self._sources: list[RandomSource] | None = None
        self._found: list[list[Value]] = []  # of each piece so far: gradients, then buffers

    def model(self, model: Module, compiled: bool) -> Module:
        """The model of all ranks. Its gradients are means over them, unless `between` sees to that."""
        if self.alone:
            return model
        if self.between(compiled) is None:
            return distributed.DataParallel(model)
        distributed.agree(model)
        distributed.spread(model)
        return model

    def between(self, compiled: bool) -> Callable[..., bool] | None:
        """What happens between the gradients of a piece and the update, which it answers may follow."""
        return self._averaged if self.pieces > 1 and (self.fixed or compiled) else None

    def _averaged(self, model: Module, parameters: Sequence[Value]) -> bool:
        """Put means over all pieces in place of the gradients, and of the running averages of normalisations."""
        if len(self.own) > 1:
            buffers = list(model.buffers())
            self._found.append([None if p.grad is None else p.grad.held for p in parameters]
                               + [np.array(buffer.held) for buffer in buffers])  # fmt: skip
            if len(self._found) < len(self.own):
                return False
            sums, self._found = [_sum(found) for found in zip(*self._found, strict=True)], []
            for p, total in zip(parameters, sums, strict=False):
                p.grad = total
            for buffer, total in zip(buffers, sums[len(parameters) :], strict=True):
                if buffer.dtype.kind in "fc":
                    _write(buffer, total / len(self.own))
        distributed.average_gradients(parameters)
        distributed.average_statistics(model)
        return True

    def turns(self, model: Module, loss: Value) -> Iterator[int]:
        """This rank's pieces; each begins with the generators and the buffers as they are now."""
        if len(self.own) == 1:
            yield from self.own
            return
        if self._sources is None:
            self._sources = [RandomSource.of(generator) for generator in reach(model, loss).generators]
        self._found = []
        states = [(source, source.get()) for source in self._sources]
        buffers = [(buffer, np.array(buffer.held)) for buffer in model.buffers()]
        for piece in self.own:
            if piece != self.own[0]:
                for source, state in states:
                    source.set(state)
                for buffer, value in buffers:
                    _write(buffer, value)
            yield piece

    @contextmanager
    def part(self, piece: int, inputs: Array, target: Array) -> Iterator[tuple[Value, Value, float]]:
        """A block in which the rows of a piece are computed with: inputs, target, and the weight of their mean loss.

        Where there are fewer rows than pieces, some pieces are the first row, with the weight 0.
        """
        if self.pieces == 1:
            yield inputs, target, 1.0
            return
        total = len(target)
        first, last = self._ends(piece, total)
        weight = (last - first) * self.pieces / total
        first, last = (first, last) if last > first else (0, 1)
        token = ROWS.set((first, last, total))
        try:
            yield map_tree(lambda x: x[first:last], inputs), target[first:last], weight
        finally:
            ROWS.reset(token)

    def parts(self, batches: Value) -> Iterator[tuple[int, Value]]:
        """This rank's pieces of each batch, with their numbers; those without rows are left out."""
        for batch in batches:
            for k, piece in enumerate(self.own):
                rows = batch if self.pieces == 1 else map_tree(partial(self._rows, piece), batch)
                if self.pieces == 1 or len(rows[-1] if isinstance(rows, tuple | list) else rows):
                    yield k, rows

    def _rows(self, piece: int, x: Array) -> Array:
        first, last = self._ends(piece, len(x))
        return x[first:last]

    def _ends(self, piece: int, total: int) -> tuple[int, int]:
        """The first row of a piece, and the one behind its last."""
        return piece * total // self.pieces, (piece + 1) * total // self.pieces

    def mean(self, found: Sequence[PieceFigures]) -> list[float]:
        """Figures of this rank's pieces, as figures of the whole batch."""
        if self.pieces == 1:
            return list(found[0][1])
        given = [np.array([value if weight else 0.0 for value in values]) * weight for weight, values in found]
        return list((distributed.all_reduce(joined(given, np.add)) / self.pieces).tolist())

    def joined(self, means: Sequence[Means]) -> Means:
        """Means over the examples of all pieces of all ranks."""
        if self.pieces > 1:
            given = [np.array([part.examples, *part.sums.values()], float) for part in means]
            whole = distributed.all_reduce(joined(given, np.add)).tolist()
            means[0].examples, means[0].sums = int(whole[0]), dict(zip(means[0].sums, whole[1:], strict=True))
        return means[0]

    def any(self, *flags: bool) -> tuple[bool, ...]:
        """Whether one of the ranks has set each flag."""
        if self.alone:
            return flags
        return tuple(distributed.all_reduce(np.array(flags), "max").tolist())


def _sum(parts: Sequence[Array]) -> Array:
    """The sum of arrays by pairs; None, which is a gradient that a piece does not have, counts as 0."""
    there = next((part for part in parts if part is not None), None)
    if there is None:
        return None
    return joined([np.zeros_like(there) if part is None else part for part in parts], np.add)


def _write(buffer: Value, value: Array) -> None:
    """Write a buffer where it lies."""
    if not np.array_equal(buffer.held, value):
        buffer.held[...] = value
        mutations.note(buffer.held)
