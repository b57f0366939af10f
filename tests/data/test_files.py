"""Every kind of file, written here byte by byte, and read back; and what is said of files that are wrong."""

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint.data import load, read, read_idx

IMAGES = (np.arange(12 * 4 * 3) % 251).reshape(12, 4, 3).astype(np.uint8)
LABELS = (np.arange(12) % 3).astype(np.uint8)
IDX_CODES = {"u1": 8, "i1": 9, ">i2": 11, ">i4": 12, ">f4": 13, ">f8": 14}


def idx(array: np.ndarray, dtype: str = "u1") -> bytes:
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, IDX_CODES[dtype], array.ndim, *array.shape)
    return head + array.astype(dtype).tobytes()


def write(folder: Path, **contents: bytes) -> None:
    for name, content in contents.items():
        (folder / name.replace("__", "-")).write_bytes(content)


@pytest.mark.parametrize("dtype", IDX_CODES)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_idx_arrays_of_every_dtype(tmp_path: Path, dtype: str, pack: Callable[[bytes], bytes]) -> None:
    array = np.arange(24).reshape(2, 3, 4)
    path = tmp_path / "numbers"
    path.write_bytes(pack(idx(array, dtype)))
    found = read_idx(path)
    np.testing.assert_array_equal(found, array)
    assert found.dtype == np.dtype(dtype).newbyteorder("=")


def mnist(folder: Path, ending: str = "") -> Path:
    pack = gzip.compress if ending else bytes
    for part, count in (("train", 12), ("t10k", 6)):
        (folder / f"{part}-images-idx3-ubyte{ending}").write_bytes(pack(idx(IMAGES[:count])))
        (folder / f"{part}-labels-idx1-ubyte{ending}").write_bytes(pack(idx(LABELS[:count])))
    return folder


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_mnist_files_are_paired_by_name(tmp_path: Path, ending: str) -> None:
    mnist(tmp_path, ending)
    (tmp_path / "README").write_text("not data")
    images, labels = (tmp_path / f"train-{kind}-ubyte{ending}" for kind in ("images-idx3", "labels-idx1"))
    tests = tmp_path / f"t10k-images-idx3-ubyte{ending}"
    for paths, has_test in (
        ([images, labels], False),
        ([labels, images], False),
        ([images], False),
        ([images, tests], True),
        ([tests, images], True),
        ([tmp_path], True),
    ):
        data, test = load(*paths)
        np.testing.assert_array_equal(data.x, IMAGES.reshape(12, 12))
        np.testing.assert_array_equal(data.y, LABELS)
        assert data.picture == (4, 3)
        assert (test is not None) == has_test
        if test is not None:
            np.testing.assert_array_equal(test.x, IMAGES[:6].reshape(6, 12))


@pytest.mark.parametrize("names", [("x", "y"), ("images", "labels"), ("X", "Y"), ("data", "target")])
def test_npz_by_the_usual_names(tmp_path: Path, names: tuple[str, str]) -> None:
    np.savez(tmp_path / "d.npz", **dict(zip(names, (IMAGES, LABELS), strict=True)))
    data, test = load(tmp_path / "d.npz")
    np.testing.assert_array_equal(data.x, IMAGES.reshape(12, 12))
    np.testing.assert_array_equal(data.y, LABELS)
    assert test is None
    assert data.name == "d"


def test_npz_with_its_own_test_set(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x_train=IMAGES, y_train=LABELS, x_test=IMAGES[:3], y_test=LABELS[:3])
    data, test = load(tmp_path / "d.npz")
    assert test is not None
    assert (len(data), len(test)) == (12, 3)


CSV = {
    "last column": "1.5,2,0\n3,4e1,1\n5,6,0\n7,8,1\n",
    "header": "width,height,kind\n1.5,2,0\n3,4e1,1\n5,6,0\n7,8,1\n",
    "label named": "label,width,height\n0,1.5,2\n1,3,4e1\n0,5,6\n1,7,8\n",
    "semicolons": "1.5;2;0\n3;4e1;1\n5;6;0\n7;8;1\n",
    "tabs": "1.5\t2\t0\n3\t4e1\t1\n5\t6\t0\n7\t8\t1\n",
    "blank lines, rows of empty cells": "1.5,2,0\n   \n3,40,1\n5,6,0\n7,8,1\n,,\n\n",
    "blank lines, carriage returns, quotes": '"1.5","2",0\r\n\r\n3,4e1,1\r\n5,6,0\r\n7,8,1\r\n\r\n',
    "byte order mark": "\ufefflabel,width,height\n0,1.5,2\n1,3,4e1\n0,5,6\n1,7,8\n",
}


@pytest.mark.parametrize("text", CSV.values(), ids=CSV.keys())
@pytest.mark.parametrize("packed", [False, True])
def test_csv_in_every_form(tmp_path: Path, text: str, packed: bool) -> None:
    path = tmp_path / ("d.csv.gz" if packed else "d.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    data, _ = load(path)
    np.testing.assert_array_equal(data.x, [[1.5, 2], [3, 40], [5, 6], [7, 8]])
    np.testing.assert_array_equal(data.y, [0, 1, 0, 1])


def test_csv_without_header_and_with_words_for_labels(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("1,2,rose\n3,4,iris\n1,2,rose\n3,4,iris\n")
    data, _ = load(tmp_path / "d.csv")
    assert data.classes == ("iris", "rose")
    np.testing.assert_array_equal(data.y, [1, 0, 1, 0])


def test_a_second_file_is_the_test_set(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2,rose\n3,4,iris\n1,2,rose\n3,4,iris\n")
    (tmp_path / "b.csv").write_text("9,9,iris\n")
    data, test = load(tmp_path / "a.csv", tmp_path / "b.csv")
    assert test is not None
    assert test.classes == data.classes
    np.testing.assert_array_equal(test.y, [0])


def test_reading_examples_with_and_without_labels(tmp_path: Path) -> None:
    (tmp_path / "plain.csv").write_text("1,2\n3,4\n")
    (tmp_path / "labelled.csv").write_text("1,2,7\n3,4,8\n")
    np.save(tmp_path / "d.npy", IMAGES)
    np.savez(tmp_path / "d.npz", x=IMAGES)
    np.savez(tmp_path / "t.npz", x_test=IMAGES, y_test=LABELS)
    write(tmp_path, images=idx(IMAGES))
    x, labels = read(tmp_path / "plain.csv", width=2)
    np.testing.assert_array_equal(x, [[1, 2], [3, 4]])
    assert labels is None
    x, labels = read(tmp_path / "labelled.csv", width=2)
    np.testing.assert_array_equal(x, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(labels, ["7", "8"])
    for name in ("d.npy", "d.npz", "images"):
        x, labels = read(tmp_path / name)
        np.testing.assert_array_equal(x, IMAGES)
        assert labels is None
    np.testing.assert_array_equal(read(tmp_path / "t.npz")[1], LABELS)


WRONG: dict[str, tuple[str, bytes, str]] = {
    "empty csv": ("d.csv", b"", "the file is empty"),
    "header alone": ("d.csv", b"label,a\n", "a header and no examples"),
    "one column": ("d.csv", b"1\n2\n", "only one column"),
    "ragged": ("d.csv", b"1,2,3\n\n1,2\n", "line 3: 3 columns expected, as above; found 2"),
    "a word": ("d.csv", b"1,2,3\n1,x,3\n1,2,3\n", "line 2, column 'column 2': a finite number was .* found 'x'"),
    "an infinity": ("d.csv", b"a,b\n1,0\n-inf,1\n2,0\n", "line 3, column 'a': a finite number was .* found '-inf'"),
    "a missing label": ("d.csv", b"1,2\n3,\n1,2\n", "line 2, column 'column 2': a class was expected"),
    "a missing measure": ("d.csv", b"x,y\n1,2.5\n3,?\n1,2\n", "line 3, column 'y': a finite number was expected"),
    "two names": ("d.csv", b"a,a,b\n1,2,3\n", "line 1: two columns are named 'a'"),
    "nothing known": ("d.csv", b"a,b\n,0\n,1\n", "'a' is left out .every cell is missing"),
    "an open quote": ("d.csv", b'1,2\n1,"' + b"x" * 200_000 + b"\n", "field larger than field limit"),
    "latin-1": ("d.csv", b"1,\xe9\n", "UTF-8"),
    "cut gzip": ("d.csv.gz", gzip.compress(b"1,2\n" * 100)[:-12], "damaged or cut short"),
    "npz of text": ("d.npz", b"hello", "not a readable .npz"),
    "cut npz": ("d.npz", b"PK\x03\x04" + bytes(60), "not a readable .npz"),
    "npz of nothing": ("d.npz", b"", "not a readable .npz"),
    "cut idx": ("images", idx(IMAGES)[:-1], r"shape \(12, 4, 3\) .* takes 160 bytes; the file holds 159"),
    "idx head alone": ("images", idx(IMAGES)[:10], "the file holds 10"),
    "lonely images": ("images", idx(IMAGES), "no labels for these images"),
    "lonely labels": ("labels", idx(LABELS), "got 0 and 1"),
    "unknown": ("picture.png", b"\x89PNG....", "not a kind of file that can be read"),
    "nothing": ("d", b"", "not a kind of file that can be read"),
}


@pytest.mark.parametrize(("name", "content", "message"), WRONG.values(), ids=WRONG.keys())
def test_wrong_files_are_told_in_one_sentence(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ad.DataError, match=message) as caught:
        load(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_npz_with_unusable_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "names.npz", a=IMAGES)
    np.savez(tmp_path / "objects.npz", x=np.array([{}, 1], dtype=object), y=[0, 1])
    np.savez(tmp_path / "unlabelled.npz", x=IMAGES)
    np.save(tmp_path / "d.npy", IMAGES)
    (tmp_path / "single.npz").write_bytes((tmp_path / "d.npy").read_bytes())
    np.savez(tmp_path / "other.npz", x=IMAGES[:, :2], y=LABELS)
    np.savez(tmp_path / "good.npz", x=IMAGES, y=LABELS)
    for paths, message in (
        (["names.npz"], "x and y, or images and labels; found a"),
        (["objects.npz"], "Object arrays cannot be loaded"),
        (["unlabelled.npz"], "no labels found"),
        (["d.npy"], "holds no labels"),
        (["single.npz"], "holds a single array"),
        (["good.npz", "other.npz"], "as many values as those of the training set, 12; got 6"),
    ):
        with pytest.raises(ad.DataError, match=message):
            load(*(tmp_path / path for path in paths))


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    write(tmp_path, images=idx(IMAGES), labels=idx(LABELS[:5]))
    (tmp_path / "d.csv").write_text("1,2\n")
    with pytest.raises(ad.DataError, match="12 examples and 5 labels"):
        load(tmp_path / "images", tmp_path / "labels")
    with pytest.raises(ad.ArgumentError, match="one file, or two"):
        load(tmp_path / "images", tmp_path / "d.csv")
    with pytest.raises(ad.ArgumentError, match="one file, or two"):
        load(*[tmp_path / "d.csv"] * 3)
    with pytest.raises(ad.ArgumentError, match="at least one file"):
        load()


def test_missing_files_and_empty_folders(tmp_path: Path) -> None:
    for name in ("a.csv", "a.npz", "a"):
        with pytest.raises(FileNotFoundError):
            load(tmp_path / name)
    with pytest.raises(ad.DataError, match="holds no IDX files"):
        load(tmp_path)


def test_an_archive_under_the_name_of_an_array(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=IMAGES)
    (tmp_path / "d.npz").rename(tmp_path / "d.npy")
    with pytest.raises(ad.DataError, match="rename it"):
        read(tmp_path / "d.npy")


def test_labels_are_not_examples(tmp_path: Path) -> None:
    write(tmp_path, labels=idx(LABELS))
    with pytest.raises(ad.DataError, match="holds labels"):
        read(tmp_path / "labels")
