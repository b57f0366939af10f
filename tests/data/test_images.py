"""Pictures in folders."""

import sys
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint.data import load, load_pictures, read_picture

Image = pytest.importorskip("PIL.Image")


def paint(folder: Path, count: int = 3, size: tuple[int, int] = (6, 8)) -> Path:
    """Red and blue pictures in folders of their names."""
    for name, pixel in (("red", (200, 0, 0)), ("blue", (0, 0, 90))):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            Image.fromarray(np.full((*size, 3), pixel, np.uint8)).save(folder / name / f"{i}.png")
    (folder / "red" / "notes.txt").write_text("no picture")
    return folder


def test_a_folder_is_a_class(tmp_path: Path) -> None:
    data, test = load(paint(tmp_path / "colours"))
    assert (data.classes, data.picture, data.channels, data.name) == (("blue", "red"), (6, 8), 1, "colours")
    assert data.x.shape == (6, 48)
    assert test is None
    data, _ = load(tmp_path / "colours", color=True, size=(3, 4))
    assert (data.picture, data.channels, data.x.shape) == ((3, 4), 3, (6, 36))
    np.testing.assert_array_equal(data.x[data.y == 1][0].reshape(3, 4, 3)[0, 0], [200, 0, 0])


def test_a_test_set_beside_the_training_set(tmp_path: Path) -> None:
    paint(tmp_path / "train")
    paint(tmp_path / "test", 2, (9, 9))
    data, test = load_pictures(tmp_path)
    assert test is not None
    assert (len(data), len(test), test.classes, test.picture) == (6, 4, ("blue", "red"), (6, 8))


def test_what_is_wrong_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paint(tmp_path / "a")
    Image.fromarray(np.zeros((5, 5), np.uint8)).save(tmp_path / "a" / "red" / "small.png")
    with pytest.raises(ad.DataError, match=r"small.png: 5 x 5 pixels; .* has 6 x 8. Give one size"):
        load(tmp_path / "a")
    (tmp_path / "a" / "red" / "small.png").write_bytes(b"\x89PNG no picture")
    with pytest.raises(ad.DataError, match=r"small.png: not a picture that can be read"):
        load(tmp_path / "a")
    (tmp_path / "empty" / "cat").mkdir(parents=True)
    with pytest.raises(ad.DataError, match="no pictures in the folders"):
        load_pictures(tmp_path / "empty")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ad.DataError, match=r"pip install 'adjoint\[images\]'"):
        read_picture(tmp_path / "a" / "red" / "0.png")


@pytest.mark.parametrize("kind", [np.dtype("<u2"), np.dtype(np.int32)], ids=["16 bits", "16 bits in 32"])
def test_pixels_of_16_bits_become_bytes(tmp_path: Path, kind: "np.dtype[np.generic]") -> None:
    pixels = np.linspace(0, 65535, 64).astype(kind).reshape(8, 8)
    Image.fromarray(pixels).save(tmp_path / "deep.tiff")
    np.testing.assert_array_equal(read_picture(tmp_path / "deep.tiff"), pixels >> 8)
    np.testing.assert_array_equal(read_picture(tmp_path / "deep.tiff", color=True)[..., 2], pixels >> 8)


@pytest.mark.parametrize("pixels", [np.ones((4, 4), np.float32), np.full((4, 4), 70000, np.int32)])
def test_deeper_pixels_say_what_is_expected(tmp_path: Path, pixels: "np.ndarray") -> None:
    Image.fromarray(pixels).save(tmp_path / "deep.tiff")
    with pytest.raises(ad.DataError, match="8 or 16 bits") as raised:
        read_picture(tmp_path / "deep.tiff")
    assert str(tmp_path / "deep.tiff") in str(raised.value)


def test_a_class_without_pictures_is_named(tmp_path: Path) -> None:
    (paint(tmp_path / "colours") / "green").mkdir()
    with pytest.raises(ad.DataError, match="class 'green' would be missing"):
        load_pictures(tmp_path / "colours")


@pytest.mark.parametrize("place", [".", "red/more"])
def test_pictures_that_belong_to_no_class_are_named(tmp_path: Path, place: str) -> None:
    paint(tmp_path / "a")
    (tmp_path / "a" / place).mkdir(exist_ok=True)
    Image.fromarray(np.zeros((6, 8), np.uint8)).save(tmp_path / "a" / place / "lost.png")
    with pytest.raises(ad.DataError, match=r"lost.png would not be read: .* as .*a.blue.lost.png would"):
        load(tmp_path / "a")
