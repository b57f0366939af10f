"""Samplers and data sets by PyTorch's names, in a `DataLoader`."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    random_split,
)

DATA = TensorDataset(np.arange(7.0), np.arange(7))


def rows(loader):
    return [batch[1].tolist() for batch in loader]


class Written(ad.data.Dataset):
    """As PyTorch's users write one."""

    def __init__(self):
        self.values = np.arange(5.0)

    def __len__(self):
        return 5

    def __getitem__(self, i):
        return self.values[i], i


def test_a_subclass_of_dataset_has_items():
    assert rows(DataLoader(dataset=Written(), batch_size=3)) == [[0, 1, 2], [3, 4]]


class Pairs(ad.data.Dataset):
    """With names that a table of rows has too, and a call of `Dataset`'s own `__init__`."""

    def __init__(self, count):
        super().__init__()
        self.x, self.name = np.arange(float(count)), None

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], i


def test_a_subclass_has_attributes_of_its_own():
    pairs = Pairs(5)
    pairs.x[4] = 9.0
    pairs.name = "pairs"
    assert "Pairs object" in repr(pairs)
    assert pairs != Pairs(5)
    assert rows(DataLoader(pairs, batch_size=3)) == [[0, 1, 2], [3, 4]]
    with pytest.raises(TypeError, match="missing"):
        ad.data.Dataset()


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_of_a_sampler(workers):
    loader = DataLoader(DATA, batch_sampler=BatchSampler(RandomSampler(DATA), 3, True), seed=1, num_workers=workers)
    assert len(loader) == 2
    first, second = rows(loader), rows(loader)
    loader.close()
    assert first != second
    assert [len(batch) for batch in first] == [3, 3]
    again = DataLoader(DATA, batch_sampler=BatchSampler(RandomSampler(DATA), 3, True), seed=1)
    assert [rows(again), rows(again)] == [first, second]


def test_the_position_among_batches_of_several_sizes():
    batches = [[0], [1, 2, 3], [4, 5]]
    loader = DataLoader(DATA, batch_sampler=batches)
    next(iter(loader))
    again = DataLoader(DATA, batch_sampler=batches)
    again.load_state_dict(loader.state_dict())
    assert rows(again) == batches[1:]
    assert rows(again) == batches


def test_each_sampler_draws_what_it_says():
    assert list(SequentialSampler(range(3))) == [0, 1, 2]
    assert sorted(RandomSampler(range(4), generator=0)) == [0, 1, 2, 3]
    assert len(list(RandomSampler(range(4), num_samples=6, generator=0))) == 6
    assert set(RandomSampler(range(2), replacement=True, num_samples=50, generator=0)) == {0, 1}
    assert sorted(SubsetRandomSampler([5, 3], generator=0)) == [3, 5]
    assert set(WeightedRandomSampler([1, 0, 1], 30, generator=0)) == {0, 2}
    assert sorted(WeightedRandomSampler([1, 0, 1], 2, replacement=False, generator=0)) == [0, 2]
    seeded = DataLoader(DATA, 7, sampler=RandomSampler(DATA, generator=3))
    assert rows(seeded) == [list(RandomSampler(DATA, generator=3))]
    with pytest.raises(ad.ArgumentError, match="give at most as many draws"):
        WeightedRandomSampler([1, 0, 1], 3, replacement=False)


def test_data_sets_of_others():
    joined = ConcatDataset([Subset(DATA, [1, 2]), [("x", 9)]])
    assert [joined[i][1] for i in range(len(joined))] == [1, 2, 9]
    with pytest.raises(IndexError):
        joined[3]
    assert StackDataset(a=range(3), b="xyz")[1] == {"a": 1, "b": "y"}
    assert StackDataset(range(3), "xyz")[2] == (2, "z")
    assert list(ChainDataset([range(2), range(1)])) == [0, 1, 0]

    class Stream(IterableDataset):
        def __iter__(self):
            yield from range(3)

    loader = DataLoader(Stream(), 2)
    assert [[b.tolist() for b in loader] for _ in range(2)] == [[[0, 1], [2]]] * 2
    parts = random_split(DATA, [0.5, 0.5], generator=0)
    assert [len(part) for part in parts] == [4, 3]
    assert sorted(i for part in parts for i in part.indices) == list(range(7))
    for lengths in ([3, 3], [0.5, 0.6]):
        with pytest.raises(ad.ArgumentError, match="lengths are 7 together"):
            random_split(DATA, lengths)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"batch_size": None}, "batch_size=1"),
        ({"worker_init_fn": print}, "transform=lambda"),
        ({"timeout": 3}, "leave it out"),
        ({"batch_sampler": [[1]], "shuffle": True}, "decides the batches"),
    ],
)
def test_settings_that_are_refused(options, said):
    with pytest.raises(ad.ArgumentError, match=said):
        DataLoader(DATA, **options)
