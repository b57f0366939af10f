import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.data import DataLoader, dataset


class Squares:
    """Samples that are computed when they are asked for."""

    def __init__(self, count: int = 20) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> tuple[np.ndarray, int]:
        if i >= self.count:
            raise IndexError(i)
        return np.full((2, 3), i, np.float32), i * i


def numbers(loader: DataLoader) -> list[list[int]]:
    """The last part of each batch."""
    return [np.ravel(batch[-1] if isinstance(batch, tuple) else batch).tolist() for batch in loader]


def test_batches_of_every_kind_of_data(tmp_path: Path) -> None:
    x = np.arange(10.0).reshape(5, 2)
    y = np.arange(5)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for data in (x, mapped, list(x), (row for row in x), lambda: iter(x)):
        first, second, last = list(DataLoader(data, 2))
        assert type(first) is np.ndarray
        np.testing.assert_array_equal(np.concatenate([first, second, last]), x)
        assert len(last) == 1
    for data in ((x, y), dataset(x, [0, 1, 0, 1, 1]), [(row, 1) for row in x]):
        parts = next(iter(DataLoader(data, 3)))
        assert type(parts) is tuple
        assert [part.shape for part in parts] == [(3, 2), (3,)]
    named = next(iter(DataLoader({"x": x, "y": y}, 3)))
    assert {name: value.shape for name, value in named.items()} == {"x": (3, 2), "y": (3,)}
    assert numbers(DataLoader(Squares(5), 2, drop_last=True)) == [[0, 1], [4, 9]]
    assert next(iter(DataLoader([{"word": "a", "n": 1}, {"word": "b", "n": 2}], 2)))["word"] == ["a", "b"]


def test_an_order_hangs_on_the_seed_and_the_epoch_alone() -> None:
    first, again, other = (DataLoader(np.arange(9), 4, True, seed=seed) for seed in (3, 3, 4))
    orders = [np.concatenate(numbers(first)).tolist() for _ in range(3)]
    assert orders == [np.concatenate(numbers(again)).tolist() for _ in range(3)]
    assert orders[0] != orders[1]
    assert orders[0] != np.concatenate(numbers(other)).tolist()
    assert [sorted(order) for order in orders] == [list(range(9))] * 3


def test_lengths_and_samplers() -> None:
    assert [len(DataLoader(np.arange(9), 4, drop_last=drop)) for drop in (False, True)] == [3, 2]
    assert numbers(DataLoader(np.arange(9), 2, sampler=[5, 5, 1])) == [[5, 5], [1]]
    assert len(DataLoader(np.arange(9), 2, sampler=[5, 5, 1])) == 2
    drawing = DataLoader(np.arange(9), 9, sampler=lambda rng: rng.choice(9, 9), seed=0)
    assert numbers(drawing) != numbers(drawing)
    with pytest.raises(ad.ArgumentError, match="numbers of examples, from 0 to 8"):
        list(DataLoader(np.arange(9), sampler=[9]))


def changed(batch: Any, rng: np.random.Generator) -> Any:
    x, y = batch
    return x + rng.normal(size=x.shape), y


@pytest.mark.parametrize("data", [Squares(), (np.random.default_rng(0).normal(size=(20, 3)), np.arange(20))])
def test_processes_change_nothing(data: Any) -> None:
    settings: dict[str, Any] = {"batch_size": 3, "shuffle": True, "seed": 1, "transform": changed}
    here, there = DataLoader(data, **settings), DataLoader(data, num_workers=2, **settings)
    for _ in range(2):
        for a, b in zip(list(here), list(there), strict=True):
            np.testing.assert_array_equal(a[0], b[0])
            np.testing.assert_array_equal(a[1], b[1])
            b[0][...] = 0  # memory of its own
    there.close()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_position_is_gone_on_from(workers: int) -> None:
    make = lambda: DataLoader(Squares(), 3, True, seed=1, num_workers=workers, transform=changed)
    whole = make()
    told = [batch for _ in range(2) for batch in whole]
    for stop in (0, 1, 6, 7, 8):
        loader, seen = make(), []
        if stop:
            for _ in range(2):
                for batch in loader:
                    seen.append(batch)
                    if len(seen) == stop:
                        break
                if len(seen) == stop:
                    break
        state = loader.state_dict()
        again = make()
        again.load_state_dict(state)
        while again.epoch < 2:
            seen += list(again)
        assert len(seen) == len(told)
        for a, b in zip(seen, told, strict=True):
            np.testing.assert_array_equal(a[0], b[0])
        loader.close()
        again.close()
    whole.close()


def test_a_position_in_a_stream_and_of_a_sampler_with_a_memory() -> None:
    loader = DataLoader(lambda: iter(range(7)), 2)
    next(iter(loader))
    again = DataLoader(lambda: iter(range(7)), 2)
    again.load_state_dict(loader.state_dict())
    assert numbers(again) == [[2, 3], [4, 5], [6]]
    assert numbers(again)[0] == [0, 1]

    rng = np.random.default_rng(0)

    class Remembering:
        def __iter__(self) -> Any:
            return iter(rng.permutation(8).tolist())

    loader = DataLoader(np.arange(8), 4, sampler=Remembering())
    first = next(iter(loader))
    state = loader.state_dict()
    again = DataLoader(np.arange(8), 4, sampler=Remembering())
    again.load_state_dict(state)
    assert sorted([*first, *next(iter(again))]) == list(range(8))


def test_a_pass_that_is_left_is_not_gone_on_with() -> None:
    loader = DataLoader(np.arange(8), 2, True, seed=0, num_workers=1, pin_memory=True, persistent_workers=True)
    for _ in loader:
        break
    whole = DataLoader(np.arange(8), 2, True, seed=0)
    list(whole)
    assert numbers(loader) == numbers(whole)
    assert [len(list(pair)) for pair in zip(loader, loader, strict=True)] == [2] * 4  # two passes at once
    loader.close()


def test_other_data_are_refused() -> None:
    state = DataLoader(np.arange(8), 2).state_dict()
    with pytest.raises(ad.ArgumentError, match="number of examples was 8, and is 9"):
        DataLoader(np.arange(9), 2).load_state_dict(state)
    with pytest.raises(ad.ArgumentError, match="batch_size was 2, and is 4"):
        DataLoader(np.arange(8), 4).load_state_dict(state)


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        (np.arange(3), {"batch_size": 0}, "batch_size and prefetch_factor are at least 1"),
        (np.arange(3), {"shuffle": True, "sampler": [1]}, "leave out shuffle"),
        (iter([1]), {"shuffle": True}, r"such as list\(data\)"),
        (7, {}, "an object with __len__ and __getitem__.*got int"),
        ([], {}, "this list is empty"),
        ((np.arange(3), np.arange(4)), {}, "these hold 3, 4"),
        ([np.ones(2), np.ones(3)], {"batch_size": 2}, r"sample 0 of this batch has \(2,\), sample 1 has \(3,\)"),
        ([(1, 2), (1,)], {"batch_size": 2}, "has 2 parts, sample 1 has 1"),
        ([{"a": 1}, {"b": 1}], {"batch_size": 2}, "one has no 'a'"),
        ([None], {}, "a sample has a NoneType"),
    ],
)
def test_errors_say_what_would_work(data: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ad.AdjointError, match=said):
        list(DataLoader(data, **options))


def test_an_iterator_is_read_once() -> None:
    loader = DataLoader(iter(range(3)), 2)
    assert numbers(loader) == [[0, 1], [2]]
    with pytest.raises(ad.ArgumentError, match="give the function that makes it"):
        list(loader)
    with pytest.raises(TypeError, match="has no length"):
        len(loader)


class Faulty(Squares):
    def __getitem__(self, i: int) -> tuple[np.ndarray, int]:
        if i == 13:
            raise ZeroDivisionError("thirteen")
        return super().__getitem__(i)


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_of_the_data_set_arrives_as_it_is(workers: int) -> None:
    loader = DataLoader(Faulty(), 4, num_workers=workers)
    with pytest.raises(ZeroDivisionError, match="thirteen") as caught:
        list(loader)
    notes = "".join(caught.value.__notes__)
    assert "asked Faulty for item 13" in notes
    assert ("In a process that loads data" in notes) == bool(workers)
    loader.close()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_pass_after_an_error_is_whole(tmp_path: Path, workers: int) -> None:
    class Once(Squares):
        """Fails at one item, until a file says that this is over."""

        def __getitem__(self, i: int) -> tuple[np.ndarray, int]:
            if i == 5 and not (tmp_path / "over").exists():
                raise ZeroDivisionError("five")
            return super().__getitem__(i)

    loader = DataLoader(Once(), 4, num_workers=workers)
    with pytest.raises(ZeroDivisionError, match="five"):
        list(loader)
    (tmp_path / "over").touch()
    for _ in range(2):
        assert np.concatenate(numbers(loader)).tolist() == [i * i for i in range(20)]
    loader.close()


def test_batches_are_loaded_before_they_are_asked_for(tmp_path: Path) -> None:
    class Marking(Squares):
        def __getitem__(self, i: int) -> tuple[np.ndarray, int]:
            (tmp_path / str(i)).touch()
            return super().__getitem__(i)

    loader = DataLoader(Marking(), 1, num_workers=2, prefetch_factor=3)
    batches = iter(loader)
    for asked in (1, 2):
        next(batches)
        deadline = time.monotonic() + 60
        while len(list(tmp_path.iterdir())) < asked + 6 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(list(tmp_path.iterdir())) == asked + 6
    loader.close()


class Dying(Squares):
    def __getitem__(self, i: int) -> tuple[np.ndarray, int]:
        if i == 13:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(i)


def test_a_process_that_dies_is_told() -> None:
    with pytest.raises(ad.DataError, match=r"ended with exit code -9.*num_workers=0"):
        list(DataLoader(Dying(), 4, num_workers=2))


class Growing(Squares):
    def __getitem__(self, i: int) -> Any:
        return np.full(10 + 5000 * i, i)


def test_batches_may_grow_beyond_the_shared_memory() -> None:
    loader = DataLoader(Growing(12), 1, num_workers=2)
    assert [batch.shape for batch in loader] == [(1, 10 + 5000 * i) for i in range(12)]
    loader.close()


class Drawing(Squares):
    def __getitem__(self, i: int) -> Any:
        return np.array([np.random.rand(), random.random()])  # noqa: NPY002 - as users write


def test_global_generators_are_seeded_for_each_batch_in_processes() -> None:
    before = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002 - as users write
    found = []
    for workers in (1, 2):
        loader = DataLoader(Drawing(), 4, num_workers=workers, seed=5)
        found.append(np.concatenate(list(loader)))
        loader.close()
    np.testing.assert_array_equal(*found)
    assert len(np.unique(found[0])) == 40
    assert before == (np.random.get_state()[1].tolist(), random.getstate())  # noqa: NPY002 - as above


PROGRAM = """
import multiprocessing, sys, time
import numpy as np
import adjoint as ad

class Slow:
    def __len__(self): return 100000
    def __getitem__(self, i): return np.full(3, i)

if __name__ == "__main__":
    loader = ad.data.DataLoader(Slow(), 2, num_workers=2, multiprocessing_context=sys.argv[2])
    for k, batch in enumerate(loader):
        if k == 3:
            print(*[child.pid for child in multiprocessing.active_children()], flush=True)
            if sys.argv[1] == "end":
                break
        if k > 3:
            time.sleep(0.01)
"""


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize(("how", "method"), [("end", "fork"), ("end", "spawn"), ("int", "fork"), ("kill", "fork")])
def test_processes_end_with_the_program(tmp_path: Path, how: str, method: str) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    program = subprocess.Popen(
        [sys.executable, script, how, method], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert program.stdout is not None
    children = [int(pid) for pid in program.stdout.readline().split()]
    assert len(children) == 2
    if how == "int":
        os.killpg(program.pid, signal.SIGINT)  # as a terminal does
    elif how == "kill":
        program.kill()
    _, errors = program.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while not all(map(gone, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert all(map(gone, children))
    assert program.returncode == {"end": 0, "int": -2, "kill": -9}[how]
    assert errors.count("Traceback") == (how == "int")


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("workers", [0, 2])
def test_ranks_load_their_rows_of_the_same_batches(ranks, workers):
    """Uneven batches, data of which each sample is computed when asked for, and a position that any number resumes."""
    given = {"batch_size": 7, "shuffle": True, "seed": 4}
    whole = list(DataLoader(Squares(19), **given))
    loaders = [DataLoader(Squares(19), **given, shard=(rank, ranks), num_workers=workers) for rank in range(ranks)]
    parts = list(zip(*loaders, strict=True))
    for batch, own in zip(whole, parts, strict=True):
        for whole_part, each in zip(batch, zip(*own, strict=True), strict=True):
            np.testing.assert_array_equal(np.concatenate(each), whole_part)
        assert max(len(y) for _, y in own) - min(len(y) for _, y in own) <= 1
    rest = iter(loaders[0])
    next(rest)
    other = DataLoader(Squares(19), **given, shard=(1, 2))
    other.load_state_dict(loaders[0].state_dict())
    assert len(list(other)) == len(whole) - 1
    for loader in loaders:
        loader.close()


def test_ranks_draw_for_themselves():
    def drawn(batch, rng):
        return batch + rng.normal(size=len(batch))

    one, two = (
        next(iter(DataLoader(np.zeros(8), 8, seed=0, shard=(rank, 2), transform=drawn))).tolist() for rank in (0, 1)
    )
    assert not set(one) & set(two)


@pytest.mark.parametrize(
    ("go", "words"),
    [
        (lambda: DataLoader(np.zeros(8), shard=(2, 2), seed=0), r"shard is \(rank, ranks\)"),
        (lambda: DataLoader(np.zeros(8), shard=(0, 2)), "with a seed that all ranks share"),
        (lambda: DataLoader(iter([1, 2]), shard=(0, 2), seed=0), r"ad\.distributed\.shard"),
        (lambda: list(DataLoader(np.zeros(9), 4, shard=(0, 2), seed=0)), "leaves one without any; give drop_last"),
        (
            lambda: ad.train.fit(
                ad.nn.Linear(2, 1), DataLoader((np.zeros((4, 2)), np.zeros((4, 1))), 2, shard=(0, 1), seed=0)
            ),
            "without shard",
        ),
    ],
)
def test_shards_that_go_wrong(go, words):
    with pytest.raises(ad.ArgumentError, match=words):
        go()
