"""Sources of examples: arrays, things with items, streams; and how samples become a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from adjoint.core.box import Box
from adjoint.core.errors import ArgumentError, DataError, ShapeError
from adjoint.core.late import service
from adjoint.core.types import Value
from adjoint.data.dataset import Dataset, NDArray
from adjoint.data.joined import TensorDataset

Collate = Callable[[list[Value]], Value]


@dataclass(frozen=True)
class Arrays:
    """Arrays of one length: a batch takes the same rows of each.

    Attributes:
        arrays: what the rows are taken from.
        put: makes the batch of the pieces: one array, a tuple, a dict.
        kinds: what each piece becomes: an array, or a tensor where one was given.
    """

    arrays: tuple[NDArray, ...]
    put: Callable[[list[Value]], object]
    kinds: tuple[Callable[[Value], Value], ...]

    def count(self) -> int:
        """How many examples there are."""
        return len(self.arrays[0])

    def fetch(self, rows: NDArray) -> object:
        """The batch of these rows."""
        return self.put([kind(array[rows]) for kind, array in zip(self.kinds, self.arrays, strict=True)])


@dataclass(frozen=True)
class SampleSource:
    """Anything with ``len`` and ``[i]``: samples are taken one by one and joined."""

    items: Value
    collate: Collate

    def count(self) -> int:
        """How many examples there are."""
        return len(self.items)

    def fetch(self, rows: NDArray) -> object:
        """The batch of these rows."""
        samples = []
        for i in rows.tolist():
            try:
                samples.append(self.items[i])
            except Exception as error:
                error.add_note(f"DataLoader asked {type(self.items).__name__} for item {i}")
                raise
        return self.collate(samples)


@dataclass(frozen=True)
class Stream:
    """What can only be read from its beginning: an iterable, or a function that gives a new iterator each epoch."""

    source: Value
    collate: Collate

    def batches(self, size: int, drop_last: bool, start: int) -> Iterator[Value]:
        """The batches after the first `start` ones, which are read and dropped."""
        samples = iter(self.source() if callable(self.source) else self.source)
        for _ in islice(samples, start * size):
            pass
        while len(some := list(islice(samples, size))) == size or (some and not drop_last):
            yield self.collate(some)

    @property
    def once(self) -> bool:
        """Whether it can be read only once."""
        return not callable(self.source) and iter(self.source) is self.source


def source_of(data: object, collate: Collate | None) -> Arrays | SampleSource | Stream:
    """How to get batches out of `data`.

    Raises:
        ArgumentError: if it is nothing that holds examples, or holds none.
        ShapeError: for arrays of different lengths.
    """
    if isinstance(data, Dataset) and not hasattr(data, "__getitem__"):  # PyTorch's users write subclasses that have it
        data = (data.x, data.y)
    if type(data) is TensorDataset:
        data = data.tensors
    source = _arrays(data)
    if source is not None:
        if collate is None:
            return source
        return SampleSource(_Rows(source), collate)
    if hasattr(data, "__getitem__") and hasattr(data, "__len__"):
        if len(data) == 0:
            raise ArgumentError(f"DataLoader needs at least one example; this {type(data).__name__} is empty")
        return SampleSource(data, collate or default_collate)
    if callable(data) or isinstance(data, Iterable):
        return Stream(data, collate or default_collate)
    raise ArgumentError(
        f"DataLoader takes arrays, a tuple or dict of arrays, a list, an object with __len__ and __getitem__, an "
        f"iterable, or a function that gives an iterator; got {type(data).__name__}"
    )


@dataclass(frozen=True)
class _Rows:
    """Arrays as samples, for a `collate_fn` of the user's."""

    source: Arrays

    def __len__(self) -> int:
        return self.source.count()

    def __getitem__(self, i: Value) -> Value:
        pieces = zip(self.source.kinds, self.source.arrays, strict=True)
        return self.source.put([array[i] if kind is np.asarray else kind(array[i]) for kind, array in pieces])


def _arrays(data: object) -> Arrays | None:
    """`data` as arrays of one length; None if it is something else."""
    put: Callable[[list[Value]], object]
    if isinstance(data, Mapping):
        given, put = list(data.values()), partial(_named, list(data))
    elif type(data) is tuple:
        given, put = list(data), tuple
    else:
        given, put = [data], _only
    arrays = [value.numpy() if hasattr(value, "numpy") else value for value in given]
    if not arrays or not all(isinstance(array, np.ndarray) and array.ndim for array in arrays):
        return None
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise ShapeError(f"DataLoader: arrays hold as many examples each; these hold {', '.join(map(str, lengths))}")
    if not lengths[0]:
        raise ArgumentError(f"DataLoader needs at least one example; got shapes {[array.shape for array in arrays]}")
    kinds = (service("tensors") if isinstance(value, Box) else np.asarray for value in given)
    return Arrays(tuple(arrays), put, tuple(kinds))


def _named(names: list[object], pieces: list[Value]) -> dict[Value, Value]:
    return dict(zip(names, pieces, strict=True))


def _only(pieces: list[Value]) -> Value:
    return pieces[0]


def default_collate(batch: Sequence[Value]) -> Value:
    """Samples joined to a batch: numbers and arrays stacked, tuples and dicts part by part, texts in a list.

    Tensors give tensors, and so do numbers beside them: a sample ``(tensor, 3)`` gives two.

    Raises:
        ShapeError: for arrays of different shapes.
        ArgumentError: for samples of different parts, or of something else.

    Example:
        >>> import adjoint as ad
        >>> ad.data.default_collate([([1.0, 2.0], "a"), ([3.0, 4.0], "b")])
        ([array([1., 3.]), array([2., 4.])], ['a', 'b'])
    """
    return _joined(batch, _holds_tensors(batch[0]))


def _holds_tensors(sample: Value) -> bool:
    if isinstance(sample, Mapping):
        sample = list(sample.values())
    return any(map(_holds_tensors, sample)) if isinstance(sample, tuple | list) else isinstance(sample, Box)


def _joined(batch: Sequence[Value], beside_tensors: bool) -> Value:
    first = batch[0]
    if isinstance(first, Mapping):
        parts = {name: [_part(sample, name, first) for sample in batch] for name in first}
        return {name: _joined(part, beside_tensors) for name, part in parts.items()}
    if isinstance(first, tuple | list):
        odd = next((i for i, sample in enumerate(batch) if len(sample) != len(first)), None)
        if odd is not None:
            raise ArgumentError(
                f"DataLoader joins samples of as many parts: sample 0 of this batch has {len(first)} parts, sample "
                f"{odd} has {len(batch[odd])}. For samples that differ, write collate_fn=lambda samples: ..."
            )
        joined = [_joined(part, beside_tensors) for part in zip(*batch, strict=True)]
        return type(first)(*joined) if hasattr(first, "_fields") else type(first)(joined)
    if isinstance(first, str | bytes):
        return list(batch)
    if any(isinstance(sample, Box) and sample.carries for sample in batch):
        return np.stack(batch)  # a tensor with their history
    arrays = [np.asarray(sample.numpy() if hasattr(sample, "numpy") else sample) for sample in batch]
    if arrays[0].dtype == object:
        raise ArgumentError(
            f"DataLoader joins numbers, arrays, texts, and tuples and dicts of them; a sample has a "
            f"{type(first).__name__}. Write collate_fn=lambda samples: ..."
        )
    odd = next((i for i, array in enumerate(arrays) if array.shape != arrays[0].shape), None)
    if odd is not None:
        raise ShapeError(
            f"DataLoader stacks arrays of one shape: sample 0 of this batch has {arrays[0].shape}, sample {odd} has "
            f"{arrays[odd].shape}. To pad them, write collate_fn=lambda samples: ..."
        )
    number = beside_tensors and isinstance(first, int | float | complex | np.generic)
    return service("tensors")(np.stack(arrays)) if number or isinstance(first, Box) else np.stack(arrays)


def _part(sample: Value, name: Value, first: Mapping[object, object]) -> object:
    try:
        return sample[name]
    except (KeyError, TypeError):
        raise DataError(f"DataLoader: samples have the parts {list(first)}; one has no {name!r}: {sample!r}") from None
