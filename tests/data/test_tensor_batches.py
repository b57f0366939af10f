"""Batches are tensors where the data are tensors, and arrays where they are arrays."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.data import DataLoader


class TensorSamples:
    def __len__(self) -> int:
        return 5

    def __getitem__(self, i: int) -> Any:
        x = np.full((2, 3), i, np.float32)
        return {"x": ad.tensor(x), "pair": (i * i, "word"), "plain": x}


@pytest.mark.parametrize(("workers", "method"), [(0, None), (2, "fork"), (1, "spawn")])
def test_tensors_come_in_batches_that_are_tensors(workers: int, method: str | None) -> None:
    x, y = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32), np.arange(7)
    options: dict[str, Any] = {"batch_size": 3, "num_workers": workers, "multiprocessing_context": method, "seed": 0}
    for data in (ad.data.TensorDataset(ad.tensor(x), ad.tensor(y)), (ad.tensor(x), ad.tensor(y)),
                 [(ad.tensor(row), int(k)) for row, k in zip(x, y, strict=True)]):  # fmt: skip
        loader, arrays = DataLoader(data, shuffle=True, **options), DataLoader((x, y), 3, shuffle=True, seed=0)
        for batch, expected in zip(loader, arrays, strict=True):
            for mine, theirs in zip(batch, expected, strict=True):
                assert type(mine) is ad.Tensor
                assert (mine.dtype, mine.requires_grad) == (theirs.dtype, False)
                np.testing.assert_array_equal(mine.numpy(), theirs)
        assert loader.state_dict() == arrays.state_dict()
        loader.close()
    mixed = DataLoader((ad.tensor(x), y), **options)
    assert [type(part) for part in next(iter(mixed))] == [ad.Tensor, np.ndarray]
    samples = DataLoader(TensorSamples(), **options)
    batch = next(iter(samples))
    assert [type(part) for part in (batch["x"], batch["pair"][0], batch["plain"])] == [ad.Tensor, ad.Tensor, np.ndarray]
    assert batch["pair"][0].tolist() == [0, 1, 4]
    mixed.close()
    samples.close()


def test_a_collate_function_gets_tensors_and_stacked_ones_keep_their_history() -> None:
    p = ad.tensor(np.arange(6.0).reshape(3, 2), requires_grad=True)
    data = ad.data.TensorDataset(ad.tensor(np.arange(6.0).reshape(3, 2)), np.arange(3))
    seen = next(iter(DataLoader(data, 3, collate_fn=list)))
    assert type(seen[1][0]) is ad.Tensor
    assert seen[1][0].tolist() == [2.0, 3.0]
    assert isinstance(data[1][0], ad.Tensor)
    (batch,) = DataLoader([p[0], 2 * p[1]], 2)
    batch.sum().backward()
    np.testing.assert_array_equal(p.grad, [[1, 1], [2, 2], [0, 0]])


@pytest.mark.parametrize("compiled", [False, True])
def test_fit_learns_the_same_from_tensors_and_from_arrays(compiled: bool) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), rng.integers(0, 3, 20)
    found = []
    for data in ((x, y), ad.data.TensorDataset(ad.tensor(x), ad.tensor(y))):
        model = ad.nn.Linear(3, 3, dtype=np.float64, rng=0)
        history = ad.train.fit(model, DataLoader(data, 7, True, seed=1), epochs=2, metrics=["accuracy"],
                               validation=data, compiled=compiled)  # fmt: skip
        found.append((history.epochs[-1].figures, model.weight.numpy()))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])
