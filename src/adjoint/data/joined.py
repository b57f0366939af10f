"""Data sets made of others, and of arrays, by PyTorch's names; a `DataLoader` takes them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.types import Value
from adjoint.data.samplers import Generator


class TensorDataset:
    """Examples that are rows of several arrays or tensors: ``dataset[i]`` is a tuple.

    Raises:
        ShapeError: if the arrays have different lengths.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> data = ad.data.TensorDataset(np.arange(4.0), np.arange(4))
        >>> len(data), data[2]
        (4, (np.float64(2.0), np.int64(2)))
    """

    def __init__(self, *tensors: Value) -> None:
        values = (t.detach() if hasattr(t, "detach") else t for t in tensors)
        self.tensors: tuple[Value, ...] = tuple(v if isinstance(v, Box) else np.asarray(v) for v in values)
        if not tensors or len({t.shape[:1] for t in self.tensors}) > 1:
            shapes = ", ".join(str(t.shape) for t in self.tensors)
            raise ShapeError(f"TensorDataset takes arrays of one length; got shapes {shapes or 'of none'}")

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, index: Value) -> tuple[Value, ...]:
        return tuple(t[index] for t in self.tensors)


class Subset:
    """The examples of `dataset` at these numbers.

    Example:
        >>> from adjoint import data
        >>> data.Subset(["a", "b", "c"], [2, 0])[0]
        'c'
    """

    def __init__(self, dataset: Value, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: Value) -> Value:
        return self.dataset[self.indices[index]]


class ConcatDataset:
    """Several data sets one behind the other.

    Example:
        >>> import adjoint as ad
        >>> data = ad.data.ConcatDataset([["a", "b"], ["c"]])
        >>> len(data), data[2], data[-3]
        (3, 'c', 'a')
    """

    def __init__(self, datasets: Iterable[Value]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError("ConcatDataset needs at least one data set")
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Value:
        place = range(len(self))[index]  # tells of numbers that are too large
        which = bisect_right(self.cumulative_sizes, place)
        return self.datasets[which][place - (self.cumulative_sizes[which - 1] if which else 0)]


class StackDataset:
    """Several data sets side by side: an example is a tuple of theirs, or a dict by the names that are given.

    Example:
        >>> from adjoint import data
        >>> data.StackDataset([1, 2], ["a", "b"])[1]
        (2, 'b')
    """

    def __init__(self, *datasets: Value, **named: Value) -> None:
        if bool(datasets) == bool(named) or len(set(map(len, datasets or named.values()))) > 1:
            raise ArgumentError("StackDataset takes data sets of one length: all of them with names, or none")
        self.datasets: Value = named or datasets

    def __len__(self) -> int:
        return len(next(iter(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)))

    def __getitem__(self, index: int) -> Value:
        if isinstance(self.datasets, dict):
            return {name: data[index] for name, data in self.datasets.items()}
        return tuple(data[index] for data in self.datasets)


class IterableDataset:
    """Examples that come one after the other: a subclass writes `__iter__`, which begins anew each epoch.

    Example:
        >>> from adjoint import data
        >>> class Squares(data.IterableDataset):
        ...     def __iter__(self):
        ...         return (k * k for k in range(4))
        >>> list(Squares())
        [0, 1, 4, 9]
    """

    def __iter__(self) -> Iterator[Value]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__: yield the examples there")


class ChainDataset(IterableDataset):
    """Several iterables, one behind the other.

    Example:
        >>> from adjoint import data
        >>> list(data.ChainDataset([[1, 2], [3]]))
        [1, 2, 3]
    """

    def __init__(self, datasets: Iterable[Iterable[Value]]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Value]:
        for data in self.datasets:
            yield from data


def random_split(dataset: Value, lengths: Sequence[float], generator: Generator = None) -> list[Subset]:
    """Parts of a data set, drawn at random, without an example in two of them.

    Args:
        dataset: has a length and items.
        lengths: of the parts, which are together that of `dataset`; or shares, which are 1 together.
        generator: a seed or generator.

    Raises:
        ArgumentError: if they are not.

    Example:
        >>> import adjoint as ad
        >>> [len(part) for part in ad.data.random_split(range(10), [0.75, 0.25], generator=0)]
        [8, 2]
    """
    count, sizes = len(dataset), [int(n) for n in lengths]
    if np.isclose(sum(lengths), 1) and any(isinstance(share, float) for share in lengths):
        sizes = [int(np.floor(count * share)) for share in lengths]
        for i in range(count - sum(sizes)):  # what rounding left, one each
            sizes[i % len(sizes)] += 1
    if sum(sizes) != count:
        raise ArgumentError(f"random_split: lengths are {count} together, as there are examples, or shares that are 1 "
                            f"together; got {list(lengths)}")  # fmt: skip
    order = np.random.default_rng(generator).permutation(count).tolist()
    return [Subset(dataset, order[end - size : end]) for size, end in zip(sizes, accumulate(sizes), strict=True)]
