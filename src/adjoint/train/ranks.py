"""A training on several ranks: each learns from its rows of every batch, and all decide alike.

In: whole batches, the same on all ranks. Out: figures of whole batches, and flags that are set
if one rank has set them. The weights are those of one process, up to the rounding of sums. With one rank nothing
of this happens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from adjoint import distributed
from adjoint.core.rows import ROWS
from adjoint.core.trees import map_tree
from adjoint.core.types import Array, Value
from adjoint.nn import Module
from adjoint.train.steps import Means


class Ranks:
    """The ranks of a training.

    Attributes:
        alone: whether there is one only.
        first: whether this is rank 0, which shows and writes.
    """

    def __init__(self) -> None:
        self.size, self.rank = distributed.size(), distributed.rank()
        self.alone, self.first = self.size == 1, self.rank == 0

    def model(self, model: Module, compiled: bool) -> Module:
        """The model of all ranks. Its gradients are means over them, but in compiled steps: then `average` does so."""
        if self.alone:
            return model
        if not compiled:
            return distributed.DataParallel(model)
        distributed.agree(model)
        distributed.spread(model)
        return model

    def average(self, model: Module, parameters: Sequence[Value]) -> None:
        """Put means over all ranks in place of the gradients, and of the running averages of normalisations."""
        distributed.average_gradients(parameters)
        distributed.average_statistics(model)

    @contextmanager
    def part(self, inputs: Array, target: Array) -> Iterator[tuple[Value, Value, float]]:
        """A block in which this rank's rows are computed with: inputs, target, and the weight of their mean loss.

        Where there are fewer rows than ranks, some ranks take the first row, with the weight 0.
        """
        if self.alone:
            yield inputs, target, 1.0
            return
        total = len(target)
        first, last = (k * total // self.size for k in (self.rank, self.rank + 1))
        weight = (last - first) * self.size / total
        first, last = (first, last) if last > first else (0, 1)
        token = ROWS.set((first, last, total))
        try:
            yield map_tree(lambda x: x[first:last], inputs), target[first:last], weight
        finally:
            ROWS.reset(token)

    def parts(self, batches: Value) -> Value:
        """This rank's rows of each batch; batches of which it has none are left out."""
        for batch in batches:
            part = batch if self.alone else map_tree(distributed.shard, batch)
            if self.alone or len(part[-1] if isinstance(part, tuple | list) else part):
                yield part

    def mean(self, weight: float, values: Sequence[float]) -> list[float]:
        """Figures of this rank's rows, as figures of the whole batch."""
        if self.alone:
            return list(values)
        given = np.array([value if weight else 0.0 for value in values]) * weight
        return list((distributed.all_reduce(given) / self.size).tolist())

    def joined(self, means: Means) -> Means:
        """Means over the examples of all ranks."""
        if not self.alone:
            whole = distributed.all_reduce(np.array([means.examples, *means.sums.values()], float)).tolist()
            means.examples, means.sums = int(whole[0]), dict(zip(means.sums, whole[1:], strict=True))
        return means

    def any(self, *flags: bool) -> tuple[bool, ...]:
        """Whether one of the ranks has set each flag."""
        if self.alone:
            return flags
        return tuple(distributed.all_reduce(np.array(flags), "max").tolist())
