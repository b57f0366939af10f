"""Digits, normalisation, batches, shifts: what happens to examples on their way to a network."""

import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint.data import Normalisation, dataset, digits, shifted


def test_digits_are_pictures_of_ten_classes() -> None:
    data = digits()
    assert data.x.shape == (1797, 64)
    assert data.picture == (8, 8)
    assert data.classes == tuple("0123456789")
    assert (data.x.min(), data.x.max()) == (0, 16)
    assert np.bincount(data.y).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]  # UCI's description


def test_digits_without_scikit_learn_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ad.DataError, match=r"pip install 'adjoint\[examples\]'"):
        digits()


def test_pictures_share_one_scale_and_columns_have_their_own() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(20) % 2
    pictures = Normalisation.of(dataset(rng.integers(0, 255, (20, 5, 5)), labels))
    assert pictures.mean.shape == pictures.scale.shape == ()
    table = dataset(rng.normal([3, -2, 7], [1, 10, 0], (20, 3)), labels)
    columns = Normalisation.of(table)
    x = columns(table.x, np.float32)
    assert x.dtype == np.float32
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(x.std(axis=0), [1, 1, 0], atol=1e-6)


class Constant(np.random.Generator):
    """A source of distances that are known."""

    def __init__(self, down: float, right: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.distances = [down, right]

    def uniform(self, low: float, high: float, size: int) -> np.ndarray:  # type: ignore[override]  # as shifted calls it
        return np.full(size, self.distances.pop(0))


def test_whole_shifts_move_pixels_and_repeat_the_edge() -> None:
    picture = np.arange(12.0).reshape(3, 4)
    moved = shifted(picture.reshape(1, 12), (3, 4), 1, Constant(1, -2)).reshape(3, 4)
    np.testing.assert_array_equal(moved, picture[[0, 0, 1]][:, [2, 3, 3, 3]])


def test_half_a_pixel_mixes_neighbours() -> None:
    picture = np.arange(12.0).reshape(3, 4)
    moved = shifted(picture.reshape(1, 12), (3, 4), 1, Constant(0, 0.5)).reshape(3, 4)
    np.testing.assert_array_equal(moved[:, 1:], (picture[:, 1:] + picture[:, :-1]) / 2)
    np.testing.assert_array_equal(moved[:, 0], picture[:, 0])


def test_shifts_differ_from_picture_to_picture_and_keep_dtype() -> None:
    picture = np.random.default_rng(0).random((1, 64), dtype=np.float32)
    moved = shifted(np.repeat(picture, 5, axis=0), (8, 8), 0.5, np.random.default_rng(1))
    assert moved.dtype == np.float32
    assert len(np.unique(moved, axis=0)) == 5
    assert moved.min() >= picture.min()
    assert moved.max() <= picture.max()


def test_a_reach_of_zero_changes_nothing() -> None:
    x = np.random.default_rng(0).random((3, 20))
    np.testing.assert_array_equal(shifted(x, (4, 5), 0, np.random.default_rng(1)), x)


def test_shifts_refuse_what_is_no_picture() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ad.ShapeError, match="16 columns"):
        shifted(np.zeros((2, 15)), (4, 4), 1, rng)
    with pytest.raises(ad.ArgumentError, match="reach"):
        shifted(np.zeros((2, 16)), (4, 4), -1, rng)
