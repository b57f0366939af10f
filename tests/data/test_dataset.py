import numpy as np
import pytest

import adjoint as ad
from adjoint.data import Dataset, dataset, split


def example(n: int = 40, classes: int = 4) -> Dataset:
    rng = np.random.default_rng(0)
    return dataset(rng.normal(size=(n, 3)), np.arange(n) % classes, name="rows")


def test_whole_numbers_of_any_dtype_are_the_same_labels() -> None:
    x = np.zeros((4, 2))
    for labels in ([10, 2, 10, 2], [10.0, 2.0, 10.0, 2.0], ["10", "2", " 10", "2.0"], np.array([[10], [2], [10], [2]])):
        data = dataset(x, labels)
        assert data.classes == ("2", "10")
        np.testing.assert_array_equal(data.y, [1, 0, 1, 0])
        assert data.y.dtype == np.int64


def test_names_are_classes_in_alphabetical_order() -> None:
    data = dataset(np.zeros((4, 2)), np.array([b"rose", b"iris", b"rose", b"iris"]))
    assert data.classes == ("iris", "rose")
    np.testing.assert_array_equal(data.y, [1, 0, 1, 0])


def test_given_classes_fix_the_numbers() -> None:
    data = dataset(np.zeros((2, 2)), ["b", "b"], classes=("a", "b", "c"))
    np.testing.assert_array_equal(data.y, [1, 1])


@pytest.mark.parametrize(
    ("x", "picture"),
    [
        (np.zeros((4, 6, 5)), (6, 5)),
        (np.zeros((4, 6, 5, 1)), (6, 5)),
        (np.arange(4 * 64).reshape(4, 64) % 200, (8, 8)),
        (np.linspace(0, 1, 4 * 25).reshape(4, 25), (5, 5)),
        (np.linspace(0, 90, 4 * 25).reshape(4, 25), None),  # fractions above 1 are no pixels
        (np.full((4, 25), -1), None),
        (np.zeros((4, 16)), None),
        (np.zeros((4, 26)), None),
        (np.zeros((4, 6, 5, 3)), (6, 5)),
        (np.zeros((4, 6, 5, 2)), None),
    ],
)
def test_pictures_are_recognised(x: np.ndarray, picture: tuple[int, int] | None) -> None:
    data = dataset(x, [0, 1, 0, 1])
    assert data.picture == picture
    assert data.x.shape == (4, x[0].size)


@pytest.mark.parametrize(
    ("x", "labels", "message"),
    [
        (np.zeros((4, 2)), [0, 1, 0], "4 examples and 3 labels"),
        (np.zeros(4), [0, 1, 0, 1], r"got shape \(4,\)"),
        (np.zeros((0, 4)), [], r"got shape \(0, 4\)"),
        (np.zeros((4, 2), complex), [0, 1, 0, 1], "must be real numbers"),
        (np.full((4, 2), "a"), [0, 1, 0, 1], "must be real numbers"),
        (np.array([[1.0], [np.nan], [1.0], [1.0]]), [0, 1, 0, 1], "example 1 holds nan"),
        (np.zeros((4, 2)), np.eye(4), "argmax"),
        (np.zeros((4, 2)), [0.5, 1, 0, 1], "got 0.5"),
        (np.zeros((4, 2)), [np.inf, 1, 0, 1], "got inf"),
        (np.zeros((4, 2)), [1j, 1, 0, 1], "dtype complex128"),
        (np.zeros((4, 2)), [3, 3, 3, 3], "every label is '3'"),
        (np.zeros((8, 2)), np.arange(8), "8 different labels in 8 examples"),
    ],
)
def test_unusable_data_are_refused(x: np.ndarray, labels: object, message: str) -> None:
    with pytest.raises(ad.DataError, match=message):
        dataset(x, labels, name="mine")


def test_an_unknown_label_is_named() -> None:
    with pytest.raises(ad.DataError, match="'d' is not one of the known classes"):
        dataset(np.zeros((2, 2)), ["a", "d"], classes=("a", "b"))


def test_parts_are_disjoint_and_complete() -> None:
    data = dataset(np.arange(80.0).reshape(40, 2), np.arange(40) % 2)
    parts = split(data, seed=3)
    assert [len(part) for part in parts] == [28, 4, 8]
    rows = np.concatenate([part.x[:, 0] for part in parts])
    np.testing.assert_array_equal(np.sort(rows), data.x[:, 0])
    for part in parts:
        np.testing.assert_array_equal(part.y, part.x[:, 0] // 2 % 2)


def test_the_seed_decides_the_split() -> None:
    data = example()
    np.testing.assert_array_equal(split(data, seed=1).test.x, split(data, seed=1).test.x)
    assert not np.array_equal(split(data, seed=1).test.x, split(data, seed=2).test.x)


def test_a_held_out_set_is_left_as_it_is() -> None:
    data, held_out = example(), example(12)
    parts = split(data, held_out=held_out)
    assert parts.test is held_out
    assert len(parts.train) + len(parts.validation) == len(data)


def test_split_refuses_what_leaves_nothing() -> None:
    with pytest.raises(ad.DataError, match="at least 10 examples"):
        split(example(8))
    with pytest.raises(ad.ArgumentError, match="shares"):
        split(example(), validation=0.5, test=0.5)
