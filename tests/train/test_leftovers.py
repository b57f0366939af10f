"""Metrics, folders of runs, pictures, threads: what surrounds the loop."""

import csv
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.data import Dataset, dataset
from adjoint.train import Epoch, History, Step, TensorBoard, accuracy, confusion, logits_of
from adjoint.train.pictures import draw_curves, draw_misread
from adjoint.train.runs import new_run, write_metrics
from adjoint.train.tensorboard import _checksum as checksum
from adjoint.train.threads import blas_threads_for


def history(epochs: int) -> History:
    names = ("loss", "accuracy", "validation_loss", "validation_accuracy")
    figures = [(2 / n, 1 - 0.5 / n, 2.5 / n, 1 - 0.6 / n) for n in range(1, epochs + 1)]
    rows = [Epoch(n, dict(zip(names, row, strict=True)), 0.1, 0.5) for n, row in enumerate(figures, 1)]
    return History(rows, best=rows[-1] if rows else None)


def test_confusion_counts_pairs() -> None:
    rng = np.random.default_rng(0)
    actual, read = rng.integers(0, 4, (2, 50))
    counts = confusion(actual, read, 4)
    for i in range(4):
        for j in range(4):
            assert counts[i, j] == np.sum((actual == i) & (read == j))
    with pytest.raises(ad.ArgumentError, match="0 to 2"):
        confusion(actual, read, 3)


def test_accuracy_of_known_logits() -> None:
    logits = np.log(np.array([[0.7, 0.3], [0.4, 0.6], [0.9, 0.1]]))
    y = np.array([0, 1, 1])
    assert accuracy(logits, y) == pytest.approx(2 / 3)
    with pytest.raises(ad.ShapeError, match="one label each"):
        accuracy(logits, y[:2])


def test_logits_come_in_batches_without_dropout_and_leave_the_mode() -> None:
    model = nn.Sequential(nn.Linear(3, 8, rng=0), nn.Dropout(0.5, rng=1), nn.Linear(8, 2, rng=2)).train()
    x = np.random.default_rng(0).normal(size=(11, 3))
    np.testing.assert_allclose(logits_of(model, x, size=4), logits_of(model, x), rtol=1e-12)
    assert model.training
    assert model[1].training


def test_runs_never_share_a_folder(tmp_path: Path) -> None:
    (tmp_path / "runs" / "digits-7").mkdir(parents=True)
    (tmp_path / "runs" / "digits-old").mkdir()
    (tmp_path / "runs" / "digits-9").write_text("a file")
    names = [new_run(tmp_path / "runs", "digits").name for _ in range(2)]
    assert names == ["digits-10", "digits-11"]
    assert new_run(tmp_path / "runs", "di").name == "di-1"


def test_metrics_are_a_table(tmp_path: Path) -> None:
    write_metrics(history(3), tmp_path / "metrics.csv")
    with (tmp_path / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["loss"]) for row in rows] == pytest.approx([2, 1, 2 / 3], rel=1e-5)
    assert list(rows[0]) == [
        "epoch", "loss", "accuracy", "validation_loss", "validation_accuracy", "learning_rate", "seconds",
    ]  # fmt: skip
    with pytest.raises(ad.ArgumentError, match="no figure 'f1'; it has epoch, loss"):
        _ = history(3)["f1"]


def is_png(path: Path) -> bool:
    from matplotlib.image import imread

    return imread(path).std() > 0.01  # something is drawn on it


@pytest.mark.parametrize("epochs", [1, 40])
def test_curves_are_drawn(tmp_path: Path, epochs: int) -> None:
    with pytest.raises(ad.DataError, match="nothing to draw"):
        draw_curves(History(), tmp_path / "curves.png")
    draw_curves(history(epochs), tmp_path / "curves.png", "a run")
    assert is_png(tmp_path / "curves.png")


def shapes(n: int) -> Dataset:
    return dataset(np.random.default_rng(0).random((n, 6, 5)), np.arange(n) % 2)


@pytest.mark.parametrize(("n", "misread"), [(8, 1), (60, 30)])
def test_misread_pictures_are_drawn(tmp_path: Path, n: int, misread: int) -> None:
    data = shapes(n)
    answers = np.eye(2)[data.y]
    answers[:misread] = answers[:misread, ::-1]
    assert draw_misread(data, answers, tmp_path / "misread.png") == misread
    assert is_png(tmp_path / "misread.png")


def test_nothing_is_drawn_where_all_is_right(tmp_path: Path) -> None:
    data = shapes(8)
    assert draw_misread(data, np.eye(2)[data.y], tmp_path / "misread.png") == 0
    assert not (tmp_path / "misread.png").exists()


def test_tables_are_no_pictures(tmp_path: Path) -> None:
    data = dataset(np.zeros((4, 3)), [0, 1, 0, 1])
    with pytest.raises(ad.DataError, match="rows of a table"):
        draw_misread(data, np.eye(2)[data.y], tmp_path / "misread.png")


def test_without_matplotlib_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ad.DataError, match=r"pip install 'adjoint\[plot\]'"):
        draw_curves(history(2), tmp_path / "curves.png", "a run")


def test_small_products_take_one_thread_and_large_ones_all() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def threads() -> list[int]:
        return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]

    before = threads()
    with blas_threads_for(1000):
        assert set(threads()) <= {1}
    with blas_threads_for(10**9):
        assert threads() == before
    assert threads() == before


def read_events(content: bytes) -> list[bytes]:
    """The records of an events file, lengths taken as they stand."""
    records = []
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        records.append(content[12 : 12 + length])
        content = content[16 + length :]
    return records


def test_events_for_tensorboard(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path, every=2)
    board.on_start(history(0))
    for done in range(1, 5):
        board.on_step(Step(1, done, 4, 8, {"loss": 0.5 * done}))
    board.on_epoch(history(1))
    (path,) = tmp_path.iterdir()
    version, *events = read_events(path.read_bytes())
    assert version.endswith(b"brain.Event:2")
    assert [b"step/loss" in event for event in events] == [True, True, False]
    assert events[0].endswith(b"step/loss\x15" + struct.pack("<f", 1.0))
    assert b"epoch/validation_accuracy" in events[2]
    assert checksum(b"123456789") == struct.pack("<I", 0xC78AB0E5)  # of CRC-32C 0xE3069283, turned and moved
