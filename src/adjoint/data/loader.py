"""`DataLoader`: batches in an order that a seed decides, loaded ahead by processes, with a position to keep."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Value
from adjoint.data.dataset import NDArray
from adjoint.data.sources import Arrays, SampleSource, Stream, source_of
from adjoint.data.workers import Pool, room_of

Transform = Callable[[Value, np.random.Generator], Value]
RowOrder = Iterable[int] | Callable[[np.random.Generator], Iterable[int]]
Batches = Iterable[Sequence[int]] | Callable[[np.random.Generator], Iterable[Sequence[int]]]


class DataLoader:
    """Examples in batches, one pass an epoch: ``for x, y in loader: …``.

    The order of an epoch depends on the seed and on the number of the epoch, and on nothing else: not on how many
    processes load, and not on whether the run was stopped in between. Batches are tensors where the data are
    tensors, and NumPy arrays otherwise.

    Args:
        dataset: an array (memory-mapped ones too), or a tuple or dict of arrays of one length; a `Dataset`; a list; an
            object with ``__len__`` and ``__getitem__``; an iterable; or a function that gives a new iterator for each
            epoch. Iterables and functions are read in their order.
        batch_size: examples a batch.
        shuffle: whether each epoch has an order of its own.
        drop_last: whether a last batch that is smaller is left out.
        sampler: the numbers of the examples of an epoch: an iterable, or a function of the epoch's generator
            (``lambda rng: rng.choice(n, n, p=weights)``); or a `WeightedRandomSampler` and its like.
        batch_sampler: the numbers of each batch, in the same two ways, instead of a batch size and an order.
        collate_fn: makes a batch of a list of samples; `default_collate` stacks numbers, arrays and tensors by parts.
        transform: changes each batch: ``transform(batch, rng)``. Its generator depends on seed, epoch and batch.
        num_workers: processes that load; 0 loads in this one. They are started once, with the data as it is then.
        prefetch_factor: batches that each process loads ahead.
        seed: of the order and of `transform`; None takes a new one.
        multiprocessing_context: how processes start: "fork" (as on Linux by default), "spawn", "forkserver". With the
            last two, data and functions are pickled, and a script needs ``if __name__ == "__main__":``.
        generator: what `seed` is drawn from, if there is none.
        shard: this process's number and how many there are, ``(dist.rank(), dist.size())``: each loads its rows of
            every batch alone, as `adjoint.distributed.shard` cuts them. All need one `seed`. Each draws for
            `transform` by itself.
        pin_memory, pin_memory_device, persistent_workers, in_order: nothing; PyTorch has them. Processes stay until the
            loader goes, and batches come in order.
        worker_init_fn, timeout: refused; each batch has seeds of its own, and a process that dies is noticed.

    Attributes:
        epoch: the number of the epoch, from 0.

    Raises:
        ArgumentError: for settings that do not go together, and data without examples.
        ShapeError: for arrays of different lengths, and samples of different shapes.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> loader = ad.data.DataLoader((np.arange(5) * 10, np.arange(5)), batch_size=2, shuffle=True, seed=0)
        >>> for x, y in loader:
        ...     print(x, y)
        [20 40] [2 4]
        [30  0] [3 0]
        [10] [1]
        >>> len(loader), loader.state_dict()
        (3, {'epoch': 1, 'batch': 0, 'seed': 0, 'size': 2, 'count': 5})
    """

    def __init__(
        self,
        dataset: object,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        drop_last: bool = False,
        sampler: RowOrder | None = None,
        collate_fn: Callable[[list[Value]], Value] | None = None,
        transform: Transform | None = None,
        num_workers: int = 0,
        prefetch_factor: int = 2,
        seed: int | None = None,
        multiprocessing_context: str | None = None,
        batch_sampler: Batches | None = None,
        generator: np.random.Generator | None = None,
        shard: tuple[int, int] | None = None,
        pin_memory: bool = False,
        pin_memory_device: str = "",
        persistent_workers: bool = True,
        in_order: bool = True,
        worker_init_fn: None = None,
        timeout: float = 0,
    ) -> None:
        _refuse(batch_size, worker_init_fn, timeout)
        if batch_sampler is not None and (batch_size != 1 or shuffle or drop_last or sampler is not None):
            raise ArgumentError("DataLoader: a batch_sampler decides the batches; leave out batch_size, shuffle, "
                                "sampler and drop_last")  # fmt: skip
        if batch_size < 1 or num_workers < 0 or prefetch_factor < 1:
            raise ArgumentError(
                f"DataLoader: batch_size and prefetch_factor are at least 1, num_workers at least 0; got "
                f"{batch_size}, {prefetch_factor} and {num_workers}"
            )
        if shuffle and sampler is not None:
            raise ArgumentError("DataLoader: a sampler decides the order; leave out shuffle=True")
        if shard is not None and (not 0 <= shard[0] < shard[1] or (seed is None and generator is None)):
            raise ArgumentError(f"DataLoader: shard is (rank, ranks), with a seed that all ranks share; got {shard}, "
                                f"seed {seed}")  # fmt: skip
        self._source = source_of(dataset, collate_fn)
        if isinstance(self._source, Stream) and shard is not None:
            raise ArgumentError("DataLoader reads an iterable whole; take the rows of each batch by "
                                "ad.distributed.shard(x, y)")  # fmt: skip
        if isinstance(self._source, Stream) and (shuffle or (sampler or batch_sampler) is not None or num_workers):
            raise ArgumentError(
                "DataLoader reads an iterable in its order and in this process: shuffle, sampler and num_workers need "
                "data with __len__ and __getitem__, such as list(data)"
            )
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn, self.transform, self.shard = collate_fn, transform, shard
        self.num_workers, self.prefetch_factor = num_workers, prefetch_factor
        drawn = np.random.SeedSequence().generate_state(1)[0] if generator is None else generator.integers(2**32)
        self.seed = int(drawn if seed is None else seed)
        self._method = multiprocessing_context
        self._pool: Pool | None = None
        self.epoch = self._batch = 0  # batches handed out in this epoch
        self._resumed = False
        self._order: NDArray | None = None  # of this epoch, where a sampler decides it
        self._sizes: NDArray | None = None  # of its batches, where a batch_sampler decides them
        self._newest: object = None

    def __len__(self) -> int:
        if isinstance(self._source, Stream):
            raise TypeError("a DataLoader over an iterable has no length: nobody knows how many batches will come")
        if self.batch_sampler is not None:
            if not callable(self.batch_sampler) and isinstance(self.batch_sampler, Sized):
                return len(self.batch_sampler)
            self._drawn()
            return 0 if self._sizes is None else len(self._sizes)
        count = self._source.count() if self.sampler is None or callable(self.sampler) else len(self._drawn())
        return count // self.batch_size if self.drop_last else math.ceil(count / self.batch_size)

    def __iter__(self) -> Iterator[Value]:
        if not self._resumed and self._batch:  # the epoch before was left in the middle
            self._next_epoch()
        self._resumed = False
        if isinstance(self._source, Stream):
            if self._source.once and self.epoch:
                raise ArgumentError("DataLoader: this iterator was read to its end; give the function that makes it, "
                                    "or a list")  # fmt: skip
            work = _LoaderWork(None, self.transform, (self.seed,))
            found = self._source.batches(self.batch_size, self.drop_last, self._batch)
            epoch, start = self.epoch, self._batch
            return self._hand_out(work.changed(batch, epoch, k) for k, batch in enumerate(found, start))
        tasks = iter(self._tasks(self._drawn(), self.epoch, self._batch))
        seeds = (self.seed,) if self.shard is None else (self.seed, self.shard[0])
        work = _LoaderWork(self._source, self.transform, seeds)
        return self._hand_out(self._by_workers(work, tasks) if self.num_workers else (work(*task) for task in tasks))

    def _hand_out(self, batches: Iterator[object]) -> Iterator[Value]:
        ticket = self._newest = object()  # of several iterators, the newest one has the position
        for batch in batches:
            if self._newest is ticket:
                self._batch += 1
            yield batch
        if self._newest is ticket:
            self._next_epoch()

    def _next_epoch(self) -> None:
        self.epoch, self._batch, self._order, self._sizes = self.epoch + 1, 0, None, None

    def _drawn(self) -> NDArray:
        """The numbers of the examples of this epoch."""
        assert not isinstance(self._source, Stream)
        count, rng = self._source.count(), np.random.default_rng((self.seed, self.epoch))
        if self.sampler is None and self.batch_sampler is None:
            return rng.permutation(count) if self.shuffle else np.arange(count)
        if self._order is None:
            given: Value = self.sampler if self.batch_sampler is None else self.batch_sampler
            numbers = list(given(rng) if callable(given) else given)
            if self.batch_sampler is not None:
                self._sizes = np.array([len(batch) for batch in numbers])
                numbers = [number for batch in numbers for number in batch]
            order = np.array(numbers)
            if order.ndim != 1 or order.dtype.kind not in "iu" or not ((order >= 0) & (order < count)).all():
                raise ArgumentError(f"DataLoader: a sampler gives numbers of examples, from 0 to {count - 1}; "
                                    f"got {order!r}")  # fmt: skip
            self._order = order
        return self._order

    def _tasks(self, order: NDArray, epoch: int, start: int) -> Iterator[tuple[int, int, NDArray]]:
        if self._sizes is not None:
            ends = np.cumsum(self._sizes)
            for k in range(start, len(ends)):
                yield epoch, k, self._own(order[ends[k] - self._sizes[k] : ends[k]])
            return
        size = self.batch_size
        stop = len(order) - len(order) % size if self.drop_last else len(order)
        for k in range(start, -(-stop // size)):
            yield epoch, k, self._own(order[k * size : min((k + 1) * size, stop)])

    def _own(self, rows: NDArray) -> NDArray:
        """The rows of a batch that this process loads."""
        if self.shard is None:
            return rows
        rank, ranks = self.shard
        if len(rows) < ranks:
            raise ArgumentError(f"DataLoader: a batch of {len(rows)} examples for {ranks} ranks leaves one without "
                                f"any; give drop_last=True, or another batch_size")  # fmt: skip
        return rows[rank * len(rows) // ranks : (rank + 1) * len(rows) // ranks]

    def _by_workers(self, work: _LoaderWork, tasks: Iterator[Value]) -> Iterator[object]:
        pool, self._pool = self._pool, None  # another iterator over this loader takes processes of its own
        first: list[Value] = []
        if pool is None:
            for task in islice(tasks, 1):  # the first batch says how much memory is to be shared
                with _restored():
                    first.append(work.seeded(*task))
                pool = Pool(work.seeded, self.num_workers, self.prefetch_factor, room_of(first[0]), self._method)
        if pool is not None:
            try:
                results = pool.run(tasks)
                yield from first
                yield from results
            finally:
                self._pool = pool if pool.close.alive else None

    def close(self) -> None:
        """End the processes; the next pass starts new ones. Otherwise they end with the loader, or the program."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def state_dict(self) -> dict[str, Value]:
        """The position: how many batches of which epoch were handed out. `adjoint.io.save` takes it."""
        count = None if isinstance(self._source, Stream) else self._source.count()
        state = {"epoch": self.epoch, "batch": self._batch, "seed": self.seed, "size": self.batch_size, "count": count}
        kept = {"order": self._order, "sizes": self._sizes}
        return state | {name: value for name, value in kept.items() if value is not None}

    def load_state_dict(self, state: Mapping[str, Value]) -> None:
        """Go on after the batches that were handed out when `state_dict` was called.

        Raises:
            ArgumentError: if the number of examples or the size of batches is another.
        """
        own = self.state_dict()
        for name, what in (("size", "batch_size"), ("count", "number of examples")):
            if state[name] != own[name]:
                raise ArgumentError(f"DataLoader.load_state_dict: the {what} was {state[name]}, and is {own[name]}; "
                                    f"give the same data and batch_size, or begin a new run")  # fmt: skip
        self.epoch, self._batch, self.seed = int(state["epoch"]), int(state["batch"]), int(state["seed"])
        self._order = np.asarray(state["order"]) if "order" in state else None
        self._sizes = np.asarray(state["sizes"]) if "sizes" in state else None
        self._resumed, self._newest = True, None

    def __repr__(self) -> str:
        kind = "iterable" if isinstance(self._source, Stream) else f"{self._source.count()} examples"
        return f"DataLoader({kind}, batch_size={self.batch_size}, shuffle={self.shuffle}, epoch={self.epoch})"


def _refuse(batch_size: object, worker_init_fn: object, timeout: float) -> None:
    if batch_size is None:
        raise ArgumentError("DataLoader: batch_size=None would give the examples themselves: iterate over the data, or "
                            "say batch_size=1")  # fmt: skip
    if worker_init_fn is not None:
        raise ArgumentError("DataLoader has no worker_init_fn: numpy.random and random are seeded for each batch, the "
                            "same for any num_workers; transform=lambda batch, rng: … gets a generator")  # fmt: skip
    if timeout:
        raise ArgumentError("DataLoader has no timeout: a process that dies is noticed within a second; leave it out")


class _LoaderWork(NamedTuple):
    """Load one batch."""

    source: Arrays | SampleSource | None
    transform: Transform | None
    seed: tuple[int, ...]

    def __call__(self, epoch: int, number: int, rows: NDArray) -> Value:
        assert self.source is not None
        return self.changed(self.source.fetch(rows), epoch, number)

    def changed(self, batch: object, epoch: int, number: int) -> object:
        if self.transform is None:
            return batch
        return self.transform(batch, np.random.default_rng((*self.seed, epoch, number)))

    def seeded(self, epoch: int, number: int, rows: NDArray) -> Value:
        """The same, where what a data set draws from the generators of `numpy.random` and `random` is seeded too."""
        state = np.random.SeedSequence((*self.seed, epoch, number)).generate_state(4)
        np.random.seed(state)  # noqa: NPY002 - it is for data sets that use this generator
        random.seed(state.tobytes())
        return self(epoch, number, rows)


@contextmanager
def _restored() -> Iterator[None]:
    """Leave the generators of `numpy.random` and `random` as they were."""
    kept, ours = np.random.get_state(), random.getstate()  # noqa: NPY002 - as above
    try:
        yield
    finally:
        np.random.set_state(kept)  # noqa: NPY002 - as above
        random.setstate(ours)
