"""Orders of examples for a `DataLoader`, by PyTorch's names.

A sampler is iterated, or called with a generator: the loader calls it with that of the epoch, so that the order depends
on the loader's seed and on the epoch alone. A generator of the sampler's own goes before that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Sized

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.data.dataset import NDArray

Generator = np.random.Generator | int | None


class Sampler:
    """The numbers of the examples of an epoch. A subclass writes `__iter__` and `__len__`, as in PyTorch.

    Example:
        >>> from adjoint import data
        >>> class Backwards(data.Sampler):
        ...     def __init__(self, source):
        ...         self.source = source
        ...     def __iter__(self):
        ...         return iter(range(len(self.source) - 1, -1, -1))
        ...     def __len__(self):
        ...         return len(self.source)
        >>> list(Backwards('abc'))
        [2, 1, 0]
    """

    def __init__(self, data_source: object = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__: give the numbers of the examples there")


class SequentialSampler(Sampler):
    """All examples in their order.

    Example:
        >>> from adjoint import data
        >>> list(data.SequentialSampler(["a", "b", "c"]))
        [0, 1, 2]
    """

    data_source: Sized

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class Random(Sampler):
    """What samplers that draw share: `generator` is a seed or generator of their own, or None."""

    def __init__(self, count: int, generator: Generator) -> None:
        self.num_samples = count
        self.generator = None if generator is None else np.random.default_rng(generator)

    def order(self, rng: np.random.Generator) -> NDArray:
        """The numbers of one epoch."""
        raise NotImplementedError

    def __call__(self, rng: np.random.Generator) -> NDArray:
        return self.order(rng if self.generator is None else self.generator)

    def __iter__(self) -> Iterator[int]:
        return iter(self(np.random.default_rng()).tolist())

    def __len__(self) -> int:
        return self.num_samples


class RandomSampler(Random):
    """All examples in a random order; or `num_samples` of them, with `replacement` each time from all.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> list(ad.data.RandomSampler(range(4), generator=0))
        [2, 0, 1, 3]
    """

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None,
        generator: Generator = None,
    ) -> None:  # fmt: skip
        super().__init__(len(data_source) if num_samples is None else num_samples, generator)
        self.data_source, self.replacement = data_source, replacement

    def order(self, rng: np.random.Generator) -> NDArray:
        count = len(self.data_source)  # type: ignore[arg-type]  # it has a length
        if self.replacement:
            return rng.integers(0, count, self.num_samples)
        rounds = range(math.ceil(self.num_samples / count))
        return np.concatenate([rng.permutation(count) for _ in rounds])[: self.num_samples]


class SubsetRandomSampler(Random):
    """The examples of these numbers in a random order.

    Example:
        >>> from adjoint import data
        >>> sorted(data.SubsetRandomSampler([4, 2, 7]))
        [2, 4, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Generator = None) -> None:
        super().__init__(len(indices), generator)
        self.indices = indices

    def order(self, rng: np.random.Generator) -> NDArray:
        return rng.permutation(np.asarray(self.indices))


class WeightedRandomSampler(Random):
    """`num_samples` draws, in which an example comes as often as its weight says.

    Raises:
        ArgumentError: if weights are negative, or too few are positive for draws without replacement.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> list(ad.data.WeightedRandomSampler([0, 1, 0], 3, generator=0))
        [1, 1, 1]
    """

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Generator = None
    ) -> None:
        super().__init__(num_samples, generator)
        self.weights, self.replacement = np.asarray(weights, float), replacement
        positive = np.count_nonzero(self.weights)
        if self.weights.ndim != 1 or not positive or not np.all(self.weights >= 0):
            raise ArgumentError("WeightedRandomSampler: weights are numbers, none negative, and not all of them 0")
        if not replacement and num_samples > positive:
            raise ArgumentError(f"WeightedRandomSampler: without replacement, {positive} examples of a positive weight "
                                f"give at most as many draws; got num_samples={num_samples}")  # fmt: skip

    def order(self, rng: np.random.Generator) -> NDArray:
        p = self.weights / self.weights.sum()
        return rng.choice(len(p), self.num_samples, replace=self.replacement, p=p)


class BatchSampler(Sampler):
    """Lists of `batch_size` numbers that a sampler gives, for ``DataLoader(batch_sampler=…)``.

    Example:
        >>> import adjoint as ad
        >>> list(ad.data.BatchSampler(ad.data.SequentialSampler(range(5)), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if batch_size < 1:
            raise ArgumentError(f"BatchSampler: batch_size is at least 1; got {batch_size}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __call__(self, rng: np.random.Generator) -> Iterator[list[int]]:
        return self._batches(self.sampler(rng) if callable(self.sampler) else self.sampler)

    def __iter__(self) -> Iterator[list[int]]:  # type: ignore[override]  # lists of them
        return self._batches(self.sampler)

    def _batches(self, numbers: Iterable[int]) -> Iterator[list[int]]:
        batch: list[int] = []
        for number in numbers:
            batch.append(int(number))
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]  # if it has a length
        return count // self.batch_size if self.drop_last else math.ceil(count / self.batch_size)
